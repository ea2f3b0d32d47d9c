"""replication.pdf: numbers that the papers print, beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reports.source.format import cells, count, listed, number, whole
from reports.source.pages.parts import select
from reports.source.plots.style import FAINT, INK, PALETTE, style
from reports.source.replication.errata import COLUMNS as ERRATA_COLUMNS
from reports.source.replication.errata import ERROR, OPEN, SOUND
from reports.source.replication.pasta_tables import OWN_STUDY
from reports.source.replication.reasons import WAYS
from reports.source.replication.rows import (
    AGREES,
    COMPARED,
    DIFFERS,
    NO_INTERVAL,
    OUT_OF_REACH,
    UNDECIDED,
    VERDICTS,
    texts,
)
from reports.source.replication.table import TEXT, verdict_counts
from reports.source.replication.written import write_rows
from reports.source.typesetting import Report

Values = dict[str, Any]
PAPERS = ("P1", "P2", "LATEC", "Meta-predictor", "Human attention")
ERRATA = {"PASTA (P1 and P2)": PAPERS[:2], **{paper: (paper,) for paper in PAPERS[2:]}}
SHORT = {"Meta-predictor": "MP", "Human attention": "HA"}  # in pictures
FEW = 3  # numbers in the text that are named, not only counted
WIDTH = 6.5  # inches, the width of the text
_TEXTS = ("paper_p", "reason", "reach", "quantity", "side", "way", "command")
_VERBS = {AGREES: "agree", DIFFERS: "differ", UNDECIDED: "are undecided"}
_MARKS = {AGREES: (PALETTE[0], "o"), UNDECIDED: ("#888888", "s"), DIFFERS: (PALETTE[1], "x")}


def replication_report(
    rows: pd.DataFrame, simulated: bool, errata: pd.DataFrame | None = None
) -> Report:
    """Collect what ``replication.typ`` shows.

    Parameters
    ----------
    rows
        Those of :func:`reports.source.replication.table.replication_table`.
    simulated
        Whether the votes are those of simulated raters.
    errata
        What was checked of the papers' statements, see
        :func:`reports.source.replication.errata.errata_table`.
    """
    checked = pd.DataFrame(columns=ERRATA_COLUMNS) if errata is None else errata
    filled = rows.assign(**{name: texts(rows[name]) for name in _TEXTS})
    shown = filled[filled["verdict"].isin([*COMPARED, NO_INTERVAL])]
    papers = {paper: select(shown, paper=paper) for paper in PAPERS}
    verdicts = filled["verdict"]
    content = {
        "numbers": len(filled),
        "known": verdicts.isin(COMPARED).sum(),
        "findings": replication_findings(filled, checked) if len(filled) else [],
        "verdicts": {name: (verdicts == name).sum() for name in COMPARED},
        "counts": _count_verdicts(filled) if len(shown) else None,
        "figure": replication_figure(shown, _title_tables(shown)),
        "ways": _list_ways(filled.drop(shown.index)),
        "never": _list_lacks(filled.drop(shown.index).query("way not in @WAYS")),
        "studies": _tabulate_studies(select(filled, table="Table 8")),
        "papers": {
            paper: [
                _describe_table(str(table), str(title), part)
                for (table, title), part in own.groupby(["table", "title"], sort=False)
            ]
            for paper, own in papers.items()
            if len(own)
        },
        "errata": [
            _describe_errata(title, own)
            for title, papers in ERRATA.items()
            if len(own := checked[checked["paper"].isin(papers)])
        ],
    }
    tables = {"all_numbers": rows, **({"errata": checked} if len(checked) else {})}
    return Report("replication", simulated, content, tables=tables)


def replication_findings(rows: pd.DataFrame, errata: pd.DataFrame) -> list[str]:
    """What came of it, in four sentences."""
    verdicts = rows["verdict"]
    known = rows[verdicts.isin(COMPARED)]
    reached = rows[verdicts == OUT_OF_REACH]
    with_way = reached["way"].isin(list(WAYS)).sum()
    said = [
        f"The five papers print {count(len(rows), 'number')} that are listed here; "
        f"{whole(len(known))} can be compared with ours: "
        + listed([f"{whole((verdicts == one).sum())} {_VERBS[one]}" for one in COMPARED])
        + "."
    ]
    each = [
        f"{whole((own['verdict'] == AGREES).sum())} of {whole(len(own))} of {paper}"
        for paper in PAPERS
        if len(own := select(known, paper=paper))
    ]
    said += [f"Those that agree are {listed(each)}."] if each else []
    if len(reached):
        said.append(
            f"Of the {whole(len(reached))} out of reach, {whole(with_way)} come within reach by a "
            f"command that is named below, and {whole(len(reached) - with_way)} by none."
        )
    if len(errata):
        wrong = (errata["verdict"] == ERROR).sum()
        said.append(
            f"Of {count(len(errata), 'statement and formula', 'statements and formulas')} of the "
            f"papers that were checked, {whole(wrong)} do not hold as printed or as released."
        )
    return said


def _describe_errata(title: str, checked: pd.DataFrame) -> Values:
    """The errors of a paper, and how many statements hold."""
    wrong, opened = (checked[checked["verdict"] == one] for one in (ERROR, OPEN))
    columns = ["where", "printed", "released", "corrected", "shown_by"]
    if len(set(checked["paper"])) > 1:
        wrong = wrong.assign(where=wrong["paper"] + ", " + wrong["where"])
    released = wrong["released"] != ""
    if released.sum() < FEW:
        columns.remove("released")
        both = wrong["printed"] + ". Released: " + wrong["released"]
        wrong = wrong.assign(printed=both.where(released, wrong["printed"]))
    return {
        "paper": title,
        "n": len(checked),
        "wrong": len(wrong),
        "holds": (checked["verdict"] == SOUND).sum(),
        "open": len(opened),
        "rows": cells(wrong, columns),
        "undecided": cells(opened, ["where", "printed", "corrected"]) if len(opened) else None,
    }


def _title_tables(rows: pd.DataFrame) -> dict[tuple[str, str], str]:
    keys = rows[["paper", "table"]].drop_duplicates().itertuples(index=False, name=None)
    return {
        (str(paper), str(table)): f"{SHORT.get(paper, paper)}, {table}" for paper, table in keys
    }


def _count_verdicts(rows: pd.DataFrame) -> Values:
    """How many numbers of each printed table have which verdict."""
    counts = verdict_counts(rows)
    there = [verdict for verdict in VERDICTS if verdict in counts]
    return cells(counts, ["paper", "table", "title", *(f"{verdict}:0" for verdict in there)])


def _list_ways(rows: pd.DataFrame) -> list[Values]:
    """What was not compared and can be: the command, the data, and what they would fill."""
    return [
        {
            "command": way.command,
            "data": way.data,
            "lacks": _list_lacks(
                own.assign(reason=own["reason"].str.removesuffix(f"; {way} makes it"))
            ),
        }
        for name, way in WAYS.items()
        if len(own := select(rows, way=name))
    ]


def _tabulate_studies(rows: pd.DataFrame) -> Values | None:
    """P1's Table 8, a line for each study, with ours below."""
    if rows.empty:
        return None
    wide = rows.pivot_table("paper_value", "item", "quantity", sort=False)
    ours = select(rows, item=OWN_STUDY).set_index("quantity")["ours"]
    wide = pd.concat([wide, ours.rename("this study").to_frame().T])
    wide = wide.reset_index(names="study")
    return cells(wide, ["study", *(f"{name}:0" for name in wide.columns if name != "study")])


