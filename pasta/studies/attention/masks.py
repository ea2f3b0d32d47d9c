"""From regions to masks: the share of people who chose each pixel, or each word.

A mask is clipped by the segmentation of the object, because hands are not exact, and divided by its
largest value. The layer of each person stays, with how far people agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.map_scores import agreement_of_layers
from pasta.errors import PastaError
from pasta.studies.attention.geometry import fill

Numbers = NDArray[np.float64]
Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Attention:
    """What people marked in one image or text.

    Attributes
    ----------
    layers
        (people, ...) true where a person marked something.
    object
        True where the object is; everywhere for texts.
    people
        Names, in the order of the layers.
    """

    layers: Bits
    object: Bits
    people: tuple[str, ...]

    @property
    def share(self) -> Numbers:
        """The share of people who marked each place, not clipped."""
        if not len(self.layers):
            return np.zeros(self.object.shape)
        return np.asarray(self.layers.mean(0), np.float64)

    @property
    def mask(self) -> Numbers:
        """The share within the object, divided by its largest value; zeros if nobody marked it."""
        clipped = np.where(self.object, self.share, 0.0)
        largest = clipped.max(initial=0.0)
        return np.asarray(clipped / largest if largest > 0 else clipped, np.float64)

    def row(self) -> dict[str, float | int]:
        """How many people there are, and how far they agree."""
        found = agreement_of_layers(self.layers) if len(self.layers) else {}
        nothing = sum(not layer.any() for layer in self.layers)
        return {
            "people": len(self.layers),
            "nothing": nothing,
            "iou": found.get("iou", np.nan),
            "alpha": found.get("alpha", np.nan),
            "share": float((self.share > 0).mean()),
        }


def image_attention(
    regions: pd.DataFrame, objects: Mapping[str, Bits], without: Sequence[str] = ()
) -> dict[str, Attention]:
    """What people marked in each image, by its id.

    Parameters
    ----------
    regions
        The table of regions.
    objects
        Where the object of each image is; other images are left out.
    without
        People whose marks do not count.
    """
    rows = regions[regions["image_id"].isin(list(objects)) & ~regions["annotator_id"].isin(without)]
    found: dict[str, Attention] = {}
    for image, own in rows.groupby("image_id", sort=True):
        where = objects[str(image)]
        size = (where.shape[0], where.shape[1])
        people = [
            (str(person), fill(marks["points"].dropna(), size))
            for person, marks in own.groupby("annotator_id", sort=True)
        ]
        layers = np.stack([layer for _, layer in people])
        found[str(image)] = Attention(layers, where, tuple(name for name, _ in people))
    return found


def word_attention(
    words: pd.DataFrame, lengths: Mapping[str, int], without: Sequence[str] = ()
) -> dict[str, Attention]:
    """What people chose in each text, by its id; ``lengths`` are the numbers of words."""
    rows = words[words["text_id"].isin(list(lengths)) & ~words["annotator_id"].isin(without)]
    found: dict[str, Attention] = {}
    for text, own in rows.groupby("text_id", sort=True):
        length = lengths[str(text)]
        ordered = own.sort_values("annotator_id")
        layers = np.zeros((len(ordered), length), bool)
        for row, given in enumerate(ordered["words"].fillna("")):
            chosen = [int(one) for one in given.split()]
            if chosen and max(chosen) >= length:
                raise PastaError(
                    f"the text {text} has {length} words here, and somebody chose number "
                    f"{max(chosen)} (from 0): the words are of another version of the text"
                )
            layers[row, chosen] = True
        people = tuple(map(str, ordered["annotator_id"]))
        found[str(text)] = Attention(layers, np.ones(length, bool), people)
    return found


def failed_checks(
    regions: pd.DataFrame, checks: Mapping[str, Bits], passing: float
) -> dict[str, float]:
    """People whose marks hardly touch the object of a check, with their smallest overlap.

    The overlap is the share of what a person marked that lies on the object; who marked nothing has
    none.
    """
    worst: dict[str, float] = {}
    for image, where in checks.items():
        rows = regions[regions["image_id"] == image]
        size = (where.shape[0], where.shape[1])
        for person, marks in rows.groupby("annotator_id", sort=True):
            layer = fill(marks["points"].dropna(), size)
            on = float((layer & where).sum() / layer.sum()) if layer.any() else 0.0
            worst[str(person)] = min(on, worst.get(str(person), 1.0))
    return {person: on for person, on in worst.items() if on < passing}
