"""Votes and samples as the statistics read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.resampling import Codes, Matrix

LIKERT = (1, 2, 3, 4, 5)
DESCRIBED = ("method", "backbone", "kind", "image_id", "dataset")
WORST, BEST = 1, 5


def describe_samples(samples: pd.DataFrame) -> pd.DataFrame:
    """A frame by sample_id with technique, method, backbone, kind and image; missing is None.

    ``technique`` is taken as it is or made of method and backbone; ``image`` is made of dataset
    and image_id, because images of two datasets may have the same number.
    """
    if "sample_id" not in samples:
        raise ValueError("the samples have no column sample_id")
    frame = samples.drop_duplicates("sample_id").set_index("sample_id")
    known = pd.DataFrame(index=frame.index)
    for name in DESCRIBED:
        known[name] = frame[name].astype(object) if name in frame else None
    if "technique" in frame:
        known["technique"] = frame["technique"].astype(object)
    else:
        known["technique"] = _joined(known["method"], known["backbone"])
    known["image"] = known["image_id"]
    if "dataset" in frame:
        known["image"] = _joined(known["dataset"], known["image_id"])
    return known


def turned(ratings: pd.DataFrame, directions: Mapping[str, int] | None) -> pd.DataFrame:
    """Ratings in which more stars are always better: questions of direction -1 are mirrored."""
    backward = [name for name, sign in (directions or {}).items() if sign < 0]
    mirrored = ratings["question"].isin(backward)
    if not mirrored.any():
        return ratings
    stars = ratings["rating"].where(~mirrored, WORST + BEST - ratings["rating"])
    return ratings.assign(rating=stars)


def _joined(first: pd.Series, second: pd.Series) -> pd.Series:
    there = first.notna().tolist(), second.notna().tolist()
    names: list[str | None] = []
    for one, two, has_one, has_two in zip(first, second, *there, strict=True):
        if has_one and has_two:
            names.append(f"{one}/{two}")
        else:
            names.append(str(one) if has_one else str(two) if has_two else None)
    return pd.Series(names, index=first.index, dtype=object)


ALL = "all"  # all questions taken together
MEAN = "mean"  # the mean over annotators or pairs
COLUMNS = ("sample_id", "annotator_id", "question", "rating")


@dataclass(frozen=True)
class Votes:
    """The votes as positions on the scale (questions x annotators x samples), -1 if missing."""

    codes: Codes
    questions: pd.Index
    annotators: pd.Index
    samples: pd.Index
    clusters: Codes  # one for each sample
    categories: tuple[int, ...]

    def ratings(self, question: int) -> NDArray[np.float64]:
        """Ratings of one question, annotators x samples, NaN if missing."""
        scale = np.append(np.asarray(self.categories, np.float64), np.nan)
        return np.asarray(scale[self.codes[question]])

    def counts(self) -> NDArray[np.int64]:
        """Votes for each category, questions x samples x categories."""
        tables = [(self.codes == star).sum(1) for star in range(len(self.categories))]
        return np.stack(tables, axis=-1)


def category_codes(values: ArrayLike, categories: Sequence[int]) -> Codes:
    """Positions of ratings in the categories, -1 for a missing rating."""
    found = np.asarray(values)
    missing = pd.isna(found)
    codes = pd.Index(categories).get_indexer(pd.Index(found.ravel())).reshape(found.shape)
    strange = (codes < 0) & ~missing
    if strange.any():
        example = found[strange].flat[0]
        raise ValueError(f"the rating {example!r} is none of {tuple(categories)}")
    codes[missing] = -1
    return np.asarray(codes, np.intp)


def read_votes(
    ratings: pd.DataFrame, categories: Sequence[int] = LIKERT, cluster: str = "sample_id"
) -> Votes:
    """Check a tidy frame of ratings and turn it into arrays.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating; rows with a missing rating count as no
        vote.
    cluster
        The column whose values are resampled as a whole, for example that of the image.
    """
    absent = [name for name in (*COLUMNS, cluster) if name not in ratings]
    if absent:
        raise ValueError(f"the ratings have no column {', '.join(absent)}")
    given = ratings[ratings["rating"].notna()]
    if given[list({*COLUMNS[:3], cluster})].isna().any(axis=None):
        raise ValueError("a rating without sample, annotator, question or cluster")
    if (given["annotator_id"] == MEAN).any() or (given["question"] == ALL).any():
        raise ValueError(f"{MEAN!r} and {ALL!r} are rows of the results: no annotator or question")
    twice = given.duplicated(list(COLUMNS[:3]))
    if twice.any():
        key = tuple(given.loc[twice, list(COLUMNS[:3])].iloc[0])
        raise ValueError(f"{twice.sum()} votes were given twice, the first is {key}")
    parts = [pd.factorize(given[name], sort=True) for name in ("question", "annotator_id")]
    sample, samples = pd.factorize(given["sample_id"], sort=True)
    (question, questions), (annotator, annotators) = parts
    codes = np.full((len(questions), len(annotators), len(samples)), -1, np.intp)
    codes[question, annotator, sample] = category_codes(given["rating"].to_numpy(), categories)
    first = np.unique(sample, return_index=True)[1]
    owners = given[cluster].to_numpy()[first]
    if (given[cluster].to_numpy() != owners[sample]).any():
        raise ValueError(f"a sample has more than one {cluster}")
    clusters = np.asarray(pd.factorize(owners)[0], np.intp)
    return Votes(
        codes, pd.Index(questions), pd.Index(annotators), pd.Index(samples), clusters,
        tuple(categories),
    )  # fmt: skip


def modes(votes: Votes) -> Codes:
    """The most frequent category of each question and sample, the smallest of several; -1: none."""
    counts = votes.counts()
    return np.where(counts.any(-1), counts.argmax(-1), -1)


def modes_without_own(votes: Votes) -> Codes:
    """For each vote the mode of the other votes on its sample; -1 where there is no other."""
    counts = votes.counts()
    result = np.full(votes.codes.shape, -1, np.intp)
    for annotator in range(len(votes.annotators)):
        own = votes.codes[:, annotator, :]
        others = counts - (own[..., None] == np.arange(len(votes.categories)))
        found = (own >= 0) & others.any(-1)
        result[:, annotator, :] = np.where(found, others.argmax(-1), -1)
    return result


def label_samples(ratings: pd.DataFrame) -> pd.DataFrame:
    """The mode of the votes, the smallest star on ties: samples in rows, questions in columns."""
    votes = read_votes(ratings)
    scale = np.append(np.asarray(votes.categories, np.float64), np.nan)
    index = votes.samples.rename("sample_id")
    return pd.DataFrame(scale[modes(votes)].T, index=index, columns=votes.questions)


class LongVotes(NamedTuple):
    """One entry for each vote; a cell is a sample and a question."""

    annotators: pd.Index
    samples: pd.Index
    questions: list[str]
    annotator: Codes
    sample: Codes
    question: Codes
    cell: Codes
    rating: Codes
    place: Codes  # of the rating on the scale, from 0
    others: Codes  # place of the mode of the other votes on the cell, -1 if there is none
    mode: Codes  # place of the mode of all votes on the cell


def long_votes(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> LongVotes:
    """Number the votes of a ratings frame; rows without a rating are left out."""
    table = read_votes(ratings, categories)
    question, annotator, sample = places = np.nonzero(table.codes >= 0)
    return LongVotes(
        table.annotators,
        table.samples,
        [str(name) for name in table.questions],
        annotator,
        sample,
        question,
        sample * max(len(table.questions), 1) + question,
        np.asarray(categories, np.intp)[table.codes[places]],
        table.codes[places],
        modes_without_own(table)[places],
        modes(table)[question, sample],
    )


def others_mean(votes: LongVotes) -> Matrix:
    """For each vote the mean of the other votes on its cell; missing if there is none."""
    number, total = np.bincount(votes.cell), np.bincount(votes.cell, votes.rating)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (total[votes.cell] - votes.rating) / (number[votes.cell] - 1)
    return np.asarray(means, np.float64)
