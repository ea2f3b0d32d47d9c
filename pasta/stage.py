"""How a pipeline stage is run: its inputs are looked at, then it is one function, timed."""

from __future__ import annotations

import functools
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import typer

from pasta import store
from pasta.errors import guarded
from pasta.paths import TIMINGS, project_root
from pasta.pinned import require_inputs


def run_stage(stage: Callable[..., Any]) -> None:
    """Run a stage's function as a command with its own ``--help``."""
    guarded(lambda: typer.run(_timed(stage)))


def _timed(stage: Callable[..., Any]) -> Callable[..., Any]:
    """Note how long a stage took and how large its largest process was, for the final table."""

    @functools.wraps(stage)
    def measured(*arguments: Any, **options: Any) -> None:
        name = _stage_name()
        require_inputs(name, project_root())
        stage(*arguments, **options)
        usages = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        peak = max(resource.getrusage(who).ru_maxrss for who in usages)
        note = {
            "stage": name,
            "seconds": round(time.time() - psutil.Process().create_time(), 2),
            "peak_mebibytes": round(peak / (1024 if sys.platform == "linux" else 1024**2)),
        }
        store.write_json(note, project_root() / TIMINGS / f"{name.replace('@', '.')}.json")

    return measured


def _stage_name() -> str:
    """As DVC calls it; by hand, `python -m pipelines.explain coco` is explain@coco as well."""
    by_hand = "@".join([Path(sys.argv[0]).stem, *sys.argv[1:2]])
    return os.environ.get("DVC_STAGE", by_hand)
