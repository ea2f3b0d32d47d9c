"""Do groups of raters rate or agree differently? Levels, tests, equivalence and power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analysis.contrasts import (
    Contrast,
    contrast_row,
    omega_squared,
    one_mean,
    permutation_p,
    slope,
    welch,
)
from analysis.raters import FACTORS, demographics, rater_values
from analysis.resampling import holm, notes
from analysis.votes import ALL, LIKERT

Vector = NDArray[np.float64]

MARGINS: Mapping[str, float] = {"level": 0.25, "agreement": 0.1, "agreement_published": 0.1}
AGE_STEP = 10.0  # a slope is given per ten years
ALPHA = 0.05
OTHERS = "all others"
MOST_EXACT = 20_000  # up to so many arrangements of two groups are all tried

_HEAD = ["measure", "item", "factor"]
_TEST_COLUMNS = [*_HEAD, "comparison", "effect", "n", "estimate", "low", "high", "p", "p_holm"]
_TEST_COLUMNS += ["margin", "p_equivalence", "smallest_effect", "verdict", "note"]


def group_summary(
    ratings: pd.DataFrame,
    raters: pd.DataFrame | None,
    *,
    categories: Sequence[int] = LIKERT,
) -> pd.DataFrame:
    """Mean level and agreement of each group of raters, each rater counting the same.

    Parameters
    ----------
    ratings
        Columns unit, rater, item, rating.
    raters
        Columns rater and any of age, sex, country; or None.
    categories
        The whole scale in its order.

    Returns
    -------
    DataFrame
        measure (see :func:`analysis.raters.rater_values`), item, factor, group, n (raters),
        estimate, low, high (t interval over raters, cut where the scale of the ratings or of kappa
        ends), note. A factor that nobody stated has one row that says so.

    Examples
    --------
    >>> ratings = pd.DataFrame({"unit": ["s", "t"] * 6, "rater": np.repeat(list("abcdef"), 2)})
    >>> ratings = ratings.assign(item="trust", rating=[4, 5] * 3 + [2, 3] * 3)
    >>> raters = pd.DataFrame({"rater": list("abcdef"), "sex": list("fffmmm")})
    >>> found = group_summary(ratings, raters)
    >>> found[["measure", "item", "factor", "group", "n", "estimate"]].head(2)
      measure   item factor group  n  estimate
    0   level  trust    sex     f  3       4.5
    1   level  trust    sex     m  3       2.5
    """
    values, people, missing = _prepare(ratings, raters, categories)
    rows: list[dict[str, object]] = []
    for (measure, item), here in values.groupby(["measure", "item"], sort=False):
        for factor in FACTORS:
            head = {"measure": measure, "item": item, "factor": factor}
            labels = people[factor].to_numpy(object)
            groups = _group_names(labels)
            if not groups:
                rows.append(head | {"group": None, "n": 0, "note": missing[factor]})
            for group in groups:
                row = contrast_row(one_mean(here["estimate"].to_numpy()[labels == group]))
                kept = {name: row[name] for name in ("n", "estimate", "low", "high", "note")}
                ends = (min(categories), max(categories)) if measure == "level" else (-1, 1)
                kept["low"], kept["high"] = np.clip([row["low"], row["high"]], *ends)
                rows.append(head | {"group": group} | kept)
    columns = [*_HEAD, "group", "n", "estimate", "low", "high", "note"]
    return pd.DataFrame(rows, columns=columns)


def group_tests(
    ratings: pd.DataFrame,
    raters: pd.DataFrame | None,
    *,
    margins: Mapping[str, float] = MARGINS,
    categories: Sequence[int] = LIKERT,
    permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Differences between groups of raters, with what can and what cannot be claimed.

    Raters are the unit. A factor with two groups gives their difference; one with more gives
    the share of spread between groups (``effect`` is omega_squared) and each group against all
    others; age also gives a slope per ten years. Intervals are Welch's t intervals, p comes from
    permuting raters' labels, ``p_holm`` corrects it among the tests of the same measure that
    are as detailed: over all items or per item, and one test per factor or the follow-up
    of each group against all others. ``p_equivalence`` tests that the
    difference is smaller than the margin, and ``smallest_effect`` is what would have been found
    with 80 % power. The verdict is one of

    - ``different``: p_holm below 0.05;
    - ``equivalent``: not different, and within the margin at the 5 % level: no bias of that size;
    - ``undecided``: neither; the study is too small to say.

    Parameters
    ----------
    ratings, raters, categories
        As for :func:`group_summary`.
    margins
        The largest negligible difference of each measure: in steps of the scale, or in kappa.
    permutations, seed
        Random permutations if there are too many to try all, and the seed of their random numbers.

    Returns
    -------
    DataFrame
        measure, item, factor, comparison, effect (difference, omega_squared or slope), n,
        estimate, low, high, p, p_holm, margin, p_equivalence, smallest_effect, verdict, note.

    References
    ----------
    Phipson & Smyth 2010, doi:10.2202/1544-6115.1585; Schuirmann 1987, doi:10.1007/BF01068419

    Examples
    --------
    Of the 20 ways to choose three of six raters, two are as far apart: p cannot be smaller.

    >>> ratings = pd.DataFrame({"unit": ["s", "t"] * 6, "rater": np.repeat(list("abcdef"), 2)})
    >>> ratings = ratings.assign(item="trust", rating=[4, 5] * 3 + [2, 3] * 3)
    >>> raters = pd.DataFrame({"rater": list("abcdef"), "sex": list("fffmmm")})
    >>> found = group_tests(ratings, raters)
    >>> found[["measure", "comparison", "n", "estimate", "p", "verdict"]].iloc[[1]]
      measure comparison  n  estimate    p    verdict
    1   level      f - m  6       2.0  0.1  undecided
    """
    values, people, missing = _prepare(ratings, raters, categories)
    rows: list[dict[str, object]] = []
    for (measure, item), here in values.groupby(["measure", "item"], sort=False):
        y = here["estimate"].to_numpy(np.float64)
        margin = margins.get(str(measure), np.nan)
        found = _age_rows(y, people["age"].to_numpy(), margin, missing["age"], permutations, seed)
        for factor in FACTORS:
            labels = people[factor].to_numpy(object)
            found += _factor_rows(
                y, labels, factor, margin, missing[factor], permutations=permutations, seed=seed
            )
        rows += [{"measure": measure, "item": item} | row for row in found]
    tests = pd.DataFrame(rows, columns=_TEST_COLUMNS)
    follow_up = tests["comparison"].astype(str).str.endswith(OTHERS)
    family = [tests["measure"], tests["item"] == ALL, follow_up]
    tests["p_holm"] = tests.groupby(family)["p"].transform(holm) if len(tests) else np.nan
    pairs = zip(tests["p_holm"], tests["p_equivalence"], strict=True)
    tests["verdict"] = [_verdict(*pair) for pair in pairs]
    return tests


