"""Annotators: who they are, how that shows in their stars, when they gave them, their rankings.

Ages spread wider than in P1 (19 to 37 years, A.3), sexes are balanced and countries many, so that a
demographic effect can be found if it is planted. With an annotator's standard normal draws z ::

    leniency = leniency_sd * z1 + sex_leniency * (1/2 for women, -1/2 for men, 0 for others)
    noise    = noise * exp(noise_sd * z2 + age_noise * (age - 30) / 10)
    scale    = exp(scale_sd * z3)

An annotator is drawn from the seed and the annotator's name alone, whoever else takes part.

Orders of qualities and questions (Q7-Q9) follow Plackett and Luce (doi:10.2307/2346567).

An annotator's utility for an item is the one of P1's raters, recovered from their mean positions
(P1, Tables 13 and 14), plus a personal deviation. The first item of an order is drawn with
probabilities proportional to exp(utility), the second among the rest, and so on; sorting utilities
plus Gumbel noise does the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.seeds import generator
from pasta.studies.ratings.settings import (
    CHANGES,
    QUESTIONS,
    RaterParams,
    SimulationParams,
    TimingParams,
)
from pasta.studies.ratings.tables import RANKED
from pasta.studies.scales import DEMOGRAPHICS

AGE_MEAN, AGE_SD, YOUNGEST, OLDEST = 35.0, 12.0, 18, 75
REFERENCE_AGE = 30  # whose noise is the parameter
SEXES = {"female": 0.49, "male": 0.49, "non-binary": 0.02}
LENIENCY = {"female": 0.5, "male": -0.5, "non-binary": 0.0}
COUNTRIES = {
    "India": 0.30,
    "Brazil": 0.14,
    "Germany": 0.12,
    "Kenya": 0.12,
    "Indonesia": 0.12,
    "France": 0.10,
    "Canada": 0.10,
}
# P1's mean positions. Position 1 comes first in the order that a question asks for: it is the most
# important quality (Q7), the least important question (Q8), the most difficult question (Q9).
POSITIONS: Mapping[str, Mapping[str, float]] = {
    "Q7": {
        "Expectedness": 3.20,
        "Trustworthy": 2.47,
        "Complexity": 2.53,
        "Robustness": 2.97,
        "Objectivity": 3.77,
    },
    "Q8": {"Q1": 4.10, "Q2": 3.90, "Q3": 4.03, "Q4": 3.13, "Q5": 2.63, "Q6": 3.00},
    "Q9": {"Q1": 4.00, "Q2": 4.23, "Q3": 4.53, "Q4": 3.67, "Q5": 1.80, "Q6": 2.54},
}
_MORNING = 9 * 3600  # seconds after midnight
_LATE = 3 * 3600.0  # a session starts up to this much later

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def draw_raters(annotators: Iterable[str], params: RaterParams, seed: int) -> pd.DataFrame:
    """Columns annotator_id, age, sex, country, stated_*, leniency, noise, scale; sorted."""
    rows = [_rater(name, params, seed) for name in sorted(set(annotators))]
    return pd.DataFrame(rows).astype({"annotator_id": "str", "sex": "str", "country": "str"})


def annotators_table(raters: pd.DataFrame) -> pd.DataFrame:
    """The annotators as the study knows them: what they did not state is missing."""
    stated = {name: raters[name].where(raters[f"stated_{name}"]) for name in DEMOGRAPHICS}
    flags = {"anonymous": False, "simulated": True}
    frame = pd.DataFrame({"annotator_id": raters["annotator_id"], **stated, **flags})
    return frame.astype({"annotator_id": "str", "age": "Int64", "sex": "str", "country": "str"})


def _rater(name: str, params: RaterParams, seed: int) -> dict[str, object]:
    random = generator(seed, "simulation", "rater", name)
    age = _age(random)
    sex = str(random.choice(list(SEXES), p=list(SEXES.values())))
    country = str(random.choice(list(COUNTRIES), p=list(COUNTRIES.values())))
    lenient, noisy, wide = random.standard_normal(3)
    decades = (age - REFERENCE_AGE) / 10
    stated = random.random(len(DEMOGRAPHICS)) >= params.unstated
    return {
        "annotator_id": name,
        "age": age,
        "sex": sex,
        "country": country,
        **{
            f"stated_{what}": bool(is_stated)
            for what, is_stated in zip(DEMOGRAPHICS, stated, strict=True)
        },
        "leniency": params.leniency_sd * lenient + params.sex_leniency * LENIENCY[sex],
        "noise": params.noise * float(np.exp(params.noise_sd * noisy + params.age_noise * decades)),
        "scale": float(np.exp(params.scale_sd * wide)),
    }


def _age(random: np.random.Generator) -> int:
    """A normal draw within the bounds; drawn again rather than cut, so that no age piles up."""
    while True:
        age = round(float(random.normal(AGE_MEAN, AGE_SD)))
        if YOUNGEST <= age <= OLDEST:
            return age


def rate(
    qualities: pd.DataFrame,
    raters: pd.DataFrame,
    plan: pd.DataFrame,
    params: SimulationParams,
    seed: int,
) -> pd.DataFrame:
    """Draw the votes of a plan; pure, and sorted by key.

    Parameters
    ----------
    qualities
        Columns sample_id, kind and Q1..Q6; a missing quality means that the question is not asked.
    raters
        Columns annotator_id, leniency, noise, scale.
    plan
        Columns sample_id, annotator_id, position (order of an annotator's work).

    Returns
    -------
    pandas.DataFrame
        The ``votes`` table. A vote depends on the seed, its annotator, and the samples of
        ``qualities``, not on the order of any rows nor on the rest of the plan; the times follow
        the plan.
    """
    qualities = qualities.sort_values("sample_id", ignore_index=True)
    raters = raters.sort_values("annotator_id", ignore_index=True)
    sample = _places(plan["sample_id"], qualities["sample_id"], "sample")
    annotator = _places(plan["annotator_id"], raters["annotator_id"], "annotator")
    position = plan["position"].to_numpy(np.int64)
    order = np.lexsort((annotator, sample))
    sample, annotator, position = sample[order], annotator[order], position[order]
    latent = _latent(qualities, raters, sample, annotator, params, seed)
    asked = np.isfinite(latent)
    stars = 1 + np.searchsorted(params.thresholds, latent.ravel(), side="right")
    times = _times(raters["annotator_id"], annotator, position, params.timing, seed)
    row, question = np.nonzero(asked)
    votes = {
        "sample_id": qualities["sample_id"].astype("str").array.take(sample[row]),
        "annotator_id": raters["annotator_id"].astype("str").array.take(annotator[row]),
        "question": pd.array(list(QUESTIONS), dtype="str").take(question),
        "rating": stars[asked.ravel()].astype(np.int64),
        "submitted_at": pd.DatetimeIndex(times[row], tz="UTC"),
        "simulated": True,
    }
    return pd.DataFrame(votes)


def preferences(kinds: pd.Series, params: SimulationParams) -> Floats:
    """Samples x questions: half the planted difference for maps, minus half for concepts.

    Maps are liked better, and a map over the image seems to change less than concepts (P2,
    "Human preferences for output format").
    """
    side = np.where(kinds == "saliency", 0.5, -0.5)
    shift = [
        -params.saliency_calm if question in CHANGES else params.saliency_preference
        for question in QUESTIONS
    ]
    return np.outer(side, shift)


def _latent(
    qualities: pd.DataFrame,
    raters: pd.DataFrame,
    sample: Whole,
    annotator: Whole,
    params: SimulationParams,
    seed: int,
) -> Floats:
    liked = qualities[list(QUESTIONS)].to_numpy(np.float64) + preferences(qualities["kind"], params)
    difficulty = np.array([getattr(params.questions, name).noise for name in QUESTIONS])
    result = np.empty((len(sample), len(QUESTIONS)))
    for place, rater in enumerate(raters.itertuples(index=False)):
        mine = annotator == place
        if mine.any():
            random = generator(seed, "simulation", "votes", str(rater.annotator_id))
            # drawn for all samples, so that a vote does not hang on what else was planned
            noise = random.standard_normal(liked.shape)[sample[mine]] * difficulty
            result[mine] = rater.scale * liked[sample[mine]] + rater.leniency + rater.noise * noise
    return result


def _times(
    names: pd.Series, annotator: Whole, position: Whole, timing: TimingParams, seed: int
) -> NDArray[np.datetime64]:
    """When each planned sample was handed in: annotators work every working day for a session."""
    times = np.empty(len(annotator), dtype="datetime64[us]")
    length = timing.session_minutes * 60
    for place, name in enumerate(names):
        mine = np.flatnonzero(annotator == place)
        mine = mine[np.argsort(position[mine], kind="stable")]
        random = generator(seed, "simulation", "times", str(name))
        spent = np.cumsum(
            timing.seconds * np.exp(timing.seconds_sd * random.standard_normal(len(mine)))
        )
        day = (spent // length).astype(np.int64)
        late = random.uniform(0, _LATE, int(day.max(initial=0)) + 1)
        dates = np.busday_offset(np.datetime64(timing.start), day, roll="forward")
        seconds = np.rint(_MORNING + late[day] + spent % length).astype("timedelta64[s]")
        times[mine] = dates.astype("datetime64[us]") + seconds
    return times


def _places(values: pd.Series, known: pd.Series, what: str) -> Whole:
    places: Whole = pd.Index(known).get_indexer(pd.Index(values)).astype(np.int64)
    if (places < 0).any():
        stranger = values.iloc[int(np.argmax(places < 0))]
        raise PastaError(f"the plan names the {what} {stranger!r}, of which nothing is known")
    return places


def draw_rankings(
    annotators: Iterable[str],
    items: Mapping[str, tuple[str, ...]],
    params: SimulationParams,
    seed: int,
) -> pd.DataFrame:
    """The ``rankings`` table: for each annotator and question, every item at one position."""
    rows = []
    for name in sorted(set(annotators)):
        for question, choices in items.items():
            random = generator(seed, "simulation", "rankings", name, question)
            own = params.ranking_sd * random.standard_normal(len(choices))
            mean = params.ranking_strength * utilities(question, choices)
            order = np.argsort(-(mean + own + random.gumbel(size=len(choices))))
            places = np.empty(len(choices), dtype=np.int64)
            places[order] = np.arange(1, len(choices) + 1)
            rows += [
                {
                    "annotator_id": name,
                    "question": question,
                    "item": item,
                    "position": int(place),
                    "simulated": True,
                }
                for item, place in zip(choices, places, strict=True)
            ]
    frame = RANKED.frame(rows)
    return frame.sort_values(list(RANKED.key), ignore_index=True)


def utilities(
    question: str, items: tuple[str, ...]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Utilities whose Plackett-Luce orders have about P1's mean positions; 0 for other items.

    With two items the log odds of their places would be exact; for more, the logit of the share of
    the other items that come later is a good first approximation.
    """
    known = POSITIONS.get(question, {})
    middle = (len(items) + 1) / 2
    places = np.array([known.get(item, middle) for item in items])
    later = np.clip((len(items) - places) / max(len(items) - 1, 1), 0.01, 0.99)
    result: np.ndarray[tuple[int], np.dtype[np.float64]] = np.log(later / (1 - later))
    return result
