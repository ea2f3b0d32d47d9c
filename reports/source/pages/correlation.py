"""correlation.pdf: whether computational metrics agree with people."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.source.document import (
    Block,
    Bullets,
    Column,
    Document,
    Heading,
    Note,
    Picture,
    Table,
    Text,
)
from reports.source.names import metric_title, metric_titles, model_name
from reports.source.plots.correlation import (
    forest_figure,
    metric_heatmap,
    paper_heatmap,
    parts_heatmap,
    question_heatmap,
)
from reports.source.replication.rows import judged, texts
from reports.source.replication.table import RELEASED, correlation_rows, value_rows
from reports.source.words import DASH, count, interval, number, p_value, share

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


def findings(tables: Frames) -> list[Block]:
    """Up to five sentences; none about what is not known."""
    own = tables["correlations"]
    ranks = own[(own["method"] == "spearman") & own["estimate"].notna()]
    items = [
        *_strongest(ranks[ranks["scope"] == "overall"], "Over all explanations"),
        *_strongest(ranks[ranks["scope"] == "within technique"], "Within techniques"),
        *_against(ranks[ranks["scope"] == "overall"]),
        *_explained(tables.get("explained", pd.DataFrame())),
        *_question_findings(tables.get("questions", pd.DataFrame())),
    ]
    return [Bullets(items)] if items else []


def _strongest(ranks: pd.DataFrame, where: str) -> list[str]:
    if ranks.empty:
        return []
    sure = int((ranks["p_clustered_holm"] < _SURE).sum())
    top = _largest(ranks)
    return [
        f"{where}, **{sure} of {len(ranks)} correlations** between a metric and a question are "
        f"sure (Holm-adjusted p below 0.05). The strongest is that of {_named(top)} with "
        f"{top['question']}: {number(top['estimate'])} {interval(top['low'], top['high'])}."
    ]


def _against(ranks: pd.DataFrame) -> list[str]:
    """Metrics whose sure correlation with Q1 says the opposite of what the metric promises."""
    own = ranks[
        (ranks["question"] == "Q1")
        & (ranks["p_clustered_holm"] < _SURE)
        & ranks["direction"].isin(["higher", "lower"])
    ]
    if own.empty:
        return []
    wanted = own["direction"].map({"higher": 1, "lower": -1})
    against = own[own["estimate"] * wanted < 0]
    if against.empty:
        return [
            "Every metric whose correlation with Q1 is sure points the way it promises: what it "
            "calls better, the raters call better."
        ]
    worst = _largest(against)
    return [
        f"**{len(against)} of {len(own)} metrics** with a sure correlation with Q1 point the wrong "
        f"way: what they call better, the raters call worse. The clearest is {_named(worst)} "
        f"({worst['direction']} is said to be better, its correlation is "
        f"{number(worst['estimate'])})."
    ]


def _explained(explained: pd.DataFrame) -> list[str]:
    if explained.empty:
        return []
    rest = explained[(explained["quantity"] == "share_of_rest") & explained["estimate"].notna()]
    if rest.empty:
        return []
    top = _largest(rest)
    return [
        f"Among explanations of the same technique, the metric that explains most of a rating is "
        f"{_named(top)}: {share(top['estimate'], 1)} of what is left of {top['question']} "
        f"(Holm-adjusted {p_value(top['p_holm'])})."
    ]


def _question_findings(questions: pd.DataFrame) -> list[str]:
    if questions.empty:
        return []
    own = questions[(questions["kind"] == "all") & (questions["method"] == "spearman")]
    own = own[own["estimate"].notna()]
    first = own[own["first"].isin(["Q1", "Q2", "Q3"]) & own["second"].isin(["Q2", "Q3", "Q4"])]
    last = own[(own["first"] == "Q5") & (own["second"] == "Q6")]
    if len(first) < 6 or last.empty:
        return []
    pair = last.iloc[0]
    return [
        f"Q1 to Q4 correlate with each other between {number(first['estimate'].min())} and "
        f"{number(first['estimate'].max())}, Q5 with Q6 {number(pair['estimate'])} "
        f"{interval(pair['low'], pair['high'])}."
    ]


def _largest(rows: pd.DataFrame) -> pd.Series:
    return rows.iloc[int(rows["estimate"].abs().to_numpy().argmax())]


def _named(row: pd.Series) -> str:
    return metric_title(str(row["metric"]), str(row["variant"]))


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
