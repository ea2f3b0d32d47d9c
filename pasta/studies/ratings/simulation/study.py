"""A whole simulated study, from stored explanations and a plan, and what it leaves on disk."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store, tables
from pasta.config import Params
from pasta.layout import Group
from pasta.processes import map_all
from pasta.studies.ratings.batches import write_batch
from pasta.studies.ratings.plan import make_plan
from pasta.studies.ratings.protocol import Protocol, study_protocol
from pasta.studies.ratings.rateable import rateable, read_all
from pasta.studies.ratings.records import Annotations
from pasta.studies.ratings.settings import SimulationParams
from pasta.studies.ratings.simulation.descriptions import choose, draw_boxes, write_texts
from pasta.studies.ratings.simulation.properties import measure
from pasta.studies.ratings.simulation.quality import qualities
from pasta.studies.ratings.simulation.rankings import draw_rankings
from pasta.studies.ratings.simulation.raters import annotators_table, draw_raters
from pasta.studies.ratings.simulation.ratings import rate

LITTLE = 20_000  # samples whose explanations are measured in seconds


@dataclass(frozen=True)
class Simulated:
    """What the raters said, and what is really behind it.

    ``truth`` has ``effects`` (the parameters, ready for JSON), ``seed``, and the frames ``raters``
    (demographics and traits of each annotator), ``properties`` and ``quality`` (of each sample).
    """

    annotations: Annotations
    truth: dict[str, Any]


def simulate(
    groups: Sequence[Group],
    plan: pd.DataFrame,
    params: SimulationParams,
    seed: int,
    protocol: Protocol,
) -> Simulated:
    """Let simulated raters carry out a plan (sample_id, annotator_id, position).

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
    return Simulated(Annotations.of(parts), truth)


def simulated_study(groups: Sequence[Group], params: Params) -> Simulated:
    """The planned study carried out by simulated raters; an empty one if real people rate."""
    settings = params.annotations
    if settings.source == "imported":
        return Simulated(Annotations.of({}), {})
    plan = make_plan(
        rateable(groups, settings.extras),
        settings.annotators,
        settings.votes,
        params.seed,
        settings.samples,
        settings.techniques_per_image,
    )
    return simulate(groups, plan, settings.simulation, params.seed, study_protocol(params))


def write_study(study: Simulated, params: Params, batch: Path, planted: Path) -> None:
    """Write a batch, and beside it what is true of the raters and the samples."""
    about = {
        "number": 0,
        "source": "simulated raters",
        "format": "simulated",
        "protocol": params.annotations.protocol,
        "sha256": "",
        "imported_at": "",
        "replaced": 0,
    }
    for folder in (batch, planted):
        shutil.rmtree(folder, ignore_errors=True)
    write_batch(batch, study.annotations, about)
    frames = {name: part for name, part in study.truth.items() if isinstance(part, pd.DataFrame)}
    plain = {name: part for name, part in study.truth.items() if name not in frames}
    store.write_json(plain, planted / "planted.json")
    for name, frame in frames.items():
        with store.atomic(planted / f"{name}.parquet") as temporary:
            frame.to_parquet(temporary, index=False)
