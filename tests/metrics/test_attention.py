"""Scores of maps against masks of human attention, as metrics of the registry."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from analysis.map_scores import score_maps
from pasta import evaluate
from pasta.metrics.catalog import METRICS
from tests.metrics.known import random_maps

NAMES = [name for name in METRICS if name.startswith("attention_")]


def test_a_map_equal_to_the_mask_scores_one() -> None:
    mask = np.array([[[0.0, 0.0], [0.5, 1.0]]])
    for name in ("attention_mae", "attention_iou", "attention_sim", "attention_cc"):
        assert evaluate(name, maps=mask, masks=mask) == pytest.approx([1])


def test_every_score_is_that_of_the_positive_map() -> None:
    maps, masks = random_maps(4) - 0.3, random_maps(4, seed=5).round(decimals=1)
    expected = score_maps(maps.clamp_min(0).numpy(), masks.numpy())
    columns = ["agreement", "false_positive", "false_negative", "iou_best", "iou_mean", "auc"]
    columns += ["nss", "correlation", "similarity", "divergence", "rank_correlation"]
    for name, column in zip(NAMES, columns, strict=True):
        found = evaluate(name, maps=maps, masks=masks)
        np.testing.assert_allclose(found, expected[column], rtol=1e-12, err_msg=name)


def test_a_mask_of_nothing_has_a_status_and_the_other_maps_a_value() -> None:
    masks = torch.stack([torch.zeros(16, 16), random_maps(1, seed=3)[0]])
    values, statuses = evaluate(
        "attention_nss", maps=random_maps(2), masks=masks, return_status=True
    )
    assert statuses == ["empty mask", "ok"]
    assert np.isnan(values[0]) and np.isfinite(values[1])


def test_a_mask_of_everything_leaves_nothing_outside() -> None:
    values, statuses = evaluate(
        "attention_auc", maps=random_maps(1), masks=torch.ones(1, 16, 16), return_status=True
    )
    assert statuses == ["mask of everything"] and np.isnan(values[0])
