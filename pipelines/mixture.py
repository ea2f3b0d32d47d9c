"""DVC stage `mixture`: the best explanation of each image, the Pareto front, and examples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    scorer: Annotated[Path, typer.Option(help="folder of the public scorer")],
    planted: Annotated[Path, typer.Option(help="what was planted in simulated raters")],
    out: Annotated[Path, typer.Option(help="folder for tables and pictures")],
) -> None:
    """Let the score choose among the stored explanations in FOLDERS."""
    import torch

    from pasta import store, tables
    from pasta.annotations.studied import everywhere
    from pasta.applications.report_pictures import applications_pictures
    from pasta.applications.stored import run_stored
    from pasta.params import load_params
    from pasta.paths import processors
    from pasta.tracking import prepare, tracked_run

    connecting = prepare("applications")
    torch.set_num_threads(processors())
    params = load_params()
    measured = everywhere(folders, tables.METRIC_VALUES)
    found = run_stored(folders, labels, params, params.applications, scorer, planted, measured)
    store.write_csvs(found, out)
    applications_pictures(out / "pictures", folders, stored=found)
    connecting.join()
    with tracked_run(
        "applications",
        "mixture",
        "mixture of methods",
        inputs=[labels],
        params=params.applications.mixture.model_dump(),
        record=out.with_name("mixture.run.json"),
    ) as run:
        for name in ("comparison", "wins", "places", "examples"):
            run.log_file(out / f"{name}.csv", "tables")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
