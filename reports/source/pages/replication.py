"""`replication.pdf`: every number that the papers print, beside ours."""

from __future__ import annotations

from math import isnan

import pandas as pd

from reports.source.document import Block, Column, Document, Heading, Note, Table, Text
from reports.source.pages.parts import chosen, picture
from reports.source.plots.replication import replication_figure
from reports.source.replication.rows import (
    AGREES,
    DIFFERS,
    NO_INTERVAL,
    NOT_MEASURED,
    OUT_OF_REACH,
    VERDICTS,
    texts,
)
from reports.source.replication.table import verdict_counts
from reports.source.words import count, interval, number, signed

PAPERS = {
    "P1": "P1: PASTA, first version",
    "P2": "P2: PASTA, published version",
    "LATEC": "LATEC",
    "Meta-predictor": "The human as meta-predictor",
    "Human attention": "Human attention",
}
_TEXTS = ("paper_p", "reason", "reach", "quantity")


def replication_document(rows: pd.DataFrame, *, simulated: bool = False) -> Document:
    """Write the report from :func:`reports.source.replication.table.replication_table`."""
    filled = rows.assign(**{name: texts(rows[name]) for name in _TEXTS})
    blocks: list[Block] = [Heading("Printed and measured"), *_about(simulated)]
    if filled.empty:
        blocks.append(Note("No table of printed numbers was found.", "missing"))
    else:
        blocks += _overview(filled)
        for paper, title in PAPERS.items():
            own = chosen(filled, paper=paper)
            if len(own):
                blocks += [Heading(title), *_paper(own, simulated)]
    return Document(
        "replication",
        "Replication",
        "Every number the papers print, beside what this project measures",
        blocks,
        simulated=simulated,
    )


def _about(simulated: bool) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "Each row is one printed number. The verdict is a rule on numbers, not a judgement: a "
            f"printed number inside our 95 % interval **{AGREES}**, one outside **{DIFFERS}** "
            "(rounding of the printed number is allowed for). A size or another choice of a study "
            f"agrees if it is equal. Where we have a number without an interval, it says "
            f"**{NO_INTERVAL}**; what this project can measure but has not, **{NOT_MEASURED}**; "
            f"what it cannot with its present material, **{OUT_OF_REACH}**, with the reason."
        )
    ]
    if simulated:
        blocks.append(
            Note(
                "Our side is made of drawn images, small models and simulated votes. Agreement is "
                "therefore not expected and difference is no refutation. The same table made from "
                "the real images and votes is the replication.",
                "caution",
            )
        )
    return blocks


def _overview(rows: pd.DataFrame) -> list[Block]:
    counts = verdict_counts(rows)
    for verdict in VERDICTS:
        if verdict not in counts:
            counts[verdict] = 0
    counts["numbers"] = counts[list(VERDICTS)].sum(axis=1)
    known = rows["verdict"].isin([AGREES, DIFFERS])
    agreeing = int((rows["verdict"] == AGREES).sum())
    titles = {
        (str(row["paper"]), str(row["table"])): f"{row['paper']}, {row['table']}"
        for row in counts.to_dict("records")
    }
    return [
        Text(
            f"The papers print {count(len(rows), 'number')} that are listed here. "
            f"{count(int(known.sum()), 'number')} can be compared; {agreeing} of them agree."
        ),
        Table(
            counts,
            [
                Column("paper", "paper"),
                Column("table", "table"),
                Column("title", "about"),
                Column("numbers", "numbers", "0"),
                *(Column(verdict, verdict, "0") for verdict in VERDICTS),
            ],
            "Printed numbers by table and verdict.",
            widths=[0.13, 0.14, 0.25, *[0.0] * (1 + len(VERDICTS))],
        ),
        *picture(
            replication_figure(rows, titles),
            "Printed numbers against ours, with 95 % intervals. On the line both are equal; dots "
            "agree, crosses differ.",
            "Scatter plots of printed numbers against ours, one panel for each printed table.",
        ),
    ]


def _paper(rows: pd.DataFrame, simulated: bool) -> list[Block]:
    blocks: list[Block] = []
    for (name, title), own in rows.groupby(["table", "title"], sort=False):
        place = "in the text" if name == "text" else str(name)
        blocks += [
            Heading(f"{str(name).capitalize() if name == 'text' else name}: {title}", 2),
            *_reasons(own),
            _table(own, f"{own['paper'].iloc[0]}, {place}: {title}", simulated),
        ]
    return blocks


def _reasons(rows: pd.DataFrame) -> list[Block]:
    """Why numbers may differ, and why some are not compared."""
    said: list[Block] = []
    if rows["verdict"].isin([AGREES, DIFFERS, NO_INTERVAL]).any():
        said.append(Text(f"_Why ours may differ._ {rows['why'].iloc[0]}"))
    for verdict in (NOT_MEASURED, OUT_OF_REACH):
        part = chosen(rows, verdict=verdict)
        for reason, lines in part.groupby("reason", sort=False):
            said.append(Note(f"{count(len(lines), 'number')} {verdict}: {reason}.", "missing"))
    return said


def _table(rows: pd.DataFrame, caption: str, simulated: bool) -> Table:
    lines = rows.to_dict("records")
    shown = rows.assign(
        paper_cell=[_cell(line["paper_value"], line["paper_sd"], line["places"]) for line in lines],
        ours_cell=[_cell(line["ours"], line["ours_sd"], line["places"]) for line in lines],
        interval_cell=[interval(line["low"], line["high"], line["places"]) for line in lines],
        difference_cell=[signed(line["difference"], line["places"]) for line in lines],
    )
    p = (rows["paper_p"] != "").any()
    if p:
        shown["paper_cell"] = [
            f"{cell} ({value})" if value else cell
            for cell, value in zip(shown["paper_cell"], rows["paper_p"], strict=True)
        ]
    measured = rows["ours"].notna().any()
    columns = [
        Column("item", ""),
        Column("quantity", "quantity"),
        Column("paper_cell", "paper (p)" if p else "paper"),
    ]
    if measured:
        columns += [
            Column("ours_cell", "ours"),
            Column("interval_cell", "95 % interval"),
            Column("difference_cell", "difference"),
        ]
    columns.append(Column("verdict", "verdict"))
    note = "Ours: drawn images, simulated votes." if simulated and measured else ""
    second = _width(shown["quantity"], 0.2 if measured else 0.35)
    first = _width(shown["item"], (0.47 if measured else 0.75) - second)
    widths = [first, second, *[0.0] * (len(columns) - 2)]
    return Table(shown, columns, f"{caption}.", note=note, widths=widths)


def _width(column: pd.Series, most: float) -> float:
    """A share of the text's width for a column of words; longer ones go on in a second line."""
    return min(most, 0.03 + 0.0098 * max(8, int(column.str.len().max())))


def _cell(value: float, sd: float, places: int) -> str:
    text = number(value, places)
    return text if isnan(value) or isnan(sd) else f"{text} ± {number(sd, max(places, 2))}"
