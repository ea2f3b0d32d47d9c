"""The findings about metrics and people as sentences, written from the tables."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.document import Block, Bullets
from reports.names import metric_title
from reports.words import interval, number, p_value, share

Frames = Mapping[str, pd.DataFrame]
_SURE = 0.05


def findings(tables: Frames) -> list[Block]:
    """Up to five sentences; none about what is not known."""
    own = tables["correlations"]
    ranks = own[(own["method"] == "spearman") & own["estimate"].notna()]
    items = [
        *_strongest(ranks[ranks["scope"] == "overall"], "Over all explanations"),
        *_strongest(ranks[ranks["scope"] == "within technique"], "Within techniques"),
        *_against(ranks[ranks["scope"] == "overall"]),
        *_explained(tables.get("explained", pd.DataFrame())),
        *_questions(tables.get("questions", pd.DataFrame())),
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


def _questions(questions: pd.DataFrame) -> list[str]:
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
