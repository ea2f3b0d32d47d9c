"""DVC stage `preference`: which techniques, kinds of explanation and axioms people prefer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    annotations: Annotated[Path, typer.Option(help="folder of the merged annotations")],
    out: Annotated[Path, typer.Option(help="folder for the tables")],
) -> None:
    """Analyse preferences in ANNOTATIONS."""
    from analysis.suites.preference import preference_tables
    from pasta import store
    from pasta.annotations.protocol import load_protocol
    from pasta.annotations.studied import Study
    from pasta.params import load_params
    from pasta.workers import at_once, one_thread

    one_thread()
    params, study = load_params(), Study(annotations, folders)
    protocol = load_protocol(params.annotations.protocol)
    directions = {name: protocol.question(name).direction or 1 for name in protocol.stars}
    found = preference_tables(
        study.votes,
        study.samples,
        study.rankings,
        directions=directions,
        resamples=params.analysis.resamples,
        seed=params.seed,
        run=at_once,
    )
    store.write_csvs(found, out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
