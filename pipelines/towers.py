"""DVC stage `towers`: the same methods on image towers of growing size."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    out: Annotated[Path, typer.Option(help="folder for the maps")],
) -> None:
    """Explain images in FOLDERS that nobody has rated on every tower."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    import torch

    from pasta.applications.prepared.towers import prepare_towers
    from pasta.params import load_params
    from pasta.paths import project_root
    from pasta.progress import bar

    params = load_params()
    torch.set_num_threads(params.applications.backbones.distillation.threads)
    with bar("towers of growing size", len(params.applications.backbones.towers), "towers") as line:
        prepare_towers(
            folders, params, project_root(), out, lambda words: line.advance(words=words)
        )


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
