r"""Which votes to ask for next: those that say most about what is still uncertain.

**What is believed.** The quality of explanation :math:`s`, the mean star that everybody would give
it, is the prediction of a scorer and what the scorer may be wrong by ::

    quality = prediction + z . theta + own,     theta ~ N(0, identity),   own ~ N(0, rest)

The columns of ``z`` are the deviations of the scorer's members from their mean over the root of
their number (where members disagree, the scorer does not know), and one for each technique and one
for each image with the standard deviation that the scorer's errors have between techniques and
between images. ``rest`` is what remains of an explanation's own, and a vote has the variance
``noise`` around the quality. The mean of ``n`` votes thus has the precision

.. math:: h(n) = 1 / (\mathrm{rest} + \mathrm{noise} / n)

about ``theta``: a second vote on the same explanation adds less than a first one on another.

**What is asked.** One vote after the other, each where it lowers the uncertainty of the goal most.
With :math:`V` the covariance of ``theta`` given all votes so far, a vote on :math:`s` changes it to
:math:`V - V z z^\top V\, d / (1 + d\, z^\top V z)` with :math:`d = h(n + 1) - h(n)`. Two goals:

``score``
    the sum of the variances of all qualities (V-optimal design);
``techniques``
    the expected number of pairs of techniques in the wrong order, :math:`\sum \Phi(-|\Delta| /
    \sqrt{v})` over pairs with the difference :math:`\Delta` of their mean qualities and its
    variance :math:`v`, to the first order in the change of :math:`v`.

Both are quadratic forms of :math:`V z`, so that all candidates are looked at in one product
(Chaloner & Verdinelli 1995, doi:10.1214/ss/1177009939).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from pasta.errors import PastaError
from pasta.registry import did_you_mean

Goal = Literal["techniques", "score"]
Doubles = NDArray[np.float64]
Whole = NDArray[np.int64]

CANDIDATES = 4_000  # samples that are looked at for each vote; of more, so many by chance
_STARS = np.arange(1, 6)
_LEAST = 1e-6  # variance


class Components(NamedTuple):
    """Variances of a vote, and of what a scorer errs by."""

    noise: float  # of votes on one sample
    technique: float  # errors shared by all samples of a technique
    image: float  # and of an image
    rest: float  # of a sample's own


@dataclass(frozen=True)
class Belief:
    """What is known of samples, as the module's docstring says; rows of all arrays agree."""

    samples: pd.DataFrame  # sample_id, technique, image
    prediction: Doubles  # expected stars, by the scorer
    loadings: Doubles  # samples x directions
    components: Components
    votes: Whole  # so far
    mean: Doubles  # of them; anything where there are none


def checked_goal(name: str) -> Goal:
    """The goal of this name; an unknown one is an error."""
    for goal in get_args(Goal):
        if goal == name:
            return cast(Goal, goal)
    raise PastaError(
        f"there is no goal called {name!r}. {did_you_mean(name, list(get_args(Goal)))}"
    )


def variance_components(
    errors: Doubles, votes: Whole, within: float, samples: pd.DataFrame
) -> Components:
    """Of the errors of predictions that had not seen the votes.

    Parameters
    ----------
    errors
        Mean vote minus prediction, one for each sample with votes.
    votes
        How many votes each has.
    within
        Variance of votes on one sample.
    samples
        Columns technique and image.

    Returns
    -------
    Components
        From mean products of errors: of two samples of one technique, and of two of one image; none
        is negative.
    """
    centred = errors - errors.mean()
    technique, image = (
        max(_mean_product(centred, samples[name]), 0.0) for name in ("technique", "image")
    )
    whole = float(np.mean(centred**2) - within * np.mean(1 / votes))
    rest = max(whole - technique - image, _LEAST)
    return Components(max(within, _LEAST), technique, image, rest)


def _mean_product(values: Doubles, groups: pd.Series[str]) -> float:
    """The mean product of every two values of one group."""
    number = pd.factorize(groups)[0]
    sums, squares = np.bincount(number, values), np.bincount(number, values**2)
    pairs = float((np.bincount(number) * (np.bincount(number) - 1.0)).sum())
    return float((sums**2 - squares).sum()) / pairs if pairs else 0.0


