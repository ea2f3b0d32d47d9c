"""DVC stage `gallery`: explanations of a few images side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    out: Annotated[Path, typer.Option(help="where the pictures go")],
    images: Annotated[int, typer.Option(min=1, help="images of each dataset")] = 2,
) -> None:
    """Draw one picture per black box, methods beside each other, and one of concept models."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    from pasta.datasets.stored import open_dataset
    from pasta.explanations.gallery import BLACK_BOXES, concept_picture, saliency_picture, save
    from pasta.explanations.stored import StoredExplanations

    parts = [(open_dataset(folder), StoredExplanations(folder)) for folder in folders]
    for backbone in BLACK_BOXES:
        picture = saliency_picture(parts, backbone, images)
        save(picture, out / f"gallery-{backbone}.jpg")
    save(concept_picture(parts), out / "gallery-concepts.jpg")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
