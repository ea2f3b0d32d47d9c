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
from pasta.applications.examples import VOTES
from pasta.applications.prepared.candidates import words
from pasta.applications.sheets import (
    NO_BREAK,
    Layout,
    Line,
    Shelves,
    Tile,
    label,
    number,
    sheet,
    stars,
)
from pasta.applications.steering import Steered
from pasta.applications.tuning import Tuned
from pasta.explanations.catalog import METHODS
from pasta.explanations.rendering import Pixels

MOST, QUALITY = 4, 88  # rows of a sheet; of a JPEG
BEFORE_AFTER = Layout(4, 900, 15)  # for the README
MEASURES = {"quality": "true quality", "score": "predicted stars", "faithfulness": "faithfulness"}


def save_picture(pixels: Pixels, file: Path) -> Path:
    """Write a JPEG, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with store.atomic(file) as temporary:
        Image.fromarray(pixels).save(temporary, "JPEG", quality=QUALITY)
    return file


def mixture_pictures(found: Mapping[str, pd.DataFrame], shelves: Shelves) -> dict[str, Pixels]:
    """Sheets of the mixture, the corners of the Pareto plot, and the examples, by name."""
    drawn = {
        "mixture": mixture_sheet(found["choices"], found["scores"], shelves),
        "pareto": pareto_sheet(found["placed"], shelves) if "placed" in found else None,
        **{
            f"examples-{question}": examples_sheet(own, shelves)
            for question, own in found["examples"].groupby("question", sort=False)
        },
    }
    return {name: pixels for name, pixels in drawn.items() if pixels is not None}


def mixture_sheet(choices: pd.DataFrame, scores: pd.DataFrame, shelves: Shelves) -> Pixels | None:
    """The winner beside the next two and the last, for the first held-out image of each dataset."""
    lines, layout = [], Layout(5)
    for _, row in _first(choices).iterrows():
        backbone = str(row["technique"]).partition("/")[2]
        own = scores[(scores["image"] == row["image"]) & (scores["backbone"] == backbone)]
        own = own.dropna(subset=["good"]).sort_values(
            ["good", "technique"], ascending=[False, True]
        )
        order = [0, 1, 2, len(own) - 1] if len(own) > 3 else list(range(len(own)))
        named = [(f"{place + 1}. ", own.iloc[place]) for place in order]
        tiles = [
            _stored(one, shelves, layout, f"{place}{_title(one)}: {_values(one)}")
            for place, one in named
        ]
        lines.append(_with_image(own.iloc[0], shelves, layout, tiles))
    return sheet(lines, layout) if lines else None


def pareto_sheet(placed: pd.DataFrame, shelves: Shelves) -> Pixels | None:
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


def examples_sheet(examples: pd.DataFrame, shelves: Shelves) -> Pixels | None:
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


def steering_pictures(steered: Steered) -> dict[str, Pixels]:
    """Sheets steering-0 and so on with some images each: a row for each image and a column for
    each lambda (P2, Figure 9)."""
    groups = list(steered.tables["steered"].groupby("image", sort=False))
    layout, drawn = Layout(1 + steered.maps.shape[1]), dict[str, Pixels]()
    for start in range(0, len(groups), MOST):
        lines = []
        for row, (name, own) in enumerate(groups[start : start + MOST], start):
            image = steered.images[row]
            tiles = [layout.plain(image)]
            for (_, one), shown in zip(own.iterrows(), steered.maps[row], strict=True):
                caption = f"λ{NO_BREAK}{one['weight']:g}: {_values(one, always=True)}"
                tiles.append(layout.heat(image, shown, False, caption))
            lines.append(Line(f"{name}, {label(own['predicted'].iloc[0])}", tiles))
        drawn[f"steering-{start // MOST}"] = sheet(lines, layout)
    return drawn


def before_after(steered: Steered) -> Pixels | None:
    """One picture of what the score is good for: the same images before and after steering.

    What is shown is the lambda that simulated raters gain most from by their true quality; without
    such a judge, by predicted stars. None if there is no lambda that is better at all.
    """
    curve = steered.tables["curve"]
    judge = "quality" if (curve["measure"] == "quality").any() else "score"
    gains = curve[(curve["measure"] == judge) & (curve["estimate"] > 0) & (curve["weight"] > 0)]
    if gains.empty:
        return None
    # a clear gain comes before a larger but doubtful one
    best = gains.assign(clear=gains["low"] > 0).sort_values(["clear", "estimate"]).iloc[-1]
    table, weight = steered.tables["steered"], float(best["weight"])
    weights = list(dict.fromkeys(table["weight"]))
    images = list(dict.fromkeys(table["image"]))[: BEFORE_AFTER.columns]
    lines = []
    for value, title in ((0.0, "Before: RISE"), (weight, f"After: RISE, steered (λ {weight:g})")):
        own, column = table[table["weight"] == value].set_index("image"), weights.index(value)
        tiles = []
        for row, name in enumerate(images):
            one = own.loc[name]
            truth = f", true quality{NO_BREAK}{number(one['quality'], 1)}"
            caption = (
                f"{label(str(one['predicted']))}: {number(one['score'], 1)}{NO_BREAK}stars"
                f"{truth if np.isfinite(one['quality']) else ''}"
            )
            shown = steered.maps[row, column]
            tiles.append(BEFORE_AFTER.heat(steered.images[row], shown, False, caption))
        lines.append(Line(title, tiles))
    note = describe_change(curve[curve["weight"] == weight], judge == "quality")
    return sheet(lines, BEFORE_AFTER, note)


def describe_change(differences: pd.DataFrame, judged: bool) -> str:
    """What changes on average, and who says so."""
    said = []
    for measure, name in MEASURES.items():
        for _, row in differences[differences["measure"] == measure].iterrows():
            low, high = number(row["low"], sign="+"), number(row["high"], sign="+")
            ends = f" [{low}, {high}]" if np.isfinite(row["low"]) else ""
            said.append(f"{name} {number(row['estimate'], sign='+')}{ends}")
    images = int(differences["n"].max())
    judge = "true quality is that of simulated raters" if judged else "only the score judges"
    return f"Mean change on {images} held-out images, 95 % intervals: {', '.join(said)}; {judge}."


def backbones_sheet(found: Backbones) -> Pixels | None:
    """The same images on each tower (P2, Figure 8), a row for each image and method."""
    layout = Layout(max(5, 1 + len(found.towers)))
    rows: dict[tuple[str, str], list[Tile]] = {}
    for one in sorted(found.pictures, key=lambda one: (one.image, one.method)):
        tiles = rows.setdefault((one.image, one.method), [])
        if not tiles:
            tiles.append(layout.plain(one.pixels))
        caption = f"{one.tower}: {label(one.predicted)}, {stars(one.score)}"
        tiles.append(layout.heat(one.pixels, one.shown, one.signed, caption))
    lines = [
        Line(f"{METHODS.entry(method).metadata['title']}, {image}", tiles)
        for (image, method), tiles in rows.items()
    ]
    return sheet(lines, layout) if lines else None


def tuning_pictures(studies: Sequence[Tuned]) -> dict[str, Pixels]:
    """A sheet tuning-METHOD-BACKBONE for each study whose winner is not the default: held-out
    images under the default and under the tuned settings (P1, Table 24)."""
    drawn = {}
    for study in studies:
        if not study.pairs or study.default == study.winner:
            continue
        layout = Layout(max(4, len(study.pairs)))
        lines = []
        for place, (title, candidate) in enumerate(
            (("Default", study.default), ("Tuned", study.winner))
        ):
            tiles = [
                layout.heat(
                    pair.pixels,
                    (pair.default, pair.tuned)[place],
                    pair.signed,
                    f"{label(pair.predicted)}: {stars(pair.scores[place])}",
                )
                for pair in study.pairs
            ]
            lines.append(Line(f"{title}: {words(candidate)}", tiles))
        drawn[f"tuning-{study.technique.key.replace('/', '-')}"] = sheet(lines, layout)
    return drawn


def _first(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each dataset: that of its first held-out image, else of its first image."""
    order = rows.assign(seen=~rows["held_out"].astype(bool)).sort_values(["seen", "image"])
    return order.drop_duplicates("dataset").sort_values("dataset").head(MOST)


def _with_image(
    one: pd.Series[Any], shelves: Shelves, layout: Layout, tiles: Sequence[Tile]
) -> Line:
    """A line that begins with the image itself."""
    pixels = shelves.pixels(str(one["dataset"]), str(one["image_id"]))
    predicted = f", {label(str(one['predicted']))}" if "predicted" in one else ""
    return Line(f"{one['image']}{predicted}", [layout.plain(pixels), *tiles])


def _stored(one: pd.Series[Any], shelves: Shelves, layout: Layout, caption: str) -> Tile:
    return shelves.tile(str(one["sample_id"]), layout, caption)


def _title(one: pd.Series[Any]) -> str:
    method, _, _ = str(one["technique"]).partition("/")
    return str(METHODS.entry(method).metadata["title"])


def _values(one: pd.Series[Any], always: bool = False) -> str:
    """Score P, faithfulness F and true quality Q, as far as they are known; P and F ``always``."""
    parts = [("P", one["score"]), ("F", one.get("faithfulness", np.nan)), ("Q", one["quality"])]
    return ", ".join(
        f"{name}{NO_BREAK}{number(value)}"
        for name, value in parts
        if np.isfinite(value) or (always and name != "Q")
    )
