"""COCO masks against slow decoders, and what is refused before pycocotools sees it."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from pasta.datasets.files.coco import decode_segmentation
from pasta.errors import InputError
from tests.datasets import trees


def slow_runs(lengths: list[int], height: int, width: int) -> NDArray[np.bool_]:
    """One pixel at a time, down each column."""
    mask = np.zeros((height, width), dtype=np.bool_)
    place = 0
    for number, length in enumerate(lengths):
        for _ in range(length):
            mask[place % height, place // height] = number % 2 == 1
            place += 1
    return mask


def slow_polygon(corners: list[tuple[float, float]], height: int, width: int) -> NDArray[np.bool_]:
    """Whether a ray from each pixel's centre crosses the outline an odd number of times."""
    mask = np.zeros((height, width), dtype=np.bool_)
    for row in range(height):
        for column in range(width):
            x, y = column + 0.5, row + 0.5
            for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1], strict=True):
                if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
                    mask[row, column] = not mask[row, column]
    return mask


@given(arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12))))
@settings(deadline=None)
def test_both_run_length_forms(mask: NDArray[np.bool_]) -> None:
    height, width = mask.shape
    lengths = trees.runs(mask)
    assert np.array_equal(slow_runs(lengths, height, width), mask)
    for counts in (lengths, trees.pack(lengths)):
        decoded = decode_segmentation({"size": [height, width], "counts": counts}, height, width)
        assert np.array_equal(decoded, mask)


@given(st.one_of(st.text(), st.text(alphabet=[chr(48 + bits) for bits in range(64)])))
@settings(deadline=None)
def test_any_text_is_a_mask_or_an_input_error(text: str) -> None:
    with suppress(InputError):
        mask = decode_segmentation({"size": [5, 4], "counts": text}, 5, 4)
        assert trees.pack(trees.runs(mask)) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["size", "counts"]), inner),
    max_leaves=8,
)


@given(json_values)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_is_a_mask_or_an_input_error(value: object) -> None:
    for segmentation in (value, {"size": [5, 4], "counts": value}, [value]):
        with suppress(InputError):
            assert decode_segmentation(segmentation, 5, 4).shape == (5, 4)


@given(
    st.lists(st.tuples(st.floats(4, 36), st.floats(4, 26)), min_size=3, max_size=6),
    st.floats(0, 0.99),
)
@settings(max_examples=60, deadline=None)
def test_polygons_agree_with_the_oracle(corners: list[tuple[float, float]], shift: float) -> None:
    moved = [(x + shift, y + shift) for x, y in corners]
    ours = decode_segmentation([[edge for corner in moved for edge in corner]], 30, 40)
    oracle = slow_polygon(moved, 30, 40)
    centres = np.stack(np.meshgrid(np.arange(40) + 0.5, np.arange(30) + 0.5), axis=-1)
    distance = np.full((30, 40), np.inf)
    for start, end in zip(moved, moved[1:] + moved[:1], strict=True):
        direction = np.subtract(end, start)
        length = float(direction @ direction)
        along = (
            ((centres - start) @ direction / length).clip(0, 1) if length else np.zeros((30, 40))
        )
        nearest = np.array(start) + along[..., None] * direction
        distance = np.minimum(distance, np.linalg.norm(centres - nearest, axis=-1))
    assert not np.any((ours != oracle) & (distance > 0.75))  # COCO's tools round to fifths


def test_several_polygons_are_one_mask() -> None:
    shapes = [[2, 2, 8, 2, 8, 8, 2, 8], [20, 2, 28, 2, 28, 8, 20, 8]]
    mask = decode_segmentation(shapes, 30, 40)
    assert mask[5, 5]
    assert mask[5, 24]
    assert not mask[5, 14]


@pytest.mark.parametrize(
    "segmentation",
    [
        {"size": [5, 5], "counts": [20]},
        {"size": [5, 4], "counts": [19]},
        {"size": [5, 4], "counts": [21, -1]},
        {"size": [5, 4], "counts": [True] * 20},
        {"size": [5, 4], "counts": "P"},  # ends in the middle of a number
        {"size": [5, 4], "counts": ""},
        {"size": [5, 4], "counts": "3"},  # covers too little
        {"size": [5, 4], "counts": "e0"},  # covers one pixel more
        {"size": [5, 4], "counts": "oooooooooo0"},
        {"size": [5, 4]},
        [[1, 2, 3, 4]],
        [[1, 2, 3, 4, 5, float("nan")]],
        "mask",
        None,
    ],
)
def test_bad_segmentations(segmentation: object) -> None:
    with pytest.raises(InputError):
        decode_segmentation(segmentation, 5, 4)
