"""Saliency maps against annotators' own boxes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pasta.studies.ratings.analyses.boxes import MEASURES, box_measures


def _boxes(*boxes: tuple[float, float, float, float], sample: str = "s") -> pd.DataFrame:
    frame = pd.DataFrame(list(boxes), columns=["x0", "y0", "x1", "y1"])
    return frame.assign(sample_id=sample, annotator_id="a")


def test_uniform_map_has_the_area_inside_and_the_largest_entropy() -> None:
    row = box_measures(np.ones((1, 8, 16)), ["s"], _boxes((0, 0, 0.5, 1))).iloc[0]
    assert row["sum_all"] == 128 and row["sum_pos"] == 64 and row["sum_neg"] == 64
    assert row["entropy"] == pytest.approx(7) and row["share_pos"] == 0.5


def test_one_bright_pixel_has_no_entropy_and_lies_where_it_lies() -> None:
    values = np.zeros((1, 10, 10))
    values[0, 2, 7] = 3.0  # row 2, column 7: y 0.25, x 0.75
    inside = box_measures(values, ["s"], _boxes((0.7, 0.2, 0.8, 0.3))).iloc[0]
    outside = box_measures(values, ["s"], _boxes((0.2, 0.7, 0.3, 0.8))).iloc[0]
    assert inside["entropy"] == 0 and inside["sum_pos"] == 3 and inside["share_pos"] == 1
    assert outside["sum_pos"] == 0 and outside["sum_neg"] == 3


def test_overlapping_boxes_count_once() -> None:
    found = box_measures(np.ones((1, 10, 10)), ["s"], _boxes((0, 0, 0.6, 1), (0.4, 0, 1, 1)))
    assert found["sum_pos"].iloc[0] == 100


def test_masks_agree_with_a_loop_over_pixels() -> None:
    """Oracle: a pixel is inside if its centre is, in float64."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(1, 7, 9))
    corners = np.sort(rng.random((3, 2, 2)), axis=1)
    boxes = [(c[0, 0], c[0, 1], c[1, 0], c[1, 1]) for c in corners]
    expected = sum(
        values[0, row, column]
        for row in range(7)
        for column in range(9)
        if any(
            x0 <= (column + 0.5) / 9 < x1 and y0 <= (row + 0.5) / 7 < y1 for x0, y0, x1, y1 in boxes
        )
    )
    found = box_measures(values, ["s"], _boxes(*boxes)).iloc[0]
    assert found["sum_pos"] == pytest.approx(expected)
    assert found["sum_pos"] + found["sum_neg"] == pytest.approx(values.sum())


def test_broken_and_empty_maps_have_no_value() -> None:
    maps = np.zeros((2, 4, 4), np.float16)
    maps[0, 0, 0] = np.nan
    boxes = pd.concat([_boxes((0, 0, 1, 1), sample=name) for name in ("s", "t", "unknown")])
    found = box_measures(maps, ["s", "t"], boxes).set_index("sample_id")
    assert found.loc["s", list(MEASURES)].isna().all()
    assert found.loc["t", "sum_all"] == 0
    assert found.loc["t", ["entropy", "share_pos"]].isna().all()


def test_tiny_boxes_hold_no_pixel() -> None:
    found = box_measures(np.ones((1, 4, 4)), ["s"], _boxes((0.3, 0.3, 0.31, 0.31)))
    assert found["sum_pos"].iloc[0] == 0
