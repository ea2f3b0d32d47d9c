"""DVC stage `benchmark`: LATEC on one dataset, 17 methods measured by 20 metrics."""

from __future__ import annotations

from typing import Annotated

import typer

from pasta.benchmark.material import find_homes
from pasta.benchmark.runner import Study, benchmark_dataset
from pasta.benchmark.tables import STAGE
from pasta.config import Params, load_params
from pasta.layout import Group
from pasta.paths import DATA, project_root
from pasta.resume import kept_units
from pasta.stage import run_stage
from pasta.tracking import nested_run, require_tracking, tracked_run


def main(
    dataset: Annotated[str, typer.Argument(help="one of benchmark.datasets, as in the parameters")],
) -> None:
    """Explain the same images of DATASET by all methods and measure all maps by all metrics."""
    require_tracking()
    params, root = load_params(), project_root()
    data = root / DATA
    ours = [Group(key, of, data) for key, of in params.groups.items() if of == dataset]
    folders = [data / "images" / dataset, data / "clip"]
    folders += [one for group in ours for one in (group.models, group.explanations)]
    inputs = [folder for folder in folders if folder.exists()]
    with kept_units(f"{STAGE}@{dataset}", inputs) as kept:
        found = benchmark_dataset(dataset, params, root, data, data / STAGE / dataset, kept)
    with tracked_run(
        "benchmark",
        f"{STAGE}@{dataset}",
        f"LATEC on {dataset}",
        about=f"Methods of explanation on images of {dataset}, measured by the metrics of LATEC.",
        inputs=inputs,
        params=params.benchmark.model_dump(mode="json"),
        tags={"dataset": dataset},
    ) as run:
        run.log_metrics(_count(found))
        run.log_table(found.seconds, "seconds.csv")
        for model in find_homes(dataset, params, data):
            _track_model(found, params, dataset, model)


def _track_model(found: Study, params: Params, dataset: str, model: str) -> None:
    """One run for the cells of a classifier."""
    own = found.values[
        (found.values["model"] == model) & (found.values["reading"] == params.benchmark.reading)
    ]
    if own.empty:
        return
    about = f"All methods on {model}, measured on {dataset}: medians over the images."
    with nested_run(
        f"{dataset}-{model}", {"model": model}, about=about, tags={"model": model}
    ) as run:
        medians = own.groupby(["metric", "method"], sort=False)["value"].median().reset_index()
        run.log_table(medians.pivot(index="method", columns="metric", values="value").reset_index(),
                      "medians.csv")  # fmt: skip
        run.log_metrics(
            {
                "cells": len(medians),
                "empty_cells": medians["value"].isna().sum(),
                "values": len(own),
            }
        )


def _count(found: Study) -> dict[str, float]:
    """How much there is, and how much of it has no value."""
    values = found.values
    return {
        "values": len(values),
        "without_value": int((values["status"] != "ok").sum()),
        "rated_values": len(found.rated),
        "seconds": float(found.seconds["seconds"].sum()),
    }


if __name__ == "__main__":
    run_stage(main)
