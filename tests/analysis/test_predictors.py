"""Single predictors in three scopes, two kinds of clusters, and orders of groups."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.contrasts import clustered_correlation
from analysis.correlation import two_way_correlation
from analysis.predictors import (
    ACROSS,
    BETWEEN,
    WITHIN,
    compare_orders,
    compare_predictors,
    correlate_means,
)
from tests.analysis.simulated import one
from tests.analysis.test_committee import study


def test_three_scopes_equal_scipy() -> None:
    predictors, outcomes, image, method = study(pull=0.3)
    table = compare_predictors(predictors, outcomes, image, method, resamples=50)
    x, y = predictors["x0"], outcomes["trust"]
    assert one(table, predictor="x0", scope=ACROSS)["estimate"] == pytest.approx(
        stats.spearmanr(x, y).statistic
    )
    ranks = [pd.Series(stats.rankdata(part)) for part in (x, y)]
    inner = [part - part.groupby(method).transform("mean") for part in ranks]
    row = one(table, predictor="x0", scope=WITHIN)
    assert row["estimate"] == pytest.approx(stats.pearsonr(*inner).statistic)
    assert (row["n"], row["clusters"], row["groups"]) == (160, 20, 8)
    means = [part.groupby(method).mean() for part in ranks]
    row = one(table, predictor="x0", scope=BETWEEN)
    assert row["estimate"] == pytest.approx(stats.spearmanr(means[0], means[1]).statistic)
    assert row["n"] == 8
    assert row["low"] < row["estimate"] < row["high"]


def test_the_error_allows_for_both_kinds_of_clusters() -> None:
    """Close to that of influence functions, and larger than that of rows that know nothing."""
    predictors, outcomes, image, method = study(images=40, methods=30, pull=0.1, seed=3)
    both = two_way_correlation(predictors[["x0"]], outcomes, image, method, resamples=400).iloc[0]
    peer = clustered_correlation(
        predictors["x0"], outcomes["trust"], image, method, method="spearman"
    )
    width = float(np.arctanh(both["high"]) - np.arctanh(both["low"]))
    other = float(np.arctanh(float(str(peer["high"]))) - np.arctanh(float(str(peer["low"]))))
    assert width == pytest.approx(other, rel=0.15)
    rows = np.arange(len(image))
    alone = two_way_correlation(predictors[["x0"]], outcomes, rows, rows, resamples=400).iloc[0]
    assert width > 1.2 * float(np.arctanh(alone["high"]) - np.arctanh(alone["low"]))


def test_intervals_with_both_kinds_hold_the_truth() -> None:
    """Unrelated columns, both with effects of images and of methods: 0 is inside."""
    inside = []
    for seed in range(60):
        predictors, outcomes, image, method = study(images=15, methods=12, width=2, seed=seed)
        table = two_way_correlation(predictors, outcomes, image, method, resamples=100, seed=seed)
        inside += ((table["low"] < 0) & (table["high"] > 0)).tolist()
    assert np.mean(inside) >= 0.9


def test_one_cluster_or_three_rows_have_a_note() -> None:
    predictors, outcomes, image, method = study()
    table = two_way_correlation(predictors, outcomes, image * 0, method, resamples=10)
    assert table["estimate"].notna().all()
    assert table["low"].isna().all()
    assert (table["note"] == "no clustered interval from one cluster").all()
    two = two_way_correlation(predictors[:2], outcomes[:2], image[:2], method[:2], resamples=10)
    assert two["estimate"].isna().all()
    assert (two["note"] == "fewer than 3 units").all()


def test_means_of_two_groups_have_no_correlation() -> None:
    row = correlate_means([1, 2, 3, 4], [1, 2, 3, 4], list("aabb"))
    assert np.isnan(float(str(row["estimate"])))
    assert row["note"] == "fewer than three groups"


def test_orders_agree_as_scipy_says_and_p_is_that_of_all_arrangements() -> None:
    predictors, outcomes, image, method = study(methods=5, pull=0.5)
    tables = compare_orders(predictors, outcomes, image, method, resamples=100)
    x = predictors["x0"].groupby(method).mean()
    y = outcomes["trust"].groupby(method).mean()
    row = one(tables["agreement"], predictor="x0")
    tau = stats.kendalltau(x, y).statistic
    assert row["estimate"] == pytest.approx(tau)
    every = [stats.kendalltau(list(order), y).statistic for order in permutations(x)]
    assert row["p"] == pytest.approx(np.mean(np.abs(every) >= abs(tau) - 1e-9))
    assert row["low"] <= row["estimate"] <= row["high"]
    groups = tables["groups"]
    assert len(groups) == 5 * 5
    people = groups[groups["kind"] == "outcome"]
    assert people["estimate"].to_numpy() == pytest.approx(y.to_numpy())
    assert people["place"].tolist() == y.rank(ascending=False).tolist()
    assert (people["place_low"] <= people["place_high"]).all()


def test_a_resample_takes_whole_images() -> None:
    """Two images that are alike give no spread, whatever is drawn."""
    frame = pd.DataFrame({"x": [1.0, 2, 3, 1, 2, 3]})
    image, method = np.repeat([0, 1], 3), np.tile(list("abc"), 2)
    tables = compare_orders(frame, frame.set_axis(["y"], axis=1), image, method, resamples=30)
    groups = tables["groups"]
    assert (groups["low"] == groups["high"]).all()
    row = one(tables["agreement"], predictor="x")
    assert (row["estimate"], row["low"], row["high"]) == (1, 1, 1)


def test_orders_without_enough_have_a_note() -> None:
    predictors, outcomes, image, method = study(methods=5)
    two = compare_orders(predictors, outcomes, image, method % 2, resamples=10)
    assert (two["agreement"]["note"] == "fewer than three groups").all()
    assert two["agreement"]["estimate"].isna().all()
    flat = compare_orders(predictors * 0, outcomes, image, method, resamples=10)
    assert (flat["agreement"]["note"] == "all groups are equal in one of the two").all()
    single = compare_orders(predictors, outcomes, image * 0, method, resamples=10)
    assert (single["groups"]["note"] == "one cluster: no interval").all()
    assert single["agreement"]["low"].isna().all()
    assert single["agreement"]["estimate"].notna().all()


def test_a_group_without_values_has_no_line_and_does_not_count() -> None:
    predictors, outcomes, image, method = study(methods=5)
    predictors.loc[method == 2, "x0"] = np.nan
    tables = compare_orders(predictors, outcomes, image, method, resamples=10)
    assert one(tables["agreement"], predictor="x0")["n"] == 4
    assert one(tables["agreement"], predictor="x1")["n"] == 5
    assert (tables["groups"]["column"] == "x0").sum() == 4
