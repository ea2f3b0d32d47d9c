"""Grids of cells and moved content, for one, two and three spatial axes."""

from __future__ import annotations

import itertools

import pytest
import torch

from pasta.explanations.image import IMAGE
from pasta.explanations.spatial import grid_labels, shift_content


@pytest.mark.parametrize("size", [(7,), (5, 8), (3, 4, 5)])
def test_places_share_a_label_if_they_share_a_cell(size: tuple[int, ...]) -> None:
    labels, side = grid_labels(size, 3), 3
    seen: dict[tuple[int, ...], int] = {}
    for place in itertools.product(*map(range, size)):
        cell = tuple(one // side for one in place)
        assert seen.setdefault(cell, int(labels[place])) == int(labels[place])
    assert sorted(seen.values()) == list(range(len(seen)))
    assert [seen[cell] for cell in sorted(seen)] == sorted(seen.values())


@pytest.mark.parametrize("shape", [(2, 3, 10), (2, 3, 4, 10), (2, 1, 3, 4, 10)])
def test_content_moves_along_the_last_axis_and_black_comes_in(shape: tuple[int, ...]) -> None:
    inputs = torch.rand(shape) + 1
    moved = shift_content(inputs, 0.3, -1.0)
    torch.testing.assert_close(moved[..., 3:], inputs[..., :7])
    assert (moved[..., :3] == -1).all()
    back = shift_content(inputs, -0.3)
    torch.testing.assert_close(back[..., :7], inputs[..., 3:])
    assert (back[..., 7:] == 0).all()
    assert torch.equal(shift_content(inputs, 0), inputs)
    assert (shift_content(inputs, 1.7) == 0).all() and (shift_content(inputs, -1) == 0).all()


def test_images_are_split_and_moved_so() -> None:
    assert torch.equal(IMAGE.need("split")((4, 4), 2), grid_labels((4, 4), 2))
    assert IMAGE.need("shift")(torch.ones(1, 3, 2, 4), 0.25).sum() == 18
