"""Models of forced-choice answers, and correlations of a handful of things."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from statsmodels.tools.sm_exceptions import (
    ConvergenceWarning,
    PerfectSeparationError,
    PerfectSeparationWarning,
    SingularMatrixWarning,
)

from analysis.contrasts import permutation_p
from analysis.correlation import METHODS, correlation_table
from analysis.resampling import LEVEL, holm

MOST_ITEMS = 200  # that have a coefficient of their own
_NO_SOLUTION = (
    ConvergenceWarning,
    PerfectSeparationError,
    PerfectSeparationWarning,
    SingularMatrixWarning,
)
_COLUMNS = ["term", "condition", "n", "estimate", "low", "high", "p", "p_holm", "note"]


def trial_model(trials: pd.DataFrame, baseline: str) -> pd.DataFrame:
    r"""Logistic model of single answers: condition, session, their interaction, and the item.

    .. math:: \operatorname{logit} P(\text{right}) = \alpha_{item} + \beta_{condition}
              + \gamma\, s + \delta_{condition}\, s

    with the session :math:`s` from the mean session. These are generalised estimating equations
    with independence as working correlation; the errors are robust and allow for all answers of a
    person (statsmodels). Items have coefficients of their own where these can be told from those of
    conditions and sessions, so that an easy item is not taken for a good explanation.

    Parameters
    ----------
    trials
        Columns participant, condition, item (optional), right, session (optional).
    baseline
        The condition that the others are compared with.

    Returns
    -------
    DataFrame
        term (``condition``, ``session``, ``condition x session``; ``all conditions`` and ``all
        interactions`` are Wald tests of all of them), condition, n (answers), estimate (logarithm
        of the odds ratio; the tests' chi squared), low, high, p, p_holm (within a term), note.

    References
    ----------
    Liang & Zeger 1986, doi:10.1093/biomet/73.1.13

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> trials = pd.DataFrame(
    ...     {"participant": np.repeat(np.arange(60), 12),
    ...      "condition": np.repeat(["none", "map"], 360),
    ...      "session": np.tile(np.repeat([1, 2, 3], 4), 60),
    ...      "right": rng.random(720) < np.repeat([0.5, 0.8], 360)}
    ... )
    >>> found = trial_model(trials, "none")
    >>> bool(found["p"].iloc[0] < 0.001), found["term"].tolist()[:2]
    (True, ['condition', 'session'])
    """
    known = trials.dropna(subset=["participant", "condition", "right"]).reset_index(drop=True)
    others = sorted(set(known["condition"]) - {baseline}, key=str)
    why = _why_no_model(known, baseline, others)
    if why:
        return _nothing(len(known), why)
    design, terms, note = _design(known, others)
    model = sm.GLM(known["right"].to_numpy(np.float64), design, family=sm.families.Binomial())
    people = pd.factorize(known["participant"])[0]
    try:
        with warnings.catch_warnings():
            for kind in (ConvergenceWarning, PerfectSeparationWarning, SingularMatrixWarning):
                warnings.simplefilter("error", kind)
            fit = model.fit(cov_type="cluster", cov_kwds={"groups": people})
    except (*_NO_SOLUTION, np.linalg.LinAlgError) as error:
        return _nothing(len(known), f"the model has no solution: {error}")
    return _described(fit, terms, len(known), note)


def _why_no_model(known: pd.DataFrame, baseline: str, others: list[object]) -> str:
    if not (known["condition"] == baseline).any():
        return f"nobody is in the baseline condition {baseline!r}"
    if not others:
        return "there is one condition only"
    shares = known.groupby("condition")["right"].mean()
    for name, share in shares.items():
        if share in (0, 1):
            return f"all answers of the condition {name!r} are {'right' if share else 'wrong'}"
    people = known.groupby("condition")["participant"].nunique()
    return "" if people.min() > 1 else f"one person in the condition {people.idxmin()!r}"


def _design(
    known: pd.DataFrame, others: list[object]
) -> tuple[NDArray[np.float64], list[tuple[str, object]], str]:
    """Columns, the term and condition of the first ones, and a note on the items, the last ones."""
    marks = [(known["condition"] == name).to_numpy(np.float64) for name in others]
    columns, terms = list(marks), [("condition", name) for name in others]
    if "session" in known and len(known["session"].unique()) > 1:
        session = known["session"].to_numpy(np.float64)
        session = session - session.mean()
        columns += [session, *(mark * session for mark in marks)]
        terms += [("session", ""), *(("condition x session", name) for name in others)]
    plain: NDArray[np.float64] = np.column_stack([*columns, np.ones(len(known))])
    if "item" not in known or known["item"].isna().any():
        return plain, terms, "items are not known"
    codes, names = pd.factorize(known["item"], sort=True)
    if len(names) > MOST_ITEMS:
        return plain, terms, "too many items for coefficients of their own"
    if known.groupby("item")["right"].mean().isin([0, 1]).any():
        return plain, terms, "items have no coefficients: all answers to one of them are alike"
    whole = np.column_stack([*columns, np.eye(len(names))[codes]])
    if np.linalg.matrix_rank(whole) < whole.shape[1]:
        note = "items have no coefficients: they differ between conditions or sessions"
        return plain, terms, note
    return whole.astype(np.float64), terms, ""


def _described(fit: Any, terms: list[tuple[str, object]], n: int, note: str) -> pd.DataFrame:
    estimates, errors = np.asarray(fit.params), np.asarray(fit.bse)
    z = float(stats.norm.ppf((1 + LEVEL) / 2))
    rows: list[dict[str, object]] = []
    for place, (term, condition) in enumerate(terms):
        value, error = float(estimates[place]), float(errors[place])
        row = {"term": term, "condition": condition, "n": n, "estimate": value, "note": note}
        p = float(2 * stats.norm.sf(abs(value / error)))
        rows.append(row | {"low": value - z * error, "high": value + z * error, "p": p})
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    frame["p_holm"] = np.concatenate(
        [holm(own["p"]) for _, own in frame.groupby("term", sort=False)]
    )
    tests = []
    for term, title in (
        ("condition", "all conditions"),
        ("condition x session", "all interactions"),
    ):
        places = [place for place, one in enumerate(terms) if one[0] == term]
        if not places:
            continue
        found = fit.wald_test(np.eye(len(estimates))[places], scalar=True)
        about = {"term": title, "condition": "", "n": n, "note": f"{len(places)} df"}
        tests.append(about | {"estimate": float(found.statistic), "p": float(found.pvalue)})
    return pd.concat([frame, pd.DataFrame(tests, columns=_COLUMNS)], ignore_index=True)


def _nothing(n: int, why: str) -> pd.DataFrame:
    return pd.DataFrame([{"term": "condition", "n": n, "note": why}], columns=_COLUMNS)


def exact_correlations(
    values: ArrayLike, others: ArrayLike, *, permutations: int = 50_000, seed: int = 0
) -> pd.DataFrame:
    """Pearson's and Spearman's correlation of a handful of things, with exact tests.

    All pairings are tried if there are no more than ``permutations`` (720 of six things, 40,320 of
    eight). The intervals are Fisher's (Bonett and Wright's for Spearman); with six things they are
    as wide as they ought to be.

    Parameters
    ----------
    values, others
        One entry for each thing; things with a missing entry are left out.
    permutations, seed
        How many pairings are tried if there are more, and the seed of their random numbers.

    Returns
    -------
    DataFrame
        method, n, estimate, low, high, p (two-sided), exact (whether all pairings were tried),
        note.

    Examples
    --------
    >>> found = exact_correlations([1, 2, 3, 4], [1, 2, 4, 3])
    >>> found[["method", "n", "estimate", "p", "exact"]].round(3)
         method  n  estimate      p  exact
    0   pearson  4       0.8  0.333   True
    1  spearman  4       0.8  0.333   True
    """
    x, y = np.asarray(values, np.float64), np.asarray(others, np.float64)
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    table = correlation_table(
        pd.DataFrame({"x": x}), pd.DataFrame({"y": y}), resamples=20, seed=seed
    ).set_index("method")
    rows = []
    for method in METHODS:
        found = table.loc[method]
        estimate = float(str(found["estimate"]))
        p = np.nan
        if np.isfinite(estimate):
            pair = (x, y) if method == "pearson" else (stats.rankdata(x), stats.rankdata(y))
            # scipy pairs the values of the first sample anew
            p = permutation_p(pair[:1], _fit_to(pair[1]), "pairings", permutations, seed)
        rows.append(
            {
                "method": method,
                "n": len(x),
                "estimate": estimate,
                "low": found["fisher_low"],
                "high": found["fisher_high"],
                "p": p,
                "exact": math.factorial(len(x)) <= permutations,
                "note": found["note"] if pd.notna(found["note"]) else "",
            }
        )
    return pd.DataFrame(rows)


def _fit_to(other: NDArray[np.float64]) -> Callable[..., NDArray[np.float64]]:
    """The size of the correlation of re-ordered values with the other ones."""
    centred = other - other.mean()

    def size(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        moved = np.moveaxis(values, axis, -1)
        # rounded, so that arrangements that are equal but for the order of a sum count as equal
        products = (moved - moved.mean(-1, keepdims=True)) @ centred
        return np.asarray(np.abs(np.round(products, 12)), np.float64)

    return size
