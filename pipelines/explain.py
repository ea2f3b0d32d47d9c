"""DVC stage `explain`: all explanations of one group, of original and perturbed images."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pasta.config import Params, load_params
from pasta.datasets.released import open_release
from pasta.datasets.stored import open_dataset
from pasta.explanations.catalog import techniques
from pasta.explanations.released import explain_released
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.suite import explain_group
from pasta.layout import Group, find_group
from pasta.paths import project_root
from pasta.progress import lines, print_seconds
from pasta.resume import kept_units
from pasta.stage import run_stage
from pasta.tracking import require_tracking, tracked_run


def main(key: Annotated[str, typer.Argument(help="the group of models, e.g. coco")]) -> None:
    """Explain test images by every technique of the group's backbones."""
    require_tracking()
    started = time.perf_counter()
    params, group, root = load_params(), find_group(key), project_root()
    paths = (group.images, group.models, group.data / "clip")
    inputs = [path for path in paths if path.exists()]  # not every profile has a CLIP
    if params.datasets[group.dataset].source == "released":
        spent = _take_released(group, params, root)
    else:
        chosen = techniques(params.explanations.extras)
        with lines(f"explanations of {key}") as say, kept_units(f"explain@{key}", inputs) as kept:
            spent = explain_group(group, params, chosen, root, say, kept)
    table = StoredExplanations(group.explanations).table
    settings = params.explanations.model_dump(mode="json")
    with tracked_run(
        "explanations",
        f"explain@{key}",
        f"explanations of {key}",
        about=f"Images of {group.dataset} and perturbed copies, explained by every technique.",
        inputs=inputs,
        params=settings,
        tags={"dataset": group.dataset, "group": key},
        seconds=time.perf_counter() - started,
    ) as run:
        run.log_metrics({"seconds": spent["seconds"].sum(), "explanations": len(table)})
        run.log_metrics({"not_ok": (table["status"] != "ok").mean()})
        run.log_table(spent, "seconds.csv")
    print_seconds(spent)


def _take_released(group: Group, params: Params, root: Path) -> pd.DataFrame:
    """Store the explanations of a release; returns the seconds as those that are computed do."""
    started = time.perf_counter()
    release = open_release(params.release, root)
    dataset, lenient = open_dataset(group.images), params.release.lenient
    left_out = explain_released(release, dataset, group.explanations, lenient)
    for problem in (*release.left_out, *left_out):
        typer.echo(f"left out: {problem}")
    seconds = round(time.perf_counter() - started, 3)
    return pd.DataFrame([("all", "reading", seconds)], columns=["backbone", "work", "seconds"])


if __name__ == "__main__":
    run_stage(main)
