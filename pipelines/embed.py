"""DVC stage `embed`: the vectors of one dataset's explanations, in every way a study needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folder: Annotated[Path, typer.Argument(help="the dataset's folder, with its explanations")],
) -> None:
    """Embed the explanations of the dataset in FOLDER; only what is new is encoded."""
    import torch

    from pasta.embedding.stage import embed_variants
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import lines
    from pasta.scoring.studies import embeddings

    torch.set_num_threads(processors())
    params = load_params()
    with lines(f"embeddings of {folder.name}") as say:
        embed_variants(folder, embeddings(params.embedding, params.scoring), project_root(), say)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
