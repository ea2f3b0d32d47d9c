"""`correlation.pdf`: do computational metrics agree with people?"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.document import Block, Column, Document, Heading, Note, Picture, Table, Text
from reports.names import metric_title, metric_titles, model_name
from reports.pages.correlation_findings import findings
from reports.pages.correlation_paper import paper_blocks
from reports.plots.correlation import (
    forest_figure,
    metric_heatmap,
    parts_heatmap,
    question_heatmap,
)
from reports.replication.rows import texts
from reports.words import share

Frames = Mapping[str, pd.DataFrame]
KINDS = {"all": "all explanations", "saliency": "saliency maps", "concept": "concepts"}
_TEXTS = ("variant", "part", "note", "direction", "without")
_SURE = 0.05
_NOTHING = pd.DataFrame(
    columns=["question", "metric", "variant", "scope", "part", "method", "direction", "n"]
    + ["estimate", "low", "high", "p_clustered_holm"]
)


def correlation_document(
    tables: Frames, published: Frames | None = None, *, simulated: bool = False
) -> Document:
    """Write the report from the tables of :func:`analysis.suites.correlation.correlation_tables`.

    ``published`` are the papers' tables; without them the comparison with P1 is left out.
    """
    found = {"correlations": _NOTHING} | {name: _filled(frame) for name, frame in tables.items()}
    blocks: list[Block] = [Heading("Do metrics agree with people?"), *_about(found, simulated)]
    blocks += findings(found)
    blocks += [
        *_metrics(found),
        *paper_blocks(found, published or {}),
        *_parts(found),
        *_beyond(found),
        *_questions(found),
        *_measured(found),
        *_every_number(found),
    ]
    return Document(
        "correlation",
        "Metrics and people",
        "How computational metrics of explanations relate to ratings",
        blocks,
        simulated=simulated,
    )


def _filled(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{name: texts(frame[name]) for name in _TEXTS if name in frame})


def _about(tables: Frames, simulated: bool) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "A metric looks at the map and the model; a person looks at the map and the picture. "
            "This report asks whether the two agree. Each rated explanation has a label for each "
            "question, the commonest star of its votes, and a value of each metric. Correlations "
            "are Pearson's (of the values) and Spearman's (of their ranks). Their 95 % intervals "
            "come from resampling whole images, because explanations of one image are alike; p is "
            "adjusted by Holm for the number of correlations in the same family."
        )
    ]
    if simulated:
        blocks.append(
            Note(
                "The images are drawn and the votes are simulated. What follows shows that the "
                "analysis works; it is not evidence about people, and agreement with the "
                "published numbers is not to be expected.",
                "caution",
            )
        )
    lacking = tables.get("missing", pd.DataFrame(columns=["section", "why"]))
    blocks += [
        Note(f"{str(row['section']).capitalize()}: {row['why']}.", "missing")
        for row in lacking.to_dict("records")
    ]
    return blocks


def _metrics(tables: Frames) -> list[Block]:
    own = tables["correlations"]
    titles = metric_titles(own)
    figure, forest = metric_heatmap(own, titles), forest_figure(own, titles)
    if figure is None:
        return []
    blocks: list[Block] = [
        Heading("Every metric, every question", 2),
        Text(
            "On the left all explanations stand together: a metric scores well if it tells good "
            "techniques from bad ones. On the right only explanations of the same technique are "
            "compared: there a metric must tell a good map of a technique from a bad one."
        ),
        Picture(
            figure,
            "Spearman's correlation of each metric (rows) with each question (columns). Bold: "
            "Holm-adjusted p of the clustered test below 0.05; grey: not sure.",
            "Heatmap of Spearman correlations of metrics with the six questions, over all samples "
            "and within techniques.",
        ),
    ]
    if forest is not None:
        blocks.append(
            Picture(
                forest,
                "Spearman's correlation with Q1 and its 95 % interval over images.",
                "Each metric's correlation with question 1 with intervals.",
            )
        )
    return blocks


def _parts(tables: Frames) -> list[Block]:
    own = tables["correlations"]
    names = {str(part): model_name(str(part)) for part in own["part"].unique() if part}
    figure = parts_heatmap(own, metric_titles(own), names=names)
    if figure is None:
        return []
    return [
        Heading("By dataset and backbone", 2),
        Text(
            "A correlation over everything may hide that a metric works for one kind of picture "
            "or model only. Parts have fewer images, so that less is sure here."
        ),
        Picture(
            figure,
            "Spearman's correlation of each metric with Q1 in each dataset and for each backbone. "
            "Bold: Holm-adjusted p below 0.05 among all parts of a kind; grey: not sure.",
            "Heatmap of correlations with question 1 by dataset and by backbone.",
        ),
    ]


def _beyond(tables: Frames) -> list[Block]:
    own = tables.get("explained", pd.DataFrame())
    if own.empty or own["estimate"].isna().all():
        return []
    rest = own[own["quantity"] == "share_of_rest"]
    between = own[own["quantity"] == "share_of_groups"].groupby("question")["estimate"].max()
    questions = sorted(rest["question"].unique())
    cells = rest.assign(
        title=[metric_title(*pair) for pair in zip(rest["metric"], rest["variant"], strict=True)],
        cell=[
            share(value, 1) + ("*" if p < _SURE else "")
            for value, p in zip(rest["estimate"], rest["p_holm"], strict=True)
        ],
    )
    order = list(dict.fromkeys(cells["title"]))
    wide = cells.pivot(index="title", columns="question", values="cell")  # noqa: PD010
    frame = wide.reindex(order).reset_index()
    lies = ", ".join(f"{name} {share(value)}" for name, value in between.items())
    return [
        Heading("Beyond the technique", 2),
        Text(
            "A mixed model with a level for each technique says how much of the rest of a rating "
            "(the mean of its votes) a metric explains among explanations of the same technique. "
            f"The share of the ratings' variance that lies between techniques: {lies}."
        ),
        Table(
            frame,
            [Column("title", "metric"), *(Column(name, name) for name in questions)],
            "Share of the variance within techniques that a metric explains. An asterisk marks a "
            "Holm-adjusted p below 0.05 (likelihood ratio).",
        ),
    ]


def _questions(tables: Frames) -> list[Block]:
    own = tables.get("questions", pd.DataFrame())
    if own.empty:
        return []
    figure = question_heatmap(own, KINDS)
    if figure is None:
        return []
    every = own[own["kind"] == "all"]
    wide = every.assign(pair=every["first"] + " and " + every["second"])
    return [
        Heading("The questions among each other", 2),
        Text(
            "P1's Figure 11 shows that Q1 to Q4 go together, and Q5 with Q6. The first intervals "
            "are Fisher's, which take explanations as independent; the second resample images."
        ),
        Picture(
            figure,
            "Spearman's correlation of the questions' labels.",
            "Heatmaps of the questions' correlations among each other, by kind of explanation.",
        ),
        Table(
            wide,
            [
                Column("pair", "questions"),
                Column("method", "coefficient"),
                Column("n", "n", "0"),
                Column("estimate", "estimate", "0.00"),
                Column("fisher_low", "Fisher", "interval", other="fisher_high"),
                Column("low", "over images", "interval"),
                Column("p_clustered", "p", "p"),
            ],
            "Correlations of the questions over all explanations, with both 95 % intervals.",
        ),
    ]


def _measured(tables: Frames) -> list[Block]:
    own = tables.get("measured", pd.DataFrame())
    if own.empty:
        return []
    named = own.assign(
        title=[metric_title(*pair) for pair in zip(own["metric"], own["variant"], strict=True)]
    )
    return [
        Heading("What was measured", 2),
        Text(
            "A map that is zero, constant or not a number has no value of most metrics. It is "
            "counted here and left out above; no number is put in its place."
        ),
        Table(
            named,
            [
                Column("title", "metric"),
                Column("direction", "better"),
                Column("samples", "explanations", "0"),
                Column("n", "with a value", "0"),
                Column("without", "why others have none"),
            ],
            "Metrics, how many explanations have a value, and why others have none.",
        ),
    ]


def _every_number(tables: Frames) -> list[Block]:
    own = tables["correlations"]
    own = own[own["scope"] == "overall"]
    if own.empty:
        return []
    keys = ["metric", "variant", "question"]
    kept = ["estimate", "low", "high", "p_clustered_holm"]
    sides = [
        own[own["method"] == method].set_index(keys)[kept].add_prefix(f"{method}_")
        for method in ("pearson", "spearman")
    ]
    counts = own[own["method"] == "pearson"].set_index(keys)[["n"]]
    wide = pd.concat([counts, *sides], axis=1).reset_index()
    wide["title"] = [
        metric_title(*pair) for pair in zip(wide["metric"], wide["variant"], strict=True)
    ]
    return [
        Heading("All numbers", 2),
        Table(
            wide,
            [
                Column("title", "metric"),
                Column("question", ""),
                Column("n", "n", "0"),
                Column("pearson_estimate", "Pearson", "0.00"),
                Column("pearson_low", "95 % interval", "interval", other="pearson_high"),
                Column("pearson_p_clustered_holm", "p", "p"),
                Column("spearman_estimate", "Spearman", "0.00"),
                Column("spearman_low", "95 % interval", "interval", other="spearman_high"),
                Column("spearman_p_clustered_holm", "p", "p"),
            ],
            "Every metric against every question over all explanations; intervals and "
            "Holm-adjusted p from resampled images.",
        ),
    ]
