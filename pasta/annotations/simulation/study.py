"""A whole simulated study, from stored explanations and a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store, tables
from pasta.annotations.protocol import load_protocol
from pasta.annotations.records import Annotations
from pasta.annotations.simulation.boxes import draw_boxes
from pasta.annotations.simulation.mentions import choose
from pasta.annotations.simulation.properties import measure
from pasta.annotations.simulation.quality import qualities
from pasta.annotations.simulation.rankings import draw_rankings
from pasta.annotations.simulation.raters import annotators_table, draw_raters
from pasta.annotations.simulation.ratings import rate
from pasta.annotations.simulation.texts import write_texts
from pasta.params.annotations import SimulationParams
from pasta.workers import as_finished


@dataclass(frozen=True)
class Simulated:
    """What the raters said, and what is really behind it.

    ``truth`` has ``effects`` (the parameters, ready for JSON), ``seed``, and the frames ``raters``
    (demographics and traits of each annotator), ``properties`` and ``quality`` (of each sample).
    """

    annotations: Annotations
    truth: dict[str, Any]


def simulate(
    folders: Sequence[Path],
    plan: pd.DataFrame,
    params: SimulationParams,
    seed: int,
    protocol: str = "p2",
    processes: int = 1,
) -> Simulated:
    """Let simulated raters carry out a plan (sample_id, annotator_id, position).

    ``folders`` are those of the datasets. Every explanation there takes part in standardising the
    properties, planned or not, so that a longer plan does not change the votes of a shorter one.
    """
    measured = dict(as_finished([partial(measure, folder) for folder in folders], processes))
    properties = pd.concat([measured[place] for place in range(len(folders))], ignore_index=True)
    regions = pd.concat(
        [store.read(folder / "regions.parquet", tables.REGIONS) for folder in folders],
        ignore_index=True,
    )
    quality = qualities(properties, params, seed)
    raters = draw_raters(plan["annotator_id"], params.raters, seed)
    votes = rate(quality, raters, plan, params, seed)
    about = properties[["sample_id", "dataset", "image_id", "predicted"]]
    tasks = plan[["sample_id", "annotator_id"]].merge(about, on="sample_id", how="left")
    mentions = choose(tasks, regions, seed)
    items = {question.id: question.item_ids for question in load_protocol(protocol).rankings}
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
