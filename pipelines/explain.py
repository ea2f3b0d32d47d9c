"""DVC stage `explain`: all explanations of one group, of original and perturbed images."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from pasta.config import load_params
from pasta.explanations.catalog import techniques
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.suite import explain_group
from pasta.layout import find_group
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
    chosen = techniques(params.explanations.extras)
    with lines(f"explanations of {key}") as say, kept_units(f"explain@{key}", inputs) as kept:
        spent = explain_group(group, params, chosen, root, say, kept)
    table = StoredExplanations(group.explanations).table
    settings = params.explanations.model_dump(mode="json")
    with tracked_run(
        "explanations",
        f"explain@{key}",
        f"explanations of {key}",
        about=f"Test images of {group.dataset} and perturbed copies, explained by every technique.",
        inputs=inputs,
        params=settings,
        tags={"dataset": group.dataset, "group": key},
        seconds=time.perf_counter() - started,
    ) as run:
        run.log_metrics({"seconds": spent["seconds"].sum(), "explanations": len(table)})
        run.log_metrics({"not_ok": (table["status"] != "ok").mean()})
        run.log_table(spent, "seconds.csv")
    print_seconds(spent)


if __name__ == "__main__":
    run_stage(main)
