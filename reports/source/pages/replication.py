"""replication.pdf: numbers that the papers print, beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.source.format import cells, interval, number, signed
from reports.source.pages.parts import select
from reports.source.plots.style import FAINT, INK, PALETTE, style
from reports.source.replication.rows import (
    AGREES,
    COMPARED,
    DIFFERS,
    NO_INTERVAL,
    UNDECIDED,
    texts,
)
from reports.source.replication.table import verdict_counts
from reports.source.typesetting import Report

Values = dict[str, Any]
PAPERS = ("P1", "P2", "LATEC", "Meta-predictor", "Human attention")
WIDTH = 6.5  # inches, the width of the text
_TEXTS = ("paper_p", "reason", "reach", "quantity")
_MARKS = {AGREES: (PALETTE[0], "o"), UNDECIDED: ("#888888", "s"), DIFFERS: (PALETTE[1], "x")}


def replication_report(rows: pd.DataFrame, simulated: bool) -> Report:
    """Collect what ``replication.typ`` shows.

    Parameters
    ----------
    rows
        Those of :func:`reports.source.replication.table.replication_table`.
    simulated
        Whether the votes are those of simulated raters.
    """
    filled = rows.assign(**{name: texts(rows[name]) for name in _TEXTS})
    shown = filled[filled["verdict"].isin([*COMPARED, NO_INTERVAL])]
    papers = {paper: select(shown, paper=paper) for paper in PAPERS}
    verdicts = filled["verdict"]
    content = {
        "numbers": len(filled),
        "known": verdicts.isin(COMPARED).sum(),
        "verdicts": {name: (verdicts == name).sum() for name in COMPARED},
        "counts": _count_verdicts(filled) if len(shown) else None,
        "figure": replication_figure(shown, _title_tables(shown)),
        "lacks": _list_lacks(filled.drop(shown.index)),
        "papers": {
            paper: [
                _describe_table(str(table), str(title), part)
                for (table, title), part in own.groupby(["table", "title"], sort=False)
            ]
            for paper, own in papers.items()
            if len(own)
        },
    }
    return Report("replication", simulated, content, tables={"all_numbers": rows})


def _title_tables(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    keys = rows[["paper", "table"]].drop_duplicates().itertuples(index=False, name=None)
    return {(str(paper), str(table)): f"{paper}, {table}" for paper, table in keys}


def _count_verdicts(rows: pd.DataFrame) -> Values:
    """How many numbers of each printed table have which verdict; those without any are left out."""
    verdicts = [*COMPARED, NO_INTERVAL]
    counts = verdict_counts(rows).reindex(columns=["paper", "table", "title", *verdicts])
    counts = counts.fillna(dict.fromkeys(verdicts, 0))
    counts = counts[counts[verdicts].sum(axis=1) > 0]
    return cells(counts, ["paper", "table", "title", *(f"{verdict}:0" for verdict in verdicts)])


def _list_lacks(rows: pd.DataFrame) -> list[Values]:
    """What was not compared: how many numbers of which tables, and why."""
    return [
        {
            "n": len(lines),
            "where": list(dict.fromkeys(lines["paper"] + ", " + lines["table"])),
            "reason": reason,
        }
        for reason, lines in rows.groupby("reason", sort=False)
    ]


def _describe_table(table: str, title: str, rows: pd.DataFrame) -> Values:
    """Why numbers may differ, and all that were compared."""
    margins = rows.loc[~rows["design"].astype(bool), "margin"].dropna().unique()
    return {
        "table": table,
        "title": title,
        "why": rows["why"].iloc[0],
        "margins": [number(margin) for margin in sorted(margins)],
        "with_p": (rows["paper_p"] != "").any(),
        **_tabulate(rows),
    }


def _tabulate(rows: pd.DataFrame) -> Values:
    lines = rows.to_dict("records")
    shown = rows.assign(
        printed=[
            _write(line["paper_value"], line["paper_sd"], line["places"])
            + (f" ({line['paper_p']})" if line["paper_p"] else "")
            for line in lines
        ],
        ours=[_write(line["ours"], line["ours_sd"], line["places"]) for line in lines],
        ends=[interval(line["low"], line["high"], line["places"]) for line in lines],
        difference=[signed(line["difference"], line["places"]) for line in lines],
    )
    return {
        "rows": cells(shown, "item quantity printed ours ends difference verdict"),
        "longest": [rows[name].str.len().max() for name in ("item", "quantity")],
    }


def _write(value: float, sd: float, places: int) -> str:
    text = number(value, places)
    return text if isnan(value) or isnan(sd) else f"{text} ± {number(sd, max(places, 2))}"


def replication_figure(rows: pd.DataFrame, titles: Mapping[tuple[str, str], str]) -> Figure | None:
    """One panel for each printed table: the paper's number across, ours with its interval up.

    ``rows`` has paper, table, paper_value, ours, low, high, verdict; ``titles`` names (paper,
    table) in the order of the panels.
    """
    own = rows[rows["verdict"].isin(list(_MARKS)) & rows["low"].notna()]
    there = {tuple(key) for key in own[["paper", "table"]].itertuples(index=False, name=None)}
    wanted = [key for key in titles if key in there]
    if not wanted:
        return None
    columns = 3
    lines = -(-len(wanted) // columns)
    with style():
        figure = Figure(figsize=(WIDTH, 1.8 * lines + 0.3), layout="constrained")
        panels = np.asarray(figure.subplots(lines, columns, squeeze=False)).ravel()
        for panel, key in zip(panels, wanted, strict=False):
            here = own[(own["paper"] == key[0]) & (own["table"] == key[1])]
            ends = [here["paper_value"].min(), here["paper_value"].max(), here["ours"].min(),
                    here["ours"].max()]  # fmt: skip
            line = np.array([min(ends), max(ends)])
            panel.plot(line, line, color=INK, linewidth=0.8, zorder=0)
            for verdict, (colour, marker) in _MARKS.items():
                part = here[here["verdict"] == verdict]
                panel.vlines(part["paper_value"], part["low"], part["high"], color=colour,
                             linewidth=0.7, alpha=0.5)  # fmt: skip
                panel.scatter(part["paper_value"], part["ours"], s=11, color=colour, marker=marker,
                              linewidths=0.9, zorder=3)  # fmt: skip
            panel.set_title(titles[key], fontsize=8)
            panel.tick_params(labelsize=7, color=FAINT)
            panel.margins(0.08)
        for panel in panels[len(wanted) :]:
            panel.set_visible(False)
        figure.supxlabel("the paper's number", fontsize=9)
        figure.supylabel("ours, with 95 % interval", fontsize=9)
    return figure