def vote_noise(counts: Whole) -> float:
    """The pooled variance of votes on one sample, from samples x stars."""
    number = counts.sum(axis=1)
    known = number > 1
    if not known.any():
        raise PastaError(
            "no sample has two votes or more: how far people differ on one sample is not known"
        )
    mine = counts[known].astype(np.float64)
    mean = mine @ _STARS / number[known]
    apart = (mine * (_STARS - mean[:, None]) ** 2).sum()
    return float(apart / (number[known] - 1).sum())


def believe(
    samples: pd.DataFrame, members: Doubles, counts: Whole, components: Components
) -> Belief:
    """Put predictions, votes and variances together.

    Parameters
    ----------
    samples
        Columns sample_id, technique, image.
    members
        Expected stars by each member of a scorer, samples x members.
    counts
        Votes so far, samples x stars.
    components
        From :func:`variance_components`.
    """
    prediction = members.mean(axis=1)
    parts = [(members - prediction[:, None]) / np.sqrt(members.shape[1])]
    for name, variance in (("technique", components.technique), ("image", components.image)):
        number, levels = pd.factorize(samples[name])
        parts.append(np.sqrt(variance) * np.eye(len(levels))[number])
    votes = counts.sum(axis=1).astype(np.int64)
    mean = counts @ _STARS / np.maximum(votes, 1)
    return Belief(samples, prediction, np.hstack(parts), components, votes, mean)


class _State:
    """The belief given votes: the covariance of ``theta``, and its mean."""

    def __init__(self, belief: Belief) -> None:
        rated = np.flatnonzero(belief.votes)
        own = belief.loadings[rated]
        weights = precision(belief.votes[rated], belief.components)
        errors = belief.mean[rated] - belief.prediction[rated]
        errors = errors - (errors.mean() if len(errors) else 0.0)
        inverse = np.eye(belief.loadings.shape[1]) + (own * weights[:, None]).T @ own
        self.covariance: Doubles = np.asarray(np.linalg.inv(inverse), np.float64)
        self.mean: Doubles = self.covariance @ (own.T @ (weights * errors))

    def add(self, loading: Doubles, gained: float) -> None:
        """One more vote, on a sample with this loading."""
        moved = self.covariance @ loading
        self.covariance -= np.outer(moved, moved) * (gained / (1 + gained * loading @ moved))


def precision(votes: Whole, components: Components) -> Doubles:
    """What the mean of so many votes says about ``theta``; nothing without votes."""
    spread = components.rest + components.noise / np.maximum(votes, 1)
    return np.asarray(np.where(votes > 0, 1 / spread, 0.0), np.float64)


def choose_votes(
    belief: Belief, number: int, goal: Goal, most: int, random: np.random.Generator
) -> pd.DataFrame:
    """Ask for votes one by one, each where it says most.

    Parameters
    ----------
    belief
        What is known.
    number
        How many votes there are to give.
    goal
        techniques (their order) or score (the quality of every explanation).
    most
        Votes on one sample, with those that are there.
    random
        Chooses the candidates if there are more than :data:`CANDIDATES`, and between equals.

    Returns
    -------
    DataFrame
        sample_id, votes (to ask for), votes_before; in the order in which samples were chosen.
    """
    room = int(np.maximum(most - belief.votes, 0).sum())
    if not 1 <= number <= room:
        raise PastaError(
            f"cannot ask for {number} votes: with at most {most} on each sample there is room for "
            f"{room}"
        )
    state, target = _State(belief), _technique_means(belief)
    pool = belief.loadings.T @ belief.loadings
    votes, asked = belief.votes.copy(), dict[int, int]()
    order = random.permutation(len(votes))
    for _ in range(number):
        open_ones = order[votes[order] < most]
        rows = open_ones[:CANDIDATES]
        wanted = pool if goal == "score" else _order_weights(belief, state, target)
        gained = precision(votes[rows] + 1, belief.components)
        gained -= precision(votes[rows], belief.components)
        moved = belief.loadings[rows] @ state.covariance
        worth = gained * ((moved @ wanted) * moved).sum(axis=1)
        worth /= 1 + gained * (moved * belief.loadings[rows]).sum(axis=1)
        best = int(rows[np.argmax(worth)])
        state.add(belief.loadings[best], float(gained[np.argmax(worth)]))
        votes[best] += 1
        asked[best] = asked.get(best, 0) + 1
        if len(open_ones) > CANDIDATES:
            order = random.permutation(len(votes))
    chosen = np.array(list(asked), np.int64)
    return pd.DataFrame(
        {
            "sample_id": belief.samples["sample_id"].to_numpy()[chosen],
            "votes": np.array(list(asked.values()), np.int64),
            "votes_before": belief.votes[chosen],
        }
    )


