"""The study of metrics against ratings, and the mixed model against statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM

from analysis.mixed_model import explained_beyond, random_intercept
from analysis.resampling import holm
from analysis.suites.correlation import correlation_study, explained_study
from analysis.votes import describe_samples
from tests.analysis.rows import one

Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]


def planted(images: int = 24, seed: int = 0) -> Tables:
    """Metrics: "between" tells techniques apart, "inside" samples of one, "none" always fails."""
    rng = np.random.default_rng(seed)
    rows, values, labels = [], [], []
    level = {"cam": -1.0, "lime": 0.0, "rise": 1.0}
    for image in range(images):
        for method, height in level.items():
            for backbone in ("resnet", "vit"):
                name = f"d{image % 2}/{image}/{method}/{backbone}"
                inside = rng.normal()
                rows.append((name, f"d{image % 2}", str(image // 2), method, backbone))
                for question, slope in (("Q1", 0.7), ("Q2", 0.0)):
                    rating = 3 + height + slope * inside + 0.5 * rng.normal()
                    labels.append((name, question, rating))
                values.append((name, "between", "a", height + 0.2 * rng.normal()))
                values.append((name, "inside", "a", inside))
                values.append((name, "none", "a", np.nan))
    samples = pd.DataFrame(rows, columns=["sample_id", "dataset", "image_id", "method", "backbone"])
    metrics = pd.DataFrame(values, columns=["sample_id", "metric", "variant", "value"])
    rated = pd.DataFrame(labels, columns=["sample_id", "question", "mode"])
    return metrics, rated, describe_samples(samples).reset_index()


def test_the_study_has_every_scope_and_equals_scipy_in_one() -> None:
    metrics, labels, samples = planted()
    study = correlation_study(metrics, labels, samples, resamples=50)
    scopes = study[["scope", "part"]].drop_duplicates().apply(tuple, axis=1).tolist()
    assert scopes == [
        ("overall", ""),
        ("dataset", "d0"),
        ("dataset", "d1"),
        ("backbone", "resnet"),
        ("backbone", "vit"),
        ("within technique", ""),
    ]
    wanted = {"scope": "backbone", "part": "vit", "metric": "inside", "question": "Q1"}
    pearson, spearman = (one(study, **wanted, method=name) for name in ("pearson", "spearman"))
    chosen = samples.loc[samples["backbone"] == "vit", "sample_id"]
    x = metrics[metrics["metric"] == "inside"].set_index("sample_id").loc[chosen, "value"]
    y = labels[labels["question"] == "Q1"].set_index("sample_id").loc[chosen, "mode"]
    assert pearson["estimate"] == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman["p"] == pytest.approx(stats.spearmanr(x, y).pvalue)
    assert pearson["clusters"] == 24  # an image_id is one image only in its dataset


def test_within_technique_only_the_metric_that_knows_samples_is_left() -> None:
    study = correlation_study(*planted(), resamples=200)
    study = study[study["method"] == "pearson"]
    within = study[(study["scope"] == "within technique") & (study["question"] == "Q1")]
    assert one(study, scope="overall", metric="between", question="Q1")["low"] > 0.4
    assert abs(one(within, metric="between")["estimate"]) < 0.25
    assert one(within, metric="inside")["low"] > 0.6


def test_a_metric_that_always_failed_stays_in_the_table_with_the_reason() -> None:
    study = correlation_study(*planted(), resamples=20)
    failed = study[study["metric"] == "none"]
    assert len(failed) == 6 * 2 * 2
    assert (failed["n"] == 0).all()
    assert failed["estimate"].isna().all()
    assert failed["note"].str.startswith("fewer than 3 samples").all()


def test_p_values_are_adjusted_over_a_method_and_scope() -> None:
    study = correlation_study(*planted(), resamples=20)
    family = study[(study["method"] == "pearson") & (study["scope"] == "dataset")]
    assert family["p_holm"].to_numpy() == pytest.approx(holm(family["p"]), nan_ok=True)
    assert (family["p_holm"].dropna() >= family["p"].dropna()).all()


def grouped(seed: int, slope: float, groups: int = 15) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(groups), rng.integers(5, 30, groups))
    x = rng.normal(size=len(codes)) + rng.normal(size=groups)[codes]
    y = 0.8 * rng.normal(size=groups)[codes] + slope * x + rng.normal(size=len(codes))
    return x, y, codes


@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_the_random_intercept_model_equals_statsmodels(slope: float) -> None:
    x, y, codes = grouped(1, slope)
    design = np.column_stack([np.ones(len(x)), x])
    ours = random_intercept(y, design, codes)
    peer = MixedLM(y, design, groups=codes).fit(reml=False)
    assert ours.log_likelihood == pytest.approx(peer.llf, abs=1e-4)
    assert ours.log_likelihood >= peer.llf - 1e-6  # the same maximum, found at least as well
    assert ours.coefficients == pytest.approx(peer.fe_params, abs=1e-4)
    assert ours.within == pytest.approx(peer.scale, rel=1e-3)
    assert ours.between == pytest.approx(peer.cov_re.item(), rel=5e-3)
    assert np.sqrt(np.diag(ours.covariance)) == pytest.approx(peer.bse_fe, rel=1e-2)


def test_groups_without_a_difference_have_no_variance() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(20), 5)
    y = rng.normal(size=100)
    y -= (np.bincount(codes, y) / 5)[codes]
    fit = random_intercept(y, np.ones((100, 1)), codes)
    assert fit.between == 0
    assert fit.within == pytest.approx((y**2).mean())


def test_shares_of_variance_are_those_planted() -> None:
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(200), 40)
    x = rng.normal(size=8_000)
    y = rng.normal(size=200)[codes] + 0.5 * x + rng.normal(size=8_000)
    table = explained_beyond(x, y, codes).set_index("quantity")["estimate"]
    assert table["slope"] == pytest.approx(0.5, abs=0.03)
    assert table["share_of_rest"] == pytest.approx(0.25 / 1.25, abs=0.02)
    assert table["share_of_all"] == pytest.approx(0.25 / 2.25, abs=0.02)
    assert table["share_of_groups"] == pytest.approx(1 / 2.25, abs=0.06)


def test_a_metric_that_only_tells_groups_apart_explains_nothing_beyond_them() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(30), 20)
    height = rng.normal(size=30)[codes]
    x, y = height + 0.3 * rng.normal(size=600), height + rng.normal(size=600)
    table = explained_beyond(x, y, codes)
    assert stats.pearsonr(x, y).statistic > 0.5
    assert one(table, quantity="slope")["p"] > 0.05
    assert one(table, quantity="share_of_rest")["low"] == 0
    assert one(table, quantity="share_of_rest")["high"] < 0.03


def test_the_slopes_interval_covers_and_its_test_keeps_its_level() -> None:
    covered = alarms = 0
    for seed in range(100):
        x, y, codes = grouped(seed, 0.0)
        row = explained_beyond(x, y, codes).iloc[0]
        covered += row["low"] <= 0 <= row["high"]
        alarms += row["p"] < 0.05
    assert covered >= 90
    assert alarms <= 8


@pytest.mark.parametrize(
    ("x", "y", "groups", "reason"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], ["a"] * 4, "fewer than two groups"),
        ([1, 2, 3], [1, 2, 3], list("aab"), "fewer than three samples"),
        ([1] * 4 + [2] * 4, [1, 2, 3, 4] * 2, list("aaaabbbb"), "the value is constant"),
        ([1, 2, 3, 4] * 2, [1] * 4 + [2] * 4, list("aaaabbbb"), "the rating is constant"),
        ([np.nan] * 4, [1, 2, 3, 4], list("aabb"), "fewer than two groups"),
    ],
)
def test_too_little_for_a_model_gives_the_reason(
    x: list[float], y: list[float], groups: list[str], reason: str
) -> None:
    table = explained_beyond(x, y, groups)
    assert table["estimate"].isna().all()
    assert table["note"].str.contains(reason).all()


def test_the_explained_study_has_four_rows_for_each_question_and_metric() -> None:
    metrics, labels, samples = planted()
    study = explained_study(metrics, labels.rename(columns={"mode": "mean"}), samples)
    assert len(study) == 3 * 2 * 4
    slopes = study[study["quantity"] == "slope"]
    assert one(slopes, metric="inside", question="Q1")["p_holm"] < 1e-6
    assert one(slopes, metric="inside", question="Q2")["p_holm"] > 0.05
    assert np.isnan(one(slopes, metric="none", question="Q1")["estimate"])
