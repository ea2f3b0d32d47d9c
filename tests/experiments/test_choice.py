"""Which images are shown: balanced cells, and errors that say what to change."""

from __future__ import annotations

import numpy as np
import pytest

from pasta.errors import PastaError
from pasta.experiments.choice import choose_shown
from pasta.studies.prediction.settings import PoolParams

POOL = PoolParams(training=8, test=12)


def candidates(right: float, number: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(number) % 2
    predicted = np.where(rng.random(number) < right, labels, 1 - labels)
    return predicted.astype(np.int64), labels.astype(np.int64)


def test_the_model_is_right_on_half_of_the_images_and_names_each_class_half_of_the_time() -> None:
    predicted, labels = candidates(0.8)
    chosen = choose_shown(predicted, labels, POOL, np.random.default_rng(1))
    assert {phase: len(rows) for phase, rows in chosen.items()} == {"training": 8, "test": 12}
    assert not set(chosen["training"]) & set(chosen["test"])
    for rows in chosen.values():
        assert (predicted[rows] == labels[rows]).mean() == 0.5
        assert predicted[rows].mean() == 0.5


@pytest.mark.parametrize(
    ("right", "words"), [(1.0, "the model is too good"), (0.0, "the model is hardly right")]
)
def test_a_model_that_is_too_good_or_too_bad_is_an_error_that_says_what_to_change(
    right: float, words: str
) -> None:
    predicted, labels = candidates(right)
    with pytest.raises(PastaError, match=words) as caught:
        choose_shown(predicted, labels, POOL, np.random.default_rng(1), "biased")
    assert "biased" in str(caught.value) and f"{right:.1%}" in str(caught.value)


def test_a_pool_that_cannot_be_balanced_is_an_error() -> None:
    with pytest.raises(PastaError, match=r"prediction.pool.test is 10, expected a multiple of 4"):
        predicted, labels = candidates(0.5)
        pool = PoolParams(training=8, test=10)
        choose_shown(predicted, labels, pool, np.random.default_rng(1))
