"""What the planted parameters come to on the scales of the estimates.

A parameter of the simulation lives on the latent scale, an estimate on that of the stars, of kappa
or of positions. The study is therefore simulated again and again, with other people, other noise
and other residuals but the same plan and explanations, and every effect is estimated each time.
The mean of the estimates is what is planted on their scale, and the share of intervals that exclude
no effect is the power of the study.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from pasta.seeds import generator
from pasta.studies.ratings.analyses.planted import KEY, estimate_effects
from pasta.studies.ratings.settings import CHANGES, SimulationParams
from pasta.studies.ratings.simulation.quality import qualities, standardised
from pasta.studies.ratings.simulation.raters import (
    annotators_table,
    draw_rankings,
    draw_raters,
    rate,
    utilities,
)

MOST, FEWEST, VOTES = 40, 10, 3_000_000  # studies, and votes in all of them


def standard_properties(properties: pd.DataFrame) -> pd.DataFrame:
    """The properties as they enter the quality, with sample_id and status."""
    return pd.concat([properties[["sample_id", "status"]], standardised(properties)], axis=1)


def expected_effects(
    properties: pd.DataFrame,
    samples: pd.DataFrame,
    plan: pd.DataFrame,
    params: SimulationParams,
    items: Mapping[str, tuple[str, ...]],
    seed: int,
) -> pd.DataFrame:
    """Simulate the study many times and estimate every effect.

    Parameters
    ----------
    properties
        What :func:`~.quality.measure` finds.
    samples
        sample_id, dataset, image_id, method, backbone, kind.
    plan
        sample_id, annotator_id, position.
    items
        What is ranked in each question.

    Returns
    -------
    DataFrame with effect, item, parameter (its name), planted (its value), expected (on the scale
    of the estimate), error (standard error of ``expected``) and power
    """
    number = int(np.clip(VOTES // max(1, 6 * len(plan)), FEWEST, MOST))
    seeds = generator(seed, "simulation", "expected").integers(0, 2**31, number)
    scores = standard_properties(properties)
    found = []
    for own in map(int, seeds):
        raters = draw_raters(plan["annotator_id"], params.raters, own)
        votes = rate(qualities(properties, params, own), raters, plan, params, own)
        rankings = draw_rankings(raters["annotator_id"], items, params, own)
        found.append(estimate_effects(votes, annotators_table(raters), samples, scores, rankings))
    every = pd.concat(found, ignore_index=True)
    every["hit"] = (every["null"] < every["low"]) | (every["high"] < every["null"])
    grouped = every.groupby(KEY, sort=False)
    table = grouped.agg(
        expected=("estimate", "mean"), error=("estimate", "sem"), power=("hit", "mean")
    ).reset_index()
    planted = [_planted(effect, item, params, items) for effect, item in zip(
        table["effect"], table["item"], strict=True)]  # fmt: skip
    named = pd.DataFrame(planted, columns=["parameter", "planted"])
    return pd.concat([table[KEY], named, table[["expected", "error", "power"]]], axis=1)


def _planted(
    effect: str, item: str, params: SimulationParams, items: Mapping[str, tuple[str, ...]]
) -> tuple[str, float]:
    """The parameter behind an effect, and its value; 0 where none is about it."""
    name, value = "", 0.0
    if effect == "sex, level":
        name, value = "raters.sex_leniency", params.raters.sex_leniency
    elif effect == "age, agreement":
        name, value = "raters.age_noise", params.raters.age_noise
    elif effect == "kind" and item in CHANGES:
        name, value = "saliency_calm", -params.saliency_calm
    elif effect == "kind":
        name, value = "saliency_preference", params.saliency_preference
    elif effect == "position":
        question, _, ranked = item.partition(": ")
        own = utilities(question, items[question])[items[question].index(ranked)]
        name, value = "ranking_strength", params.ranking_strength * float(own)
    elif effect == "spread":
        name, value = f"questions.{item}.focus", -getattr(params.questions, item).focus
    elif effect in ("overlap", "correct", "change"):
        name = f"questions.{item}.{effect}"
        value = float(getattr(getattr(params.questions, item), effect))
    return name, value
