"""Point clouds as a modality: against slow oracles, in any order of the points, and in pictures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pasta import evaluate, explain
from pasta.datasets.drawn.source import draw
from pasta.errors import PastaError
from pasta.explanations.cloud import (
    CLOUD,
    VIEWS,
    blur_cloud,
    draw_points,
    remove_points,
    render_cloud,
    segment_points,
    shift_points,
    split_points,
)
from pasta.explanations.rendering import PAPER
from pasta.models.points import interpolate_points


def made(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_values_are_interpolated_as_in_a_slow_loop() -> None:
    values, places, points = made(2, 6), made(2, 3, 6, seed=1), made(2, 3, 9, seed=2)
    found = interpolate_points(values, places, points)
    for row in range(2):
        for point in range(9):
            far = [math.dist(points[row, :, point].tolist(), places[row, :, one].tolist())
                   for one in range(6)]  # fmt: skip
            near = sorted(range(6), key=lambda one: far[one])[:3]
            weights = [1 / far[one] ** 2 for one in near]
            pairs = zip(weights, near, strict=True)
            expected = sum(w * float(values[row, one]) for w, one in pairs) / sum(weights)
            assert float(found[row, point]) == pytest.approx(expected, rel=1e-9)
    torch.testing.assert_close(interpolate_points(values, places, places), values)


def test_segments_lie_together_and_do_not_depend_on_the_order() -> None:
    corners = torch.tensor([[0.0, 0, 0], [5, 0, 0], [0, 5, 0]], dtype=torch.float64).T
    cloud = corners.repeat_interleave(20, 1) + 0.1 * made(3, 60)
    labels = segment_points(cloud, "quickshift", 3)
    assert [len(set(labels[start : start + 20].tolist())) for start in (0, 20, 40)] == [1, 1, 1]
    assert np.unique(labels).tolist() == [0, 1, 2]
    order = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    many = segment_points(cloud, segments=7)
    assert torch.equal(segment_points(cloud[:, order], segments=7), many[order])
    assert segment_points(torch.ones(3, 10)).tolist() == [0] * 10


def test_groups_shift_and_removal() -> None:
    assert split_points((7,), 3).tolist() == [0, 0, 0, 1, 1, 1, 2]
    cloud = torch.tensor([[[-0.9, 0.0, 0.5], [0.1, 0.2, 0.3], [0.0, 0.0, 1.0]]])
    moved = shift_points(cloud, 0.3)
    expected = torch.tensor([[[-0.3, 0.6, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.0]]])
    torch.testing.assert_close(moved, expected)
    assert torch.equal(shift_points(cloud, 0.0), cloud)
    assert torch.equal(shift_points(cloud, 1.0)[0, :, 1:], torch.zeros(3, 2))
    removed = remove_points(cloud, torch.tensor([[True, False, False]]))
    assert torch.equal(removed[0, :, 0], torch.zeros(3))
    assert torch.equal(removed[0, :, 1:], cloud[0, :, 1:])


def test_blur_is_a_weighted_mean_of_all_points() -> None:
    cloud = made(3, 6)
    found = blur_cloud(cloud, 0.3)
    for point in range(6):
        far = (cloud - cloud[:, [point]]).square().sum(0)
        weights = torch.exp(-far / (2 * 0.3**2))
        torch.testing.assert_close(found[:, point], (cloud * weights).sum(1) / weights.sum())
    torch.testing.assert_close(blur_cloud(cloud, 1e4), cloud.mean(1, keepdim=True).expand(3, 6))
    torch.testing.assert_close(blur_cloud(cloud, 1e-4), cloud)


def test_a_map_of_another_size_needs_places() -> None:
    maps = made(2, 5)
    assert CLOUD.resize(maps, (5,)) is maps
    with pytest.raises(PastaError, match="5 values for 8 points"):
        CLOUD.resize(maps, (8,))


class LooksAtPart(nn.Module):
    """Adds up one coordinate of the points above a height, softly: a model of one part only."""

    def forward(self, clouds: Tensor) -> Tensor:
        high = torch.sigmoid(40 * (clouds[:, 2] - 0.2))
        score = (high * clouds[:, 0].square()).sum(1)
        return torch.stack([-score, score], 1)


METHODS = ["saliency", "input_x_gradient", "integrated_gradients"]


def test_maps_lie_where_the_model_looks_and_follow_the_points() -> None:
    clouds = 2 * made(2, 3, 40).float() - 1
    order = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    given: dict[str, Any] = {"targets": [1, 1], "methods": METHODS, "modality": "point cloud"}
    maps = explain(LooksAtPart(), clouds, **given)
    again = explain(LooksAtPart(), clouds[:, :, order], **given)
    part = (clouds[:, 2] > 0.1).numpy()
    for method in METHODS:
        assert maps[method].shape == (2, 40)
        np.testing.assert_allclose(again[method], maps[method][:, order], atol=1e-6)
        inside = np.abs(maps[method])[part].sum() / np.abs(maps[method]).sum()
        assert inside > 0.95, method


def test_a_right_map_of_a_cloud_is_better_than_a_wrong_one() -> None:
    clouds = 2 * made(2, 3, 40).float() - 1
    high = torch.sigmoid(40 * (clouds[:, 2] - 0.2)) * clouds[:, 0].square()
    given: dict[str, Any] = {
        "model": LooksAtPart(), "images": clouds, "targets": [1, 1], "softmax": True,
        "modality": "point cloud",
    }  # fmt: skip
    for metric, better in (("deletion", -1), ("pixel_flipping", 1)):
        found = [
            evaluate(metric, maps=maps, steps=20, **given) for maps in (high, high.amax() - high)
        ]
        assert np.all(better * (found[0] - found[1]) > 0), metric
    road = evaluate("road", maps=high, percentages=(20,), **given)
    assert np.isfinite(road).all()


@pytest.mark.parametrize("signed", [False, True])
def test_a_picture_shows_two_sides_and_the_map_in_colour(signed: bool) -> None:
    record = draw("furniture", 0, 1, 200)
    shown = (record.parts == 1 + 4).astype(np.float32)
    assert shown.any()
    found = render_cloud(record.image, shown, signed, 120)
    assert found.shape == (120, 240, 3)
    for side in np.split(found, 2, axis=1):
        drawn = (side != np.array(PAPER)).any(-1)
        assert 0.05 < drawn.mean() < 0.9
    plain = render_cloud(record.image, np.zeros(200), signed, 120)
    assert np.array_equal(plain, render_cloud(record.image, np.full(200, np.nan), signed, 120))
    colourful = [np.ptp(picture.astype(int), axis=-1).max() for picture in (plain, found)]
    assert colourful[0] < 10 < colourful[1]


def test_the_near_point_hides_the_far_one() -> None:
    points = np.array([[0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]], np.float32)
    colours = np.array([[255, 0, 0], [0, 0, 255], [0, 0, 0], [0, 0, 0]], np.uint8)
    front = draw_points(points, colours, 60, (0.0, 0.0))[30, 30].astype(int)
    behind = draw_points(points, colours, 60, (np.pi, 0.0))[30, 30].astype(int)
    assert front[2] > front[0] + 50 and behind[0] > behind[2] + 50
    assert len(VIEWS) == 2