def _list_lacks(rows: pd.DataFrame) -> list[Values]:
    """How many numbers of which tables lack ours, and why."""
    return [
        {
            "n": len(lines),
            "where": _list_places(lines),
            "reason": reason,
        }
        for reason, lines in rows.groupby("reason", sort=False)
    ]


def _list_places(rows: pd.DataFrame) -> list[str]:
    """The tables that rows are of; of a few numbers in the text what they are about."""
    places = rows["paper"] + ", " + rows["table"]
    if len(rows) <= FEW:
        places = places.mask(rows["table"] == TEXT, places + ": " + rows["item"])
    return list(dict.fromkeys(places))


def _describe_table(table: str, title: str, rows: pd.DataFrame) -> Values:
    """Why numbers may differ, and all that were compared."""
    measured = ~rows["design"].astype(bool) & (rows["side"] == "")
    margins = rows.loc[measured, "margin"].dropna().unique()
    return {
        "table": table,
        "title": title,
        "why": rows["why"].iloc[0],
        "commands": [command for command in dict.fromkeys(rows["command"]) if command],
        "margins": [number(margin) for margin in sorted(margins)],
        "with_p": (rows["paper_p"] != "").any(),
        **write_rows(rows),
    }


def replication_figure(rows: pd.DataFrame, titles: Mapping[tuple[str, str], str]) -> Figure | None:
    """One panel for each printed table: the paper's number across, ours with its interval up.

    ``rows`` has paper, table, paper_value, ours, low, high, side, verdict; ``titles`` names (paper,
    table) in the order of the panels.
    """
    own = rows[rows["verdict"].isin(list(_MARKS)) & rows["low"].notna() & (rows["side"] == "")]
    there = {tuple(key) for key in own[["paper", "table"]].itertuples(index=False, name=None)}
    wanted = [key for key in titles if key in there]
    if not wanted:
        return None
    columns = 4
    lines = -(-len(wanted) // columns)
    with style():
        figure = Figure(figsize=(WIDTH, 1.35 * lines + 0.3), layout="constrained")
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
            panel.set_title(titles[key], fontsize=7)
            panel.tick_params(labelsize=6, color=FAINT)
            panel.margins(0.08)
        for panel in panels[len(wanted) :]:
            panel.set_visible(False)
        figure.supxlabel("the paper's number", fontsize=9)
        figure.supylabel("ours, with 95 % interval", fontsize=9)
    return figure
