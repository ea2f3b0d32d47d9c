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
    import torch

    from pasta.applications.prepared.towers import prepare_towers
    from pasta.params import load_params
    from pasta.paths import project_root
    from pasta.progress import lines

    params = load_params()
    torch.set_num_threads(params.applications.backbones.distillation.threads)
    with lines("towers of growing size") as say:
        prepare_towers(folders, params, project_root(), out, say)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
