"""DVC stage `embed`: the vectors of all explanations, in every way a study needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[
        list[Path], typer.Argument(help="the datasets' folders, with their explanations")
    ],
) -> None:
    """Embed the explanations of the datasets in FOLDERS; only what is new is encoded."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    from pasta.embedding.stage import embed_variants
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import lines
    from pasta.scoring.studies import embeddings

    params = load_params()
    variants = embeddings(params.embedding, params.scoring)
    with lines("embeddings") as say:
        embed_variants(folders, variants, project_root(), say, processors())


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
