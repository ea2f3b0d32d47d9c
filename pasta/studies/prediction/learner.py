r"""Simulated participants: they look, learn which patches go with which answer, and predict.

An image is a grid of patches; people tell ``words`` kinds of patches apart, by colour, texture and
edges (k-means over all images of an experiment). While somebody learns, patch p of image i weighs

.. math:: w_{ip} = (1 - g)\, o_p + g\, e_{ip}

with their own look :math:`o` (evenly over the image, and at its middle), the explanation :math:`e`
and the person's engagement :math:`g`; without an explanation g is 0. Two things are learned, each
from a prior and the evidence of the examples so far: how often a word goes with a class, and how
relevant it is (its share of the weights over its share of the images). Asked about a new image,
without an explanation, they look at relevant words as far as they were engaged, and add up

.. math:: \sum_p q_p\, \log \frac{P(v_p \mid A)}{P(v_p \mid B)}

times their decidedness, and the pull of what is really in the picture, which is right half of the
time. An explanation of the true cue helps, a misleading one hurts; none is neutral by definition.
Attentive people answer at random now and then, the inattentive always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from skimage.color import rgb2lab
from sklearn.cluster import KMeans

from pasta.seeds import entropy, generator
from pasta.studies.base import Simulated
from pasta.studies.prediction.design import make_plan, seats
from pasta.studies.prediction.settings import (
    BASELINE,
    DesignParams,
    LearnerParams,
    PredictionParams,
)
from pasta.studies.prediction.shown import Shown
from pasta.studies.prediction.tables import PARTICIPANTS, TRIALS

Matrix = NDArray[np.float64]
POPULATION = 48  # places of which the planted accuracies are the mean
_PRIOR = 1.0  # examples that the prior counts for
_COUNTRIES, _SEXES = ("FR", "US", "IN", "DE", "BR"), ("female", "male")


@dataclass(frozen=True)
class Sight:
    """What people see of an experiment: images by words, under several looks.

    Attributes
    ----------
    classes
        The two classes.
    names
        Row of each image.
    true, predicted
        Whether an image is, or is predicted, of the first class.
    plain, own
        Words of each image (images x words), evenly weighted and by people's own look.
    explained
        The same by the explanation of each condition.
    """

    classes: tuple[str, str]
    names: Mapping[str, int]
    true: NDArray[np.bool_]
    predicted: NDArray[np.bool_]
    plain: Matrix
    own: Matrix
    explained: Mapping[str, Matrix]


def look_at(shown: Shown, conditions: Sequence[str], params: LearnerParams, seed: int) -> Sight:
    """Turn the images and maps of an experiment into what people see."""
    images = shown.images
    words = _words(np.asarray(shown.pixels), params, entropy(seed, "words", shown.experiment))
    side = params.grid
    axis = np.linspace(-1, 1, side)
    middle = np.exp(-params.narrow * (axis[:, None] ** 2 + axis[None, :] ** 2)).ravel()
    even = np.full(side * side, 1 / side**2)
    own = params.centre * middle / middle.sum() + (1 - params.centre) * even
    looks = {}
    for name in conditions:
        maps = shown.maps(name) if name != BASELINE else None
        if maps is not None:
            looks[name] = _count(words, _weights(np.asarray(maps, np.float32), params, own), params)
    classes = sorted(shown.pool["shown"].unique())
    return Sight(
        (classes[0], classes[1]),
        dict(zip(images["image_id"], images["row"], strict=True)),
        (images["label"] == classes[0]).to_numpy(bool),
        (images["shown"] == classes[0]).to_numpy(bool),
        _count(words, np.broadcast_to(even, words.shape), params),
        _count(words, np.broadcast_to(own, words.shape), params),
        looks,
    )


def _words(pixels: NDArray[np.uint8], params: LearnerParams, seed: int) -> NDArray[np.intp]:
    """The word of each patch (images, patches)."""
    colour = rgb2lab(pixels)
    light = colour[..., 0]
    edges = np.hypot(*np.gradient(light, axis=(1, 2)))
    parts = [_pool(colour[..., channel], params.grid) / 12 for channel in range(3)]
    square = _pool(light**2, params.grid) - _pool(light, params.grid) ** 2
    parts += [np.sqrt(np.maximum(square, 0)) / 8, _pool(edges, params.grid) / 5]
    features = np.stack(parts, -1).reshape(len(pixels) * params.grid**2, -1)
    clusters = min(params.words, len(np.unique(features.round(6), axis=0)))
    found = KMeans(clusters, n_init=1, max_iter=50, random_state=seed % 2**32).fit(features)
    return np.asarray(found.labels_, np.intp).reshape(len(pixels), -1)


def _pool(values: NDArray[Any], side: int) -> Matrix:
    """Means of a grid of patches (images, side, side)."""
    rows = [part.mean(1) for part in np.array_split(np.asarray(values, np.float64), side, axis=1)]
    whole = np.stack(rows, 1)
    return np.stack([part.mean(2) for part in np.array_split(whole, side, axis=2)], 2)


def _weights(maps: NDArray[np.float32], params: LearnerParams, own: Matrix) -> Matrix:
    """The share of attention that a map draws to each patch; one that is empty draws none."""
    pooled = _pool(np.abs(maps), params.grid).reshape(len(maps), -1) ** params.contrast
    total = pooled.sum(1, keepdims=True)
    there = np.divide(pooled, total, out=np.zeros_like(pooled), where=total > 0)
    return np.where(total > 0, there, own)


def _count(words: NDArray[np.intp], weights: Matrix, params: LearnerParams) -> Matrix:
    """How much of each image's weight falls on each word."""
    cells = words + np.arange(len(words))[:, None] * params.words
    size = len(words) * params.words
    found = np.bincount(cells.ravel(), np.asarray(weights).ravel(), size)
    return np.asarray(found, np.float64).reshape(len(words), params.words)


