"""DVC stage `gallery`: explanations of a few images side by side."""

from __future__ import annotations

from pasta.datasets.stored import open_dataset
from pasta.explanations.gallery import BLACK_BOXES, concept_picture, saliency_picture, save
from pasta.explanations.stored import StoredExplanations
from pasta.layout import explained_groups
from pasta.paths import FIGURES, project_root
from pasta.stage import run_stage

IMAGES = 2  # of each group


def main() -> None:
    """Draw one picture per black box, methods beside each other, and one of concept models."""
    parts = [
        (open_dataset(group.images), StoredExplanations(group.explanations))
        for group in explained_groups()
    ]
    out = project_root() / FIGURES
    for backbone in BLACK_BOXES:
        save(saliency_picture(parts, backbone, IMAGES), out / f"gallery-{backbone}.jpg")
    save(concept_picture(parts), out / "gallery-concepts.jpg")


if __name__ == "__main__":
    run_stage(main)
