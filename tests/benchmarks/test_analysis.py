"""The clustered kappa bootstrap against a loop over scikit-learn's kappa, on equal values."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from analysis.kappa import bootstrap_kappa, sum_by_cluster
from analysis.resampling import cluster_counts
from tests.benchmarks.test_ratios import timed

ANNOTATORS, QUESTIONS, SAMPLES, RESAMPLES = 15, 6, 2_200, 10_000
LOOPED = 300  # kappas that the slow way is timed on


def test_bootstrap_of_quadratic_kappa_against_a_loop_over_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    columns = ANNOTATORS * QUESTIONS
    label = np.repeat(rng.integers(0, 5, (SAMPLES, QUESTIONS)), ANNOTATORS, axis=1)
    votes = np.clip(label + rng.integers(-1, 2, label.shape), 0, 4)
    clusters = np.arange(SAMPLES)

    def quick() -> np.ndarray:
        return bootstrap_kappa(sum_by_cluster(votes.T, label.T, clusters), RESAMPLES, 0)

    counts = next(iter(cluster_counts(SAMPLES, RESAMPLES, 0))).astype(int)
    cells = [(number % 7, number % columns) for number in range(LOOPED)]

    def loop() -> list[float]:
        found = []
        for resample, column in cells:
            rows = np.repeat(clusters, counts[resample])
            pair = votes[rows, column], label[rows, column]
            found.append(cohen_kappa_score(*pair, weights="quadratic", labels=[0, 1, 2, 3, 4]))
        return found

    slow, values = timed(loop)
    fast, kappas = timed(quick)
    assert kappas.shape == (RESAMPLES, columns)
    assert [kappas[cell] for cell in cells] == pytest.approx(values, abs=1e-12)
    whole = slow / LOOPED * RESAMPLES * columns
    print(
        f"\n{RESAMPLES * columns} kappas: {whole / fast:.0f}x a loop over scikit-learn"
        f" ({fast:.1f} s against {whole:.0f} s, scaled up from {LOOPED} kappas)"
    )
    assert whole / fast >= 100
