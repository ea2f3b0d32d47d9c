"""The pictures of the report on applications, from what the applications give.

Which images are shown is never decided by how good they look: they are the first held-out ones of
each dataset, in the order of their names, or those that an application has kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image

from pasta import store
from pasta.applications.backbones import Backbones
from pasta.applications.before_after import before_after
from pasta.applications.examples import VOTES
from pasta.applications.pictures import Shelf, Tile, plain, stars, stored_tile
from pasta.applications.prepared.grid import words
from pasta.applications.sheets import NO_BREAK, Layout, Line, label, number, sheet
from pasta.applications.steering_study import Steered
from pasta.applications.tuning import Tuned
from pasta.explanations import rendering
from pasta.explanations.rendering import HeatMap, Pixels
from pasta.explanations.techniques import technique

MOST, QUALITY = 4, 88  # rows of a sheet; of a JPEG
Tables = Mapping[str, pd.DataFrame]


def applications_pictures(
    out: Path,
    folders: Sequence[Path] = (),
    stored: Tables | None = None,
    steering: Steered | None = None,
    backbones: Backbones | None = None,
    tuning: Sequence[Tuned] = (),
) -> dict[str, Path]:
    """Draw whatever can be drawn into the folder ``out``, as JPEG files; gives them by name.

    Names: mixture, pareto, examples (of ``stored``, with the datasets' ``folders``), steering-0
    and so on (four images each), backbones, tuning-METHOD-BACKBONE.
    """
    drawn: dict[str, Pixels] = {}
    if stored is not None:
        shelves = {folder.name: Shelf(folder) for folder in folders}
        drawn |= _present("mixture", mixture_sheet(stored["choices"], stored["scores"], shelves))
        drawn |= _present("pareto", pareto_sheet(stored["placed"], shelves))
        drawn |= _present("examples", examples_sheet(stored["examples"], shelves))
    if steering is not None:
        for number, found in enumerate(steering_sheets(steering)):
            drawn[f"steering-{number}"] = found
    if backbones is not None:
        drawn |= _present("backbones", backbones_sheet(backbones))
    for study in tuning:
        name = f"tuning-{study.technique.key.replace('/', '-')}"
        drawn |= _present(name, tuning_sheet(study))
    return {name: save_picture(pixels, out / f"{name}.jpg") for name, pixels in drawn.items()}


def readme_picture(
    file: Path, steering: Steered | None = None, tuning: Sequence[Tuned] = ()
) -> Path | None:
    """One picture, 900 pixels wide: the same images before and after, where people gain most.

    None, and no file, if nothing is better by the simulator's true quality; without simulated
    raters the predicted score has to judge, and the picture says so.
    """
    found = before_after(steering, tuning)
    if found is None:
        file.unlink(missing_ok=True)
        return None
    return save_picture(found, file)


def save_picture(pixels: Pixels, file: Path) -> Path:
    """Write a JPEG, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with store.atomic(file) as temporary:
        Image.fromarray(pixels).save(temporary, "JPEG", quality=QUALITY)
    return file


def mixture_sheet(
    choices: pd.DataFrame, scores: pd.DataFrame, shelves: Mapping[str, Shelf]
) -> Pixels | None:
    """The winner beside the next two and the last, for the first held-out image of each dataset."""
    lines, layout = [], Layout(5)
    for _, row in _first(choices).iterrows():
        backbone = str(row["technique"]).partition("/")[2]
        own = scores[(scores["image"] == row["image"]) & (scores["backbone"] == backbone)]
        own = own.dropna(subset=["good"]).sort_values(
            ["good", "technique"], ascending=[False, True]
        )
        order = [0, 1, 2, len(own) - 1] if len(own) > 3 else list(range(len(own)))
        tiles = [
            _stored(one, shelves, layout, f"{place + 1}. {_title(one)}: {_values(one)}")
            for place in order
            for one in [own.iloc[place]]
        ]
        lines.append(_with_image(own.iloc[0], shelves, layout, tiles))
    return sheet(lines, layout) if lines else None


def pareto_sheet(placed: pd.DataFrame, shelves: Mapping[str, Shelf]) -> Pixels | None:
    """The four corners of P2's Figure 1, for the first held-out image of each dataset.

    Explanations of the first classifier are split at their medians; the corner's own is the one
    with the highest score, or the lowest.
    """
    known = placed.dropna(subset=["faithfulness", "good"])
    own = known[known["backbone"] == known["backbone"].iloc[0]] if len(known) else known
    lines, layout = [], Layout(5)
    for _, first in _first(own).iterrows():
        every = own[own["image"] == first["image"]].sort_values("technique")
        tiles = [
            _stored(one, shelves, layout, f"{name}: {_title(one)}, {_values(one)}")
            for name, one in _corners(every)
        ]
        lines.append(_with_image(first, shelves, layout, tiles))
    return sheet(lines, layout) if lines else None


def _corners(own: pd.DataFrame) -> Iterator[tuple[str, pd.Series[Any]]]:
    faithful = own["faithfulness"] >= own["faithfulness"].median()
    plausible = own["good"] >= own["good"].median()
    for name, group in (
        ("both", own[faithful & plausible].nlargest(1, "good")),
        ("plausible only", own[~faithful & plausible].nlargest(1, "good")),
        ("faithful only", own[faithful & ~plausible].nsmallest(1, "good")),
        ("neither", own[~faithful & ~plausible].nsmallest(1, "good")),
    ):
        for _, one in group.iterrows():
            yield name, one


def examples_sheet(examples: pd.DataFrame, shelves: Mapping[str, Shelf]) -> Pixels | None:
    """A row for each group: explanations with their votes and the predicted stars."""
    lines = []
    most = int(examples["place"].max()) if len(examples) else 0
    layout = Layout(max(5, -(-3 * most // 2)))  # bars of concepts are half as wide again
    for group, own in examples.groupby("group", sort=False):
        tiles = []
        for _, one in own.iterrows():
            votes = [
                str(star + 1) for star, name in enumerate(VOTES) for _ in range(int(one[name]))
            ]
            caption = (
                f"{label(str(one['predicted']))}, {_title(one)}: {one['score']:.1f} stars, "
                f"votes{NO_BREAK}{NO_BREAK.join(votes)}"
            )
            tiles.append(_stored(one, shelves, layout, caption))
        lines.append(Line(str(group).capitalize(), tiles))
    return sheet(lines, layout) if lines else None


def steering_sheets(steered: Steered) -> Iterator[Pixels]:
    """A row for each image and a column for each lambda (P2, Figure 9), some rows to a sheet."""
    table = steered.tables["steered"]
    groups = list(table.groupby("image", sort=False))
    layout = Layout(1 + steered.maps.shape[1])
    for start in range(0, len(groups), MOST):
        lines = []
        for row, (name, own) in enumerate(groups[start : start + MOST], start):
            tiles = [Tile(plain(steered.images[row], layout.tile), "image")]
            for (_, one), shown in zip(own.iterrows(), steered.maps[row], strict=True):
                tiles.append(_heat(steered.images[row], shown, False, layout, _steered_words(one)))
            lines.append(Line(f"{name}, {label(own['predicted'].iloc[0])}", tiles))
        yield sheet(lines, layout)


def _steered_words(one: pd.Series[Any]) -> str:
    truth = f", Q{NO_BREAK}{number(one['quality'])}" if np.isfinite(one["quality"]) else ""
    return (
        f"λ{NO_BREAK}{one['weight']:g}: P{NO_BREAK}{number(one['score'])}, "
        f"F{NO_BREAK}{number(one['faithfulness'])}{truth}"
    )


def backbones_sheet(found: Backbones) -> Pixels | None:
    """The same images on each tower (P2, Figure 8), a row for each image and method."""
    towers = list(found.towers["tower"])
    layout = Layout(max(5, 1 + len(towers)))
    rows: dict[tuple[str, str], list[Tile]] = {}
    for one in sorted(found.pictures, key=lambda one: (one.image, one.method)):
        tiles = rows.setdefault((one.image, one.method), [])
        if not tiles:
            tiles.append(Tile(plain(one.pixels, layout.tile), "image"))
        caption = f"{one.tower}: {label(one.predicted)}, {stars(one.score)}"
        tiles.append(_heat(one.pixels, one.shown, one.signed, layout, caption))
    lines = [
        Line(f"{_method_title(method)}, {image}", tiles) for (image, method), tiles in rows.items()
    ]
    return sheet(lines, layout) if lines else None


def tuning_sheet(tuned: Tuned) -> Pixels | None:
    """Held-out images under the default and under the tuned settings (P1, Table 24)."""
    if not tuned.pairs or tuned.default == tuned.winner:
        return None
    layout = Layout(max(4, len(tuned.pairs)))
    lines = [
        Line(
            f"{title}: {words(candidate)}",
            [
                _heat(
                    pair.pixels,
                    (pair.default, pair.tuned)[place],
                    pair.signed,
                    layout,
                    f"{label(pair.predicted)}: {stars(pair.scores[place])}",
                )
                for pair in tuned.pairs
            ],
        )
        for place, (title, candidate) in enumerate(
            (("Default", tuned.default), ("Tuned", tuned.winner))
        )
    ]
    return sheet(lines, layout)


def _present(name: str, found: Pixels | None) -> dict[str, Pixels]:
    return {} if found is None else {name: found}


def _first(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each dataset: that of its first held-out image, else of its first image."""
    order = rows.assign(seen=~rows["held_out"].astype(bool)).sort_values(["seen", "image"])
    return order.drop_duplicates("dataset").sort_values("dataset").head(MOST)


def _with_image(
    one: pd.Series[Any], shelves: Mapping[str, Shelf], layout: Layout, tiles: Sequence[Tile]
) -> Line:
    """A line that begins with the image itself."""
    pixels = shelves[str(one["dataset"])].pixels(str(one["image_id"]))
    predicted = f", {label(str(one['predicted']))}" if "predicted" in one else ""
    return Line(f"{one['image']}{predicted}", [Tile(plain(pixels, layout.tile), "image"), *tiles])


def _stored(
    one: pd.Series[Any], shelves: Mapping[str, Shelf], layout: Layout, caption: str
) -> Tile:
    return stored_tile(shelves[str(one["dataset"])], str(one["sample_id"]), caption, layout.tile)


def _heat(pixels: Pixels, shown: Any, signed: bool, layout: Layout, caption: str) -> Tile:
    heat = HeatMap(np.asarray(shown, np.float32), signed)
    return Tile(rendering.picture(pixels, heat, layout.tile), caption)


def _title(one: pd.Series[Any]) -> str:
    return str(technique(str(one["technique"])).about["title"])


def _method_title(method: str) -> str:
    from pasta.explanations.catalog import METHODS

    return str(METHODS.entry(method).metadata["title"])


def _values(one: pd.Series[Any]) -> str:
    """Score P, faithfulness F and true quality Q, as far as they are known."""
    named = [
        ("P", one["score"]), ("F", one.get("faithfulness", np.nan)), ("Q", one["quality"])
    ]  # fmt: skip
    return ", ".join(
        f"{name}{NO_BREAK}{number(value)}" for name, value in named if np.isfinite(value)
    )
