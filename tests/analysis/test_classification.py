"""Accuracy and F1 equal scikit-learn's; their intervals equal a plain bootstrap's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from analysis.classification import classification_scores, confusion


def noisy(n: int = 200, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, classes, n)
    return labels, np.where(rng.random(n) < 0.7, labels, rng.integers(0, classes, n))


def test_estimates_equal_scikit_learn() -> None:
    labels, predicted = noisy()
    scores = classification_scores(labels, predicted, 4).set_index("measure")["estimate"]
    assert scores["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert scores["macro_f1"] == pytest.approx(f1_score(labels, predicted, average="macro"))


def test_intervals_equal_those_of_a_loop_over_resampled_images() -> None:
    labels, predicted = noisy()
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(labels), (2000, len(labels)))
    slow = [f1_score(labels[pick], predicted[pick], average="macro") for pick in picks]
    low, high = np.quantile(slow, [0.025, 0.975])
    fast = classification_scores(labels, predicted, 4, resamples=20_000).iloc[1]
    assert fast["low"] == pytest.approx(low, abs=0.006)
    assert fast["high"] == pytest.approx(high, abs=0.006)


def test_a_perfect_classifier_has_no_spread() -> None:
    scores = classification_scores([0, 1, 2, 2], [0, 1, 2, 2], 3)
    assert (scores[["estimate", "low", "high"]].to_numpy() == 1).all()


def test_an_unused_class_does_not_count_as_a_failure() -> None:
    scores = classification_scores([0, 1, 1], [0, 1, 1], 5).set_index("measure")
    assert scores.loc["macro_f1", "estimate"] == 1


def test_no_image_is_an_error_and_not_a_zero() -> None:
    with pytest.raises(ValueError, match="no image"):
        classification_scores([], [], 3)


def test_confusion_has_labels_in_rows() -> None:
    assert confusion([0, 0, 1], [1, 1, 1], 2).tolist() == [[0, 2], [0, 1]]
