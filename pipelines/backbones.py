"""DVC stage `backbones`: the same methods on image towers of growing size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    scorer: Annotated[Path, typer.Option(help="folder of the public scorer")],
    planted: Annotated[Path, typer.Option(help="what was planted in simulated raters")],
    out: Annotated[Path, typer.Option(help="folder for tables and pictures")],
) -> None:
    """Explain fresh images of FOLDERS on every tower, and compare the predicted scores."""
    import torch

    from pasta import store
    from pasta.applications.backbones import run_backbones
    from pasta.applications.report_pictures import applications_pictures
    from pasta.params import load_params
    from pasta.paths import project_root
    from pasta.progress import lines
    from pasta.scoring.score import PastaScore
    from pasta.tracking import prepare, tracked_run

    connecting = prepare("applications")
    params = load_params()
    settings = params.applications
    torch.set_num_threads(settings.backbones.distillation.threads)
    score = PastaScore.load(settings.question, scorer)
    with lines("towers of growing size") as say:
        found = run_backbones(folders, params, settings, score, project_root(), planted, say)
    tables = {
        "scores": found.scores,
        "towers": found.towers,
        "summary": found.summary,
        "trends": found.trends,
    }
    store.write_csvs(tables, out)
    applications_pictures(out / "pictures", folders, backbones=found)
    connecting.join()
    with tracked_run(
        "applications",
        "backbones",
        "backbone size",
        params=settings.backbones.model_dump(exclude={"towers"}),
        record=out.with_name("backbones.run.json"),
    ) as run:
        for name in tables:
            run.log_file(out / f"{name}.csv", "tables")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
