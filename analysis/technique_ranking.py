"""Techniques in order of preference, with what is known about their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from analysis.annotator_values import long_votes
from analysis.bradley_terry import strengths_from_stars
from analysis.critical_difference import group_letters, homogeneous_groups, pairs_by_holm
from analysis.ordinal_model import Sandwich, fit_cumulative_logit, sandwich
from analysis.votes import describe_samples, only, turned

Vector = NDArray[np.float64]
Codes = NDArray[np.intp]

MODELS = ("ordinal", "bradley_terry")

_COLUMNS = [
    "technique",
    "kind",
    "rank",
    "rank_low",
    "rank_high",
    "n",
    "estimate",
    "low",
    "high",
    "groups",
    "note",
]


def technique_ranking(
    ratings: pd.DataFrame,
    samples: pd.DataFrame,
    *,
    model: str = "ordinal",
    questions: Sequence[str] | None = None,
    directions: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    r"""Rank techniques by all votes, not by aggregated labels.

    ``ordinal``: the proportional-odds model

    .. math:: \operatorname{logit} P(r \le k) = \theta_k - \beta_q - \alpha_a - \lambda_t

    ``bradley_terry``: every two votes of an annotator on a question are a comparison. Strengths
    :math:`\lambda` have mean 0 and are log odds in both. Errors allow for votes that share a sample
    or an annotator. Every two techniques are compared, corrected by Holm: techniques that share a
    letter in ``groups`` were not told apart, and ``rank_low`` to ``rank_high`` are the ranks that
    the tests leave open.

    Parameters
    ----------
    questions
        Which questions count; all if not given.
    directions
        -1 for questions on which fewer stars are better.

    References
    ----------
    McCullagh 1980, doi:10.1111/j.2517-6161.1980.tb01109.x; Bradley & Terry 1952,
    doi:10.1093/biomet/39.3-4.324; Goldstein & Spiegelhalter 1996, doi:10.2307/2983325 (why ranks
    need intervals)

    Returns
    -------
    DataFrame with technique, kind, rank, rank_low, rank_high, n (votes), estimate, low, high,
    groups, note; best first
    """
    if model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, not {model!r}")
    known = describe_samples(samples)
    votes_frame = turned(only(ratings, questions), directions)
    of_vote = known["technique"].reindex(votes_frame["sample_id"]).notna().to_numpy()
    votes = long_votes(votes_frame[of_vote])
    of_sample = known.reindex(votes.samples)
    technique, names = pd.factorize(
        of_sample["technique"].to_numpy(object)[votes.sample], sort=True
    )
    codes = votes.annotator, votes.sample, votes.question, technique, votes.rating
    numbers = np.bincount(technique, minlength=len(names))
    kinds = of_sample.drop_duplicates("technique").set_index("technique")["kind"].reindex(names)
    frame = pd.DataFrame({"technique": names, "kind": kinds.to_numpy(), "n": numbers})
    found, why = (
        _strengths(model, *codes) if len(names) > 1 else (None, "fewer than two techniques")
    )
    if found is None:
        return frame.assign(note=why).reindex(columns=_COLUMNS)
    note = "one annotator: intervals are about samples only" if len(votes.annotators) == 1 else ""
    return _ranked(frame.assign(note=note), *found)


def _strengths(
    model: str, annotator: Codes, sample: Codes, question: Codes, technique: Codes, rating: Codes
) -> tuple[tuple[Vector, Sandwich] | None, str]:
    if len(np.unique(rating)) < 2:
        return None, "all votes are the same star: no order"
    if int(sample.max()) < 1:
        return None, "one sample only"
    if model == "bradley_terry":
        both = strengths_from_stars(annotator, sample, question, technique, rating)
        if both is None:
            return None, "some techniques never won or never lost: no finite strengths"
        return (both[0].estimate, both[1]), ""
    columns = {"question": question, "annotator": annotator, "technique": technique}
    fit = fit_cumulative_logit(rating, pd.DataFrame(columns))
    places = [place for place, (term, _) in enumerate(fit.terms) if term == "technique"]
    spread = sandwich(fit, sample, annotator)
    size = len(places) + 1
    estimate = np.concatenate([[0.0], fit.coefficients[places]])

    def padded(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """With the reference technique, whose coefficient is 0 and certain."""
        full = np.zeros((size, size))
        full[1:, 1:] = matrix[np.ix_(places, places)]
        return full

    both_ways = None if spread.both is None else padded(spread.both)
    parts = tuple(padded(part) for part in spread.parts)
    return (estimate - estimate.mean(), Sandwich(parts, both_ways, spread.df)), ""


def _ranked(frame: pd.DataFrame, estimate: Vector, spread: Sandwich) -> pd.DataFrame:
    order = np.argsort(-estimate, kind="stable")
    size = len(order)
    reach = float(stdtrit(spread.df, 0.975))
    centred = np.eye(size) - 1 / size
    half = reach * np.sqrt([spread.variance(weights) for weights in centred])
    different = pairs_by_holm(_pair_p(estimate[order], order, spread))
    runs = homogeneous_groups(different)
    better = np.array([int(different[place, :place].sum()) for place in range(size)])
    worse = np.array([int(different[place, place + 1 :].sum()) for place in range(size)])
    ranked = frame.assign(estimate=estimate, low=estimate - half, high=estimate + half)
    ranked = ranked.iloc[order].reset_index(drop=True)
    ranked = ranked.assign(
        rank=np.arange(1, size + 1),
        rank_low=better + 1,
        rank_high=size - worse,
        groups=group_letters(runs, size),
    )
    return ranked[_COLUMNS]


def _pair_p(estimate: Vector, order: NDArray[np.intp], spread: Sandwich) -> NDArray[np.float64]:
    size = len(order)
    p = np.full((size, size), np.nan)
    for first in range(size):
        for second in range(first + 1, size):
            weights = np.zeros(size)
            weights[order[first]], weights[order[second]] = 1.0, -1.0
            variance = spread.variance(weights)
            if variance > 0:
                gap = abs(estimate[first] - estimate[second]) / np.sqrt(variance)
                p[first, second] = p[second, first] = 2 * stdtr(spread.df, -gap)
    return p
