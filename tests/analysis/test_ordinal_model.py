"""The proportional-odds model, its sandwich, and the model of all votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.miscmodels.ordinal_model import OrderedModel

from analysis.contrasts import clustered_mean
from analysis.ordinal_model import _meta_regression, fit_cumulative_logit, ordinal_model, sandwich
from tests.analysis.simulated import Study, one, simulate

# The proportional-odds model and its sandwich


HOUSING = [  # R's MASS::housing, satisfaction within influence within type within contact
    21, 21, 28, 34, 22, 36, 10, 11, 36, 61, 23, 17, 43, 35, 40, 26, 18, 54,
    13, 9, 10, 8, 8, 12, 6, 7, 9, 18, 6, 7, 15, 13, 13, 7, 5, 11,
    14, 19, 37, 17, 23, 40, 3, 5, 23, 78, 46, 43, 48, 45, 86, 15, 25, 62,
    20, 23, 20, 10, 22, 24, 7, 10, 21, 57, 23, 13, 31, 21, 13, 5, 6, 13,
]  # fmt: skip


def _housing() -> pd.DataFrame:
    levels = [["0 low", "1 high"], ["0 tower", "1 apartment", "2 atrium", "3 terrace"]]
    names = ["contact", "type", "influence", "satisfaction"]
    product = pd.MultiIndex.from_product(
        [*levels, ["0 low", "1 medium", "2 high"], [1, 2, 3]], names=names
    )
    return product.to_frame(index=False).loc[np.repeat(range(72), HOUSING)].reset_index(drop=True)


def test_housing_data_agree_with_the_published_fit() -> None:
    """Venables & Ripley 2002, doi:10.1007/978-0-387-21706-2, section 7.3: polr in R's MASS."""
    data = _housing()
    fit = fit_cumulative_logit(
        data["satisfaction"].to_numpy(), data[["influence", "type", "contact"]]
    )
    published = [0.5663937, 1.2888191, -0.5723501, -0.3661866, -1.0910149, 0.3602841]
    errors = [0.1046528, 0.1271561, 0.1192380, 0.1551733, 0.1514860, 0.0955358]
    assert fit.converged and len(data) == 1681
    assert fit.coefficients == pytest.approx(published, abs=2e-6)
    assert fit.thresholds == pytest.approx([-0.4961353, 0.6907083], abs=2e-6)
    # R inverts the observed information, we the expected one
    assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(errors, rel=0.015)


def test_housing_data_agree_with_the_ordered_model_of_statsmodels() -> None:
    data = _housing()
    fit = fit_cumulative_logit(data["satisfaction"].to_numpy(), data[["type", "contact"]])
    dummies = pd.get_dummies(data[["type", "contact"]], drop_first=True).astype(float)
    peer = OrderedModel(data["satisfaction"], dummies, distr="logit").fit(method="bfgs", disp=0)
    assert fit.coefficients == pytest.approx(peer.params.to_numpy()[:4], abs=1e-4)
    errors = np.sqrt(np.diag(fit.covariance))
    assert errors == pytest.approx(peer.bse.to_numpy()[:4], rel=0.015)


def test_scores_are_the_derivatives_of_the_log_likelihood() -> None:
    """Oracle: numerical derivative of each vote's log probability in float64."""
    ratings, _, shown = simulate(Study(samples=20), 0)
    kind = ratings.merge(shown, on="unit")["kind"]
    stars = ratings["rating"].to_numpy()
    fit = fit_cumulative_logit(stars, pd.DataFrame({"kind": kind, "who": ratings["rater"]}))

    def log_chance(shift: np.ndarray) -> np.ndarray:
        cuts = np.concatenate([[-np.inf], fit.thresholds + shift[:-1], [np.inf]])
        predictor = (fit.design @ fit.coefficients)[fit.cell] + shift[-1]
        upper = 1 / (1 + np.exp(-(cuts[stars] - predictor)))
        lower = 1 / (1 + np.exp(-(cuts[stars - 1] - predictor)))
        return np.asarray(np.log(upper - lower))

    step = 1e-6
    for place in range(len(fit.thresholds) + 1):
        shift = np.zeros(len(fit.thresholds) + 1)
        shift[place] = step
        slope = (log_chance(shift) - log_chance(-shift)) / (2 * step)
        assert fit.scores[:, place] == pytest.approx(slope, abs=1e-7)


