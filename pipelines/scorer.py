"""DVC stage `scorer`: the score that `pasta score`, `PastaScore` and the server use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    results: Annotated[Path, typer.Option(help="the metrics file of the score stage")],
    out: Annotated[Path, typer.Option(help="folder of the scorer")],
) -> None:
    """Train the public scorer on the rated explanations in FOLDERS and register it."""
    from pasta import store, tables
    from pasta.params import load_params
    from pasta.scoring.material import collect
    from pasta.scoring.public import make_public
    from pasta.scoring.serving import log_served
    from pasta.tracking import file_md5, prepare, tracked_run

    connecting = prepare("scorers")
    params = load_params()
    material = collect(folders, store.read(labels, tables.LABELS))
    explained = [folder / "explanations.parquet" for folder in folders]
    md5s = {str(file): file_md5(file) for file in (labels, *explained)}
    metrics = store.read_json(results)[params.scoring.public.scorer]
    make_public(material, params, md5s, metrics, out)
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


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
