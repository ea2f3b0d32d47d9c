"""Intervals hold as many labels as they promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.scoring.conformal import calibrate, interval, needed_stretch, quantile, sides
from pasta.scoring.ordinal import OrdinalScorer
from pasta.seeds import generator
from tests.scoring.ordinal_votes import draw_rated, planted_weights, settings


def _distributions(seed: int, samples: int) -> Tensor:
    random = generator(seed, "test", "distributions")
    return torch.from_numpy(random.dirichlet(np.ones(5), (samples, 2)))


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.95])
def test_quantile_equals_literal_interpolation_of_the_distribution(share: float) -> None:
    chances = _distributions(0, 50)
    found = quantile(chances, share)
    for row, column in np.ndindex(found.shape):
        up_to = np.concatenate([[0.0], chances[row, column].numpy().cumsum()])
        expected = np.interp(share, up_to, np.arange(0.5, 6.0))
        assert float(found[row, column]) == pytest.approx(expected, abs=1e-12)


def test_quantile_of_a_certain_star_stays_within_half_a_star() -> None:
    certain = torch.eye(5, dtype=torch.float64)[:, None]
    for share in (0.05, 0.5, 0.95):
        np.testing.assert_allclose(quantile(certain, share)[:, 0], np.arange(1, 6) - 0.5 + share)


def test_stretch_is_the_right_order_statistic() -> None:
    needed = torch.tensor([3.0, 1.0, 9.0, 2.0, 5.0, 4.0, 8.0, 7.0, 6.0, np.nan])[:, None]
    assert calibrate(needed, 0.9).tolist() == [9.0]  # the ninth of nine: ceil(10 * 0.9)
    assert calibrate(needed, 0.5).tolist() == [5.0]
    assert calibrate(needed[1:], 0.9).tolist() == [np.inf]  # eight cannot promise 90 %


def test_without_labels_the_interval_is_the_whole_scale() -> None:
    stars, chances = torch.full((4, 2), 3.0), _distributions(1, 4)
    stretch = calibrate(torch.full((20, 2), np.nan), 0.9)
    low, high = interval(stars, *sides(stars, chances, 0.9), stretch)
    assert (low == 1).all()
    assert (high == 5).all()


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_of_exchangeable_labels_exactly_the_promised_share_is_covered(coverage: float) -> None:
    """Leaving out each of n + 1 in turn, ceil((n + 1) * coverage) are covered by the others."""
    number = 41
    random = generator(2, "test", "left out")
    stars = torch.from_numpy(random.uniform(1.5, 4.5, (number, 1)))
    chances = _distributions(3, number)[:, :1]
    labels = torch.from_numpy(random.integers(1, 6, (number, 1)).astype(np.float64))
    down, up = sides(stars, chances, coverage)
    needed = needed_stretch(labels, stars, down, up)
    covered = 0
    for left_out in range(number):
        stretch = calibrate(needed[torch.arange(number) != left_out], coverage)
        low, high = interval(stars, down, up, stretch)
        covered += bool(low[left_out, 0] <= labels[left_out, 0] <= high[left_out, 0])
    assert covered == int(np.ceil(number * coverage))


def test_prediction_lies_in_its_interval_and_a_larger_stretch_is_wider() -> None:
    random = generator(4, "test", "nested")
    stars, chances = torch.from_numpy(random.uniform(1, 5, (100, 2))), _distributions(5, 100)
    down, up = sides(stars, chances, 0.9)
    before = (stars, stars)
    for stretch in (0.0, 0.5, 1.0, 3.0):
        low, high = interval(stars, down, up, torch.full((2,), stretch))
        assert (low <= before[0]).all()
        assert (high >= before[1]).all()
        assert (low >= 1).all()
        assert (high <= 5).all()
        before = (low, high)


def test_intervals_of_the_scorer_cover_87_to_93_percent_of_modes() -> None:
    weights = planted_weights(0, 12, 3)
    quick = settings(tolerance=1e-4)
    shares = []
    for seed in range(25):
        rated = draw_rated(seed, 900, weights, residual=0.8)
        train, validation = rated.at(np.arange(200)), rated.at(np.arange(200, 320))
        test = rated.at(np.arange(320, 900))
        found = OrdinalScorer().fit(train, validation, quick, seed).predict(test.features)
        assert found.low is not None
        assert found.high is not None
        inside = (found.low <= test.labels) & (test.labels <= found.high)
        shares.append(inside.mean(axis=0))
        # an interval of the whole scale would cover too
        assert (found.high - found.low).mean() < 3.5
    assert (np.mean(shares, axis=0) > 0.87).all()
    assert (np.mean(shares, axis=0) < 0.93).all()