def test_sandwich_agrees_with_the_influence_of_every_vote() -> None:
    ratings, _, _ = simulate(Study(samples=40), 1)
    categories = ratings[["item", "rater"]]
    fit = fit_cumulative_logit(ratings["rating"].to_numpy(), categories)
    clusters = [np.unique(ratings[name], return_inverse=True)[1] for name in
                ("unit", "rater")]  # fmt: skip
    full = np.concatenate([fit.scores[:, :-1], fit.scores[:, -1:] * fit.design[fit.cell]], axis=1)
    influence = full @ np.linalg.inv(fit.information)
    cuts = len(fit.thresholds)
    spread = sandwich(fit, *clusters)
    for place in range(3):
        weights = np.eye(len(fit.terms))[place]
        # The influences add up to 0: their sum has the error of a mean, times n.
        expected = clustered_mean(len(influence) * influence[:, cuts + place], *clusters)
        assert spread.variance(weights) == pytest.approx(expected.error**2)
        assert spread.df == expected.df


def test_a_category_always_rated_alike_stays_finite() -> None:
    stars = np.array([1, 2, 3, 4, 5] * 6 + [5] * 20)
    fit = fit_cumulative_logit(stars, pd.DataFrame({"who": ["a"] * 30 + ["b"] * 20}))
    assert np.isfinite(fit.coefficients).all() and fit.coefficients[0] > 3


def test_one_rating_only_is_refused() -> None:
    with pytest.raises(ValueError, match="one rating only"):
        fit_cumulative_logit(np.array([3, 3]), pd.DataFrame({"who": ["a", "b"]}))


# The model of all votes


def kinds(shown: pd.DataFrame) -> pd.Series:
    return shown.set_index("unit")["kind"]


def test_equal_errors_give_ordinary_least_squares() -> None:
    """With the same error for every rater the second stage is least squares."""
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(12), rng.normal(size=12)])
    effects = design @ [0.5, 1.0] + rng.normal(size=12)
    slopes, covariance, tau2 = _meta_regression(effects, 0.01 * np.eye(12), design)
    expected, squares, _, _ = np.linalg.lstsq(design, effects, rcond=None)
    variance = float(squares[0]) / 10
    assert slopes == pytest.approx(expected)
    assert tau2 + 0.01 == pytest.approx(variance, rel=1e-3)
    assert covariance == pytest.approx(variance * np.linalg.inv(design.T @ design), rel=1e-3)


def test_the_reference_rater_does_not_matter() -> None:
    """Coefficients relative to one rater or another differ by a shift and its covariance."""
    ratings, people, shown = simulate(Study(sex=0.5), 0)
    renamed = {"a00": "z00"}
    base = ordinal_model(ratings, people, kinds(shown))
    other = ordinal_model(
        ratings.replace({"rater": renamed}), people.replace({"rater": renamed}), kinds(shown)
    )
    columns = ["estimate", "low", "high"]
    pd.testing.assert_frame_equal(base[columns], other[columns], rtol=1e-4)


def test_mirrored_stars_turn_every_sign() -> None:
    ratings, people, shown = simulate(Study(sex=0.5, kind=0.3), 1)
    base = ordinal_model(ratings, people, kinds(shown)).set_index("term")
    mirrored = ordinal_model(ratings.assign(rating=6 - ratings["rating"]), people, kinds(shown))
    terms = ["item", "kind", "sex", "age"]
    found = mirrored.set_index("term").loc[terms, "estimate"]
    assert found.to_numpy() == pytest.approx(-base.loc[terms, "estimate"].to_numpy(), abs=1e-5)


