"""Proportional-odds regression of ratings on categories, fast because equal rows are one cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from analysis.clustered import crossed

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.intp]

RIDGE = 1e-6  # keeps the step finite if a category was always rated alike; far below any error
STEPS = 100


class Fit(NamedTuple):
    """A fitted model. Parameters are the thresholds, then the coefficients."""

    terms: list[tuple[str, object]]
    coefficients: Vector
    thresholds: Vector
    information: Matrix
    scores: Matrix  # of each vote with respect to thresholds and linear predictor
    design: Matrix  # of each cell
    cell: Codes  # of each vote
    converged: bool

    @property
    def covariance(self) -> Matrix:
        """Of the coefficients, if all votes were independent."""
        size = len(self.thresholds)
        return np.asarray(np.linalg.inv(self.information)[size:, size:], np.float64)


def fit_cumulative_logit(ratings: NDArray[np.integer], categories: pd.DataFrame) -> Fit:
    r"""Maximum likelihood of the proportional-odds model with categorical predictors.

    .. math:: \operatorname{logit} P(Y \le k) = \theta_k - x^\top \beta

    A positive coefficient means more stars. The first level of every column (in sorted order) is
    the reference; a rating that nobody used has no threshold, which changes no coefficient.
    Fisher scoring with step halving on the table of (cell, rating) counts; the log-likelihood is
    concave.

    References
    ----------
    McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x
    """
    used, star = np.unique(ratings, return_inverse=True)
    if len(used) < 2:
        raise ValueError("the votes use one rating only: there is nothing to model")
    terms, cell, design = _cells(categories)
    counts = np.zeros((len(design), len(used)))
    np.add.at(counts, (cell, star), 1.0)
    n_cuts = len(used) - 1
    shares = counts.sum(0).cumsum()[:-1] / counts.sum()
    parameters = np.concatenate([np.log(shares / (1 - shares)), np.zeros(len(terms))])
    value = _penalised(parameters, counts, design)
    converged = False
    for _ in range(STEPS):
        chances, local = _local(parameters[:n_cuts], design @ parameters[n_cuts:])
        information = _information(counts.sum(1), chances, local, design)
        slopes = np.einsum("ck,ckj->cj", counts, local)
        gradient = np.concatenate([slopes[:, :-1].sum(0), design.T @ slopes[:, -1]])
        gradient[n_cuts:] -= RIDGE * parameters[n_cuts:]
        step = np.linalg.solve(information, gradient)
        converged = bool(gradient @ step < 1e-9)
        if converged:
            break
        length = 1.0
        while True:
            tried = parameters + length * step
            reached = _penalised(tried, counts, design)
            if reached >= value or length < 1e-8:
                break
            length /= 2
        parameters, value = tried, reached
    return Fit(
        terms,
        parameters[n_cuts:],
        parameters[:n_cuts],
        information,
        local[cell, star],
        design,
        cell,
        converged,
    )


class Sandwich(NamedTuple):
    """Covariances of coefficients that allow for one or two kinds of clusters."""

    parts: tuple[Matrix, ...]
    both: Matrix | None
    df: int

    def variance(self, weights: NDArray[np.floating]) -> float:
        """Of a weighted sum of coefficients; see :func:`analysis.clustered.cluster_variance`."""
        parts = [float(weights @ part @ weights) for part in self.parts]
        if self.both is None:
            return parts[0]
        return max(sum(parts) - float(weights @ self.both @ weights), *parts)


def sandwich(fit: Fit, *clusters: Codes) -> Sandwich:
    r"""Covariance of the coefficients when votes of one cluster are correlated.

    :math:`B M_c B` with the inverse information B and
    :math:`M_c = \frac{G}{G-1} \sum_g s_g s_g^\top`, where :math:`s_g` is the sum of the scores of
    cluster g. Kinds of clusters with one cluster only are left out.

    References
    ----------
    Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136
    """
    useful = [codes for codes in clusters if len(np.unique(codes)) > 1]
    if not useful:
        raise ValueError("there is one cluster only: no covariance")
    bread, size = np.linalg.inv(fit.information), len(fit.thresholds)

    def covariance(codes: Codes) -> Matrix:
        result: Matrix = (bread @ _meat(fit, codes) @ bread)[size:, size:]
        return result

    both = covariance(crossed(useful[0], useful[1])) if len(useful) > 1 else None
    df = min(len(np.unique(codes)) for codes in useful) - 1
    return Sandwich(tuple(covariance(codes) for codes in useful), both, df)


def _cells(categories: pd.DataFrame) -> tuple[list[tuple[str, object]], Codes, Matrix]:
    """Terms (column, level), the cell of each row, and dummies of each cell."""
    combined = np.zeros(len(categories), np.int64)
    levels: list[pd.Index] = []
    for name in categories:
        codes, found = pd.factorize(categories[name], sort=True)
        if (codes < 0).any():
            raise ValueError(f"the column {name} must not be missing")
        levels.append(pd.Index(found))
        combined = combined * len(found) + codes
    cell, present = pd.factorize(combined, sort=True)
    terms: list[tuple[str, object]] = []
    parts: list[Matrix] = []
    rest = np.asarray(present)
    for name, found in zip(reversed(list(categories)), reversed(levels), strict=True):
        codes, rest = rest % len(found), rest // len(found)
        parts.insert(0, np.eye(len(found))[codes][:, 1:])
        terms = [(str(name), level) for level in found[1:]] + terms
    design = np.concatenate(parts, axis=1) if parts else np.zeros((len(present), 0))
    return terms, np.asarray(cell, np.intp), design


def _cumulative(thresholds: Vector, predictor: Vector) -> Matrix:
    """P(Y <= k) for k from none to all."""
    inner = 1 / (1 + np.exp(np.clip(predictor[:, None] - thresholds, -500, 500)))
    ones = np.ones((len(predictor), 1))
    return np.concatenate([0 * ones, inner, ones], axis=1)


def _penalised(parameters: Vector, counts: Matrix, design: Matrix) -> float:
    n_cuts = counts.shape[1] - 1
    slopes = parameters[n_cuts:]
    if (np.diff(parameters[:n_cuts]) <= 0).any():
        return -np.inf
    chances = np.diff(_cumulative(parameters[:n_cuts], design @ slopes), axis=1)
    logs = np.log(np.maximum(chances, 1e-300))
    return float((counts * logs).sum() - RIDGE / 2 * slopes @ slopes)


def _local(thresholds: Vector, predictor: Vector) -> tuple[Matrix, Matrix]:
    """Chances (cells x ratings) and scores for thresholds and predictor (cells x ratings x K)."""
    below = _cumulative(thresholds, predictor)
    chances = np.maximum(np.diff(below, axis=1), 1e-300)
    density = below * (1 - below)
    n_cuts = len(thresholds)
    local = np.zeros((*chances.shape, n_cuts + 1))
    for cut in range(n_cuts):
        local[:, cut, cut] = density[:, cut + 1] / chances[:, cut]
        local[:, cut + 1, cut] = -density[:, cut + 1] / chances[:, cut + 1]
    local[:, :, -1] = below[:, 1:] + below[:, :-1] - 1
    return chances, local


def _information(number: Vector, chances: Matrix, local: Matrix, design: Matrix) -> Matrix:
    n_cuts = local.shape[2] - 1
    each = np.einsum("c,ck,cki,ckj->cij", number, chances, local, local, optimize=True)
    full = np.zeros((n_cuts + design.shape[1],) * 2)
    full[:n_cuts, :n_cuts] = each[:, :-1, :-1].sum(0)
    full[n_cuts:, :n_cuts] = design.T @ each[:, -1, :-1]
    full[:n_cuts, n_cuts:] = full[n_cuts:, :n_cuts].T
    full[n_cuts:, n_cuts:] = design.T @ (design * each[:, -1, -1:])
    full[n_cuts:, n_cuts:] += RIDGE * np.eye(design.shape[1])
    return full


def _meat(fit: Fit, codes: Codes) -> Matrix:
    shape = (int(codes.max()) + 1, len(codes))
    member = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=shape)
    cuts = member @ fit.scores[:, :-1]
    weighted = sparse.csr_array(
        (fit.scores[:, -1], (codes, fit.cell)), shape=(shape[0], len(fit.design))
    )
    sums = np.concatenate([cuts, weighted @ fit.design], axis=1)
    number = len(np.unique(codes))
    product: Matrix = sums.T @ sums * (number / (number - 1))
    return product
