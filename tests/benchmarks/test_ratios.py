"""Each test prints how many times faster a fast path is than its plain peer, on equal results."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from analysis.classification import classification_scores


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds and result of a call."""
    started = time.perf_counter()
    result = call()
    return time.perf_counter() - started, result


def test_bootstrap_of_macro_f1_against_a_loop_over_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 300)
    predicted = np.where(rng.random(300) < 0.8, labels, rng.integers(0, 6, 300))
    picks = rng.integers(0, 300, (2000, 300))
    slow, values = timed(
        lambda: [f1_score(labels[pick], predicted[pick], average="macro") for pick in picks]
    )
    fast, table = timed(lambda: classification_scores(labels, predicted, 6, resamples=2000))
    low, high = np.quantile(values, [0.025, 0.975])
    row = table.iloc[1]
    assert (row["low"], row["high"]) == pytest.approx((low, high), abs=0.02)
    print(f"\nbootstrap of macro-F1: {slow / fast:.0f}x a loop over scikit-learn ({fast:.3f} s)")