def test_spread_between_raters_is_recovered() -> None:
    study = Study(raters=30, samples=150, leniency=0.6)
    models = [ordinal_model(*simulate(study, seed)[:2]) for seed in range(8)]
    found = [one(model, term="rater")["estimate"] for model in models]
    assert np.mean(found) == pytest.approx(0.8 * 0.6, abs=0.06)


def test_rater_who_uses_one_star_is_left_out_with_a_note() -> None:
    ratings, people, shown = simulate(Study(), 2)
    steady = ratings["rater"] == "a05"
    ratings = ratings.assign(rating=ratings["rating"].mask(steady, 5))
    sex = one(ordinal_model(ratings, people, kinds(shown)), term="sex")
    assert sex["n"] == 13 and "1 raters who used one rating only left out" in sex["note"]


def test_units_of_unknown_group_are_counted() -> None:
    ratings, people, shown = simulate(Study(), 3)
    kind = one(ordinal_model(ratings, people, kinds(shown.iloc[10:])), term="kind")
    assert kind["n"] == len(ratings) - 100
    assert "100 votes on units of unknown kind" in kind["note"]
    assert "kind" not in set(ordinal_model(ratings, people)["term"])


def test_terms_that_say_the_same_are_named_and_not_estimated_twice() -> None:
    ratings, people, shown = simulate(Study(sex=0.5), 6)
    people["age"] = np.where(people["sex"] == "female", 30, 40)
    both = ordinal_model(ratings, people, kinds(shown))
    alone = ordinal_model(ratings, people.drop(columns="age"), kinds(shown))
    sexes = [one(model, term="sex")["estimate"] for model in (both, alone)]
    assert sexes[0] == pytest.approx(sexes[1])
    age = one(both, term="age")
    assert np.isnan(age["estimate"]) and "cannot be told apart" in age["note"]


def _each_sees(units: int, per_rater: int, seed: int = 8) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Hundred raters, half of them men, who answer four items higher by one log odds."""
    random = np.random.default_rng(seed)
    sex = np.array(["f", "m"] * 50)
    level = random.normal(0, 1.5, 100) + (sex == "m")
    rows = [
        (f"u{unit}", f"r{rater}", f"i{item}", level[rater] + random.logistic())
        for rater in range(100)
        for unit in random.choice(units, per_rater, replace=False)
        for item in range(4)
    ]
    frame = pd.DataFrame(rows, columns=["unit", "rater", "item", "latent"])
    cuts = np.array([-2.0, -0.7, 0.7, 2.0])
    frame["rating"] = 1 + np.searchsorted(cuts, frame.pop("latent"))
    return frame, pd.DataFrame({"rater": [f"r{one}" for one in range(100)], "sex": sex})


def test_raters_who_see_one_unit_each_are_not_compared() -> None:
    """Between subjects the covariance misses the errors of raters: 0.05 +- 0.13 for a true 1."""
    table = ordinal_model(*_each_sees(units=7, per_rater=1))
    between = table[table["term"].isin(["sex", "rater"])]
    assert between[["estimate", "p", "p_equivalence"]].isna().all(axis=None)
    assert between["note"].str.contains("have rated one unit only").all()
    assert table.loc[table["term"] == "item", "estimate"].notna().all()


def test_a_few_raters_of_one_unit_are_left_out_of_comparisons() -> None:
    ratings, raters = _each_sees(units=7, per_rater=4)
    few = ratings["rater"].isin([f"r{one}" for one in range(10)])
    first = ratings.groupby("rater")["unit"].transform("first") == ratings["unit"]
    table = ordinal_model(ratings[~few | first], raters)
    row = table[table["term"] == "sex"].iloc[0]
    assert row["n"] == 90 and "8 raters who rated one unit only" in row["note"]
    assert row["low"] <= 1 <= row["high"]
