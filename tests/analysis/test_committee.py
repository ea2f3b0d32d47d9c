"""Committees and single predictors: plants are found, nothing is found in noise, oracles agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression, Ridge

from analysis.committee import (
    ACROSS,
    HELD_OUT,
    INSIDE,
    ITEMS,
    KINDS,
    MEANS,
    PENALTIES,
    SCOPES,
    WITHIN,
    _items,
    _outcome,
    _penalties,
    _plan,
    _predict,
    _ridge,
    committee_weights,
    evaluate_committees,
)
from tests.analysis.simulated import one

Study = tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]


def study(
    images: int = 20, methods: int = 8, *, pull: float = 0.0, width: int = 4, seed: int = 0
) -> Study:
    """Items of images x methods; images and methods have effects on predictors and outcome that
    have nothing to do with each other. The outcome follows twice the first predictor, less the
    second, with ``pull``."""
    rng = np.random.default_rng(seed)
    image, method = np.divmod(np.arange(images * methods), methods)
    shape = (images * methods, width)
    x = rng.normal(size=shape) + 0.7 * rng.normal(size=(images, width))[image]
    x += 0.7 * rng.normal(size=(methods, width))[method]
    y = rng.normal(size=len(x)) + 0.5 * rng.normal(size=images)[image]
    y += 0.5 * rng.normal(size=methods)[method] + pull * (2 * x[:, 0] - x[:, 1])
    names = [f"x{number}" for number in range(width)]
    return pd.DataFrame(x, columns=names), pd.DataFrame({"trust": y}), image, method


FAST = {"resamples": 40, "permutations": 0}


@pytest.mark.parametrize("scope", SCOPES)
def test_predictions_equal_slow_refits_with_sklearn(scope: str) -> None:
    """Oracle: literal loops over what is left out, with sklearn's ridge on centred rows."""
    predictors, outcomes, image, method = study(images=11, methods=5, pull=0.3)
    y = outcomes["trust"].to_numpy()
    strata = method if scope == WITHIN else np.zeros_like(method)
    items = _items(predictors.to_numpy(), image, method, strata, np.zeros(4), 3, 0)
    plan = _plan(scope, items, strata)
    penalties = _penalties(plan, _outcome(items, y))
    scores, predictions = _predict(plan, y, _ridge, "ridge")

    def centred(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, target = items.x[rows].copy(), y[rows].copy()
        for stratum in np.unique(strata[rows]):
            here = strata[rows] == stratum
            x[here] -= x[here].mean(axis=0)
            target[here] -= target[here].mean()
        return x, target

    def error(rest: np.ndarray, part: np.ndarray, penalty: float) -> float:
        x, target = centred(rest)
        size = penalty * (x**2).sum(axis=0).mean()
        beta = Ridge(size, fit_intercept=False).fit(x, target).coef_
        total = 0.0
        for row in part:
            own = rest[strata[rest] == strata[row]]
            guess = y[own].mean() + (items.x[row] - items.x[own].mean(axis=0)) @ beta
            total += (y[row] - guess) ** 2
        return total

    for row in range(0, len(y), 7):
        seen = items.fold != items.fold[row]
        parts = items.fold
        if scope == HELD_OUT:
            seen &= method != method[row]
            parts = method % 3
        train = np.flatnonzero(seen)
        errors = [
            sum(
                error(train[parts[train] != part], train[parts[train] == part], penalty)
                for part in np.unique(parts[train])
            )
            for penalty in PENALTIES
        ]
        chosen = PENALTIES[int(np.argmin(errors))]
        assert penalties[plan.test[row]] == chosen
        x, target = centred(train)
        beta = Ridge(chosen * (x**2).sum(axis=0).mean(), fit_intercept=False).fit(x, target).coef_
        own = train[strata[train] == strata[row]]
        guess = y[own].mean() + (items.x[row] - items.x[own].mean(axis=0)) @ beta
        assert scores[row] == pytest.approx(items.x[row] @ beta, abs=1e-6)
        assert predictions[row] == pytest.approx(guess, abs=1e-6)


def test_a_planted_committee_beats_its_best_member_on_groups_it_has_not_seen() -> None:
    table = evaluate_committees(*study(pull=0.6), **FAST)  # type: ignore[arg-type]
    assert len(table) == (1 + 1 + 3) * (4 + 4)
    for scope, compared in ((WITHIN, INSIDE), (ACROSS, ITEMS), (HELD_OUT, ITEMS)):
        keys = {"scope": scope, "compared": compared}
        ridge = one(table, kind="ridge", **keys)
        best = one(table, kind="best", **keys)
        assert ridge["estimate"] > best["estimate"] > 0.4
        assert ridge["r2"] > best["r2"] > 0.1
        assert ridge["low"] > 0
        assert ridge["p"] < 0.01
        assert ridge["r2_low"] < ridge["r2"] < ridge["r2_high"]
        alone = one(table, kind="single", predictor="x0", **keys)
        assert alone["estimate"] == pytest.approx(best["estimate"], abs=0.05)
        assert one(table, kind="single", predictor="x3", **keys)["estimate"] < 0.3


def test_directions_bind_the_nonnegative_committee() -> None:
    """x1 lowers the outcome: told that it raises it, the committee leaves it alone."""
    data = study(pull=0.6, width=2)
    right = committee_weights(
        *data, kind="nonnegative", directions={"x0": 1, "x1": -1}, resamples=20
    )
    wrong = committee_weights(
        *data, kind="nonnegative", directions={"x0": 1, "x1": 1}, resamples=20
    )
    assert one(right, predictor="x1")["estimate"] < 0
    assert one(wrong, predictor="x1")["estimate"] == 0
    assert one(wrong, predictor="x0")["estimate"] > 0


def test_weights_equal_least_squares_of_ranks_and_find_the_plant() -> None:
    predictors, outcomes, image, method = study(pull=0.6)
    table = committee_weights(
        predictors, outcomes, image, method, kind="nonnegative", resamples=100
    )
    ranks = (predictors.rank() - 0.5) / len(predictors) - 0.5
    signs = np.sign(np.cov(ranks.T, outcomes["trust"])[:-1, -1])
    turned = ranks * signs
    peer = LinearRegression(positive=True).fit(turned, outcomes["trust"]).coef_ * signs
    assert table["estimate"].to_numpy() == pytest.approx(peer, abs=1e-5)
    first, second = one(table, predictor="x0"), one(table, predictor="x1")
    assert first["low"] > 0 > second["high"]
    assert first["estimate"] == pytest.approx(-2 * second["estimate"], rel=0.4)
    assert table["share"].sum() == pytest.approx(1)


def test_under_the_null_held_out_correlations_are_no_more_significant_than_they_should() -> None:
    """20 studies with effects of images and methods on both sides, 5 % level, 19 arrangements."""
    alarms, estimates = [], []
    for seed in range(20):
        table = evaluate_committees(
            *study(images=10, methods=6, width=3, seed=seed),
            kinds=["ridge"], scopes=[HELD_OUT], resamples=5, permutations=19, folds=4, seed=seed,
        )  # fmt: skip
        row = one(table, kind="ridge", compared=ITEMS)
        alarms.append(row["p_permutation"] <= 0.05)
        estimates.append(row["estimate"])
    assert sum(alarms) <= 4  # binomial: more in 0.3 % of cases
    assert abs(np.mean(estimates)) < 3 * np.std(estimates) / np.sqrt(20) + 0.02


def test_a_planted_committee_is_significant() -> None:
    table = evaluate_committees(
        *study(images=12, methods=6, pull=0.6), kinds=["mean"], scopes=[HELD_OUT], resamples=5,
        permutations=39,
    )  # fmt: skip
    assert one(table, kind="mean", compared=ITEMS)["p_permutation"] == 1 / 40


def test_the_order_of_rows_and_predictors_changes_nothing() -> None:
    predictors, outcomes, image, method = study(images=8, methods=5, pull=0.5)
    usual = evaluate_committees(predictors, outcomes, image, method, permutations=5, resamples=10)
    order = np.random.default_rng(1).permutation(len(predictors))
    again = evaluate_committees(
        predictors.iloc[order, ::-1], outcomes.iloc[order], image[order], method[order],
        permutations=5, resamples=10,
    )  # fmt: skip
    keys = ["scope", "compared", "kind", "predictor"]
    numbers = ["n", "estimate", "p_permutation", "r2"]
    both = usual.merge(again, on=keys)
    assert len(both) == len(usual)
    for name in numbers:
        left, right = (both[f"{name}_{side}"].to_numpy(float) for side in "xy")
        assert left == pytest.approx(right, abs=1e-7, nan_ok=True)


def test_items_that_miss_a_predictor_are_left_out_and_predictors_that_few_have() -> None:
    predictors, outcomes, image, method = study(images=10, methods=5)
    predictors.loc[:4, "x0"] = np.nan
    predictors.loc[:20, "x1"] = np.nan
    predictors["x2"] = 1.0
    table = evaluate_committees(predictors, outcomes, image, method, scopes=[ACROSS], **FAST)  # type: ignore[arg-type]
    row = one(table, kind="ridge")
    assert (row["n"], row["predictors"]) == (45, 2)
    assert row["note"] == "left out: x1, x2; 5 items without all predictors"
    assert set(table["predictor"]) == {"", "x0", "x3"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("constant", "the outcome is constant"),
        ("few", "fewer than 10 items"),
        ("image", "fewer than 5 clusters"),
        ("alone", "one part of clusters only: nothing to train on"),
        ("method", "fewer than three groups: none can be held out"),
        ("nothing", "no predictor that varies and that nearly all items have"),
    ],
)
def test_bad_input_has_a_note_and_no_number(change: str, why: str) -> None:
    predictors, outcomes, image, method = study(images=8, methods=5)
    if change == "constant":
        outcomes["trust"] = 3.0
    elif change == "few":
        outcomes.loc[9:, "trust"] = np.nan
    elif change == "image":
        image = image % 4
    elif change == "alone":
        image = image * 0
    elif change == "method":
        method = method % 2
    else:
        predictors[:] = np.nan
    table = evaluate_committees(predictors, outcomes, image, method, **FAST)  # type: ignore[arg-type]
    here = table[table["scope"] == HELD_OUT]
    assert here["compared"].tolist() == [ITEMS, INSIDE, MEANS]
    assert here["note"].str.startswith(why).all()
    assert here[["estimate", "low", "p", "r2"]].isna().all(axis=None)
    weights = committee_weights(predictors, outcomes, image, method, resamples=5)
    if change in ("constant", "few", "nothing"):
        assert weights["estimate"].isna().all()


