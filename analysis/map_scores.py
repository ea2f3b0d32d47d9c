r"""Scores of maps against masks: how well numbers on pixels, or on words, meet what was marked.

One sort of a map serves every score that looks at an order of its values (overlap at all
thresholds, area under the curve, rank correlation): the place of a value and the level of its pixel
in the mask go into one integer, so that no second pass over the pixels is needed. Memory is that of
one map and of the masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]
Better = Literal["higher", "lower"]

SCORES: Mapping[str, Better] = {
    "agreement": "higher",  # 1 - mean absolute error
    "false_positive": "lower",
    "false_negative": "lower",
    "iou_best": "higher",
    "iou_mean": "higher",
    "pointing": "higher",
    "mass": "higher",
    "auc": "higher",
    "nss": "higher",
    "correlation": "higher",
    "similarity": "higher",
    "divergence": "lower",
    "rank_correlation": "higher",
}
EMPTY, CONSTANT, NAN = "empty mask", "constant", "nan"
_EPSILON = 2.220446049250313e-16  # what is added within the logarithm of the divergence
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class _Mask:
    """What is needed of a mask, made once for all maps that are held against it."""

    heights: Vector  # of the pixels; the largest is 1
    object: Vector  # 1 where the object is, else 0
    on: Vector  # 1 where it is at least half of its largest value, else 0
    levels: NDArray[np.uint64]  # the number of each pixel's level, in ascending order
    ranks: Vector  # of each level, around their mean
    marked_levels: NDArray[np.int64]  # 1 for a level that is marked
    deviation: Vector  # from the mean, of length 1
    shares: Vector  # of the sum
    rank_norm: float

    @property
    def empty(self) -> bool:
        """Whether nothing is marked."""
        return not len(self.levels)


def score_maps(
    maps: ArrayLike,
    masks: ArrayLike,
    *,
    which: ArrayLike | None = None,
    objects: ArrayLike | None = None,
) -> pd.DataFrame:
    r"""Score maps against masks, pixel by pixel and by the order of their values.

    A map is taken from its smallest value, 0, to its largest, 1 (:math:`s`); a mask is divided by
    its largest value (:math:`m`). A pixel is *marked* if :math:`m \ge 1/2`; the *object* is what
    ``objects`` says, else where the mask is not 0.

    ==================  ========================================================================
    agreement           :math:`1 - \frac1n \sum |s - m|`
    false_positive      mean of :math:`|s - m|` outside the object
    false_negative      mean of :math:`|s - m|` inside it
    iou_best            the largest intersection over union of the marked pixels and those from a
                        threshold on, over all thresholds
    iou_mean            its mean over thresholds between 0 and 1
    pointing            1 if a pixel with the largest value is marked, else 0
    mass                share of the sum of positive values that is on marked pixels
    auc                 area under the curve of hits against false alarms, at the values of marked
                        pixels (Judd et al.); values that are equal stay equal, no noise is added
    nss                 mean of the standardised map on marked pixels
    correlation         Pearson's, of :math:`s` and :math:`m`
    similarity          :math:`\sum \min(s / \sum s, m / \sum m)`
    divergence          :math:`\sum q \log(\epsilon + q / (\epsilon + p))`, :math:`q = m / \sum m`
                        and :math:`p = s / \sum s` (Kullback and Leibler's, in nats)
    rank_correlation    Spearman's, equal values with their middle rank
    ==================  ========================================================================

    With :math:`a` the share of the object, ``1 - agreement`` is ``a * false_negative + (1 - a) *
    false_positive``.

    Parameters
    ----------
    maps
        (n, ...) numbers on pixels or words; single precision is what counts. Sequences that are
        read when a map is asked for, such as memory-mapped files, stay on disk.
    masks
        (m, ...) from 0 up, of the same size.
    which
        For each map the row of its mask; None: map i belongs to mask i.
    objects
        (m, ...) true where the object is.

    Returns
    -------
    DataFrame
        One row for each map with the scores in columns, and ``status``: ok, or why there is no
        score (nan, constant, empty mask). A single score that does not exist (nothing is outside
        the object, or everything is marked) is missing.

    References
    ----------
    Bylinskii et al. 2019, doi:10.1109/TPAMI.2018.2815601; agreement and its parts: Mohseni, Block &
    Ragan 2021, doi:10.1145/3397481.3450689; all thresholds: Choe et al. 2020,
    doi:10.1109/CVPR42600.2020.00320

    Examples
    --------
    The first map is the mask, the second one its opposite.

    >>> mask = [[0.0, 0.0], [0.5, 1.0]]
    >>> found = score_maps([mask, [[1.0, 1.0], [0.5, 0.0]]], [mask], which=[0, 0])
    >>> found[["agreement", "false_positive", "false_negative", "auc", "correlation"]].round(2)
       agreement  false_positive  false_negative   auc  correlation
    0       1.00             0.0             0.0  1.00          1.0
    1       0.25             1.0             0.5  0.25         -1.0
    """
    given: Any = maps if hasattr(maps, "shape") else np.asarray(maps)
    levels = np.asarray(masks, np.float64)
    number = len(given)
    rows = np.arange(number) if which is None else np.asarray(which, np.intp)
    size = tuple(given.shape[1:])
    if levels.shape[1:] != size or rows.shape != (number,):
        raise ValueError(
            f"the maps have the size {size} and the masks {levels.shape[1:]}, expected the same, "
            f"and one mask for each of the {number} maps"
        )
    if len(rows) and (rows.max() >= len(levels) or rows.min() < 0):
        raise ValueError(f"there are {len(levels)} masks; a map names one beyond them")
    if not np.isfinite(levels).all() or (levels < 0).any():
        raise ValueError("the masks hold numbers that are negative or not finite")
    where = levels > 0 if objects is None else np.asarray(objects, bool)
    if where.shape != levels.shape:
        raise ValueError("the objects must have the size of the masks")
    found = np.full((number, len(SCORES)), np.nan)
    status = np.full(number, "ok", dtype=object)
    order = np.argsort(rows, kind="stable")  # one mask after the other: one is in memory
    last, mask = -1, None
    for place in order:
        if mask is None or rows[place] != last:
            last = int(rows[place])
            mask = _prepare(levels[last].ravel(), where[last].ravel())
        one = np.asarray(given[place], np.float32).ravel()
        status[place] = _why_not(one, mask)
        if status[place] == "ok":
            found[place] = _score(one, mask)
    return pd.DataFrame(found, columns=list(SCORES)).assign(status=status.astype(str))


def _dot(one: NDArray[Any], other: NDArray[Any]) -> float:
    """A sum of products that no library spreads over threads: the last digits stay the same."""
    return float(np.einsum("i,i->", one, other, dtype=np.float64))


def _why_not(values: NDArray[np.float32], mask: _Mask) -> str:
    if not np.isfinite(values).all():
        return NAN
    if mask.empty:
        return EMPTY
    return CONSTANT if not values.size or values.min() == values.max() else "ok"


def _prepare(values: Vector, where: NDArray[np.bool_]) -> _Mask:
    """What all maps need of a mask."""
    largest = values.max(initial=0.0)
    none = np.zeros(0)
    if largest <= 0:
        no = np.zeros(0, np.int64)
        return _Mask(none, none, none, no.astype(np.uint64), none, no, none, none, 0.0)
    scaled = values / largest
    steps, levels, counts = np.unique(scaled, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2 - (len(values) + 1) / 2
    away = scaled - scaled.mean()
    length = float(np.sqrt(_dot(away, away)))
    return _Mask(
        scaled,
        where.astype(np.float64),
        (scaled >= 0.5).astype(np.float64),
        levels.astype(np.uint64),
        ranks,
        (steps >= 0.5).astype(np.int64),
        away / length if length else np.full(len(values), np.nan),
        scaled / scaled.sum(),
        float(np.sqrt(_dot(counts, ranks**2))),
    )


def _score(values: NDArray[np.float32], mask: _Mask) -> Vector:
    """All scores of one map, in the order of SCORES."""
    wide = values.astype(np.float64)
    low, high = wide.min(), wide.max()
    shown = (wide - low) / (high - low)
    error = np.abs(shown - mask.heights)
    whole, inside, size = error.sum(), _dot(error, mask.object), float(len(shown))
    within = mask.object.sum()
    apart = (
        max(0.0, whole - inside) / (size - within) if within < size else np.nan,
        inside / within if within else np.nan,
    )
    positive = np.maximum(wide, 0)
    away = shown - shown.mean()
    length = np.sqrt(_dot(away, away))
    marked = mask.on.sum()
    share = shown / shown.sum()
    ratio = mask.shares / (share + _EPSILON)
    ordered = _ordered(values, mask, float(low), float(high))
    return np.array(
        [
            1 - whole / size,
            *apart,
            ordered["iou_best"],
            ordered["iou_mean"],
            ordered["pointing"],
            _dot(positive, mask.on) / positive.sum() if high > 0 else np.nan,
            ordered["auc"],
            (_dot(away, mask.on) / marked) / (length / np.sqrt(size)),
            _dot(away, mask.deviation) / length,
            np.minimum(share, mask.shares).sum(),
            _dot(mask.shares, np.log(_EPSILON + ratio)),
            ordered["rank_correlation"],
        ]
    )


def _ordered(values: NDArray[np.float32], mask: _Mask, low: float, high: float) -> dict[str, float]:
    """The scores that need the values in ascending order."""
    size = len(values)
    bits = (values + np.float32(0)).view(np.int32)  # no minus zero
    # Integers in the order of the floats: of negative ones all bits are turned, else the first.
    places = (bits ^ ((bits >> 31) | np.int32(-(2**31)))).view(np.uint32)
    keys = (places.astype(np.uint64) << np.uint64(32)) | mask.levels
    keys.sort()
    levels = (keys & _LOW).astype(np.intp)
    values_in_order = (keys >> np.uint64(32)).astype(np.uint32)
    starts = np.flatnonzero(np.concatenate([[True], values_in_order[1:] != values_in_order[:-1]]))
    # Of each distinct value: how many pixels have at least it, and how many of them are marked.
    chosen = size - starts
    below = np.cumsum(mask.marked_levels[levels])
    marked = int(below[-1])
    hits = marked - np.concatenate([[0], below[starts[1:] - 1]])
    overlap = hits / (chosen + marked - hits)
    first = values_in_order[starts]
    turned = np.where(first >> 31, first ^ np.uint32(2**31), ~first).view(np.float32)
    thresholds = (turned.astype(np.float64) - low) / (high - low)
    ends = np.append(starts[1:], size)
    middle = (starts + ends + 1) / 2 - (size + 1) / 2
    sums = np.diff(np.cumsum(mask.ranks[levels])[ends - 1], prepend=0.0)
    norm = np.sqrt(_dot(ends - starts, middle**2)) * mask.rank_norm
    return {
        "iou_best": float(overlap.max()),
        "iou_mean": _dot(np.diff(thresholds), overlap[1:]),
        "pointing": float(hits[-1] > 0),
        "auc": _area(chosen, hits, marked, size),
        "rank_correlation": _dot(middle, sums) / norm if norm else np.nan,
    }


def _area(chosen: NDArray[np.int64], hits: NDArray[np.int64], marked: int, size: int) -> float:
    """The area under the curve through the values that marked pixels have."""
    if marked == size:
        return float("nan")
    own = np.diff(hits, append=0) < 0
    hit = np.concatenate([[0.0], hits[own][::-1] / marked, [1.0]])
    false = np.concatenate([[0.0], (chosen - hits)[own][::-1] / (size - marked), [1.0]])
    return float(np.trapezoid(hit, false))


def agreement_of_layers(layers: ArrayLike) -> dict[str, float]:
    r"""Say how far several people marked the same pixels, or the same words.

    The mean over pairs of people of intersection over union (two who both marked nothing agree),
    and Krippendorff's alpha for two categories, marked or not, in which every pixel is a unit:

    .. math:: \alpha = 1 - \frac{(n m - 1) \sum_u k_u (m - k_u) / (m - 1)}{K (n m - K)}

    with :math:`k_u` of :math:`m` people who marked unit :math:`u` of :math:`n`, and :math:`K` their
    sum. Pixels are no independent units: alpha is a description here, and has no interval.

    Parameters
    ----------
    layers
        (people, ...) true where a person marked something.

    Returns
    -------
    dict
        people, iou and alpha; both are missing with fewer than two people, alpha also where nobody
        or everybody marked everything.

    References
    ----------
    Krippendorff 2011, https://repository.upenn.edu/asc_papers/43

    Examples
    --------
    >>> layers = [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]]
    >>> {name: round(value, 3) for name, value in agreement_of_layers(layers).items()}
    {'people': 3, 'iou': 0.667, 'alpha': 0.686}
    """
    marks = np.asarray(layers, np.float64)
    flat = marks.reshape(len(marks), -1) > 0
    people, units = flat.shape
    if people < 2:
        return {"people": people, "iou": np.nan, "alpha": np.nan}
    numbers = flat.astype(np.float64)
    both = numbers @ numbers.T
    sizes = np.diag(both)
    either = sizes[:, None] + sizes - both
    overlap = np.divide(both, either, out=np.ones_like(both), where=either > 0)
    pairs = np.triu_indices(people, 1)
    votes = numbers.sum(0)
    total = votes.sum()
    expected = total * (units * people - total)
    observed = (votes * (people - votes)).sum() / (people - 1)
    alpha = 1 - (units * people - 1) * observed / expected if expected else np.nan
    return {"people": people, "iou": float(overlap[pairs].mean()), "alpha": float(alpha)}


def ceiling(layers: ArrayLike, *, objects: ArrayLike | None = None) -> pd.DataFrame:
    """Score each person's marks against the share of the others who marked each pixel.

    It is what a map can be expected to reach at best: what one person knows of the others.

    Parameters
    ----------
    layers
        (people, ...) true where a person marked something.
    objects
        (...) true where the object is.

    Returns
    -------
    DataFrame
        As :func:`score_maps`, a row for each person.

    Examples
    --------
    >>> ceiling([[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])[["agreement", "status"]].round(3)
       agreement status
    0      0.875     ok
    1      0.750     ok
    2      0.875     ok
    """
    marks = np.asarray(layers, np.float64)
    if len(marks) < 2:
        return pd.DataFrame(columns=[*SCORES, "status"])
    others = (marks.sum(0) - marks) / (len(marks) - 1)
    where = None
    if objects is not None:
        where = np.broadcast_to(np.asarray(objects, bool), others.shape)
    return score_maps(marks, others, objects=where)
