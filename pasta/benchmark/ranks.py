"""From the values of the benchmark to everything that is said about ranks, as tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.committee import evaluate_committees
from analysis.metric_ranks import (
    Scores,
    average_ranks,
    cell_ranks,
    missing_values,
    pooled_ranks,
    rank_spread,
    read_scores,
)
from analysis.predictors import compare_orders, compare_predictors
from analysis.rank_comparisons import (
    compare_method_groups,
    distance_weights,
    level_agreement,
    level_distances,
    method_correlations,
    metric_distances,
    order_agreement,
    outside_correlation,
)
from analysis.rank_stability import (
    bootstrap_average_ranks,
    critical_differences,
    half_of_observations,
    leave_one_out,
    observations_needed,
    stable_order,
)
from analysis.rank_variance import agreement_shares, agreement_tests
from analysis.score_distributions import score_distributions
from analysis.tables import MISSING, Tables, add_missing, list_missing
from pasta.benchmark.catalog import choose_methods, choose_metrics
from pasta.benchmark.tables import ALL_MODALITIES, EVERY
from pasta.datasets.vocabulary import VOCABULARIES

CELLS = ["dataset", "model"]
ATTRIBUTION, ATTENTION = "attribution", "attention"
WITH_ATTENTION, WITHOUT_ATTENTION = "with attention", "without attention"
_PERMUTATIONS = 40  # of committees, each of which is trained anew
SIZES = (1, 2, 4, 8, 16, 32, 64)
# The released ranking code cuts its list of metrics at other places than the paper.
RELEASED_CRITERIA = {
    "neighbour_sufficiency": "robustness",
    "infidelity": "complexity",
    "effective_complexity": "",
}


def rank_tables(
    values: pd.DataFrame, facts: pd.DataFrame, reading: str, *, resamples: int, seed: int
) -> Tables:
    """All tables about ranks.

    Parameters
    ----------
    values
        ``BENCHMARK_VALUES`` of all datasets.
    facts
        ``BENCHMARK_FACTS`` of all datasets.
    reading
        The main one; the others are compared with it.
    resamples, seed
        Of bootstraps and permutation tests.

    Returns
    -------
    dict of DataFrame
        averages, spread, agreement, distances, weights, ... of each modality, which the first
        column names; and ``missing``: which of them could not be computed, and why. Where there is
        more than one modality, correlations and groups have rows of "all modalities", too, and
        modality_agreement compares the orders of methods.
    """
    kinds = values["dataset"].map(modality_of)
    parts = {
        kind: _rank_modality(values[kinds == kind], facts, reading, resamples, seed)
        for kind in dict.fromkeys(kinds) or ["image"]
    }
    if len(parts) > 1:
        parts[ALL_MODALITIES] = _rank_together(values, reading, resamples, seed)
    found: dict[str, list[pd.DataFrame]] = {}
    for kind, tables in parts.items():
        if len(parts) > 1:
            tables[MISSING]["section"] = kind + ", " + tables[MISSING]["section"].astype(str)
        for name, table in tables.items():
            if name != MISSING:
                table.insert(0, "modality", kind)
            found.setdefault(name, []).append(table)
    whole = {name: pd.concat(some, ignore_index=True) for name, some in found.items()}
    return whole | {"facts": facts, "counts": count_values(values)}


def modality_of(dataset: str) -> str:
    """What the inputs of a dataset are; images, if the project does not know it."""
    return VOCABULARIES[dataset].modality if dataset in VOCABULARIES else "image"


def _rank_together(values: pd.DataFrame, reading: str, resamples: int, seed: int) -> Tables:
    """What is said across modalities: LATEC's Figure 6, and how far modalities agree."""
    own = values[(values["reading"] == reading) & values["value"].notna()]
    kinds = own["dataset"].map(modality_of)
    ranks = [cell_ranks(arrange(part)).assign(modality=kind) for kind, part in own.groupby(kinds)]
    if len(ranks) < 2:
        return _with_reasons({}, {"modalities": "less than two of them have values"})
    whole = pd.concat(ranks, ignore_index=True)
    found = {
        "correlations": method_correlations(whole, resamples=resamples, seed=seed),
        **_compare_groups(whole, resamples, seed),
        "modality_agreement": order_agreement(whole, "modality"),
    }
    return _with_reasons(found, {})


