"""Division of explanations into training, validation and test.

An image shows up with many techniques and a technique with many images. If both are seen in
training, a scorer may remember rather than judge; so the splits differ in what must be new.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.registry import did_you_mean
from pasta.seeds import generator

By = Literal["none", "image", "technique", "image_and_technique", "dataset_and_technique"]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

FEWEST = 10


@dataclass(frozen=True)
class Split:
    """Positions of rows, increasing; no row is in two parts, some may be in none."""

    train: Rows
    validation: Rows
    test: Rows


def split(frame: pd.DataFrame, by: By, train: float, seed: int, fewest: int = FEWEST) -> Split:
    """Divide explanations at random.

    Parameters
    ----------
    frame
        Columns ``dataset``, ``image`` (unique over datasets) and ``technique``; one row for each
        explanation.
    by
        ``none``: rows at random, images and techniques are in all parts. ``image`` or
        ``technique``: each is in one part only. ``image_and_technique``: training is a share of
        the images with a share of the techniques; the other images with the other techniques are
        halved into validation and test, image by image, and the rest is not used (the default of
        doi:10.48550/arXiv.2411.02470). ``dataset_and_technique``: the same with whole datasets.
    train
        The share of the rows, images, techniques or datasets that is for training.
    seed
        Equal seeds give equal splits, whatever the order of the rows, unless ``by`` is ``none``.
    fewest
        A part with fewer rows is an error.
    """
    if by not in get_args(By):
        raise PastaError(f"there is no split by {by!r}. {did_you_mean(by, list(get_args(By)))}")
    if not 0 < train < 1:
        raise PastaError(f"the share for training is {train}, expected a number between 0 and 1")
    _check_images(frame)
    rng = generator(seed, "split", by)
    match by:
        case "none":
            parts = _deal(rng.permutation(len(frame)), train)
        case "image" | "technique":
            parts = _deal(_shuffled_codes(frame[by], rng), train)
        case "image_and_technique":
            parts = _crossed(frame, "image", train, rng)
        case "dataset_and_technique":
            parts = _crossed(frame, "dataset", train, rng)
    found = Split(*(np.flatnonzero(part) for part in parts))
    _check_sizes(found, by, train, fewest, len(frame))
    return found


def _shuffled_codes(column: pd.Series[str], rng: np.random.Generator) -> Rows:
    """A number for each row: equal for equal values, which are numbered in random order."""
    codes, levels = pd.factorize(column, sort=True)
    return rng.permutation(len(levels))[codes]


def _first(codes: Rows, share: float) -> Mask:
    """Rows whose value is among the first share of all values."""
    chosen: Mask = codes < round(share * (codes.max(initial=-1) + 1))
    return chosen


def _deal(codes: Rows, train: float) -> tuple[Mask, Mask, Mask]:
    """Values into training and two equal halves of the rest."""
    training, both = _first(codes, train), _first(codes, (1 + train) / 2)
    return training, both & ~training, ~both


def _crossed(
    frame: pd.DataFrame, column: str, train: float, rng: np.random.Generator
) -> tuple[Mask, Mask, Mask]:
    known = _first(_shuffled_codes(frame[column], rng), train)
    shown = _first(_shuffled_codes(frame["technique"], rng), train)
    other = ~known & ~shown
    half = np.zeros(len(frame), bool)
    half[other] = _first(_shuffled_codes(frame.loc[other, "image"], rng), 0.5)
    return known & shown, other & half, other & ~half


def _check_images(frame: pd.DataFrame) -> None:
    datasets = frame[["dataset", "image"]].drop_duplicates()
    twice = datasets.loc[datasets["image"].duplicated(), "image"]
    if len(twice):
        raise PastaError(
            f"image {twice.iloc[0]!r} is in more than one dataset (and {len(twice) - 1} others): "
            "expected names that are unique over datasets, such as dataset/image"
        )


def _check_sizes(found: Split, by: str, train: float, fewest: int, rows: int) -> None:
    for part in fields(found):
        size = len(getattr(found, part.name))
        if size < fewest:
            change = "raise" if part.name == "train" else "lower"
            raise PastaError(
                f"the split by {by} leaves {size} of {rows} rows for {part.name}, expected at "
                f"least {fewest}: {change} the share for training (now {train}), split by "
                "something else, or rate more explanations"
            )
