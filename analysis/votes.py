"""Votes as the statistics read them: a rater gives a unit a rating on an item.

In a survey of pictures the units are pictures, the items are questions about each of them, and the
ratings are steps of a fixed scale. Tidy frames have the columns unit, rater, item and rating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.resampling import Codes, Matrix

LIKERT = (1, 2, 3, 4, 5)
ALL = "all"  # all items taken together
MEAN = "mean"  # the mean over raters or pairs
COLUMNS = ("unit", "rater", "item", "rating")


@dataclass(frozen=True)
class Votes:
    """The votes of a study as an array; :func:`read_votes` makes it.

    Attributes
    ----------
    codes
        Positions on the scale, from 0, items x raters x units; -1 if missing.
    items, raters, units
        What the axes stand for, sorted.
    clusters
        The number of each unit's cluster.
    categories
        The scale.

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": ["s", "s", "t"], "rater": ["a", "b", "a"], "item": "trust"})
    >>> votes = read_votes(ratings.assign(rating=[1, 2, 5]))
    >>> votes.codes.tolist()
    [[[0, 4], [1, -1]]]
    >>> votes.ratings(0)
    array([[ 1.,  5.],
           [ 2., nan]])
    >>> votes.counts()[0]
    array([[1, 1, 0, 0, 0],
           [0, 0, 0, 0, 1]])
    """

    codes: NDArray[np.signedinteger]
    items: pd.Index
    raters: pd.Index
    units: pd.Index
    clusters: Codes  # one for each unit
    categories: tuple[int, ...]

    def ratings(self, item: int) -> NDArray[np.float64]:
        """Ratings of one item.

        Parameters
        ----------
        item
            Its number.

        Returns
        -------
        ndarray
            Raters x units, NaN if missing.
        """
        scale = np.append(np.asarray(self.categories, np.float64), np.nan)
        return np.asarray(scale[self.codes[item]])

    def counts(self) -> NDArray[np.int64]:
        """Count the votes for each category.

        Returns
        -------
        ndarray
            Items x units x categories.
        """
        tables = [(self.codes == place).sum(1) for place in range(len(self.categories))]
        return np.stack(tables, axis=-1)


def category_codes(values: ArrayLike, categories: Sequence[int]) -> Codes:
    """Positions of ratings on the scale.

    Parameters
    ----------
    values
        Ratings; one that is not on the scale is an error.
    categories
        The whole scale in its order.

    Returns
    -------
    ndarray
        From 0, in the shape of the values; -1 for a missing rating.

    Examples
    --------
    >>> category_codes([5, 1, float("nan")], (1, 2, 3, 4, 5))
    array([ 4,  0, -1])
    """
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
    ratings: pd.DataFrame, categories: Sequence[int] = LIKERT, cluster: str = "unit"
) -> Votes:
    """Check a tidy frame of ratings and turn it into arrays.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating; rows with a missing rating count as no
        vote.
    categories
        The whole scale in its order.
    cluster
        The column whose values are resampled as a whole, for example that of the image.

    Returns
    -------
    Votes

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": ["s", "s", "t"], "rater": ["a", "b", "a"], "item": "trust"})
    >>> votes = read_votes(ratings.assign(rating=[1, 2, 5]))
    >>> votes.raters.tolist(), votes.units.tolist(), votes.items.tolist()
    (['a', 'b'], ['s', 't'], ['trust'])
    """
    absent = [name for name in (*COLUMNS, cluster) if name not in ratings]
    if absent:
        raise ValueError(f"the ratings have no column {', '.join(absent)}")
    given = ratings[ratings["rating"].notna()]
    if given[list({*COLUMNS[:3], cluster})].isna().any(axis=None):
        raise ValueError("a rating without unit, rater, item or cluster")
    if (given["rater"] == MEAN).any() or (given["item"] == ALL).any():
        raise ValueError(f"{MEAN!r} and {ALL!r} are rows of the results: no rater or item")
    twice = given.duplicated(list(COLUMNS[:3]))
    if twice.any():
        key = tuple(given.loc[twice, list(COLUMNS[:3])].iloc[0])
        raise ValueError(f"{twice.sum()} votes were given twice, the first is {key}")
    parts = [pd.factorize(given[name], sort=True) for name in ("item", "rater")]
    unit, units = pd.factorize(given["unit"], sort=True)
    (item, items), (rater, raters) = parts
    # Millions of votes of many raters are a large array: a byte is enough for most scales.
    small = np.int8 if len(categories) <= np.iinfo(np.int8).max else np.intp
    codes: NDArray[np.signedinteger] = np.full((len(items), len(raters), len(units)), -1, small)
    codes[item, rater, unit] = category_codes(given["rating"].to_numpy(), categories)
    first = np.unique(unit, return_index=True)[1]
    owners = given[cluster].to_numpy()[first]
    if (given[cluster].to_numpy() != owners[unit]).any():
        raise ValueError(f"a unit has more than one {cluster}")
    clusters = np.asarray(pd.factorize(owners)[0], np.intp)
    return Votes(
        codes, pd.Index(items), pd.Index(raters), pd.Index(units), clusters,
        tuple(categories),
    )  # fmt: skip


def mirror_ratings(
    ratings: pd.DataFrame,
    directions: Mapping[str, int] | None,
    categories: Sequence[int] = LIKERT,
) -> pd.DataFrame:
    """Mirror ratings on items on which fewer is better, so that more is always better.

    Parameters
    ----------
    ratings
        With the columns item and rating.
    directions
        -1 for items to mirror, by item.
    categories
        The whole scale.

    Returns
    -------
    DataFrame
        The same rows.

    Examples
    --------
    >>> ratings = pd.DataFrame({"item": ["trust", "effort"], "rating": [5, 5]})
    >>> mirror_ratings(ratings, {"effort": -1})["rating"].tolist()
    [5, 1]
    """
    backward = [name for name, sign in (directions or {}).items() if sign < 0]
    mirrored = ratings["item"].isin(backward)
    if not mirrored.any():
        return ratings
    values = ratings["rating"].where(
        ~mirrored, min(categories) + max(categories) - ratings["rating"]
    )
    return ratings.assign(rating=values)


def modes(votes: Votes) -> Codes:
    """The most frequent category of each item and unit, the smallest of several.

    Parameters
    ----------
    votes
        What :func:`read_votes` returns.

    Returns
    -------
    ndarray
        Positions on the scale, items x units; -1 without a vote.

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": "s", "rater": list("abc"), "item": "trust"})
    >>> modes(read_votes(ratings.assign(rating=[1, 5, 5])))
    array([[4]])
    """
    counts = votes.counts()
    return np.where(counts.any(-1), counts.argmax(-1), -1)


def modes_without_own(votes: Votes) -> NDArray[np.signedinteger]:
    """For each vote the mode of the other votes on its unit and item.

    Parameters
    ----------
    votes
        What :func:`read_votes` returns.

    Returns
    -------
    ndarray
        Positions on the scale, items x raters x units; -1 without the vote or without another.

    Examples
    --------
    The mode of 5 and 5, of 1 and 5, and of 1 and 5 (the smallest):

    >>> ratings = pd.DataFrame({"unit": "s", "rater": list("abc"), "item": "trust"})
    >>> modes_without_own(read_votes(ratings.assign(rating=[1, 5, 5]))).tolist()
    [[[4], [0], [0]]]
    """
    counts = votes.counts()
    result = np.full_like(votes.codes, -1)
    for rater in range(len(votes.raters)):
        own = votes.codes[:, rater, :]
        others = counts - (own[..., None] == np.arange(len(votes.categories)))
        found = (own >= 0) & others.any(-1)
        result[:, rater, :] = np.where(found, others.argmax(-1), -1)
    return result


def label_units(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> pd.DataFrame:
    """The mode of the votes on each unit and item, the smallest category on ties.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating.
    categories
        The whole scale in its order.

    Returns
    -------
    DataFrame
        Units in rows, items in columns; NaN without a vote.

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": "s", "rater": list("abc"), "item": "trust"})
    >>> label_units(ratings.assign(rating=[1, 5, 5])).loc["s", "trust"].item()
    5.0
    """
    votes = read_votes(ratings, categories)
    scale = np.append(np.asarray(votes.categories, np.float64), np.nan)
    index = votes.units.rename("unit")
    return pd.DataFrame(scale[modes(votes)].T, index=index, columns=votes.items)


class LongVotes(NamedTuple):
    """The votes of a study, one entry for each; :func:`long_votes` makes it.

    Attributes
    ----------
    raters, units, items
        Names, sorted.
    rater, unit, item
        The number of each vote's rater, unit and item.
    cell
        The number of its unit and item together.
    rating
        As it was given.
    place
        Of the rating on the scale, from 0.
    others
        Place of the mode of the other votes on the cell, -1 if there is none.
    mode
        Place of the mode of all votes on the cell.

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": "s", "rater": list("abc"), "item": "trust"})
    >>> votes = long_votes(ratings.assign(rating=[1, 5, 5]))
    >>> votes.place, votes.others, votes.mode
    (array([0, 4, 4]), array([4, 0, 0]), array([4, 4, 4]))
    """

    raters: pd.Index
    units: pd.Index
    items: list[str]
    rater: Codes
    unit: Codes
    item: Codes
    cell: Codes
    rating: Codes
    place: Codes
    others: Codes
    mode: Codes


def long_votes(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> LongVotes:
    """Number the votes of a tidy frame.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating; rows without a rating are left out.
    categories
        The whole scale in its order.

    Returns
    -------
    LongVotes

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": ["s", "t", "t"], "rater": ["a", "a", "b"], "item": "trust"})
    >>> votes = long_votes(ratings.assign(rating=[3, 4, 5]))
    >>> votes.rater, votes.unit, votes.rating
    (array([0, 0, 1]), array([0, 1, 1]), array([3, 4, 5]))
    """
    table = read_votes(ratings, categories)
    item, rater, unit = places = np.nonzero(table.codes >= 0)
    return LongVotes(
        table.raters,
        table.units,
        [str(name) for name in table.items],
        rater,
        unit,
        item,
        unit * max(len(table.items), 1) + item,
        np.asarray(categories, np.intp)[table.codes[places]],
        table.codes[places].astype(np.intp),
        modes_without_own(table)[places].astype(np.intp),
        modes(table)[item, unit],
    )


def others_mean(votes: LongVotes) -> Matrix:
    """For each vote the mean of the other votes on its unit and item.

    Parameters
    ----------
    votes
        What :func:`long_votes` returns.

    Returns
    -------
    ndarray
        One entry for each vote; NaN if there is no other.

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": "s", "rater": list("abc"), "item": "trust"})
    >>> others_mean(long_votes(ratings.assign(rating=[1, 2, 5])))
    array([3.5, 3. , 1.5])
    """
    number, total = np.bincount(votes.cell), np.bincount(votes.cell, votes.rating)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (total[votes.cell] - votes.rating) / (number[votes.cell] - 1)
    return np.asarray(means, np.float64)
