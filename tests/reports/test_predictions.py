"""Single predictions: groups, reliability and numbers of datasets are those of the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from reports.source.pages.predictions import (
    COUNTS,
    SHARES,
    calibration_errors,
    describe_predictions,
    group_predictions,
    reliability_bins,
)


def predictions(n: int = 600, votes: int = 200, wrong: float = 0.0) -> pd.DataFrame:
    """A scorer that knows the shares of the stars, or says that all five are as likely."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(5), n)
    counts = np.array([rng.multinomial(votes, one) for one in truth])
    said = (1 - wrong) * truth + wrong * 0.2
    return pd.DataFrame(
        {
            "sample_id": [f"s{place}" for place in range(n)],
            "dataset": np.where(np.arange(n) % 2, "coco", "monumai"),
            "question": np.where(np.arange(n) % 3, "Q1", "Q2"),
            "seed": 0,
            "label": 1 + counts.argmax(axis=1),
            "stars": said @ np.arange(1, 6),
            **dict(zip(SHARES, said.T, strict=True)),
            **dict(zip(COUNTS, counts.T, strict=True)),
        }
    )


def test_true_shares_are_reliable_and_others_are_off_by_what_they_are_off() -> None:
    good, flat = predictions(), predictions(wrong=1.0)
    assert calibration_errors(reliability_bins(good)).max() < 0.02
    assert calibration_errors(reliability_bins(flat)).max() < 0.15  # the mean is right
    half = calibration_errors(reliability_bins(predictions(wrong=0.5)))
    expected = 0.5 * np.abs(good[SHARES].to_numpy() - 0.2).mean()
    assert half.mean() == pytest.approx(expected, rel=0.1)


def test_groups_have_the_mean_vote_of_their_explanations() -> None:
    rows = predictions().assign(vote=lambda frame: frame["stars"] + 0.5)
    groups = group_predictions(rows)
    assert groups["n"].sum() == len(rows) and (groups.groupby("question").size() == 10).all()
    np.testing.assert_allclose(groups["vote"] - groups["stars"], 0.5)


def test_datasets_have_kappa_and_error_and_a_scorer_without_shares_no_reliability() -> None:
    rows = predictions()
    found = describe_predictions(rows)
    assert found is not None and found["n"] == 600 and found["reliability"] is not None
    table = {row[0]: row for row in found["table"]["rows"]}
    own = rows[(rows["dataset"] == "coco") & (rows["question"] == "Q1")]
    kappa = cohen_kappa_score(
        own["label"], own["stars"].round().astype(int), weights="quadratic", labels=range(1, 6)
    )
    error = (own["stars"] - own["label"]).pow(2).mean()
    assert table["COCO indoor scenes"][2] == f"{kappa:.2f} ({error:.2f})"
    bare = describe_predictions(rows.assign(**dict.fromkeys(SHARES, np.nan)))
    assert bare is not None and bare["reliability"] is None and bare["off"] == []
    assert describe_predictions(rows.iloc[:0]) is None
