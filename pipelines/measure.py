"""DVC stage `measure`: computational metrics of the saliency maps of one group of classifiers."""

from __future__ import annotations

from typing import Annotated

import typer

from pasta.config import load_params
from pasta.layout import find_group
from pasta.metrics.runner import measure_group
from pasta.paths import project_root
from pasta.stage import run_stage
from pasta.tracking import tracked_run


def main(
    item: Annotated[str, typer.Argument(help="a group of classifiers, as in the parameters")],
) -> None:
    """Measure the saliency maps of a group."""
    params, root = load_params(), project_root()
    group = find_group(item, params, root)
    with tracked_run(
        "explanations",
        f"measure@{item}",
        f"metrics of {item}",
        about=f"Computational metrics of the saliency maps of {item}.",
        inputs=[group.images, group.models, group.explanations],
        params=params.metrics.model_dump(mode="json"),
        tags={"dataset": group.dataset, "group": item},
    ) as run:
        values, seconds = measure_group(group, params.metrics, params, root)
        run.log_table(seconds, "seconds.csv")
        run.log_metrics({"values": len(values), "seconds": seconds["seconds"].sum()})


if __name__ == "__main__":
    run_stage(main)
