"""DVC stage `correlation`: do computational metrics agree with people?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    annotations: Annotated[Path, typer.Option(help="folder of the merged annotations")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    out: Annotated[Path, typer.Option(help="folder for the tables")],
) -> None:
    """Correlate every metric with every question, over all and in parts."""
    from analysis.suites.correlation import correlation_tables
    from pasta import store, tables
    from pasta.annotations.studied import Study, everywhere
    from pasta.params import load_params
    from pasta.tracking import connect, require_tracking, tracked_run
    from pasta.workers import at_once, one_thread
    from reports.correlations import track

    require_tracking()  # before any work
    one_thread()
    params, study = load_params(), Study(annotations, folders)
    rated = store.read(labels, tables.LABELS)
    found = correlation_tables(
        everywhere(folders, tables.METRIC_VALUES),
        rated,
        study.samples,
        resamples=params.analysis.resamples,
        seed=params.seed,
        run=lambda work: at_once(work, meanwhile=lambda: connect("correlations")),
    )
    store.write_csvs(found, out)
    inputs = [labels, *(folder / "metric_values.parquet" for folder in folders)]
    with tracked_run(
        "correlations",
        "correlation",
        "metrics against people",
        inputs=inputs,
        params=params.analysis.model_dump(),
        record=out.with_name("correlation.run.json"),
    ) as run:
        track(run, found, out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
