"""A whole simulated study, from stored explanations and a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from pasta import tables
from pasta.config import Params
from pasta.layout import Group
from pasta.processes import map_all
from pasta.studies.base import Simulated, complete_frames
from pasta.studies.ratings.plan import make_plan
from pasta.studies.ratings.protocol import Protocol, study_protocol
from pasta.studies.ratings.rateable import rateable, read_all
from pasta.studies.ratings.settings import SimulationParams
from pasta.studies.ratings.simulation.descriptions import choose, draw_boxes, write_texts
from pasta.studies.ratings.simulation.expected import expected_effects
from pasta.studies.ratings.simulation.quality import measure, qualities
from pasta.studies.ratings.simulation.raters import (
    annotators_table,
    draw_rankings,
    draw_raters,
    rate,
)
from pasta.studies.ratings.tables import ANSWERS

LITTLE = 20_000  # samples whose explanations are measured in seconds


def simulate(
    groups: Sequence[Group],
    plan: pd.DataFrame,
    params: SimulationParams,
    seed: int,
    protocol: Protocol,
) -> Simulated:
    """Let simulated raters carry out a plan (sample_id, annotator_id, position).

    The truth behind the votes is ``effects`` (the parameters), ``seed``, and the frames ``raters``
    (demographics and traits of each annotator), ``properties`` and ``quality`` (of each sample).
    Every explanation of the groups takes part in standardising the properties, planned or not, so
    that a longer plan does not change the votes of a shorter one.
    """
    properties = pd.concat(map_all(measure, groups, little=len(plan) < LITTLE), ignore_index=True)
    regions = read_all(groups, tables.REGIONS)
    quality = qualities(properties, params, seed)
    raters = draw_raters(plan["annotator_id"], params.raters, seed)
    votes = rate(quality, raters, plan, params, seed)
    about = properties[["sample_id", "dataset", "image_id", "predicted"]]
    tasks = plan[["sample_id", "annotator_id"]].merge(about, on="sample_id", how="left")
    mentions = choose(tasks, regions, seed)
    items = {question.id: question.item_ids for question in protocol.rankings}
    parts = {
        "votes": votes,
        "annotators": annotators_table(raters),
        "descriptions": write_texts(tasks, mentions, seed),
        "boxes": draw_boxes(mentions, params.box_jitter, seed),
        "rankings": draw_rankings(raters["annotator_id"], items, params, seed),
    }
    truth = {
        "effects": params.model_dump(mode="json"),
        "seed": seed,
        "raters": raters,
        "properties": properties.sort_values("sample_id", ignore_index=True),
        "quality": quality,
    }
    return Simulated(complete_frames(ANSWERS, parts), truth)


def planned(groups: Sequence[Group], params: Params) -> pd.DataFrame:
    """The plan that the parameters describe: sample_id, annotator_id, position."""
    settings = params.annotations
    return make_plan(
        rateable(groups, settings.extras),
        settings.annotators,
        settings.votes,
        params.seeds.simulating,
        settings.samples,
        settings.techniques_per_image,
    )


def simulated_study(groups: Sequence[Group], params: Params) -> Simulated:
    """The planned study carried out by simulated raters.

    The truth also holds ``expected``: the planted effects on the scales of the estimates.
    """
    settings = params.annotations
    plan, protocol = planned(groups, params), study_protocol(params)
    study = simulate(groups, plan, settings.simulation, params.seeds.simulating, protocol)
    expected = expected_effects(
        study.truth["properties"],
        read_all(groups, tables.EXPLANATIONS),
        plan,
        settings.simulation,
        {question.id: question.item_ids for question in protocol.rankings},
        params.seeds.simulating,
    )
    return replace(study, truth={**study.truth, "expected": expected})
