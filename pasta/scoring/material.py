"""What scorers learn from: rated explanations with labels and vectors, and how they are split.

An image shows up with many techniques and a technique with many images. If both are seen in
training, a scorer may remember rather than judge; so the splits differ in what must be new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.embedding.inputs import classes_of, label_order
from pasta.embedding.inputs import with_label as labelled
from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.stored import Embedded, load_embeddings
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.registry import did_you_mean
from pasta.scoring.base import Floats, Rated
from pasta.scoring.settings import Aggregate, By
from pasta.seeds import generator
from pasta.studies.ratings.rateable import explained
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.tables import STARS

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

FEWEST = 10
LESS = 0.9


@dataclass(frozen=True)
class Split:
    """Positions of rows, increasing; no row is in two parts, some may be in none."""

    train: Rows
    validation: Rows
    test: Rows

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many rows each part has, in this order."""
        return len(self.train), len(self.validation), len(self.test)


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
        Where a part would have fewer rows, as of a small study whose images and techniques must
        both be new, less is for training (:data:`LESS` of the share, and again); an error if that
        does not help.
    """
    if by not in get_args(By):
        raise PastaError(f"there is no split by {by!r}. {did_you_mean(by, list(get_args(By)))}")
    if not 0 < train < 1:
        raise PastaError(f"the share for training is {train}, expected a number between 0 and 1")
    _check_images(frame)
    share, found = train, _split(frame, by, train, seed)
    while min(found.sizes) < fewest <= len(found.train):
        share *= LESS
        found = _split(frame, by, share, seed)
    if min(found.sizes) < fewest:
        _refuse(_split(frame, by, train, seed), by, train, fewest, len(frame))
    return found


def _split(frame: pd.DataFrame, by: By, train: float, seed: int) -> Split:
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
    return Split(*(np.flatnonzero(part) for part in parts))


def takes_less(frame: pd.DataFrame, by: By, train: float, seed: int) -> bool:
    """Whether a split has less for training than its share, because there are few rows."""
    found, wanted = (split(frame, by, train, seed, fewest) for fewest in (FEWEST, 0))
    return found.sizes != wanted.sizes


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


def _refuse(found: Split, by: str, train: float, fewest: int, rows: int) -> None:
    for part, size in zip(fields(found), found.sizes, strict=True):
        if size < fewest:
            change = "raise" if part.name == "train" else "lower"
            raise PastaError(
                f"the split by {by} leaves {size} of {rows} rows for {part.name}, expected at "
                f"least {fewest}: {change} the share for training (now {train}), split by "
                "something else, or rate more explanations"
            )


_AGAIN = "`dvc repro embed` embeds all explanations again"


@dataclass(frozen=True)
class Material:
    """Rated explanations, sorted by sample; rows of all arrays agree."""

    samples: pd.DataFrame  # sample_id, dataset, image, technique, kind, predicted
    counts: NDArray[np.int64]  # samples x questions x stars
    labels: Mapping[str, Floats]  # mode, mean and median: samples x questions, NaN without votes
    groups: tuple[Group, ...]
    simulated: float  # share of the labels that have simulated votes in them

    @property
    def places(self) -> pd.DataFrame:
        """What splits are made by."""
        return self.samples[["dataset", "image", "technique"]]

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The classes of each dataset that has rated explanations: what labels may be."""
        there = set(self.samples["dataset"])
        return classes_of(group.dataset for group in self.groups if group.dataset in there)

    def rated(
        self,
        settings: EmbeddingParams,
        aggregate: Aggregate = "mode",
        with_label: bool = True,
        questions: Sequence[str] = QUESTIONS,
    ) -> tuple[Rated, NDArray[np.int64]]:
        """Features and votes, and the rows they belong to: those that could be embedded."""
        vectors = self.vectors(settings)
        usable = np.flatnonzero(np.isfinite(vectors).all(axis=1))
        features = vectors[usable]
        if with_label:
            predicted = self.samples["predicted"].iloc[usable].tolist()
            features = labelled(features, predicted, label_order(self.classes))
        names: list[str] = list(QUESTIONS)
        columns = [names.index(question) for question in questions]
        labels = self.labels[aggregate][usable][:, columns]
        return Rated(features, self.counts[usable][:, columns], labels), usable

    def vectors(self, settings: EmbeddingParams) -> Floats:
        """One row for each sample, NaN where there was nothing to embed."""
        parts = self.embedded(settings)
        every = pd.Index(np.concatenate([part.table["sample_id"] for part in parts]))
        place = every.get_indexer(pd.Index(self.samples["sample_id"]))
        found: Floats = np.concatenate([part.vectors for part in parts])[place]
        return found

    def embedded(self, settings: EmbeddingParams) -> list[Embedded]:
        """The stored vectors of all groups; they must be of one encoder."""
        parts = [load_embeddings(group, settings) for group in self.groups]
        if len({str(part.encoder) for part in parts}) > 1:
            raise PastaError(f"the datasets were embedded by different encoders: {_AGAIN}")
        return parts


def collect(groups: Sequence[Group], labels: pd.DataFrame) -> Material:
    """The explanations of all groups that have labels; labels of others are an error.

    The table is the only source of labels: how ties are settled was decided when it was made.
    """
    explanations = explained(groups)
    rated = explanations[explanations["sample_id"].isin(set(labels["sample_id"]))]
    rated = rated.sort_values("sample_id", ignore_index=True)
    unknown = labels.loc[~labels["sample_id"].isin(set(rated["sample_id"])), "sample_id"].unique()
    if len(unknown):
        raise PastaError(
            f"{len(unknown)} of {labels['sample_id'].nunique()} rated explanations are not among "
            f"those computed here, the first is {unknown[0]}: nothing is left out silently. "
            "`dvc repro explain` computes those of the groups in params.yaml"
        )
    if rated.empty:
        raise PastaError("no explanation has votes: import annotations, or simulate them")
    samples = pd.DataFrame(
        {
            "sample_id": rated["sample_id"],
            "dataset": rated["dataset"],
            "image": rated["dataset"] + "/" + rated["image_id"],
            "technique": rated["method"] + "/" + rated["backbone"],
            "kind": rated["kind"],
            "predicted": rated["predicted"],
        }
    )
    votes = _spread(samples["sample_id"], labels, [f"votes_{star}" for star in STARS])
    names = get_args(Aggregate)
    aggregates = _spread(samples["sample_id"], labels, names).astype(np.float32)
    return Material(
        samples,
        np.nan_to_num(votes).astype(np.int64),
        {name: aggregates[..., place] for place, name in enumerate(names)},
        tuple(groups),
        float(labels["simulated"].mean()),
    )


def _spread(
    samples: pd.Series[Any], labels: pd.DataFrame, columns: Sequence[str]
) -> NDArray[np.float64]:
    """Columns of the labels table as samples x questions x columns; NaN where there is no row."""
    found = np.full((len(samples), len(QUESTIONS), len(columns)), np.nan)
    row = pd.Index(samples).get_indexer(pd.Index(labels["sample_id"]))
    question = pd.Index(QUESTIONS).get_indexer(pd.Index(labels["question"]))
    if (row < 0).any() or (question < 0).any():
        raise PastaError("a label is of a sample or a question that is not among those to spread")
    found[row, question] = labels[list(columns)].to_numpy(np.float64)
    return found
