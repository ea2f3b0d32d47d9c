"""The simulate stage: whether anybody is simulated, and what is left on disk."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pasta import store
from pasta.annotations.batches import write_batch
from pasta.annotations.plan import make_plan
from pasta.annotations.records import Annotations
from pasta.annotations.simulation.study import Simulated, simulate
from pasta.params import Params


def simulated_study(
    folders: Sequence[Path], explanations: pd.DataFrame, params: Params, processes: int = 1
) -> Simulated:
    """The planned study carried out by simulated raters, or an empty one."""
    settings = params.annotations
    if settings.source == "imported":
        return Simulated(Annotations.of({}), {})
    plan = make_plan(
        explanations,
        settings.annotators,
        settings.votes,
        params.seed,
        settings.samples,
        settings.techniques_per_image,
    )
    return simulate(folders, plan, settings.simulation, params.seed, settings.protocol, processes)


def write_study(study: Simulated, params: Params, out: Path, truth: Path) -> None:
    """A batch, and beside it what is true of the raters and the samples."""
    about = {
        "number": 0,
        "source": "simulated raters",
        "format": "simulated",
        "protocol": params.annotations.protocol,
        "sha256": "",
        "imported_at": "",
        "replaced": 0,
    }
    if out.exists():
        shutil.rmtree(out)
    write_batch(out, study.annotations, about)
    frames = {name: part for name, part in study.truth.items() if isinstance(part, pd.DataFrame)}
    plain = {name: part for name, part in study.truth.items() if name not in frames}
    store.write_json(plain, truth / "planted.json")
    for name, frame in frames.items():
        with store.atomic(truth / f"{name}.parquet") as temporary:
            frame.to_parquet(temporary, index=False)