def _rank_modality(
    values: pd.DataFrame, facts: pd.DataFrame, reading: str, resamples: int, seed: int
) -> Tables:
    """All tables about the ranks of one modality."""
    own = values[values["reading"] == reading]
    if own.empty or own["value"].isna().all():
        why = "no classifier was trained, or no metric has a value"
        return _with_reasons({}, {"averages": why})
    scores = arrange(own)
    ranks = cell_ranks(scores)
    found: Tables = {
        "averages": average_table(own, resamples=resamples, seed=seed),
        "distributions": score_distributions(scores),
        "ranks": ranks,
        "spread": _spread(ranks),
        "agreement": _agreement(ranks),
        "left_out": _left_out(ranks),
        "half": half_of_observations(scores, resamples=min(resamples, 200), seed=seed),
        "methods": describe_methods(own),
        "metrics": describe_metrics(own),
    }
    empty = missing_values(ranks, ["method"])
    if len(empty):
        found["empty_cells"] = empty
    stability = stable_order(scores, sizes=SIZES, resamples=min(resamples, 200), seed=seed)
    found["stability"] = stability
    found["needed"] = observations_needed(stability)
    lacks: dict[str, str] = {}
    if len(set(ranks["metric"])) > 1:
        found["distances"] = metric_distances(ranks)
        found["weights"] = distance_weights(found["distances"])
        known = found["weights"].dropna(subset="estimate")
        weights = dict(zip(known["metric"].astype(str), known["estimate"], strict=True))
        found["weighted"] = average_ranks(
            ranks[ranks["metric"].isin(list(weights))], weights=weights
        )
    else:
        lacks["distances"] = "there is one metric only"
    if len(set(ranks["method"])) > 1:
        found["correlations"] = method_correlations(ranks, resamples=resamples, seed=seed)
        found["critical"] = critical_differences(ranks)
    else:
        lacks["correlations"] = "there is one method only"
    if len(set(ranks["model"])) > 1:
        found["architectures"] = level_distances(ranks, "model")
        found["architecture_agreement"] = level_agreement(ranks, "model")
        found["accuracy"] = _accuracy(ranks, facts, reading, resamples, seed)
    else:
        lacks["architectures"] = "there is one classifier only"
    groups = _compare_groups(ranks, resamples, seed)
    if not groups:
        lacks["groups"] = "there are less than two attention methods, or less than two others"
    return _with_reasons(found | groups | compare_readings(values, reading), lacks)


def _compare_groups(ranks: pd.DataFrame, resamples: int, seed: int) -> Tables:
    """Attention against attribution methods, where there are some of both."""
    groups = {one.key: ATTENTION if one.attention else ATTRIBUTION for one in choose_methods()}
    there = [groups.get(name) for name in dict.fromkeys(ranks["method"])]
    if min(there.count(ATTENTION), there.count(ATTRIBUTION)) < 2:
        return {}
    return {"groups": compare_method_groups(ranks, groups, permutations=resamples, seed=seed)}


def _with_reasons(tables: Tables, lacks: Mapping[str, str]) -> Tables:
    """The tables that have columns, and why others are not there."""
    there = {name: table for name, table in tables.items() if len(table.columns)}
    return add_missing(list_missing(there), list(lacks.items()))


def arrange(values: pd.DataFrame, criteria: Mapping[str, str] | None = None) -> Scores:
    """Values of one reading as arrays; cells of a dataset share their observations.

    ``criteria`` replaces those of some metrics; an empty one leaves the metric out.
    """
    rows = values.assign(
        observation=values["image_id"],
        criterion=[
            (criteria or {}).get(metric, criterion)
            for metric, criterion in zip(values["metric"], values["criterion"], strict=True)
        ],
    )
    rows = rows[rows["criterion"] != ""]
    metrics = rows[["metric", "criterion", "direction"]].drop_duplicates("metric")
    metrics = metrics.assign(direction=metrics["direction"].map({"higher": 1, "lower": -1}))
    order = [one.key for one in choose_metrics()]
    metrics = metrics.sort_values("metric", key=lambda names: names.map(order.index))
    return read_scores(
        rows.drop(columns=["criterion", "direction"]),
        metrics,
        CELLS,
        blocks=["dataset"],
        methods=_ordered_methods(values["method"]),
    )


