"""DVC stage `images`: draw or decode the images of one dataset into arrays and tables."""

from __future__ import annotations

import typer

from pasta.config import load_params
from pasta.datasets.build import build_dataset, chosen_items, input_size, source_of
from pasta.datasets.released import ReleasedSource
from pasta.paths import project_root, stage_folder
from pasta.stage import run_stage


def main(dataset: str) -> None:
    """Draw or decode the images of DATASET, and say which concepts each of them shows."""
    params = load_params()
    source = source_of(dataset, params, project_root())
    if isinstance(source, ReleasedSource):
        for problem in source.left_out:
            typer.echo(f"left out: {problem}")
    items = chosen_items(source, params.datasets[dataset])
    size = input_size(dataset, params)
    build_dataset(dataset, source, items, size, stage_folder("images") / dataset)


if __name__ == "__main__":
    run_stage(main)
