"""DVC stage `steering`: RISE whose masks are weighted by the predicted score as well."""

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
    figure: Annotated[Path, typer.Option(help="one picture, before and after")],
) -> None:
    """Steer RISE on images that the scorer has not seen."""
    import shutil

    import torch

    from pasta import store
    from pasta.applications.report_pictures import applications_pictures, readme_picture
    from pasta.applications.scores import score_stored
    from pasta.applications.steering_study import run_steering
    from pasta.params import load_params
    from pasta.paths import processors
    from pasta.tracking import prepare, tracked_run

    connecting = prepare("applications")
    torch.set_num_threads(processors())
    params = load_params()
    settings = params.applications
    scores = score_stored(folders, labels, params, settings.question, scorer, planted)
    found = run_steering(scores, folders, params, settings, scorer, planted)
    store.write_csvs(found.tables, out)
    drawn = applications_pictures(out / "pictures", folders, steering=found)
    if readme_picture(figure, found) is None:  # nobody gains: show the images all the same
        shutil.copy(drawn["steering-0"], figure)
    connecting.join()
    with tracked_run(
        "applications",
        "steering",
        "steering RISE",
        inputs=[labels],
        params=settings.steering.model_dump(),
        record=out.with_name("steering.run.json"),
    ) as run:
        run.log_table(found.seconds, "seconds.csv")
        for name in found.tables:
            run.log_file(out / f"{name}.csv", "tables")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
