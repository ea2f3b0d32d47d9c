"""What becomes of raw attributions: enlarged, judged, stored in half precision, shown."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pasta.explanations.attribution import scaled, shown_maps, statuses
from pasta.explanations.base import raw_maps


def test_positive_methods_are_rectified_before_they_are_enlarged() -> None:
    small = torch.tensor([[[-1.0, 1.0]]])
    maps = raw_maps(small, (1, 4), "positive")
    assert maps[0, 0].tolist() == pytest.approx([0, 0.25, 0.75, 1])
    assert raw_maps(small, (1, 4), "signed")[0, 0].tolist() == pytest.approx([-1, -0.5, 0.5, 1])


def test_shown_maps_reach_from_zero_to_one_and_signed_ones_keep_their_zero() -> None:
    raw = np.array([[[2.0, 4.0, 6.0]]])
    assert shown_maps(raw, "positive")[0, 0].tolist() == pytest.approx([0, 0.5, 1])
    signed = np.array([[[-4.0, 0.0, 2.0]]])
    assert shown_maps(signed, "signed")[0, 0].tolist() == pytest.approx([-1, 0, 0.5])


def test_what_cannot_be_shown_is_shown_as_nothing() -> None:
    raw = np.stack([np.zeros((2, 2)), np.full((2, 2), 3.0), np.full((2, 2), np.nan)])
    assert statuses(raw) == ["zero", "constant", "nan"]
    assert not shown_maps(raw, "positive").any()


def test_a_map_with_one_bad_pixel_is_not_a_number() -> None:
    raw = np.ones((1, 2, 2))
    raw[0, 1, 1] = np.inf
    assert statuses(raw) == ["nan"]


LARGEST = 2.0**99
FLOATS = st.floats(-LARGEST, LARGEST, width=32)


@given(
    arrays(np.float32, st.tuples(st.just(2), st.integers(1, 4), st.integers(1, 4)), elements=FLOATS)
)
def test_scale_gives_stored_halves_back_within_their_precision(raw: np.ndarray) -> None:
    halves, scales = scaled(raw)
    assert np.abs(halves.astype(np.float64)).max() <= 1
    back = halves.astype(np.float64) * scales[:, None, None]
    largest = np.abs(raw).max((1, 2), keepdims=True).astype(np.float64)
    assert (np.abs(back - raw) <= largest * 2**-11 * 1.01).all()


@given(arrays(np.float32, (2, 3, 3), elements=FLOATS), st.sampled_from(["positive", "signed"]))
def test_shown_maps_stay_in_their_range_and_keep_the_order(raw: np.ndarray, sign: str) -> None:
    shown = shown_maps(raw, sign)  # type: ignore[arg-type]
    low = 0 if sign == "positive" else -1
    assert shown.min() >= low and shown.max() <= 1
    for one, map_ in zip(raw, shown, strict=True):
        order = np.argsort(one.ravel(), kind="stable")
        assert (np.diff(map_.ravel()[order]) >= 0).all()
