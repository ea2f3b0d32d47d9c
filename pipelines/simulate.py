"""DVC stage `simulate`: the votes of simulated raters, as a batch of annotations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    out: Annotated[Path, typer.Option(help="folder of the batch")],
    truth: Annotated[Path, typer.Option(help="folder for what was planted")],
) -> None:
    """Let simulated raters rate the explanations in FOLDERS; with real raters, leave no votes."""
    from pasta.annotations.rateable import explained, published
    from pasta.annotations.simulation.stage import simulated_study, write_study
    from pasta.params import load_params
    from pasta.paths import processors
    from pasta.tracking import connect, tracked_run
    from pasta.workers import beside

    params = load_params()

    def carried_out() -> dict[str, float]:
        rateable = published(explained(folders))
        study = simulated_study(folders, rateable, params, processors())
        write_study(study, params, out, truth)
        return {name: len(part) for name, part in study.annotations.parts().items()}

    with beside(carried_out, processors()) as study:
        connect("annotations")  # takes its time
    with tracked_run(
        "annotations",
        "simulate",
        params.annotations.source,
        inputs=[folder / "explanations.parquet" for folder in folders],
        params=params.annotations.model_dump(mode="json"),
        record=out.with_name("simulate.run.json"),
    ) as run:
        run.log_metrics(study.value)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
