"""Metrics against masks, on maps small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pasta.metrics.api import evaluate
from tests.metrics.known import random_maps

ALL = ["pointing_game", "relevance_mass", "relevance_rank", "iou", "mae"]
MASK = torch.zeros(1, 4, 4)
MASK[:, :2, :2] = 1
MAP = torch.tensor(
    [[4.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, -9.0], [0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
)[None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pointing_game", 1.0),
        ("relevance_mass", 7 / 10),  # negative relevance does not count
        ("relevance_rank", 3 / 4),
        ("iou", 2 / 5),  # 4, 2 and 3 reach half of 4
        ("mae", (0 + 0.75 + 0.5 + 1 + 0.75) / 16),
    ],
)
def test_values_counted_by_hand(name: str, expected: float) -> None:
    assert evaluate(name, maps=MAP, masks=MASK) == pytest.approx(expected)


@pytest.mark.parametrize("name", ALL)
def test_the_mask_itself_is_best_and_the_rest_of_the_image_worst(name: str) -> None:
    best, worst = evaluate(name, maps=torch.cat([MASK, 1 - MASK]), masks=MASK.expand(2, -1, -1))
    assert (best, worst) == ((0, 1) if name == "mae" else (1, 0))


def test_a_near_miss_is_a_hit_with_tolerance() -> None:
    near = torch.zeros(1, 4, 4)
    near[0, 3, 1] = 1  # two rows below the mask
    hits = [
        float(evaluate("pointing_game", maps=near, masks=MASK, tolerance=by)[0])
        for by in (0.0, 1.9, 2.0)
    ]
    assert hits == [0, 0, 1]


def test_the_threshold_of_the_overlap_is_that_of_the_shown_map() -> None:
    assert evaluate("iou", maps=MAP, masks=MASK, threshold=0.8) == pytest.approx(1 / 4)
    assert evaluate("iou", maps=100 * MAP, masks=MASK, threshold=0.2) == pytest.approx(3 / 5)


def test_pixels_tied_for_the_last_places_count_as_they_would_on_average() -> None:
    maps, mask = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
    maps[0, 0, 0] = 1
    mask[0, 0, :3] = 1  # three places: one is the largest, two are drawn from seven, two of them in
    rank = evaluate("relevance_rank", maps=maps, masks=mask)
    assert rank == pytest.approx((1 + 2 * 2 / 7) / 3, rel=1e-15)  # in double precision


def test_the_error_takes_soft_masks() -> None:
    soft = 0.25 * MASK
    assert evaluate("mae", maps=MASK, masks=soft) == pytest.approx(4 * 0.75 / 16)


@pytest.mark.parametrize("name", ALL)
def test_an_empty_mask_has_a_status_and_no_value(name: str) -> None:
    masks = torch.cat([MASK, torch.zeros_like(MASK)]).bool()
    values, statuses = evaluate(name, maps=random_maps(2, 4), masks=masks, return_status=True)
    assert statuses == ["ok", "empty mask"]
    assert np.isnan(values).tolist() == [False, True]
