"""Steering RISE by the predicted score (P2, Eq. 4 and Figure 9)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reports.document import Block, Column, Heading, Note, Table, Text
from reports.pages.applications_mixture import LEGEND
from reports.pages.applications_words import (
    DIFFERENCE,
    MEASURES,
    change,
    drawn,
    served,
    top,
    verdict,
)
from reports.pages.parts import Tables, chosen, one, picture, table
from reports.plots.applications import steering_figure
from reports.words import count, number


def steering_blocks(tables: Tables | None, pictures: Mapping[str, Path], up: int) -> list[Block]:
    """What lambda does to score, faithfulness and true quality."""
    blocks: list[Block] = [Heading("Steering RISE")]
    steered, curve = table(tables, "steered"), table(tables, "curve")
    if steered.empty:
        return [*blocks, Note("Steering: it was not computed.", "missing")]
    images = steered["image"].nunique()
    blocks.append(
        Text(
            "RISE weighs random masks by the probability that the model gives to the masked image. "
            "Here the weight is λ times the predicted score of the masked image plus 1 − λ times "
            "that probability (P2, Eq. 4): λ = 0 is RISE itself, λ = 1 follows the score alone and "
            f"looks at the model no more. {count(images, 'image')} that the scorer has not seen "
            f"{'was' if images == 1 else 'were'} steered. {_unsteered(steered)}"
        )
    )
    if curve.empty:
        blocks.append(Note("Without λ = 0 there is nothing to compare with.", "missing"))
    else:
        blocks += [
            Text(steering_sentence(curve, up)),
            *picture(
                steering_figure(curve),
                "What each λ changes against plain RISE on the same images"
                + (", with 95 % intervals." if curve["low"].notna().any() else "."),
                "Line plots of differences in score, faithfulness and true quality over lambda",
                0.78,
            ),
            _curve_table(curve),
        ]
        if int(curve["n"].max()) < 5:
            blocks.append(
                Note(
                    f"With {count(int(curve['n'].max()), 'image')} there are no intervals, and "
                    "none of these differences can be told from chance.",
                    "caution",
                )
            )
    names = sorted(name for name in pictures if name.startswith("steering-")) or ["steering-0"]
    for name in names:
        blocks += drawn(
            pictures,
            name,
            f"Steered maps, λ from left to right (P2, Figure 9). {LEGEND}",
            "Rows of RISE maps with growing influence of the predicted score",
        )
    return blocks


def steering_sentence(curve: pd.DataFrame, up: int) -> str:
    """The last lambda against none: what is gained, what is lost, who gains."""
    last = curve["weight"].max()
    rows = {name: one(curve, weight=last, measure=name) for name in MEASURES}
    said = []
    if rows["score"] is not None:
        said.append(
            f"At λ = {last:g} the predicted stars change by {change(rows['score'])} against RISE"
        )
    if rows["faithfulness"] is not None:
        lost = verdict(rows["faithfulness"]) == "worse"
        said.append(
            f"faithfulness by {change(rows['faithfulness'])}" + (", a clear loss" if lost else "")
        )
    text = ", ".join(said)
    if rows["quality"] is None:
        return f"{text}. There is no other judge than the score."
    text += f", and true quality by {change(rows['quality'])}: {served(rows['quality'])}."
    best = _best(curve)
    if best is not None and best["weight"] != last:
        text += f" True quality is highest at λ = {best['weight']:g} ({change(best)})."
    falls = rows["score"] is not None and up * rows["score"]["estimate"] <= 0
    return text + (" The score did not even improve by its own measure." if falls else "")


def _best(curve: pd.DataFrame) -> dict[str, Any] | None:
    own = chosen(curve, measure="quality")
    return None if own.empty else top(own, own["estimate"])


def _unsteered(steered: pd.DataFrame) -> str:
    equal = int(steered.loc[steered["equal"].astype(bool), "image"].nunique())
    strange = int((~steered["familiar"].astype(bool)).sum())
    said = []
    if equal:
        said.append(
            f"On {count(equal, 'image')} all masks have the same score, so nothing was steered."
        )
    if strange:
        said.append(
            f"{strange} of {len(steered)} maps look like nothing the scorer has learned from, and "
            "their scores are guesses."
        )
    return " ".join(said)


def _curve_table(curve: pd.DataFrame) -> Table:
    rows = curve[curve["weight"] > 0]
    rows = rows.assign(words=rows["measure"].map(MEASURES), lam=rows["weight"].map("{:g}".format))
    return Table(
        rows,
        [
            Column("words", "measure"),
            Column("lam", "λ"),
            Column("n", "n", "0"),
            Column("first", "steered", "0.00"),
            Column("second", "RISE", "0.00"),
            *DIFFERENCE,
        ],
        "Steered RISE against RISE, paired by image. Better, equal, worse: on how many images.",
    )


def steering_finding(curve: pd.DataFrame) -> str:
    """One sentence for the overview."""
    last = curve["weight"].max()
    score, faithful, quality = (one(curve, weight=last, measure=name) for name in MEASURES)
    if score is None:
        return ""
    text = (
        f"Steering RISE by the score alone raises the predicted stars of "
        f"{count(int(score['n']), 'held-out image')} from {number(score['second'])} to "
        f"{number(score['first'])}"
    )
    if score["estimate"] <= 0:
        text = text.replace("raises", "moves")
    if faithful is not None:
        text += f" and changes faithfulness by {change(faithful)}"
    truth = "" if quality is None else f"true quality changes by {change(quality)}: "
    return f"{text}; {truth}{served(quality)}."