def test_items_that_are_not_crossed_have_no_permutation_test() -> None:
    """Each image with methods of its own: nothing may change places."""
    predictors, outcomes, image, method = study(images=12, methods=6)
    keep = np.random.default_rng(0).random(len(image)) < 0.5
    part = (predictors[keep], outcomes[keep], image[keep], method[keep])
    table = evaluate_committees(
        *part, scopes=[HELD_OUT], kinds=["mean"], resamples=5, permutations=9
    )
    assert table["p_permutation"].isna().all()
    note = one(table, kind="mean", compared=ITEMS)["note"]
    assert note == "no permutation test: too few clusters have the same groups"
    assert np.isfinite(one(table, kind="mean", compared=ITEMS)["estimate"])


def test_all_kinds_follow_a_single_predictor_alike() -> None:
    predictors, outcomes, image, method = study(pull=0.6)
    predictors = predictors[["x0"]]
    table = evaluate_committees(predictors, outcomes, image, method, scopes=[ACROSS], **FAST)  # type: ignore[arg-type]
    assert table["estimate"].to_numpy() == pytest.approx([table["estimate"].iloc[0]] * 5, abs=0.01)
    assert list(table["kind"]) == [*KINDS, "single"]
    rho = stats.spearmanr(predictors["x0"], outcomes["trust"]).statistic
    assert table["estimate"].iloc[-1] == pytest.approx(rho, abs=0.02)