def _permute_groups(
    values: ArrayLike, groups: ArrayLike, *, permutations: int = 10_000, seed: int = 0
) -> float:
    """Do groups of raters differ in the mean of one value per rater?

    scipy's permutation test of the sum of squares between groups. Labels are permuted among
    raters, not among votes: the votes of one rater belong together. With two groups this
    is the two-sided test of the difference of means. All arrangements are tried when there are
    few; else p counts the observed arrangement among the random ones, so it is never 0.

    Returns
    -------
    p, or NaN if there are fewer than two groups or three raters, or all values are the same
    """
    y, labels = np.asarray(values, np.float64), np.asarray(groups, object)
    known = ~(np.isnan(y) | pd.isna(labels))
    y, (codes, names) = y[known], pd.factorize(labels[known])
    if len(names) < 2 or len(y) < 3 or np.ptp(y) <= 1e-9 * max(1.0, float(np.abs(y).max())):
        return np.nan
    centred, sizes = y - y.mean(), np.bincount(codes)
    if len(sizes) == 2 and sizes.min() == 1:  # scipy wants two in each group; these are all cases
        alone = np.abs(centred[codes == sizes.argmin()])
        return float((np.abs(centred) >= alone * (1 - 1e-9)).mean())
    if sizes.min() == 1:
        member = np.eye(len(sizes))[codes]

        def squares(drawn: Vector, axis: int) -> Vector:  # noqa: ARG001
            return np.asarray(((drawn @ member) ** 2 / sizes).sum(-1))

        return permutation_p([centred], squares, "pairings", permutations, seed)

    def between(*drawn: Vector, axis: int) -> Vector:
        return np.asarray(sum(part.sum(axis) ** 2 / part.shape[axis] for part in drawn))

    few = len(sizes) == 2 and comb(len(y), int(sizes[0])) <= MOST_EXACT
    parts = [centred[codes == place] for place in range(len(sizes))]
    return permutation_p(parts, between, "independent", MOST_EXACT if few else permutations, seed)