class Asked(NamedTuple):
    """The trials of one person, in their order."""

    rows: NDArray[np.intp]  # of the images
    session: NDArray[np.int64]
    phase: NDArray[np.object_]


def asked_of(sight: Sight, trials: pd.DataFrame) -> Asked:
    """Trials with session, phase and image_id."""
    rows = np.asarray(trials["image_id"].map(sight.names), np.intp)
    session, phase = np.asarray(trials["session"], np.int64), trials["phase"].to_numpy(object)
    return Asked(rows, session, phase)


@dataclass(frozen=True)
class Person:
    """One simulated participant."""

    engagement: float
    gain: float
    attentive: bool
    speed: float  # times the usual seconds


def draw_person(params: LearnerParams, rng: np.random.Generator) -> Person:
    """Draw a participant's traits."""
    engaged = np.clip(rng.normal(params.engagement, params.engagement_sd), 0, 1)
    gain = params.gain * np.exp(rng.normal(0, params.gain_sd))
    attentive = bool(rng.random() >= params.inattentive)
    return Person(float(engaged), float(gain), attentive, float(np.exp(rng.normal(0, 0.3))))


def chances(
    sight: Sight,
    condition: str,
    person: Person,
    trials: Asked,
    params: LearnerParams,
) -> Matrix:
    """The chance of each test or catch answer of an attentive person to be right.

    Parameters
    ----------
    sight
        What there is to see.
    condition
        Whose explanations are shown.
    person
        Who looks.
    trials
        The person's trials.
    params
        The model.

    Returns
    -------
    ndarray
        One entry for each trial, NaN in training.
    """
    rows, session, phase = trials
    engaged = person.engagement if condition in sight.explained else 0.0
    looks = (1 - engaged) * sight.own + engaged * sight.explained.get(condition, sight.own)
    found = np.full(len(rows), np.nan)
    found[phase == "catch"] = params.catch
    for number in np.unique(session):
        seen = rows[(phase == "training") & (session <= number)]
        asked = np.flatnonzero((phase == "test") & (session == number))
        weight = params.evidence * looks[seen]
        first = sight.predicted[seen]
        counts = [weight[first].sum(0), weight[~first].sum(0)]
        shares = [(one + _PRIOR / params.words) / (one.sum() + _PRIOR) for one in counts]
        lean = np.log(shares[0]) - np.log(shares[1])
        even = sight.plain[seen].sum(0)
        relevance = (looks[seen].sum(0) + _PRIOR * 0.05) / (even + _PRIOR * 0.05)
        new = sight.plain[rows[asked]] * relevance
        new /= new.sum(1, keepdims=True)
        look = (1 - engaged) * sight.own[rows[asked]] + engaged * new
        pull = params.semantic * np.where(sight.true[rows[asked]], 1.0, -1.0)
        odds = person.gain * (look @ lean) + pull
        toward = 1 / (1 + np.exp(-odds))
        right = np.where(sight.predicted[rows[asked]], toward, 1 - toward)
        found[asked] = params.lapse / 2 + (1 - params.lapse) * right
    return found


def planted_accuracy(
    sight: Sight,
    conditions: Sequence[str],
    plan: pd.DataFrame,
    params: LearnerParams,
    seed: int,
    experiment: str,
) -> pd.DataFrame:
    """Mean chances of attentive people: what a study without end would find.

    ``plan`` has the trials of many places, under any condition.
    """
    rows = []
    for place, (_, trials) in enumerate(plan.groupby("participant_id", sort=False)):
        person = draw_person(params, generator(seed, "population", experiment, place))
        asked = asked_of(sight, trials)
        tests = {one: (asked.phase == "test") & (asked.session == one)
                 for one in np.unique(asked.session).tolist()}  # fmt: skip
        for condition in conditions:
            right = chances(sight, condition, person, asked, params)
            rows += [(condition, one, right[where].mean()) for one, where in tests.items()]
    frame = pd.DataFrame(rows, columns=["condition", "session", "accuracy"])
    found = frame.groupby(["condition", "session"])["accuracy"].mean().reset_index()
    found.insert(0, "experiment", experiment)
    return found


