"""Bootstraps beside loops over scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score, f1_score

from analysis.classification import classification_scores
from analysis.kappa import bootstrap_kappa, sum_by_cluster
from analysis.resampling import cluster_counts
from tests.benchmarks.conftest import Table

ANNOTATORS, QUESTIONS, SAMPLES, RESAMPLES = 15, 6, 2_200, 10_000
LOOPED = 300  # kappas that the slow way is timed on


def test_bootstrap_of_quadratic_kappa(table: Table) -> None:
    rng = np.random.default_rng(0)
    columns = ANNOTATORS * QUESTIONS
    label = np.repeat(rng.integers(0, 5, (SAMPLES, QUESTIONS)), ANNOTATORS, axis=1)
    votes = np.clip(label + rng.integers(-1, 2, label.shape), 0, 4)
    clusters = np.arange(SAMPLES)
    counts = next(iter(cluster_counts(SAMPLES, RESAMPLES, 0))).astype(int)
    cells = [(number % 7, number % columns) for number in range(LOOPED)]

    def quick() -> Any:
        kappas = bootstrap_kappa(sum_by_cluster(votes.T, label.T, clusters), RESAMPLES, 0)
        return [kappas[cell] for cell in cells]

    def loop() -> Any:
        found = []
        for resample, column in cells:
            rows = np.repeat(clusters, counts[resample])
            pair = votes[rows, column], label[rows, column]
            found.append(cohen_kappa_score(*pair, weights="quadratic", labels=[0, 1, 2, 3, 4]))
        return found

    number = RESAMPLES * columns
    what = f"bootstrap of {number} kappas"
    table.compare(what, "scikit-learn, looped", loop, quick, scale=number / LOOPED)


def test_bootstrap_of_macro_f1(table: Table) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 300)
    predicted = np.where(rng.random(300) < 0.8, labels, rng.integers(0, 6, 300))
    picks = rng.integers(0, 300, (2000, 300))

    def loop() -> Any:
        values = [f1_score(labels[pick], predicted[pick], average="macro") for pick in picks]
        return np.quantile(values, [0.025, 0.975])

    def quick() -> Any:
        scores = classification_scores(labels, predicted, 6, resamples=2000)
        return scores.iloc[1][["low", "high"]].to_numpy(float)

    table.compare("bootstrap of macro-F1 (other draws)", "scikit-learn, looped", loop, quick)
