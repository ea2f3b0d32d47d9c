"""Critical differences and groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.technique_ranking import (
    critical_difference,
    critical_gap,
    group_letters,
    homogeneous_groups,
    pairs_by_holm,
)

# Demšar 2006, https://jmlr.org/papers/v7/demsar06a.html, table 6. The last two of "voting" are
# printed as 0.975 but ranked 2 and 3.
DEMSAR = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.9750],
        [0.957, 0.978, 0.946, 0.970],
    ],
    columns=["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"],
)


def test_mean_ranks_and_critical_difference_agree_with_demsars_example() -> None:
    found = critical_difference(DEMSAR).set_index("item")
    ranks = found["estimate"].reindex(DEMSAR.columns).to_numpy()
    assert ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found["critical_difference"].iloc[0] == pytest.approx(1.25, abs=0.005)
    plain = 12 * 14 / (4 * 5) * (float((ranks**2).sum()) - 4 * 25 / 4)
    assert plain == pytest.approx(9.28, abs=0.005)  # the paper's, without correction for ties
    assert found["groups"].tolist() == ["a"] * 4


def test_chi_square_agrees_with_scipy_also_with_ties() -> None:
    found = critical_difference(DEMSAR).iloc[0]
    peer = stats.friedmanchisquare(*DEMSAR.to_numpy().T)
    assert (found["chi_square"], found["p"]) == pytest.approx((peer.statistic, peer.pvalue))


@pytest.mark.parametrize(("items", "quantile"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_quantiles_agree_with_demsars_table_5(items: int, quantile: float) -> None:
    scale = np.sqrt(items * (items + 1) / (6 * 30))
    assert critical_gap(items, 30) / scale == pytest.approx(quantile, abs=1e-3)


def test_items_far_apart_form_separate_groups() -> None:
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.normal([3, 3, 0, 0], 0.3, (60, 4)), columns=list("abcd"))
    found = critical_difference(scores).set_index("item")["groups"]
    assert found["a"] == found["b"] == "a" and found["c"] == found["d"] == "b"


def test_runs_are_the_longest_without_a_difference() -> None:
    different = np.zeros((4, 4), bool)
    different[0, 2] = different[0, 3] = different[1, 3] = True
    different |= different.T
    runs = homogeneous_groups(different)
    assert runs == [(0, 1), (1, 2), (2, 3)]
    assert group_letters(runs, 4) == ["a", "ab", "bc", "c"]
    assert homogeneous_groups(~np.eye(3, dtype=bool)) == []


def test_pairs_are_corrected_together() -> None:
    p = np.array([[1, 0.02, 0.5], [0.02, 1, 0.01], [0.5, 0.01, 1]])
    found = pairs_by_holm(p)
    assert found[1, 2] and found[0, 1] and not found[0, 2]  # 0.03, 0.04 and 0.5 after Holm
    assert not pairs_by_holm(np.full((3, 3), np.nan)).any()


def test_incomplete_blocks_are_left_out_and_counted() -> None:
    scores = DEMSAR.copy()
    scores.iloc[0, 0] = np.nan
    found = critical_difference(scores)
    assert (found["n"] == 13).all() and found["note"].str.contains("1 blocks").all()


@pytest.mark.parametrize("scores", [DEMSAR.head(1), DEMSAR.head(0), DEMSAR[["C4.5"]]])
def test_too_little_to_rank_is_a_note(scores: pd.DataFrame) -> None:
    found = critical_difference(scores)
    assert len(found) == scores.shape[1]
    assert found["estimate"].isna().all() and (found["note"] != "").all()


def test_all_tied_is_a_note() -> None:
    found = critical_difference(pd.DataFrame(np.ones((5, 3)), columns=list("abc")))
    assert found["p"].isna().all() and found["note"].str.contains("tied").all()