def _ordered_methods(names: pd.Series[str]) -> list[str]:
    """Those of LATEC in its order, then others."""
    known = [one.key for one in choose_methods()]
    there = list(dict.fromkeys(names))
    return [one for one in known if one in there] + [one for one in there if one not in known]


def average_table(values: pd.DataFrame, *, resamples: int, seed: int) -> pd.DataFrame:
    """Average ranks with intervals over observations, for each criterion and all metrics together.

    Parameters
    ----------
    values
        Of one reading.
    resamples, seed
        Of the bootstrap.

    Returns
    -------
    DataFrame
        scope ("all", a dataset, a model, "with attention" or "without attention"), criterion,
        method, n, missing, cells, metrics, estimate, low, high, place, place_low, place_high, sd,
        error, expected, first, note.
    """
    kinds = _kinds_of_models(values)
    parts = []
    for criteria in (None, dict.fromkeys(values["metric"], EVERY)):
        scores = arrange(values, criteria)
        for by in ([], ["dataset"], ["model"]):
            parts.append(_average(scores, by, "all", resamples, seed))
        for kind in sorted(set(kinds)) if len(set(kinds)) > 1 else []:
            own = arrange(values[kinds == kind], criteria)
            parts.append(_average(own, [], kind, resamples, seed))
    return pd.concat(parts, ignore_index=True)


def _average(scores: Scores, by: list[str], scope: str, resamples: int, seed: int) -> pd.DataFrame:
    """Average ranks with intervals, for each level of ``by`` or in one scope."""
    means = average_ranks(cell_ranks(scores), by)
    drawn = bootstrap_average_ranks(scores, by, resamples=resamples, seed=seed)
    key = [*by, "criterion", "method"]
    more = drawn[[*key, "low", "high", "place_low", "place_high", "first"]]
    part = means.merge(more, on=key, how="left")
    part.insert(0, "scope", part.pop(by[0]) if by else scope)
    return part


def _kinds_of_models(values: pd.DataFrame) -> pd.Series[str]:
    """For each row, whether its classifier has attention that can be explained."""
    attending = {one.key for one in choose_methods() if one.attention}
    models = set(values.loc[values["method"].isin(attending), "model"])
    return values["model"].isin(models).map({True: WITH_ATTENTION, False: WITHOUT_ATTENTION})


