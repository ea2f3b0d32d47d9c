"""correlation.pdf: whether computational metrics agree with people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pasta.studies.ratings.settings import CHANGES, MAIN, STEADY
from reports.source.format import bounded, cells, interval, number, share
from reports.source.names import metric_title, metric_titles, model_name
from reports.source.pages.parts import table
from reports.source.plots.correlation import (
    forest_figure,
    metric_heatmap,
    paper_heatmap,
    parts_heatmap,
    question_heatmap,
)
from reports.source.replication.pasta_tables import correlation_rows
from reports.source.replication.rows import COMPARED, judged, texts
from reports.source.replication.table import CORRELATION
from reports.source.typesetting import Report

Frames = Mapping[str, pd.DataFrame]
Values = dict[str, Any]
KINDS = {"all": "all explanations", "saliency": "saliency maps", "concept": "concepts"}
_TEXTS = ("variant", "part", "note", "direction", "without")
_SIGNIFICANT = 0.05
_MOST = 4  # metrics that a sentence names
_NOTHING = pd.DataFrame(
    columns=["question", "metric", "variant", "scope", "part", "method", "direction", "n"]
    + ["estimate", "low", "high", "p_clustered_holm", "closest"]
)
_TABLES = {
    "Table 1": ("pasta_v1_table01_faithfulness_vs_human", "faithfulness", "faithfulness"),
    "Table 9": ("pasta_v1_table09_max_sensitivity_vs_human", "max_sensitivity", "MaxSensitivity"),
    "Table 10": ("pasta_v1_table10_sparseness_vs_human", "sparseness", "Sparseness"),
}
_VALUES = "pasta_v1_table11_metric_values"


def correlation_report(tables: Frames, published: Frames, simulated: bool) -> Report:
    """Collect what ``correlation.typ`` shows.

    Parameters
    ----------
    tables
        Those of :func:`pasta.studies.ratings.analyses.correlation.correlation_tables`.
    published
        The papers' tables; without them the comparison with P1 is left out.
    simulated
        Whether the votes are those of simulated raters.
    """
    found = {"correlations": _NOTHING} | {
        name: frame.assign(**{text: texts(frame[text]) for text in _TEXTS if text in frame})
        for name, frame in tables.items()
    }
    own, titles = found["correlations"], metric_titles(found["correlations"])
    ranks = own[(own["method"] == "spearman") & own["estimate"].notna()]
    overall = ranks[ranks["scope"] == "overall"]
    names = {str(part): model_name(str(part)) for part in own["part"].unique() if part}
    content = {
        "main": MAIN,
        "steady": f"{STEADY[0]} to {STEADY[-1]}",
        "changed": " with ".join(CHANGES),
        "lacks": [
            f"{str(row['section']).capitalize()}: {row['why']}."
            for row in table(found, "missing").to_dict("records")
        ],
        "overall": _find_strongest(overall),
        "within": _find_strongest(ranks[ranks["scope"] == "within technique"]),
        "against": _find_opposed(overall),
        "closest": _tabulate_closest(overall, ranks[ranks["scope"] == "within technique"]),
        "explains": _find_explaining(table(found, "explained")),
        "pairs": _compare_pairs(table(found, "questions")),
        "heatmap": metric_heatmap(own, titles),
        "forest": forest_figure(own, titles),
        "paper": _compare_paper(found, published),
        "parts": parts_heatmap(own, titles, names=names),
        "beyond": _tabulate_shares(table(found, "explained")),
        "questions": _tabulate_questions(table(found, "questions")),
        "measured": _tabulate_measured(table(found, "measured")),
    }
    every = own.assign(title=_title_rows(own)) if len(own) else own
    return Report("correlation", simulated, content, tables={"correlations": every})


def _title_rows(rows: pd.DataFrame) -> list[str]:
    variants = texts(rows["variant"])
    return [metric_title(*pair) for pair in zip(rows["metric"], variants, strict=True)]


def closest_sentence(ranks: pd.DataFrame, question: str) -> str:
    """Which metrics may follow a question most closely: a set, which more samples make smaller.

    ``ranks`` are Spearman's correlations of one scope.
    """
    own = ranks[ranks["question"] == question].dropna(subset="estimate")
    own = own.loc[own["estimate"].abs().sort_values(ascending=False, kind="stable").index]
    best = own[own["closest"].eq(True)]
    if best.empty:
        return ""
    names = [
        f"{title} ({number(row['estimate'])} {interval(row['low'], row['high'])})"
        for title, (_, row) in zip(_title_rows(best), best.iterrows(), strict=True)
    ]
    if len(best) == 1:
        others = f"each of the other {len(own) - 1} metrics" if len(own) > 1 else "any other metric"
        return f"{names[0]} follows {question} more closely than {others} (Spearman's rho)."
    if len(best) == len(own):
        return (
            f"none of the {len(own)} metrics can be told from the one that follows {question} most "
            f"closely; the largest of Spearman's rho: {bounded(names, _MOST)}."
        )
    return (
        f"{len(best)} of {len(own)} metrics cannot be told from the one that follows {question} "
        f"most closely (Spearman's rho): {bounded(names, _MOST)}."
    )


def _find_strongest(ranks: pd.DataFrame) -> Values | None:
    if ranks.empty:
        return None
    return {
        "significant": (ranks["p_clustered_holm"] < _SIGNIFICANT).sum(),
        "n": len(ranks),
        "closest": closest_sentence(ranks, MAIN),
    }


def _tabulate_closest(overall: pd.DataFrame, within: pd.DataFrame) -> Values | None:
    """For each question how many metrics may be the closest, and which."""
    rows = []
    for where, ranks in (("all explanations", overall), ("within techniques", within)):
        best = ranks[ranks["closest"].eq(True)]
        for question, own in best.groupby("question"):
            ordered = own.loc[own["estimate"].abs().sort_values(ascending=False).index]
            names = [
                f"{title} {number(value)}"
                for title, value in zip(_title_rows(ordered), ordered["estimate"], strict=True)
            ]
            there = (ranks["question"] == question).sum()
            number_of = f"{len(own)} of {there}"
            rows.append((where, question, number_of, bounded(names, 2 * _MOST)))
    frame = pd.DataFrame(rows, columns=["where", "question", "number", "metrics"])
    return cells(frame, "where question number metrics") if rows else None


def _find_opposed(ranks: pd.DataFrame) -> Values | None:
    """Metrics that correlate with the main question, but against their own direction."""
    own = ranks[
        (ranks["question"] == MAIN)
        & (ranks["p_clustered_holm"] < _SIGNIFICANT)
        & ranks["direction"].isin(["higher", "lower"])
    ]
    if own.empty:
        return None
    wanted = own["direction"].map({"higher": 1, "lower": -1})
    against = own[own["estimate"] * wanted < 0]
    names = [
        f"{title} ({row['direction']} is said to be better, rho is {number(row['estimate'])})"
        for title, (_, row) in zip(_title_rows(against), against.iterrows(), strict=True)
    ]
    return {"opposed": len(against), "n": len(own), "metrics": bounded(names, _MOST)}


def _find_explaining(explained: pd.DataFrame) -> Values | None:
    if explained.empty:
        return None
    rest = explained[(explained["quantity"] == "share_of_rest") & explained["estimate"].notna()]
    if rest.empty:
        return None
    return {
        "significant": (rest["p_holm"] < _SIGNIFICANT).sum(),
        "n": len(rest),
        "most": share(rest["estimate"].max(), 1),
    }


def _compare_pairs(questions: pd.DataFrame) -> Values | None:
    """How questions about the image alone go together, and those about changed copies."""
    if questions.empty:
        return None
    own = questions[(questions["kind"] == "all") & (questions["method"] == "spearman")]
    own = own[own["estimate"].notna()]
    first = own[own["first"].isin(STEADY) & own["second"].isin(STEADY)]
    last = own[own["first"].isin(list(CHANGES)) & own["second"].isin(list(CHANGES))]
    if len(first) < len(STEADY) * (len(STEADY) - 1) / 2 or last.empty:
        return None
    pair, estimates = last.iloc[0], first["estimate"]
    return {
        "first": f"{number(estimates.min())} and {number(estimates.max())}",
        "last": f"{number(pair['estimate'])} {interval(pair['low'], pair['high'])}",
    }


def _tabulate_shares(own: pd.DataFrame) -> Values | None:
    """How much of the rest of a rating metrics explain within techniques."""
    if own.empty or own["estimate"].isna().all():
        return None
    rest = own[own["quantity"] == "share_of_rest"]
    between = own[own["quantity"] == "share_of_groups"].groupby("question")["estimate"].max()
    shown = rest.assign(
        metric=_title_rows(rest),
        cell=[
            share(value, 1) + ("*" if p < _SIGNIFICANT else "")
            for value, p in zip(rest["estimate"], rest["p_holm"], strict=True)
        ],
    )
    wide = shown.pivot(index="metric", columns="question", values="cell")  # noqa: PD010
    frame = wide.reindex(list(dict.fromkeys(shown["metric"]))).reset_index()
    return {
        "between": [f"{name} {share(value)}" for name, value in between.items()],
        "table": cells(frame, ["metric", *sorted(rest["question"].unique())]),
    }


def _tabulate_questions(own: pd.DataFrame) -> Values | None:
    figure = None if own.empty else question_heatmap(own, KINDS)
    if figure is None:
        return None
    every = own[own["kind"] == "all"]
    every = every.assign(questions=every["first"] + " and " + every["second"])
    columns = "questions method n:0 estimate:0.00 fisher_low:interval low:interval p_clustered:p"
    return {"figure": figure, "table": cells(every, columns)}


def _tabulate_measured(own: pd.DataFrame) -> Values | None:
    if own.empty:
        return None
    return cells(own.assign(metric=_title_rows(own)), "metric direction samples:0 n:0 without")


def _compare_paper(tables: Frames, published: Frames) -> Values | None:
    """P1's tables beside ours, or None if the papers' tables are not there."""
    rows = {
        name: judged(correlation_rows(published[file], tables, metric), CORRELATION).assign(
            title=title
        )
        for name, (file, metric, title) in _TABLES.items()
        if file in published
    }
    if not rows:
        return None
    both = pd.concat(rows.values(), ignore_index=True)
    parts = both["item"].str.partition(", ")
    suffix = parts[2].where(parts[2] == "", ", " + parts[2])
    known = both[both["verdict"].isin(COMPARED)]
    return {
        "known": len(known),
        "margin": number(CORRELATION, 1),
        **{verdict: (known["verdict"] == verdict).sum() for verdict in COMPARED},
        "figure": paper_heatmap(both.assign(question=parts[0], metric=both["title"] + suffix)),
    }