def _permute_slope(
    values: ArrayLike, against: ArrayLike, *, permutations: int = 10_000, seed: int = 0
) -> float:
    """p of a value of raters not depending on a number, such as their age; two-sided."""
    y, x = np.asarray(values, np.float64), np.asarray(against, np.float64)
    known = ~(np.isnan(y) | np.isnan(x))
    y, x = y[known], x[known]
    if len(y) < 3 or not np.ptp(y) or not np.ptp(x):
        return np.nan
    x = x - x.mean()

    def squared(drawn: Vector, axis: int) -> Vector:
        return np.asarray(np.tensordot(drawn, x, (axis, 0)) ** 2)

    return permutation_p([y - y.mean()], squared, "pairings", permutations, seed)


def _prepare(
    ratings: pd.DataFrame, raters: pd.DataFrame | None, categories: Sequence[int]
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    values = rater_values(ratings, categories)
    first = (values["item"] == ALL) & (values["measure"] == "level")
    people, missing = demographics(raters, values.loc[first, "rater"].tolist())
    return values, people, missing


def _group_names(labels: NDArray[np.object_]) -> list[str]:
    found = sorted({str(label) for label in labels if not pd.isna(label)})
    return sorted(found, key=lambda name: not name.startswith("under"))  # the youngest first


def _factor_rows(
    y: NDArray[np.float64],
    labels: NDArray[np.object_],
    factor: str,
    margin: float,
    missing: str,
    **options: int,
) -> list[dict[str, object]]:
    groups = _group_names(labels)
    stated = np.array([not pd.isna(label) for label in labels], bool)
    if len(groups) < 2:
        only = f"only one group ({groups[0]}): nothing to compare" if groups else ""
        note = notes([only, missing]) or "no raters"
        return [{"factor": factor, "n": int(stated.sum()), "margin": margin, "note": note}]
    rows: list[dict[str, object]] = []
    row: dict[str, object]
    if len(groups) > 2:
        row = omega_squared(y, labels)
        row |= {"factor": factor, "comparison": "all groups", "effect": "omega_squared"}
        row |= {"p": _permute_groups(y, labels, **options)}
        rows.append(row | {"note": notes([str(row["note"]), missing])})
        pairs = [(group, OTHERS) for group in groups]
    else:
        pairs = [(groups[0], groups[1])]
    for first, second in pairs:
        inside = labels == first
        contrast = welch(y[inside], y[stated & ~inside])
        against = np.where(stated, inside.astype(object), None)
        p = _permute_groups(y, against, **options)
        row = {"factor": factor, "comparison": f"{first} - {second}", "effect": "difference"}
        rows.append(row | _tested(contrast, margin, p, missing))
    return rows


def _age_rows(
    y: NDArray[np.float64],
    ages: NDArray[np.float64],
    margin: float,
    missing: str,
    permutations: int,
    seed: int,
) -> list[dict[str, object]]:
    head = {"factor": "age", "comparison": "ten years older", "effect": "slope"}
    p = _permute_slope(y, ages, permutations=permutations, seed=seed)
    return [head | _tested(slope(y, ages / AGE_STEP), margin, p, missing)]


def _tested(contrast: Contrast, margin: float, p: float, missing: str) -> dict[str, object]:
    row = contrast_row(contrast, margin)
    return row | {"p": p, "note": notes([str(row["note"]), missing])}


def _verdict(p_holm: float, p_equivalence: float) -> str:
    if np.isnan(p_holm):
        return ""
    if p_holm < ALPHA:
        return "different"
    return "equivalent" if p_equivalence < ALPHA else "undecided"
