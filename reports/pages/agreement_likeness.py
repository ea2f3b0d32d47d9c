"""Do annotators prefer what is like their own words and boxes, and does the order matter?"""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Any

import pandas as pd

from reports.document import Block, Column, Heading, Picture, Table, Text
from reports.pages.agreement_lookup import SURE, known, missing_notes
from reports.pages.parts import Tables
from reports.plots.bias import LIKENESS, likeness_figure
from reports.words import count, interval, listed, number, p_cell, p_value

_METHOD = "spearman"
_WHAT: Mapping[str, str] = {
    "text_bias": "how much a concept explanation is like what the annotator wrote (Q0.1)",
    "box_bias": "how a saliency map lies to the boxes that the annotator drew (Q0.2)",
}
_SHORT: Mapping[str, str] = {"text_bias": "own words", "box_bias": "own boxes"}
EFFECTS: Mapping[str, str] = {
    "drift": "drift of the rating level",
    "fatigue": "distance from the others",
    "speed": "time for a sample",
    "same_star": "same star on all questions",
    "carry_over": "carry-over from the sample before",
}


def likeness_section(tables: Tables) -> list[Block]:
    """Text bias and box bias (P1, Figure 11)."""
    blocks: list[Block] = [Heading("Own words and own boxes")]
    blocks += missing_notes(tables, "text_bias", "box_bias")
    figure = likeness_figure(tables["text_bias"], tables["box_bias"])
    if figure is None:
        return blocks
    blocks.append(
        Text(
            "Correlations over all votes, as published, cannot tell a bias from a good "
            "explanation: one that names the right parts is both liked and like what people "
            "wrote. So the same is asked within samples: of the annotators who saw the same "
            "explanation, does the one whose own words or boxes are closer to it give more stars? "
            "The first version of PASTA reports, over all votes, a slight correlation of ROUGE "
            "with Q1 to Q4, and of every box measure but SUM pos with Q1 to Q4 (Figure 11)."
        )
    )
    for name in _WHAT:
        if len(known(tables, name)):
            blocks.append(Text(_sentences(tables, name)))
    caption = (
        "Spearman's correlation of likeness with the stars of the same annotator, by question. "
        "Bold: p below 0.05 after Holm's correction. Left: over all votes. Right: without the "
        "means of samples and annotators; a dash where a measure is the same for all annotators "
        "of a sample. SUM all, pos and neg: sum of the map, inside and outside the boxes. Share "
        "pos: part of the map inside."
    )
    alt = "Two tables of correlations coloured by size; all numbers are in text_bias.csv and "
    return [*blocks, Picture(figure, caption, f"{alt}box_bias.csv.")]


def _sentences(tables: Tables, name: str) -> str:
    pooled = known(tables, name, scope="pooled", method=_METHOD)
    within = known(tables, name, scope="within", method=_METHOD)
    text = f"Measured is {_WHAT[name]}."
    if len(pooled):
        top = _largest(pooled)
        text += (
            f" Over all votes the largest correlation is {_told(top)}; "
            f"{_sure(pooled)} differ from 0 after Holm's correction."
        )
    if len(within):
        top = _largest(within)
        text += (
            f" Within samples the largest is {_told(top)}; {_sure(within)} differ from 0 after "
            "Holm's correction."
        )
    else:
        text += " Within samples there is nothing to compare."
    return text


def likeness_sentence(tables: Tables) -> str:
    """Whether stars follow own words and boxes within samples, in short."""
    said = []
    for name, words in _SHORT.items():
        within = known(tables, name, scope="within", method=_METHOD)
        if len(within):
            shown = "is shown" if (within["p_holm"] < SURE).any() else "is not shown"
            said.append(
                f"That annotators prefer what is like their {words} {shown}: within samples "
                f"{_sure(within)} differ from 0 after Holm's correction, the largest is "
                f"{_told(_largest(within))}."
            )
    return " ".join(said)


def _largest(rows: pd.DataFrame) -> pd.Series[Any]:
    return rows.iloc[int(rows["estimate"].abs().to_numpy().argmax())]


def _told(row: pd.Series[Any]) -> str:
    ends = "" if pd.isna(row["low"]) else f" {interval(row['low'], row['high'])}"
    return f"{number(row['estimate'])}{ends} ({LIKENESS[row['measure']]}, {row['question']})"


def _sure(rows: pd.DataFrame) -> str:
    sure = int((rows["p_holm"] < SURE).sum())
    return f"{sure} of {count(len(rows), 'correlation')}"


def order_section(tables: Tables) -> list[Block]:
    """Drift, fatigue, speed, straight-lining, carry-over."""
    blocks: list[Block] = [Heading("Order and fatigue"), *missing_notes(tables, "order")]
    rows = known(tables, "order")
    if rows.empty:
        return blocks
    blocks.append(
        Text(
            "Samples are put in the order in which an annotator submitted them, and each vote is "
            "compared with the other votes on the same sample, so that it does not matter what "
            "was shown when. " + order_sentence(tables)
        )
    )
    places = [_places(row) for _, row in rows.iterrows()]
    texts = {
        name: [number(value, digits) for value, digits in zip(rows[name], places, strict=True)]
        for name in ("estimate", "smallest_effect")
    }
    ends = [
        interval(low, high, digits)
        for low, high, digits in zip(rows["low"], rows["high"], places, strict=True)
    ]
    table = rows.assign(
        what=[EFFECTS.get(str(name), str(name)) for name in rows["effect"]], ends=ends, **texts
    )
    columns = [
        Column("what", "effect"),
        Column("unit", "unit"),
        Column("n", "n", "0"),
        Column("estimate", "estimate"),
        Column("ends", "95 % interval"),
        Column("p_holm", "Holm", "p"),
        Column("smallest_effect", "smallest effect"),
    ]
    note = "n counts annotators. Smallest effect: what would be found with 80 % power."
    widths = (0.2, 0.28, 0.0, 0.0, 0.0, 0.0, 0.1)
    return [*blocks, Table(table, columns, "Effects of the order of samples.", note, widths)]


def order_sentence(tables: Tables) -> str:
    """Which effects of order are shown."""
    rows = known(tables, "order")
    tested = rows[rows["p_holm"].notna()]
    if tested.empty:
        return "" if rows.empty else "No effect of the order could be tested."
    sure = tested[tested["p_holm"] < SURE]
    if sure.empty:
        return (
            f"None of {len(tested)} effects of the order of samples can be told from 0 (smallest "
            f"adjusted p {p_cell(tested['p_holm'].min())})."
        )
    said = [
        f"{EFFECTS[row['effect']]} ({number(row['estimate'], _places(row))} "
        f"{interval(row['low'], row['high'], _places(row))} {row['unit']}, adjusted "
        f"{p_value(row['p_holm'])})"
        for _, row in sure.iterrows()
    ]
    return f"Shown to change with the order of samples: {listed(said)}."


def _places(row: pd.Series[Any]) -> int:
    """So many decimals that the interval has two digits: slopes may be very small."""
    sizes = [abs(row[name]) for name in ("low", "high", "estimate") if pd.notna(row[name])]
    largest = max(sizes, default=0.0)
    return 2 if largest <= 0 else min(max(2, 1 - floor(log10(largest))), 8)
