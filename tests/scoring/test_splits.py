"""Splits keep apart what they promise to keep apart."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.errors import PastaError
from pasta.scoring.material import split
from pasta.scoring.settings import By
from tests.scoring.planted import samples

SEPARATED = {
    "none": [],
    "image": ["image"],
    "technique": ["technique"],
    "image_and_technique": ["image", "technique"],
    "dataset_and_technique": ["dataset", "technique"],
}


@given(
    by=st.sampled_from(get_args(By)),
    train=st.floats(0.3, 0.8),
    seed=st.integers(0, 1000),
    missing=st.integers(0, 300),
)
@settings(max_examples=60, deadline=None)
def test_no_row_and_nothing_that_is_kept_apart_is_in_two_parts(
    by: By, train: float, seed: int, missing: int
) -> None:
    frame = samples(20, 30)
    left = np.random.default_rng(seed).permutation(len(frame))[missing:]
    frame = frame.iloc[left].reset_index(drop=True)
    found = split(frame, by, train, seed, fewest=0)
    parts = [found.train, found.validation, found.test]
    rows = np.concatenate(parts)
    assert len(set(rows)) == len(rows)
    for column in SEPARATED[by]:
        train_has, *others = (set(frame[column].iloc[part]) for part in parts)
        assert not train_has & (others[0] | others[1])
    if by in ("image", "technique"):
        assert not others[0] & others[1]
        assert len(rows) == len(frame)
    if by.endswith("_and_technique"):  # a validated image is not tested
        assert not set(frame["image"].iloc[parts[1]]) & set(frame["image"].iloc[parts[2]])


def test_training_is_the_share_of_images_times_the_share_of_techniques() -> None:
    found = split(samples(40, 40), "image_and_technique", 0.7, 0)
    assert len(found.train) == 28 * 28
    assert len(found.validation) == len(found.test) == 6 * 12


@pytest.mark.parametrize("by", ["image", "technique", "image_and_technique"])
def test_the_order_of_rows_changes_nothing(by: By) -> None:
    frame = samples()
    order = np.random.default_rng(0).permutation(len(frame))
    first, second = split(frame, by, 0.7, 3), split(frame.iloc[order], by, 0.7, 3)
    assert set(order[second.test]) == set(first.test)


def test_seeds_decide() -> None:
    frame = samples()
    one, again, other = (split(frame, "image", 0.7, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.train, again.train)
    assert not np.array_equal(one.train, other.train)


def test_a_tiny_part_is_an_error_that_says_which_and_what_to_do() -> None:
    with pytest.raises(PastaError, match=r"leaves 4 of 36 rows for train.*at least 10.*raise"):
        split(samples(6, 6), "image_and_technique", 0.3, 0)
    with pytest.raises(PastaError, match=r"leaves 0 of 40 rows for validation.*lower"):
        split(samples(40, 1), "technique", 0.7, 0)


def test_a_small_study_trains_on_less_so_that_there_is_something_to_test_on() -> None:
    whole = samples(40, 40)
    few = whole.iloc[np.sort(np.random.default_rng(1).permutation(len(whole))[:200])]
    few = few.reset_index(drop=True)
    for seed in range(10):
        wanted = split(few, "image_and_technique", 0.7, seed, fewest=0)
        found = split(few, "image_and_technique", 0.7, seed)
        assert min(found.sizes) >= 10
        if min(wanted.sizes) >= 10:
            assert found.sizes == wanted.sizes
        else:
            assert len(found.train) < len(wanted.train) and set(found.train) < set(wanted.train)


def test_an_empty_frame_is_an_error() -> None:
    with pytest.raises(PastaError, match="0 of 0 rows for train"):
        split(samples(0, 0), "none", 0.7, 0)


def test_bad_requests_are_named() -> None:
    with pytest.raises(PastaError, match="Did you mean 'image'"):
        split(samples(), "images", 0.7, 0)  # type: ignore[arg-type]
    with pytest.raises(PastaError, match="between 0 and 1"):
        split(samples(), "image", 1.0, 0)
    frame = pd.DataFrame({"dataset": ["a", "b"], "image": ["1", "1"], "technique": ["t", "t"]})
    with pytest.raises(PastaError, match="'1' is in more than one dataset"):
        split(frame, "image", 0.7, 0)
