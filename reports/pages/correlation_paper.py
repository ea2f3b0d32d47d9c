"""P1's Tables 1, 9, 10 and 11 beside ours, laid out as the paper has them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.document import Block, Column, Heading, Picture, Table, Text
from reports.plots.correlation import paper_heatmap
from reports.replication.metrics import correlation_rows, value_rows
from reports.replication.rows import judged
from reports.replication.table import RELEASED
from reports.words import DASH, count, number

Frames = Mapping[str, pd.DataFrame]
_TABLES = {
    "Table 1": ("pasta_v1_table01_faithfulness_vs_human", "faithfulness", "faithfulness"),
    "Table 9": ("pasta_v1_table09_max_sensitivity_vs_human", "max_sensitivity", "MaxSensitivity"),
    "Table 10": ("pasta_v1_table10_sparseness_vs_human", "sparseness", "Sparseness"),
}
_VALUES = "pasta_v1_table11_metric_values"


def paper_blocks(tables: Frames, published: Frames) -> list[Block]:
    """The section, or nothing if the papers' tables are not there."""
    rows = {
        name: judged(correlation_rows(published[file], tables, metric)).assign(title=title)
        for name, (file, metric, title) in _TABLES.items()
        if file in published
    }
    if not rows:
        return []
    both = pd.concat(rows.values(), ignore_index=True)
    parts = both["item"].str.partition(", ")
    suffix = parts[2].where(parts[2] == "", ", " + parts[2])
    figure = paper_heatmap(both.assign(question=parts[0], metric=both["title"] + suffix))
    known = both[both["verdict"].isin(["agrees", "differs"])]
    inside = int((known["verdict"] == "agrees").sum())
    said = (
        f"Of {count(len(known), 'printed correlation')} that we measure too, {inside} lie inside "
        "our 95 % interval."
        if len(known)
        else "None of these metrics has been measured here yet."
    )
    blocks: list[Block] = [
        Heading("The paper's tables beside ours", 2),
        Text(
            f"P1 prints correlations of three metrics with the ratings. {said} Its images are "
            "photographs, its models are large and its raters are people, so that equal numbers "
            "would be a coincidence on any other material."
        ),
    ]
    if figure is not None:
        blocks.append(
            Picture(
                figure,
                "Spearman's correlation in P1 (Tables 1, 9, 10) and here. Ours are bold where the "
                "paper's number lies inside our interval.",
                "Two heatmaps: the paper's correlations and ours.",
            )
        )
    blocks += [_correlations(name, frame) for name, frame in rows.items()]
    if _VALUES in published and RELEASED in published:
        blocks.append(_values(published[_VALUES], published[RELEASED], tables))
    return blocks


def _correlations(name: str, rows: pd.DataFrame) -> Table:
    sides = [
        rows[rows["quantity"] == side]
        .set_index("item")[["paper_value", "paper_p", "ours", "low", "high"]]
        .add_prefix(f"{side}_")
        for side in ("Pearson", "Spearman")
    ]
    wide = pd.concat(sides, axis=1).reset_index()
    columns = [Column("item", "")]
    for side in ("Pearson", "Spearman"):
        wide[f"{side}_paper"] = [
            f"{number(value)} ({p})"
            for value, p in zip(wide[f"{side}_paper_value"], wide[f"{side}_paper_p"], strict=True)
        ]
        columns += [
            Column(f"{side}_paper", f"{side}: paper (p)"),
            Column(f"{side}_ours", "ours", "0.00"),
            Column(f"{side}_low", "95 % interval", "interval", other=f"{side}_high"),
        ]
    title = rows["title"].iloc[0]
    return Table(wide, columns, f"P1's {name}: {title} and ratings, beside ours.")


def _values(paper: pd.DataFrame, released: pd.DataFrame, tables: Frames) -> Table:
    rows = judged(value_rows(paper, tables, released))
    measured = list(dict.fromkeys(rows["quantity"]))
    sides = []
    for quantity in measured:
        own = rows[rows["quantity"] == quantity].set_index("item")
        cells = {
            "paper": _spread(own["paper_value"], own["paper_sd"]),
            "ours": _spread(own["ours"], own["ours_sd"]),
        }
        sides.append(pd.DataFrame(cells, index=own.index).add_prefix(f"{quantity} "))
    wide = pd.concat(sides, axis=1).reset_index()
    columns = [Column("item", "technique")]
    for quantity in measured:
        short = quantity.partition(" (")[0]
        columns += [
            Column(f"{quantity} paper", f"{short}: paper"),
            Column(f"{quantity} ours", "ours"),
        ]
    return Table(
        wide,
        columns,
        "P1's Table 11: mean and standard deviation over images of faithfulness (ROAD), "
        "MaxSensitivity (Gaussian noise) and Sparseness, beside ours. "
        "Intervals of ours stand in the report on replication.",
        widths=[0.31, *[0.12, 0.11] * len(measured)],
    )


def _spread(mean: pd.Series, sd: pd.Series) -> list[str]:
    pairs = zip(mean, sd, strict=True)
    return [
        DASH if pd.isna(one) else number(one) if pd.isna(two) else f"{number(one)} ± {number(two)}"
        for one, two in pairs
    ]
