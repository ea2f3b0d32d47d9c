"""RISE against its formula, its masks against scikit-image, and on planted signals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.base import Given, View
from pasta.explanations.methods.rise import Masks, random_masks, rise
from pasta.explanations.settings import RiseParams
from tests.explanations.networks import in_quadrant, pictures, quadrant_view, small_view

torch.set_num_threads(1)
SETTINGS = RiseParams(masks=150, cells=4, keep=0.5)


def given(
    view: View, images: Tensor, targets: Tensor, settings: RiseParams = SETTINGS, **rest: Any
) -> Given:
    return Given(view, images, targets, {"rise": settings}, **rest)


def drawn(number: int = 40, cells: int = 5, size: tuple[int, int] = (33, 48)) -> Masks:
    return random_masks(number, cells, 0.4, size, torch.Generator().manual_seed(2))


def literal_pixel(grid: Tensor, row: float, column: float) -> float:
    """Bilinear interpolation between the centres of cells; the border is continued."""
    cells, total = len(grid), 0.0
    for y in range(-1, cells + 1):
        for x in range(-1, cells + 1):
            near = max(0.0, 1 - abs(row - y - 0.5)) * max(0.0, 1 - abs(column - x - 0.5))
            total += near * float(grid[min(max(y, 0), cells - 1), min(max(x, 0), cells - 1)])
    return total


def test_masks_are_enlarged_and_shifted_grids() -> None:
    masks = drawn(4)
    cell = (7, 10)  # 33 and 48 pixels in five cells
    scale = [5 / (6 * length) for length in cell]  # six cells of pixels show five of the grid
    built = masks.build(slice(1, 4))
    assert built.shape == (3, 33, 48)
    for number in range(1, 4):
        down, right = masks.shifts[number].tolist()
        for y, x in [(0, 0), (32, 47), (3, 40), (16, 16), (25, 2), (7, 10)]:
            place = ((y + down + 0.5) * scale[0], (x + right + 0.5) * scale[1])
            expected = literal_pixel(masks.grids[number], *place)
            assert float(built[number - 1, y, x]) == pytest.approx(expected, abs=1e-5)


def test_masks_are_random_within_their_limits() -> None:
    masks = drawn(2000)
    assert abs(float(masks.grids.mean()) - 0.4) < 0.01
    assert masks.shifts.amin(0).tolist() == [0, 0]
    assert masks.shifts.amax(0).tolist() == [6, 9]  # less than a cell
    built = masks.build(slice(None))
    assert float(built.min()) >= 0
    assert float(built.max()) <= 1 + 1e-6
    np.testing.assert_allclose(built.mean(0).numpy(), 0.4, atol=0.05)


def test_maps_are_those_of_the_papers_formula() -> None:
    view, images, targets = small_view(), pictures(2), torch.tensor([3, 0])
    asked = given(view, images, targets)
    found = rise(asked)
    for number, image in enumerate(images):
        masks = random_masks(150, 4, 0.5, (16, 16), asked.generator(number, "rise"))
        total = np.zeros((16, 16))
        for mask in masks.build(slice(None)):
            with torch.no_grad():
                score = view.probabilities((image * mask)[None])[0, targets[number]]
            total += float(score) * mask.double().numpy()
        np.testing.assert_allclose(found[number].numpy(), total / (150 * 0.5), rtol=1e-4)


def test_where_everything_is_always_seen_the_map_is_the_probability() -> None:
    view, images, targets = small_view(), pictures(3), torch.tensor([0, 1, 2])
    found = rise(given(view, images, targets, RiseParams(masks=10, cells=4, keep=1.0)))
    with torch.no_grad():
        expected = view.probabilities(images).gather(1, targets[:, None])[:, :, None]
    torch.testing.assert_close(found, expected.expand(3, 16, 16), rtol=1e-5, atol=0)


def test_a_signal_in_one_quadrant_is_found_there() -> None:
    images = pictures(3, 32) * 0.5 + 0.5
    settings = RiseParams(masks=4000, cells=8, keep=0.5)
    found = rise(given(quadrant_view(), images, torch.ones(3, dtype=torch.long), settings))
    assert found.shape == (3, 32, 32)
    assert found.dtype == torch.float32
    # All pixels share the mean of all scores; the signal is what exceeds it.
    above = found - found.flatten(1).median(1).values[:, None, None]
    assert (in_quadrant(above) >= 0.8).all()


def test_hiding_everything_is_an_error() -> None:
    with pytest.raises(PastaError, match="hides everything"):
        rise(
            given(
                small_view(),
                pictures(1),
                torch.tensor([0]),
                RiseParams(masks=5, cells=4, keep=0.0),
            )
        )
