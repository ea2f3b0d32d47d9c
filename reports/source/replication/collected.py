"""What the tables of all stages say that the papers put into their text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from analysis.tables import Tables
from pasta.datasets.vocabulary import VOCABULARIES
from reports.source.replication.attention_tables import attention_facts
from reports.source.replication.latec_tables import benchmark_facts
from reports.source.replication.metapredictor_tables import prediction_facts

FACTS = ["fact", "n", "estimate", "low", "high", "note"]
POPULAR = 11  # techniques that P1's appendix B.3 looks at


def fact_row(fact: str, value: float, n: int = 0) -> dict[str, object]:
    """A number without an interval; ``fact`` is its name in ``text_numbers.csv``."""
    return {"fact": fact, "n": n or None, "estimate": float(value), "note": ""}


def collect_facts(
    parts: Mapping[str, Tables],
    applications: Mapping[str, Tables],
    choices: Mapping[str, float] | None = None,
) -> pd.DataFrame:
    """All facts that the tables of a project hold.

    Parameters
    ----------
    parts, applications
        The tables of the analyses (``dataset``, ``preference``, ``latec``, ``utility``,
        ``attention``), of the ``score`` and of the applications, by name.
    choices
        Settings that papers print, by their names in ``text_numbers.csv``.

    Returns
    -------
    DataFrame with fact (as in ``text_numbers.csv``), n, estimate, low, high, note; what is
    not known has no row
    """
    dataset, score = parts.get("dataset", {}), parts.get("score", {})
    known = [found["facts"] for found in (dataset, score) if "facts" in found]
    rows = [
        *_sources(dataset),
        *_popular(parts.get("preference", {})),
        *_drops(score),
        *_lime(applications.get("tuning", {})),
        *_mixture(applications.get("mixture", {})),
        *_towers(applications.get("backbones", {})),
        *benchmark_facts(parts.get("latec", {})),
        *prediction_facts(parts.get("utility", {})),
        *attention_facts(parts.get("attention", {})),
        *(fact_row(name, value) for name, value in (choices or {}).items()),
    ]
    found = [*known, pd.DataFrame(rows, columns=FACTS)]
    return pd.concat([one.astype(object) for one in found], ignore_index=True).infer_objects()


def _sources(tables: Tables) -> list[dict[str, object]]:
    """Images, classes and concepts of the datasets that classifiers were trained on.

    Where explanations come from a release there are no images to train on, and only those that
    were explained: their number says nothing of the dataset.
    """
    if not {"splits", "classes", "stars"} <= set(tables):
        return []
    splits, classes = tables["splits"], tables["classes"]
    rows = [fact_row("stars", tables["stars"]["rating"].nunique())] if len(tables["stars"]) else []
    for dataset in dict.fromkeys(splits["dataset"].astype(str)):
        numbers = splits[splits["dataset"] == dataset].set_index("split")["n"]
        if not numbers.get("train", 0):
            continue
        rows += [
            fact_row(f"{dataset}_train", numbers["train"]),
            fact_row(f"{dataset}_images", numbers.sum()),
            fact_row(f"{dataset}_classes", (classes["dataset"] == dataset).sum()),
        ]
        if dataset in VOCABULARIES:
            rows.append(fact_row(f"{dataset}_concepts", len(VOCABULARIES[dataset].concepts)))
    return rows


def _popular(tables: Tables) -> list[dict[str, object]]:
    """Of the techniques most often among annotators' favourites, those with concepts."""
    favourites = tables.get("top_techniques")
    if favourites is None or len(favourites) < POPULAR:
        return []
    concepts = (favourites["kind"].head(POPULAR) == "concept").sum()
    return [fact_row("favourite_concepts", concepts, POPULAR)]


def _drops(tables: Tables) -> list[dict[str, object]]:
    """Loss of QWK when techniques or images of the test part are new, with Welch's interval."""
    scores = tables.get("summary")
    if scores is None:
        return []
    own = scores[(scores["study"] == "split") & (scores["measure"] == "qwk")]
    own = own[own["question"] == "Q1"].drop_duplicates("level")
    by_level = {str(line["level"]): line for line in own.to_dict("records")}
    rows = []
    for level in ("technique", "image"):
        if not {"none", level} <= set(by_level):
            continue
        pair = by_level["none"], by_level[level]
        parts = np.array([one["sd"] ** 2 / one["n"] for one in pair], np.float64)
        free = parts.sum() ** 2 / (parts**2 / [one["n"] - 1 for one in pair]).sum()
        loss = pair[0]["mean"] - pair[1]["mean"]
        low, high = stats.t.interval(0.95, free, loss, np.sqrt(parts.sum()))
        rows.append(fact_row(f"drop_{level}", loss) | {"low": low, "high": high})
    return rows


