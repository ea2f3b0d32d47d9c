"""DVC stage `masks`: what classifier and encoder say about RISE's masks, for steering."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    out: Annotated[Path, typer.Option(help="folder for probabilities and vectors")],
) -> None:
    """Ask about thousands of masks of images in FOLDERS that nobody has rated."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    import torch

    from pasta.applications.prepared.heard import prepare_masks
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import bar
    from pasta.tracking import prepare, tracked_run

    connecting = prepare("applications")
    torch.set_num_threads(processors())
    params = load_params()
    own = params.applications.steering
    with bar("masks", own.images, "images") as line:
        seconds = prepare_masks(
            folders, params, project_root(), out, lambda words: line.advance(words=words)
        )
    connecting.join()
    with tracked_run(
        "applications",
        "masks",
        "masks of RISE",
        params=own.model_dump(exclude={"weights"}),
        record=out.with_name("masks.run.json"),
    ) as run:
        run.log_table(seconds, "seconds.csv")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
