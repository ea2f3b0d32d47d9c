"""DVC stage `images`: draw or decode the images of one dataset into arrays and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    dataset: str,
    out: Annotated[Path, typer.Option(help="folder for the arrays and tables")],
    processes: Annotated[int | None, typer.Option(help="default: one per core")] = None,
) -> None:
    """Draw or decode the images of DATASET."""
    from pasta.datasets.build import build_images, chosen_items, source_of
    from pasta.params import load_params
    from pasta.paths import processors, project_root

    params = load_params()
    source = source_of(dataset, params, project_root())
    items = chosen_items(source, params.datasets[dataset])
    build_images(dataset, source, items, params.image_size, out, processes or processors())


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