def _lime(tables: Tables) -> list[dict[str, object]]:
    """The score of LIME with its default and its best kernel width."""
    widths = kernel_widths(tables["candidates"]) if "candidates" in tables else None
    if widths is None or widths.empty:
        return []
    lines = widths.to_dict("records")
    found = [("lime_default", line) for line in lines if line["default"]]
    found.append(("lime_tuned", max(lines, key=lambda line: float(line["estimate"]))))
    rows = []
    for name, line in found:
        ends = {end: line[end] for end in ("low", "high")}
        rows += [fact_row(name, line["estimate"], line["n"]) | ends]
        rows += [fact_row(f"{name}_width", line["kernel_width"])]
    return rows


def kernel_widths(candidates: pd.DataFrame) -> pd.DataFrame:
    """Predicted stars of LIME by its kernel width, as P1's Table 23 has them."""
    own = candidates[candidates["technique"] == "lime/resnet50"]
    widths = own["candidate"].str.extract(r"^kernel_width ([0-9.]+)$")[0]
    frame = own.assign(kernel_width=pd.to_numeric(widths), estimate=own["score"])
    return frame.dropna(subset=["kernel_width"])[
        ["kernel_width", "estimate", "low", "high", "n", "default"]
    ]


def _mixture(tables: Tables) -> list[dict[str, object]]:
    """Faithfulness of the explanations that the score picks, and of all of ResNet50.

    The interval is over images, each with the mean of its explanations.
    """
    if not {"choices", "placed"} <= set(tables):
        return []
    placed = tables["placed"]
    of_images = placed[placed["backbone"] == "resnet50"].groupby("image")["faithfulness"].mean()
    rows = []
    for name, values in (
        ("mixture_faithfulness", tables["choices"]["faithfulness"]),
        ("every_faithfulness", of_images),
    ):
        there = values.dropna().to_numpy(np.float64)
        if len(there) > 1:
            mean = there.mean()
            low, high = stats.t.interval(0.95, len(there) - 1, mean, stats.sem(there))
            rows.append(fact_row(name, mean, len(there)) | {"low": low, "high": high})
    return rows


def _towers(tables: Tables) -> list[dict[str, object]]:
    """Mean scores of activation maps on the towers that P2's Figure 8 shows, by their names."""
    summary = tables.get("summary")
    if summary is None or summary.empty:
        return []
    rows = [fact_row("towers", summary["tower"].nunique())]
    own = summary[(summary["measure"] == "score") & (summary["family"] == "activation")]
    own = own[own["group"] == "all methods"].drop_duplicates("tower")
    for line in own[own["tower"].isin(["ViT-B-16", "ViT-g-14"])].to_dict("records"):
        name = f"tower_{line['tower'].lower().replace('-', '_')}"
        ends = {end: line[end] for end in ("low", "high")}
        rows.append(fact_row(name, line["mean"], line["n"]) | ends)
    return rows


# Our tables that stand beside the papers' numbers: the name in the replication, part and table
BESIDE = {
    "correlations": ("correlation", "correlations"),
    "values": ("correlation", "values"),
    "score": ("score", "summary"),
    "technique_scores": ("preference", "technique_scores"),
    "positions": ("preference", "positions"),
    "kind_differences": ("preference", "kind_differences"),
    "backbone_differences": ("preference", "backbone_differences"),
    "averages": ("latec", "averages"),
    "metric_ranks": ("latec", "ranks"),
    "spread": ("latec", "spread"),
    "classifiers": ("latec", "facts"),
    "method_faithfulness": ("utility", "faithfulness"),
    "anova": ("utility", "anova"),
    "tukey": ("utility", "tukey"),
    "utility": ("utility", "utility"),
    "utility_correlations": ("utility", "correlations"),
    "attention_lines": ("attention", "lines"),
    "attention_correlations": ("attention", "rating_correlations"),
    "attention_tests": ("attention", "tests"),
}


def beside_papers(
    parts: Mapping[str, Tables],
    applications: Mapping[str, Tables],
    choices: Mapping[str, float] | None = None,
) -> Tables:
    """The tables that stand beside the papers' numbers, by the names the replication uses.

    ``choices`` are settings that papers print, by their names in ``text_numbers.csv``.
    """
    found = {
        name: parts[part][table]
        for name, (part, table) in BESIDE.items()
        if table in parts.get(part, {})
    }
    if "classifiers" in found:
        found["classifiers"] = found["classifiers"].rename(columns={"value": "estimate"})
    found["facts"] = collect_facts(parts, applications, choices or {})
    tried = applications.get("tuning", {}).get("candidates")
    return found if tried is None else found | {"kernel_width": kernel_widths(tried)}
