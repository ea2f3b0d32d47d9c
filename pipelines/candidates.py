"""DVC stage `candidates`: maps under every setting that tuning is to choose among."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    out: Annotated[Path, typer.Option(help="folder for the maps")],
) -> None:
    """Explain images in FOLDERS that nobody has rated under every setting."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    import torch

    from pasta.applications.prepared.candidates import amount, prepare_candidates
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import bar

    torch.set_num_threads(processors())
    params = load_params()
    with bar("candidates", amount(params), "settings") as line:
        prepare_candidates(
            folders, params, project_root(), out, lambda words: line.advance(words=words)
        )


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
