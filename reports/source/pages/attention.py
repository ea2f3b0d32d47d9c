"""attention.pdf: where people look for the class, against where the model looks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pasta.studies.attention.settings import NAME, AttentionParams
from pasta.texts.documents import Document
from reports.source.data import REPORTS, Data
from reports.source.errata_attention import errata
from reports.source.format import cells, interval, number, p_value, share
from reports.source.heat import heat_block
from reports.source.names import method_name, technique_name
from reports.source.pages.parts import Tables, find_row, select, table
from reports.source.plots.attention import (
    errors_and_ratings,
    scores_and_ratings,
    scores_figure,
)
from reports.source.replication.collected import beside_papers
from reports.source.replication.rows import published_tables
from reports.source.replication.table import ATTENTION, compare_study
from reports.source.replication.written import write_rows
from reports.source.typesetting import Report

Values = dict[str, Any]
PUBLISHED = "human_attention_tests"
CEILING = "one person"
_KIND = "as printed"
_SHOWN = 12  # rows of a long table
SHORT = {
    "agreement": "1-MAE",
    "false_positive": "FP",
    "false_negative": "FN",
    "iou_best": "best IoU",
    "auc": "AUC",
    "nss": "NSS",
    "correlation": "CC",
    "similarity": "SIM",
    "divergence": "KL",
    "rank_correlation": "rho",
}
TEXT_METHODS = {
    "lime": "LIME",
    "integrated_gradients": "Integrated Gradients",
    "feature_ablation": "Feature Ablation",
    "kernel_shap": "KernelSHAP",
    "random": "random weights",
    CEILING: "one person",
}


@REPORTS.register(
    NAME,
    about="where people look for the class, against where the model looks, in images and text",
    reads=(f"votes/{NAME}", f"analyse/{NAME}"),
)
def attention(data: Data) -> Report:
    """Masks of attention, scores against them, ratings, texts and errata."""
    found = data.parts.get(NAME, {})
    return attention_report(found, data.pictures, data.simulated, data.published[PUBLISHED])


def attention_report(
    tables: Tables, pictures: Mapping[str, Path], simulated: bool, published: pd.DataFrame
) -> Report:
    """Collect what ``attention.typ`` shows.

    Parameters
    ----------
    tables
        Those of :mod:`pasta.studies.attention.analyses`.
    pictures
        ``masks`` and ``rated``, if they were drawn.
    simulated
        Whether the answers are those of simulated people.
    published
        The printed numbers.
    """
    scores, samples, lines = (table(tables, name) for name in ("scores", "samples", "lines"))
    methods = [str(one) for one in dict.fromkeys(samples["method"])] if len(samples) else []
    order = [one for one in AttentionParams().methods if one in methods] or methods
    titles = {name: method_name(name) for name in order}
    names = {str(one): technique_name(str(one), short=True) for one in _column(scores, "technique")}
    content = {
        "lacks": [
            f"{str(row['section']).capitalize()}: {row['why']}."
            for row in table(tables, "missing").to_dict("records")
        ],
        "counts": _counts(table(tables, "counts")),
        "findings": attention_findings(tables),
        "masks": pictures.get("masks"),
        "rated": pictures.get("rated"),
        "methods": [titles[one] for one in order],
        "agreement": _agreement(table(tables, "agreement")),
        "scores": scores_figure(scores, names, CEILING) if len(scores) else None,
        "score_table": _scores(scores, names),
        "figure2": scores_and_ratings(samples, lines, published, order[0]) if order else None,
        "figure4": errors_and_ratings(samples, lines, published, order, titles) if order else None,
        "paper": _paper(tables),
        "tests": _tests(table(tables, "tests"), titles),
        "corrected": _corrected(tables),
        "bias": _bias(table(tables, "bias"), table(tables, "splits")),
        "texts": _texts(tables),
        "planted_here": _planted(table(tables, "planted")),
        "errata": _errata(published),
    }
    kept = ("scores", "samples", "lines", "tests", "agreement", "text_scores",
            "rating_correlations", "mixed")  # fmt: skip
    return Report(NAME, simulated, content, tables={k: tables[k] for k in kept if k in tables})


def _column(frame: pd.DataFrame, name: str) -> list[object]:
    return list(dict.fromkeys(frame[name])) if name in frame else []


def _counts(counts: pd.DataFrame) -> Values | None:
    return cells(counts, "what n:0") if len(counts) else None


def attention_findings(tables: Tables) -> list[str]:
    """What the study has found, a sentence each."""
    said = [_say_agreement(tables), _say_scores(tables), _say_difference(tables)]
    said.append(_say_bias(tables))
    return [one for one in said if one]


def _say_agreement(tables: Tables) -> str:
    own = table(tables, "agreement")
    if own.empty or own["iou"].isna().all():
        return ""
    return (
        f"Two people who mark the same image overlap by {share(own['iou'].mean())} on average; "
        f"Krippendorff's alpha of pixels is {number(own['alpha'].mean())}."
    )


def _say_scores(tables: Tables) -> str:
    own = select(table(tables, "scores"), score="agreement", against="attention")
    people = find_row(own, technique=CEILING)
    known = own[own["technique"] != CEILING].dropna(subset="estimate") if len(own) else own
    if known.empty:
        return ""
    best = known.iloc[int(np.argmax(known["estimate"].to_numpy(np.float64)))]
    text = (
        f"The technique closest to human attention is {technique_name(str(best['technique']))} "
        f"(1 - MAE {number(best['estimate'])} {interval(best['low'], best['high'])})"
    )
    if people is None:
        return text + "."
    return text + f"; one person against the others reaches {number(people['estimate'])}."


def _say_difference(tables: Tables) -> str:
    own = find_row(table(tables, "difference"), quantity="difference")
    first = find_row(table(tables, "difference"), quantity="first")
    second = find_row(table(tables, "difference"), quantity="second")
    if own is None or first is None or second is None or pd.isna(own["estimate"]):
        return ""
    clear = own["low"] > 0 or own["high"] < 0
    return (
        "The paper's main claim is that ratings follow attention more closely than segmentation. "
        f"Here the correlations are {number(first['estimate'])} and {number(second['estimate'])}, "
        f"their difference {number(own['estimate'])} {interval(own['low'], own['high'])}: "
        + ("clear of zero." if clear else "not clear of zero.")
    )


def _say_bias(tables: Tables) -> str:
    own = table(tables, "bias")
    miss, extra, apart = (
        find_row(own, term=one) for one in ("false_negative", "false_positive", "difference")
    )
    if miss is None or extra is None or apart is None or pd.isna(apart["estimate"]):
        return ""
    costs = number(-miss["estimate"]), number(-extra["estimate"])
    return (
        f"A standard deviation of what a map misses costs {costs[0]} points, one of what it shows "
        f"beside the object {costs[1]} ({p_value(apart['p'])} for the difference)."
    )


def _agreement(own: pd.DataFrame) -> Values | None:
    if own.empty:
        return None
    found = own.groupby("label", sort=True).agg(
        images=("image_id", "size"), people=("people", "mean"), iou=("iou", "mean"),
        alpha=("alpha", "mean"), share=("share", "mean"),
    )  # fmt: skip
    return cells(found.reset_index(), "label images:0 people:0.0 iou:0.00 alpha:0.00 share:percent")


def _scores(scores: pd.DataFrame, names: Mapping[str, str]) -> Values | None:
    """All scores against attention: the ceiling, and the techniques that agree most."""
    own = select(scores, against="attention")
    if own.empty:
        return None
    wide = own.pivot(index="technique", columns="score", values="estimate")  # noqa: PD010
    ranked = wide.drop(index=CEILING, errors="ignore").sort_values("agreement", ascending=False)
    shown = [*([CEILING] if CEILING in wide.index else []), *ranked.index[:_SHOWN]]
    rows = wide.loc[shown, list(SHORT)].rename(columns=SHORT).reset_index()
    rows["technique"] = [names.get(str(one), str(one)) for one in rows["technique"]]
    found = cells(rows, ["technique", *(f"{one}:0.00" for one in SHORT.values())])
    return found | {"left_out": len(ranked) - len(ranked.index[:_SHOWN])}


def _paper(tables: Tables) -> Values | None:
    """Every printed number that we have, as in replication.pdf."""
    ours = beside_papers({NAME: dict(tables)}, {})
    rows = compare_study(published_tables(), ours, ATTENTION)
    return write_rows(rows)["rows"] if len(rows) else None


def _line_name(line: str, titles: Mapping[str, str]) -> str:
    """``gradcam: attention_error ~ rating`` in words."""
    for key, title in titles.items():
        line = line.replace(key, title)
    return line.replace("_", " ")


def _tests(tests: pd.DataFrame, titles: Mapping[str, str]) -> Values | None:
    wanted = tests[tests["term"].isin(["both", "slopes", "lines"])] if len(tests) else tests
    if wanted.empty:
        return None
    wide = wanted.pivot(index=["test", "term"], columns="kind", values="p").reset_index()  # noqa: PD010
    order = {one: at for at, one in enumerate(dict.fromkeys(wanted["test"]))}
    wide = wide.sort_values(
        ["test", "term"], key=lambda one: one.map(order).fillna(0), kind="stable"
    )
    wide["test"] = [_line_name(str(one), titles) for one in wide["test"]]
    wide["term"] = wide["term"].map(
        {"both": "slope and intercept", "slopes": "equal slopes", "lines": "equal lines"}
    )
    return cells(wide, ["test", "term", f"{_KIND}:p", "by image:p"])


def _corrected(tables: Tables) -> Values | None:
    """Deming's lines, the mixed model, equivalence and the difference of two correlations."""
    rows: list[Values] = []

    def add(what: str, row: Mapping[str, Any] | None, p: float = np.nan) -> None:
        if row is not None:
            known = {one: row.get(one, np.nan) for one in ("n", "estimate", "low", "high")}
            rows.append({"what": what, **known, "p": p})

    for line in _column(table(tables, "deming"), "line"):
        own = select(table(tables, "deming"), line=line)
        words = _line_name(str(line), {})
        add(f"{words}: slope with errors in both (Deming)", find_row(own, term="slope"))
    for value in _column(table(tables, "mixed"), "value"):
        row = find_row(select(table(tables, "mixed"), value=value), quantity="slope")
        if row is not None:
            add(f"points for a standard deviation of {value}, single ratings", row, row["p"])
    for method in _column(table(tables, "equivalence"), "method"):
        row = find_row(table(tables, "equivalence"), method=method)
        if row is None:
            continue
        name, margin = method_name(str(method)), number(row["margin"])
        add(f"{name}: attention minus segmentation score (p: within {margin})", row,
            row["p_equivalence"])  # fmt: skip
    row = find_row(table(tables, "difference"), quantity="difference")
    if row is not None:
        add("r of rating with attention minus r with segmentation", row, row["p"])
    return cells(pd.DataFrame(rows), "what n:0 estimate:0.000 low:interval p:p") if rows else None