def simulate_experiment(
    shown: Shown, study: PredictionParams, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Let people take part in one experiment.

    Returns
    -------
    participants, trials, traits, expected : DataFrame
        The study's tables; the traits of each person; the accuracies that are planted.
    """
    params, design, name = study.learner, study.design, shown.experiment
    sight = look_at(shown, study.conditions, params, seed)
    people = seats(name, study.conditions, study.participants)
    plan = make_plan(shown.pool, people, design, seed, name)
    plan = plan.sort_values("participant_id", kind="stable", ignore_index=True)
    right, asked = np.zeros(len(plan), bool), np.zeros(len(plan), bool)
    seconds = np.zeros(len(plan))
    known, traits = [], []
    for seat, own in plan.groupby("participant_id", sort=False):
        rng = generator(seed, "person", str(seat))
        person = draw_person(params, rng)
        condition = str(own["condition"].iloc[0])
        at = own.index.to_numpy()
        right[at], asked[at], seconds[at], fine = _answer(
            sight, condition, person, asked_of(sight, own), params, rng
        )
        known.append(_describe(str(seat), name, condition, person, params, design, rng))
        traits.append({"participant_id": seat, "experiment": name, "condition": condition}
                      | vars(person) | {"mean_chance": fine})  # fmt: skip
    more = seats(name, [BASELINE], POPULATION)
    expected = planted_accuracy(
        sight,
        study.conditions,
        make_plan(shown.pool, more, design, seed, name),
        params,
        seed,
        name,
    )
    shown_class = plan["shown"].to_numpy(object)
    others = np.where(shown_class == sight.classes[0], sight.classes[1], sight.classes[0])
    answers = pd.Series(np.where(right, shown_class, others), index=plan.index, dtype="str")
    trials = plan.assign(
        answer=answers.where(asked),
        right=pd.Series(right, index=plan.index, dtype="boolean").where(asked),
        seconds=seconds.round(2),
        simulated=True,
    )
    return (
        PARTICIPANTS.frame(known),
        trials.reindex(columns=list(TRIALS.columns)),
        pd.DataFrame(traits),
        expected,
    )


def _answer(
    sight: Sight,
    condition: str,
    person: Person,
    trials: Asked,
    params: LearnerParams,
    rng: np.random.Generator,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Matrix, float]:
    """Which answers are right, which are given at all, their seconds, and the mean chance."""
    chance = chances(sight, condition, person, trials, params)
    mean = float(chance[trials.phase == "test"].mean())
    if not person.attentive:
        chance = np.where(np.isnan(chance), np.nan, 0.5)
    right = rng.random(len(chance)) < chance
    hurry = 1.0 if person.attentive else 0.5
    middle = params.seconds * person.speed * hurry * 0.9 ** (trials.session - 1)
    seconds = middle * np.exp(rng.normal(0, params.seconds_sd, len(chance)))
    asked: NDArray[np.bool_] = ~np.isnan(chance)
    return right, asked, np.asarray(seconds, np.float64), mean


def _describe(
    seat: str,
    experiment: str,
    condition: str,
    person: Person,
    params: LearnerParams,
    design: DesignParams,
    rng: np.random.Generator,
) -> dict[str, object]:
    """What the participants table has of a person."""
    miss = params.slips if person.attentive else params.fails
    tries = 2 if rng.random() < miss else 1
    quiz = design.quiz - int(rng.random() < miss)
    return {
        "participant_id": seat,
        "experiment": experiment,
        "condition": condition,
        "practice_tries": tries,
        "practice_passed": tries == 1,
        "quiz_right": quiz,
        "age": int(rng.integers(20, 66)),
        "sex": _SEXES[int(rng.integers(len(_SEXES)))],
        "country": _COUNTRIES[int(rng.integers(len(_COUNTRIES)))],
        "simulated": True,
    }


def simulated_study(experiments: Sequence[Shown], study: PredictionParams, seed: int) -> Simulated:
    """All experiments with simulated people.

    The truth behind the answers is ``learner`` (the parameters), ``seed``, and the frames
    ``people`` (traits of each) and ``expected`` (accuracy of attentive people by condition and
    session).
    """
    parts = [simulate_experiment(one, study, seed) for one in experiments]
    participants, trials, people, expected = (
        pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True)
    )
    key = list(TRIALS.key)
    frames = {
        "trials": trials.sort_values(key, ignore_index=True),
        "participants": participants.sort_values("participant_id", ignore_index=True),
    }
    truth = {
        "learner": study.learner.model_dump(mode="json"),
        "seed": seed,
        "people": people,
        "expected": expected,
    }
    return Simulated(frames, truth)
