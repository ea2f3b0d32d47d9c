"""Stars and when they were given."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.seeds import generator
from pasta.studies.ratings.settings import SimulationParams, TimingParams
from pasta.studies.ratings.simulation.quality import CHANGES
from pasta.tables import QUESTIONS

_MORNING = 9 * 3600  # seconds after midnight
_LATE = 3 * 3600.0  # a session starts up to this much later

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


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
