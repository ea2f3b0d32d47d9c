"""DVC stage `scorer`: the score that `pasta score`, `PastaScore` and the server use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pasta.params import Params


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    results: Annotated[Path, typer.Option(help="the metrics file of the score stage")],
    out: Annotated[Path, typer.Option(help="folder of the scorer")],
) -> None:
    """Train the public scorer on the rated explanations in FOLDERS and register it."""
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.tracking import locked_md5s, prepare, require_tracking, tracked_run
    from pasta.workers import beside

    require_tracking()
    params = load_params()
    explained = [folder / "explanations.parquet" for folder in folders]
    # Training needs torch and no MLflow, what follows the opposite: each takes seconds to import.
    with beside(lambda: _train(folders, [labels, *explained], results, params, out), processors()):
        connecting = prepare("scorers")
        from pasta.scoring.serving import log_served

        locked_md5s(project_root())  # takes a while, and is remembered
    connecting.join()
    with tracked_run(
        "scorers",
        "scorer",
        "public",
        inputs=[labels, *explained],
        params=params.scoring.public.model_dump(),
        record=out.with_name("scorer.run.json"),
    ):
        log_served(out)


def _train(
    folders: list[Path], inputs: list[Path], results: Path, params: Params, out: Path
) -> None:
    from pasta.quick_start import import_torchvision

    import_torchvision()
    from pasta import store, tables
    from pasta.scoring.material import collect
    from pasta.scoring.public import make_public
    from pasta.tracking import file_md5

    material = collect(folders, store.read(inputs[0], tables.LABELS))
    md5s = {str(file): file_md5(file) for file in inputs}
    metrics = store.read_json(results)[params.scoring.public.scorer]
    make_public(material, params, md5s, metrics, out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
