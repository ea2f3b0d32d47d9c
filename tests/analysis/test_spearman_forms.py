"""Sums of ranks by quadratic forms are those of ranking every row of every resample."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import analysis.correlation_bootstrap as bootstrap
from analysis.resampling import cluster_counts
from analysis.spearman_forms import worth_it


def study(
    rows: int, clusters: int, strata: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns with and without ties, one that follows the ratings, one that never varies."""
    rng = np.random.default_rng(rows)
    y = rng.integers(1, 6, (rows, 3)).astype(np.float64)
    columns = [rng.normal(size=rows), y[:, 0] + rng.normal(size=rows), rng.integers(0, 4, rows)]
    x = np.column_stack([*columns, np.round(rng.normal(size=rows), 1), np.ones(rows)])
    codes = [
        np.unique(rng.integers(0, n, rows), return_inverse=True)[1] for n in (clusters, strata)
    ]
    return x, y, codes[0], codes[1]


@pytest.mark.parametrize(("rows", "clusters", "strata"), [(400, 12, 1), (400, 12, 5), (300, 20, 2)])
def test_forms_give_what_rows_give(
    rows: int, clusters: int, strata: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, images, layers = study(rows, clusters, strata)
    options = {"ranks": True, "strata": layers, "resamples": 60, "seed": 3}
    found = {}
    for by_forms in (True, False):
        monkeypatch.setattr(bootstrap, "worth_it", lambda *_, answer=by_forms: answer)
        found[by_forms] = bootstrap.bootstrap_correlations(x, y, images, **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(found[True], found[False], atol=1e-12)
    assert np.isnan(found[True][:, -1]).all() and np.isfinite(found[True][:, :-1]).all()


def test_memory_limits_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, images, layers = study(400, 12, 5)
    options = {"ranks": True, "strata": layers, "resamples": 30, "seed": 0}
    whole = bootstrap.bootstrap_correlations(x, y, images, **options)  # type: ignore[arg-type]
    for module in ("correlation_bootstrap", "spearman_forms"):
        monkeypatch.setattr(f"analysis.{module}.NUMBERS", 2_000)
    parts = bootstrap.bootstrap_correlations(x, y, images, **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(whole, parts, atol=1e-13)


def test_a_resample_is_the_correlation_of_its_rows() -> None:
    x, y, images, _ = study(400, 12, 1)
    assert worth_it(400, 12, 16)
    drawn = bootstrap.bootstrap_correlations(x, y, images, ranks=True, resamples=5, seed=8)
    (counts,) = cluster_counts(int(images.max()) + 1, 5, 8)
    for place in range(5):
        rows = np.repeat(np.arange(len(x)), counts[place].astype(int)[images])
        for column in range(4):
            expected = stats.spearmanr(x[rows, column], y[rows, 1]).statistic
            assert drawn[place, column, 1] == pytest.approx(expected, abs=1e-12)


def test_many_clusters_are_ranked_row_by_row() -> None:
    assert worth_it(2_000, 64, 30)
    assert not worth_it(2_000, 2_000, 30)
