"""The same methods on image towers of growing size (P2, Figure 8)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reports.document import Block, Column, Heading, Note, Table, Text
from reports.pages.applications_words import MEASURES, change, drawn, method_title, top, verdict
from reports.pages.parts import Tables, chosen, one, picture, table
from reports.plots.applications_backbones import backbone_figure
from reports.words import count, listed, share, whole

ALL, CONTRAST = "all methods", "activation - perturbation"
FAMILIES = {"activation": "activation-based", "perturbation": "perturbation-based"}


def backbones_blocks(tables: Tables | None, pictures: Mapping[str, Path]) -> list[Block]:
    """Sizes, scores, trends and high norms."""
    blocks: list[Block] = [Heading("Does a larger backbone have better explanations?")]
    towers, summary = table(tables, "towers"), table(tables, "summary")
    trends = table(tables, "trends")
    if towers.empty or summary.empty or trends.empty:
        return [*blocks, Note("Towers of growing size: they were not compared.", "missing")]
    sizes = [
        f"{row['tower']} ({whole(row['parameters'])} parameters)" for _, row in towers.iterrows()
    ]
    blocks += [
        Text(
            f"The same methods explain {count(int(summary['n'].max()), 'image')} that nobody has "
            f"rated, on image towers of growing size: {listed(sizes)}. P2 finds on four CLIP "
            "vision transformers, from ViT-B-16 to ViT-g-14, that the score of activation-based "
            "methods falls with size and that of perturbation-based methods does not. "
            f"{backbones_sentence(trends)}"
        ),
        *picture(
            backbone_figure(summary, towers),
            "Mean of each method (thin) and family (thick, with 95 % intervals over images) on "
            "each tower; right: positions of the last feature map with an outlying norm.",
            "Line plots of predicted stars and true quality over the size of the tower, and bars "
            "of outlying norms",
        ),
        _trend_table(trends),
        Text(_norms(towers)),
        _tower_table(towers),
        *drawn(
            pictures,
            "backbones",
            "The same images on each tower, one method of each family.",
            "Rows of maps of the same image, one column for each tower",
            0.8,
        ),
    ]
    return blocks


def backbones_sentence(trends: pd.DataFrame) -> str:
    """What the largest tower changes, and whether P2's claim is seen."""
    said = [_measure(trends, name) for name in ("score", "quality")] + [_one_method(trends)]
    row = one(trends, group=ALL, family=CONTRAST, measure="score")
    claim = {
        "worse": "As in P2, activation-based methods lose against the others.",
        "better": "That is the opposite of P2's claim: activation-based methods gain on the "
        "others.",
        "open": "P2's claim is neither seen nor refuted.",
        "unknown": "Nothing can be said about P2's claim.",
    }[verdict(row)]
    return " ".join([*(sentence for sentence in said if sentence), claim])


def _one_method(trends: pd.DataFrame) -> str:
    """Which method has changed most: a family may be carried by one of its own."""
    own = chosen(trends, measure="score")
    own = own[own["group"] != ALL].dropna(subset=["estimate"])
    if own.empty:
        return ""
    most = top(own, own["estimate"].abs())
    return f"Of all methods {method_title(most['group'])} changes most, by {change(most)} stars."


def _measure(trends: pd.DataFrame, measure: str) -> str:
    rows = {name: one(trends, group=ALL, family=name, measure=measure) for name in FAMILIES}
    known = {name: row for name, row in rows.items() if row is not None}
    if not known:
        return ""
    first: Mapping[str, Any] = next(iter(known.values()))
    said = [f"{change(row)} for {FAMILIES[name]} methods" for name, row in known.items()]
    text = (
        f"From {first['from_tower']} to {first['to_tower']}, predicted stars change by "
        f"{listed(said)}"
        if measure == "score"
        else f"True quality changes by {listed(said)}"
    )
    between = one(trends, group=ALL, family=CONTRAST, measure=measure)
    return f"{text}." if between is None else f"{text}; the two differ by {change(between)}."


def _trend_table(trends: pd.DataFrame) -> Table:
    rows = trends.assign(
        words=trends["measure"].map(MEASURES),
        name=[
            "difference between the families"
            if family == CONTRAST
            else f"all {FAMILIES.get(str(family), family)}"
            if group == ALL
            else method_title(str(group))
            for group, family in zip(trends["group"], trends["family"], strict=True)
        ],
    )
    return Table(
        rows,
        [
            Column("words", "measure"),
            Column("name", "methods"),
            Column("n", "n", "0"),
            Column("second", "smallest", "0.00"),
            Column("first", "largest", "0.00"),
            Column("estimate", "change", "signed"),
            Column("low", "95 % interval", "interval"),
        ],
        "The largest tower against the smallest, paired by image.",
        note="In the last row of each measure the columns are the changes of the "
        "perturbation-based and of the activation-based methods.",
    )


def _norms(towers: pd.DataFrame) -> str:
    shares = [f"{share(row['outliers'], 1)} ({row['tower']})" for _, row in towers.iterrows()]
    background = float(towers["background"].iloc[-1])
    inside = [
        f"{share(row['in_background'])} ({row['tower']})"
        for _, row in towers.dropna(subset=["in_background"]).iterrows()
    ]
    text = (
        "P2 suspects high-norm artefacts in the background of large towers. The share of positions "
        f"with an outlying norm is {listed(shares)}."
    )
    if inside:
        text += (
            f" Of these, {listed(inside)} lie in the background, which makes up "
            f"{share(background)} of all positions."
        )
    extra = int((towers["in_background"] > towers["background"]).sum())
    return text + (
        " On no tower do they gather there."
        if not extra
        else f" They gather there on {extra} of {count(len(towers), 'tower')}."
    )


def _tower_table(towers: pd.DataFrame) -> Table:
    return Table(
        towers,
        [
            Column("tower", "tower"),
            Column("parameters", "parameters", "0"),
            Column("accuracy", "accuracy", "percent"),
            Column("positions", "positions", "0"),
            Column("largest", "largest norm / median", "0.0"),
            Column("outliers", "outlying", "percent"),
            Column("in_background", "of these in background", "percent"),
        ],
        "The towers, their accuracy on test images and the norms of their last feature map.",
        note="Towers also predict differently, and explanations of wrong predictions are rated "
        "lower whatever they show.",
    )


def backbones_finding(trends: pd.DataFrame) -> str:
    """One sentence for the overview."""
    row = one(trends, group=ALL, family=CONTRAST, measure="score")
    if row is None:
        return ""
    own = one(chosen(trends, measure="score"), group=ALL, family="activation")
    words = {
        "worse": "as P2 has it",
        "better": "the opposite of what P2 reports",
        "open": "no clear difference",
        "unknown": "too few images to say",
    }[verdict(row)]
    if own is None:
        return ""
    return (
        "From the smallest to the largest image tower, the predicted stars of activation-based "
        f"maps change by {change(own)}, {change(row)} against perturbation-based ones: {words}."
    )