def _technique_means(belief: Belief) -> Doubles:
    """The mean loading of each technique's samples, techniques x directions."""
    number, levels = pd.factorize(belief.samples["technique"])
    member = np.eye(len(levels))[number]
    return np.asarray(member.T @ belief.loadings / member.sum(axis=0)[:, None], np.float64)


def technique_qualities(belief: Belief) -> pd.Series[float]:
    """The mean quality of each technique over all samples, given the votes so far."""
    state = _State(belief)
    frame = belief.samples.assign(quality=belief.prediction + belief.loadings @ state.mean)
    return frame.groupby("technique")["quality"].mean()


def _order_weights(belief: Belief, state: _State, target: Doubles) -> Doubles:
    """The quadratic form that says how much a change of ``theta``'s covariance orders techniques.

    For each pair the derivative of the chance of a wrong order by the variance of the difference;
    these are the weights of a graph of techniques, whose Laplacian the form is.
    """
    number = pd.factorize(belief.samples["technique"])[0]
    size = np.bincount(number)
    value = np.bincount(number, belief.prediction + belief.loadings @ state.mean) / size
    covariance = target @ state.covariance @ target.T
    diagonal = np.diag(covariance)
    variance = np.maximum(diagonal[:, None] + diagonal - 2 * covariance, _LEAST)
    apart = np.abs(np.subtract.outer(value, value))
    weights = norm.pdf(apart / np.sqrt(variance)) * apart / (2 * variance**1.5)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    return np.asarray(target.T @ laplacian @ target, np.float64)


def choose_by_chance(
    samples: pd.DataFrame, number: int, each: int, random: np.random.Generator
) -> pd.DataFrame:
    """Any samples, with ``each`` votes on all of them but the last; columns as `choose_votes`."""
    whole, rest = divmod(number, each)
    wanted = [each] * whole + [rest] * (rest > 0)
    if len(wanted) > len(samples):
        raise PastaError(
            f"{number} votes, {each} on each sample, need {len(wanted)} samples without votes; "
            f"there are {len(samples)}"
        )
    chosen = random.choice(len(samples), len(wanted), replace=False)
    names = samples["sample_id"].to_numpy()[chosen]
    return pd.DataFrame({"sample_id": names, "votes": wanted, "votes_before": 0})


def share_out(
    asked: pd.DataFrame, people: list[str], votes: pd.DataFrame, random: np.random.Generator
) -> pd.DataFrame:
    """Say who gives the votes: nobody twice on a sample, and everybody about as many.

    Parameters
    ----------
    asked
        sample_id and votes, from :func:`choose_votes`.
    people
        Who there is.
    votes
        Those that are there already: sample_id, annotator_id.

    Returns
    -------
    DataFrame
        The columns of a plan: sample_id, annotator_id, position.
    """
    number = {name: place for place, name in enumerate(people)}
    known = votes[votes["annotator_id"].isin(number)].drop_duplicates(["sample_id", "annotator_id"])
    given = known.groupby("sample_id")["annotator_id"].agg(list).to_dict()
    load, rows = np.zeros(len(people), np.int64), []
    for sample, wanted in zip(asked["sample_id"], asked["votes"], strict=True):
        free = np.ones(len(people), bool)
        free[[number[name] for name in given.get(sample, [])]] = False
        places = np.flatnonzero(free)
        if len(places) < wanted:
            raise PastaError(
                f"{sample} needs {wanted} more people; {len(places)} of {len(people)} have not "
                "rated it yet: more --annotators"
            )
        least = places[np.lexsort((random.random(len(places)), load[places]))][:wanted]
        load[least] += 1
        rows += [(sample, place) for place in least.tolist()]
    order = random.permutation(len(rows))
    frame = pd.DataFrame([rows[place] for place in order], columns=["sample_id", "place"])
    frame["annotator_id"] = np.array(people)[frame["place"].to_numpy(np.int64)]
    frame["position"] = frame.groupby("annotator_id").cumcount() + 1
    columns = ["sample_id", "annotator_id", "position"]
    return frame.sort_values(["annotator_id", "position"], ignore_index=True)[columns]
