"""DVC stage `applications`: let the score choose, compare, steer and tune explanations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    scorer: Annotated[Path, typer.Option(help="folder of the public scorer")],
    planted: Annotated[Path, typer.Option(help="what was planted in simulated raters")],
    prepared: Annotated[Path, typer.Option(help="folder of masks, towers and candidates")],
    memory: Annotated[Path, typer.Option(help="the file that remembers what tuning has tried")],
    out: Annotated[Path, typer.Option(help="folder for tables and pictures")],
    figure: Annotated[Path, typer.Option(help="one picture, before and after")],
) -> None:
    """Ask the public scorer about stored and prepared explanations of images in FOLDERS."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    import torch

    from pasta.applications.every import run_applications
    from pasta.params import load_params
    from pasta.tracking import require_tracking

    require_tracking()  # before any work
    torch.set_num_threads(1)  # with more, this process could not be copied
    run_applications(
        folders,
        load_params(),
        labels=labels,
        scorer=scorer,
        planted=planted,
        prepared=prepared,
        memory=memory,
        out=out,
        figure=figure,
    )


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
