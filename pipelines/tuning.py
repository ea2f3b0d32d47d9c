"""DVC stage `tuning`: settings of methods by predicted score, judged on held-out images."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    scorer: Annotated[Path, typer.Option(help="folder of the public scorer")],
    planted: Annotated[Path, typer.Option(help="what was planted in simulated raters")],
    memory: Annotated[Path, typer.Option(help="the file that remembers what was tried")],
    out: Annotated[Path, typer.Option(help="folder for tables and pictures")],
) -> None:
    """Tune the techniques that the parameters name; a killed run goes on where it was."""
    import pandas as pd
    import torch

    from pasta import store
    from pasta.applications.report_pictures import applications_pictures
    from pasta.applications.tuning import run_tuning
    from pasta.applications.tuning_tracking import log_candidate, log_tuned
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.scoring.score import PastaScore
    from pasta.tracking import prepare, tracked_run

    connecting = prepare("applications")
    torch.set_num_threads(processors())
    params = load_params()
    settings, root = params.applications, project_root()
    score = PastaScore.load(settings.question, scorer)
    connecting.join()
    with tracked_run(
        "applications", "tuning", "tuning", record=out.with_name("tuning.run.json")
    ) as run:
        studies = run_tuning(
            folders, params, settings, score, root, memory, planted, tell=log_candidate
        )
        for study in studies:
            log_tuned(run, study)
    tables = {
        name: pd.concat([getattr(study, name) for study in studies], ignore_index=True)
        for name in ("candidates", "verdict", "images")
    }
    store.write_csvs(tables, out)
    applications_pictures(out / "pictures", folders, tuning=studies)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