def _bias(bias: pd.DataFrame, splits: pd.DataFrame) -> Values | None:
    names = {
        "false_negative": "points for a standard deviation of misses",
        "false_positive": "points for one of background shown",
        "difference": "misses minus background",
    }
    more = {
        "slope below": "rating for error, few false positives in it (lower half)",
        "slope above": "the same, many false positives (upper half)",
        "difference": "upper minus lower half, as printed a split at the median",
        "interaction": "change for a standard deviation of the share of false positives",
    }
    parts = [
        frame.assign(what=frame["term"].map(words))
        for frame, words in ((bias, names), (splits, more))
        if len(frame)
    ]
    if not parts:
        return None
    return cells(pd.concat(parts), "what n:0 estimate:0.00 low:interval p:p")


def _texts(tables: Tables) -> Values | None:
    agreement, scores = table(tables, "text_agreement"), table(tables, "text_scores")
    examples = table(tables, "text_examples")
    if agreement.empty:
        return None
    wide = scores.pivot(index="method", columns="score", values="estimate")  # noqa: PD010
    order = sorted(wide.index, key=lambda one: (one != CEILING, -wide.loc[one, "agreement"]))
    rows = wide.loc[order, list(SHORT)].rename(columns=SHORT).reset_index()
    rows["method"] = [TEXT_METHODS.get(str(one), str(one)) for one in rows["method"]]
    blocks = []
    for name, own in examples.groupby("text_id", sort=False):
        words = [str(one) for one in own["word"]]
        label = str(own["label"].iloc[0])
        document = Document(" ".join(words), str(name), label)
        if len(document) != len(own):
            continue
        shares, weights = (own[one].to_numpy(np.float64) for one in ("share", "weight"))
        explained = None if np.isnan(weights).any() else heat_block(document, weights)
        method = TEXT_METHODS.get(str(own["method"].iloc[0]), "")
        blocks.append(
            {
                "label": label,
                "heat": heat_block(document, shares),
                "method": method,
                "explained": explained,
            }
        )
    return {
        "n": len(agreement),
        "people": number(agreement["people"].mean(), 1),
        "iou": share(agreement["iou"].mean()),
        "alpha": number(agreement["alpha"].mean()),
        "scores": cells(rows, ["method", *(f"{one}:0.00" for one in SHORT.values())]),
        "examples": blocks,
    }


def _planted(own: pd.DataFrame) -> Values | None:
    if own.empty:
        return None
    names = {
        "miss": "a standard deviation of misses",
        "extra": "one of background shown",
        "smooth": "one of smoothness",
        "difference": "misses minus background",
    }
    rows = own.assign(what=own["term"].map(names), covers=np.where(own["covers"], "yes", "no"))
    return cells(rows, "what planted:0.00 estimate:0.00 low:interval covers")


def _errata(published: pd.DataFrame) -> Values:
    rows = pd.DataFrame(errata(published))
    rows["holds"] = np.where(rows["holds"], "yes", "no")
    rows["what"] = rows["what"].str.replace("_", " ")
    return cells(rows, "what printed computed holds")