def _spread(ranks: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for name in ("", "dataset", "model", "method"):
        part = rank_spread(ranks, [name] if name else [])
        part.insert(0, "by", name or "all")
        part.insert(1, "level", part.pop(name) if name else "")
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _agreement(ranks: pd.DataFrame) -> pd.DataFrame:
    """Levene's proportions, and what the released test would say of the same ranks."""
    exact = agreement_shares(agreement_tests(ranks, reference="exact", level=0.05))
    released = agreement_shares(agreement_tests(ranks, reference="released", level=0.1))
    parts = [exact.assign(reference="exact"), released.assign(reference="released")]
    return pd.concat(parts, ignore_index=True)


def _left_out(ranks: pd.DataFrame) -> pd.DataFrame:
    parts = [
        leave_one_out(ranks, column) for column in ("metric", *CELLS) if len(set(ranks[column])) > 1
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _accuracy(
    ranks: pd.DataFrame, facts: pd.DataFrame, reading: str, resamples: int, seed: int
) -> pd.DataFrame:
    """Whether methods rank better on classifiers that are better."""
    known = facts[(facts["quantity"] == "macro_f1") & (facts["reading"] == reading)]
    outside = known[[*CELLS, "value"]].dropna()
    if outside.empty or len(set(ranks["model"])) < 3:
        return pd.DataFrame()
    return outside_correlation(ranks, outside, "model", permutations=resamples, seed=seed)


def count_values(values: pd.DataFrame) -> pd.DataFrame:
    """How many values there are of each metric, and why others have none."""
    keys = ["reading", "criterion", "metric", "status"]
    return values.groupby(keys, sort=False).size().rename("n").reset_index()


def describe_methods(values: pd.DataFrame) -> pd.DataFrame:
    """Code, title and group of the methods that were ranked."""
    known = {one.key: one for one in choose_methods()}
    rows: list[dict[str, Any]] = []
    for name in _ordered_methods(values["method"]):
        own = known.get(name)
        rows.append(
            {
                "method": name,
                "code": own.code if own else name,
                "title": own.title if own else name,
                "group": (ATTENTION if own.attention else ATTRIBUTION) if own else "yours",
            }
        )
    return pd.DataFrame(rows)


def describe_metrics(values: pd.DataFrame) -> pd.DataFrame:
    """Code, title, criterion and direction of the metrics that ranked."""
    better = values.drop_duplicates("metric").set_index("metric")["direction"]
    chosen = [one for one in choose_metrics() if one.key in better.index]
    rows = [(one.key, one.code, one.title, one.criterion, better[one.key]) for one in chosen]
    return pd.DataFrame(rows, columns=["metric", "code", "title", "criterion", "direction"])


# Readings


def compare_readings(values: pd.DataFrame, main: str) -> Tables:
    """What the readings of paper and code change: metric by metric, and in the final ranks.

    All are compared on the observations that all of them have.

    Returns
    -------
    dict of DataFrame
        reading_metrics: reading, criterion, metric, n (cells), estimate (mean Kendall's tau with
        the main reading's order), moved (mean change of a rank), empty (cells without a value);
        reading_ranks: reading, criterion, method, estimate (average rank), place, change of the
        place. "released, ranked as released" also has the ties, the pooling and the criteria of
        the released ranking code.
    """
    others = [one for one in dict.fromkeys(values["reading"]) if one != main]
    if not others:
        return {}
    keys = ["dataset", "image_id"]
    common = values.loc[values["reading"] == others[0], keys].drop_duplicates()
    for other in others[1:]:
        common = common.merge(values.loc[values["reading"] == other, keys].drop_duplicates())
    shared = values.merge(common, on=keys)
    ranks = {one: cell_ranks(arrange(shared[shared["reading"] == one])) for one in (main, *others)}
    means = {name: average_ranks(one) for name, one in ranks.items()}
    if "released" in ranks:
        scores = arrange(shared[shared["reading"] == "released"], RELEASED_CRITERIA)
        means["released, ranked as released"] = average_ranks(pooled_ranks(scores, "model"))
    final = []
    for name, table in means.items():
        both = table.merge(
            means[main][["criterion", "method", "place"]],
            on=["criterion", "method"],
            how="left",
            suffixes=("", "_main"),
        )
        both["change"] = both["place"] - both["place_main"]
        columns = ["criterion", "method", "estimate", "place", "change"]
        final.append(both[columns].assign(reading=name))
    return {
        "reading_metrics": pd.DataFrame(list(_compare_metrics(ranks, main))),
        "reading_ranks": pd.concat(final, ignore_index=True),
    }


def _compare_metrics(ranks: Mapping[str, pd.DataFrame], main: str) -> Iterator[dict[str, object]]:
    key = [*CELLS, "criterion", "metric", "method"]
    for name, table in ranks.items():
        if name == main:
            continue
        both = ranks[main][[*key, "rank"]].merge(table[[*key, "rank"]], on=key, how="outer")
        for (criterion, metric), own in both.groupby(["criterion", "metric"], sort=False):
            cells = [one for _, one in own.groupby(CELLS)]
            taus = [
                one["rank_x"].corr(one["rank_y"], method="kendall")
                for one in cells
                if len(one.dropna(subset=["rank_x", "rank_y"])) > 1
            ]
            known = [tau for tau in taus if np.isfinite(tau)]
            yield {
                "reading": name,
                "criterion": criterion,
                "metric": metric,
                "n": len(cells),
                "estimate": float(np.mean(known)) if known else np.nan,
                "moved": float((own["rank_x"] - own["rank_y"]).abs().mean()),
                "empty": sum(one["rank_y"].isna().all() for one in cells),
            }


# People


def people_tables(
    rated: pd.DataFrame, labels: pd.DataFrame, *, resamples: int, permutations: int, seed: int
) -> Tables:
    """Which metrics, and which committee of them, say what people said of the same maps.

    Parameters
    ----------
    rated
        ``METRIC_VALUES`` of explanations that people have rated.
    labels
        sample_id, question, mean.
    resamples, permutations, seed
        Of bootstraps and permutation tests.

    Returns
    -------
    dict of DataFrame
        people: from :func:`analysis.predictors.compare_predictors`; committees: from
        :func:`analysis.committee.evaluate_committees`, for all techniques with the metrics that
        all of them have, and for those techniques that have all metrics (column part);
        people_orders and people_agreement: from :func:`analysis.predictors.compare_orders`, of
        techniques by the mean of all metrics' ranks, and by people.
    """
    known = rated[rated["sample_id"].isin(labels["sample_id"])]
    ok = known[(known["status"] == "ok") & known["value"].notna()]
    if ok.empty:
        return _with_reasons({}, {"people": "no rated explanation was measured"})
    signs = ok["direction"].map({"higher": 1.0, "lower": -1.0})
    wide = ok.assign(value=ok["value"] * signs).pivot_table(
        index="sample_id", columns="metric", values="value", observed=True
    )
    wide = wide[[one.key for one in choose_metrics() if one.key in wide.columns]]
    stars = labels.pivot_table(index="sample_id", columns="question", values="mean", observed=True)
    stars = stars.reindex(wide.index)
    names = pd.Series(wide.index.astype(str)).str.split("/", expand=True)
    images, techniques = names[0] + "/" + names[1], names[2] + "/" + names[3]
    how: Any = {"resamples": resamples, "seed": seed}
    plain = wide.reset_index(drop=True), stars.reset_index(drop=True)
    whole = techniques.isin(_with_most(plain[0], techniques)).to_numpy(bool)
    parts = {"all techniques": np.ones(len(wide), bool)}
    if 0 < whole.sum() < len(wide):
        parts["techniques with all metrics"] = whole
    committees = [
        evaluate_committees(
            plain[0][rows].reset_index(drop=True),
            plain[1][rows].reset_index(drop=True),
            images[rows].to_numpy(),
            techniques[rows].to_numpy(),
            directions=dict.fromkeys(wide.columns, 1),
            folds=min(5, images[rows].nunique()),
            permutations=min(permutations, _PERMUTATIONS),
            **how,
        ).assign(part=name)
        for name, rows in parts.items()
    ]
    orders = compare_orders(
        _mean_ranks(plain[0]),
        plain[1],
        images.to_numpy(),
        techniques.to_numpy(),
        permutations=permutations,
        **how,
    )
    return {
        "people": compare_predictors(*plain, images.to_numpy(), techniques.to_numpy(), **how),
        "committees": pd.concat(committees, ignore_index=True),
        "people_orders": orders["groups"],
        "people_agreement": orders["agreement"],
    }


def _with_most(values: pd.DataFrame, techniques: pd.Series[str]) -> list[str]:
    """The techniques that have values of as many metrics as any has."""
    there = values.notna().groupby(techniques).mean() >= 0.5
    counts = there.sum(axis=1)
    return [str(name) for name in counts.index[counts == counts.max()]]


def _mean_ranks(values: pd.DataFrame) -> pd.DataFrame:
    """What all metrics of a criterion say together: the mean of ranks, 1 is the best."""
    criteria = {one.key: one.criterion for one in choose_metrics()}
    ranks = values.rank(pct=True)
    found = {
        criterion: ranks[[name for name in ranks if criteria[str(name)] == criterion]].mean(axis=1)
        for criterion in dict.fromkeys(criteria[str(name)] for name in ranks)
    }
    return pd.DataFrame(found).assign(**{EVERY: ranks.mean(axis=1)})


def read_rank_table(averages: pd.DataFrame, criteria: Sequence[str]) -> pd.DataFrame:
    """Average ranks over all cells, a row for each method and a column for each criterion."""
    own = averages[averages["scope"] == "all"]
    wide = own.set_index(["method", "criterion"])["estimate"].unstack()  # noqa: PD010
    return wide.reindex(columns=list(criteria))
