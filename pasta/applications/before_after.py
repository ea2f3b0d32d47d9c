"""One picture of what the score is good for: the same images before and after.

What is shown is the change that simulated raters gain most from by their true quality, on images
that had no part in choosing it; without such a judge, by predicted stars. Images are those that
the applications have kept, good or bad.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pasta.applications.pictures import Tile
from pasta.applications.prepared.grid import words
from pasta.applications.sheets import NO_BREAK, Layout, Line, label, number, sheet
from pasta.applications.steering_study import Steered
from pasta.applications.tuning import Tuned
from pasta.applications.tuning_choice import HELD_OUT
from pasta.explanations import rendering
from pasta.explanations.rendering import HeatMap, Pixels

COLUMNS, WIDTH, LETTERS = 4, 900, 15
MEASURES = {"quality": "true quality", "score": "predicted stars", "faithfulness": "faithfulness"}
_LAYOUT = Layout(COLUMNS, WIDTH, LETTERS)


class Change(NamedTuple):
    """Two ways to explain the same images; ``differences`` has a row for each measure."""

    before: Line
    after: Line
    differences: pd.DataFrame  # measure and the columns of paired differences

    def gain(self, measure: str) -> tuple[bool, float]:
        """Whether it is clear that the second way is better, and by how much."""
        own = self.differences[self.differences["measure"] == measure]
        if own.empty:
            return False, float("-inf")
        row = own.iloc[0]
        return bool(row["low"] > 0), float(row["estimate"])


def before_after(steering: Steered | None, tuning: Sequence[Tuned]) -> Pixels | None:
    """The best change as a picture, or None if there is none that is better at all."""
    changes = [*_tuned(tuning), *_steered(steering)]
    judged = any((change.differences["measure"] == "quality").any() for change in changes)
    judge = "quality" if judged else "score"
    better = [change for change in changes if change.gain(judge)[1] > 0]
    if not better:
        return None
    best = max(better, key=lambda change: change.gain(judge))
    return sheet([best.before, best.after], _LAYOUT, note_of(best.differences, judged))


def note_of(differences: pd.DataFrame, judged: bool) -> str:
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


def _tuned(tuning: Sequence[Tuned]) -> Iterator[Change]:
    for study in tuning:
        if study.default == study.winner or not study.pairs:
            continue
        own = study.images[study.images["part"] == HELD_OUT]
        keys = own["dataset"] + "/" + own["image_id"]
        lines = []
        for place, candidate in enumerate((study.default, study.winner)):
            mine = own["candidate"] == words(candidate)
            quality = own.loc[mine, "quality"].set_axis(keys[mine])
            tiles = [
                _tile(
                    pair.pixels, (pair.default, pair.tuned)[place], pair.signed,
                    pair.scores[place], float(quality.get(pair.image, np.nan)), pair.predicted,
                )
                for pair in study.pairs[:COLUMNS]
            ]  # fmt: skip
            when = "Before: {}, default" if place == 0 else "After: {}, chosen by score"
            title = when.format(study.technique.about["title"])
            lines.append(Line(f"{title} ({words(candidate)})", tiles))
        differences = study.verdict[study.verdict["part"] == HELD_OUT]
        yield Change(lines[0], lines[1], differences)


def _steered(steered: Steered | None) -> Iterator[Change]:
    if steered is None:
        return
    table, curve = steered.tables["steered"], steered.tables["curve"]
    weights = list(dict.fromkeys(table["weight"]))
    if 0.0 not in weights:
        return
    images = list(dict.fromkeys(table["image"]))[:COLUMNS]
    by_weight = {weight: table[table["weight"] == weight].set_index("image") for weight in weights}
    for weight in weights:
        if weight == 0.0:
            continue
        lines = []
        for value in (0.0, weight):
            own, column = by_weight[value], weights.index(value)
            tiles = [
                _tile(
                    steered.images[row], steered.maps[row, column], False,
                    float(own.loc[name, "score"]), float(own.loc[name, "quality"]),
                    str(own.loc[name, "predicted"]),
                )
                for row, name in enumerate(images)
            ]  # fmt: skip
            title = "Before: RISE" if value == 0 else f"After: RISE, steered (λ {value:g})"
            lines.append(Line(title, tiles))
        yield Change(lines[0], lines[1], curve[curve["weight"] == weight])


def _tile(
    pixels: Pixels, shown: Any, signed: bool, score: float, quality: float, predicted: str
) -> Tile:
    truth = f", true quality{NO_BREAK}{number(quality, 1)}" if np.isfinite(quality) else ""
    caption = f"{label(predicted)}: {number(score, 1)}{NO_BREAK}stars{truth}"
    heat = HeatMap(np.asarray(shown, np.float32), signed)
    return Tile(rendering.picture(pixels, heat, _LAYOUT.tile), caption)
