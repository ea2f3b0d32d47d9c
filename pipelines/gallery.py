"""DVC stage `gallery`: pictures of the datasets, and of explanations side by side."""

from __future__ import annotations

from pasta import store
from pasta.benchmark.pictures import draw_examples
from pasta.config import load_params
from pasta.datasets.build import contact_sheet
from pasta.datasets.stored import open_dataset
from pasta.explanations.gallery import BLACK_BOXES, concept_picture, saliency_picture, save
from pasta.explanations.stored import StoredExplanations
from pasta.layout import groups
from pasta.paths import DATA, FIGURES, project_root, stage_folder
from pasta.stage import run_stage

IMAGES = 1  # of each group


def main() -> None:
    """Draw datasets with their parts, black boxes and concept models explained, LATEC's maps."""
    params, out = load_params(), project_root() / FIGURES / "gallery"
    folders = [stage_folder("images") / name for name in params.datasets]
    with store.atomic(out / "datasets.jpg") as temporary:
        sheet = contact_sheet(folders)
        sheet.save(temporary, format="JPEG", quality=92, subsampling=0, optimize=True)
    parts = [
        (open_dataset(group.images), StoredExplanations(group.explanations))
        for group in groups(params)
    ]
    explained = {name for _, stored in parts for name in stored.table["backbone"]}
    for backbone in BLACK_BOXES:
        if backbone not in explained:
            continue  # a release may lack it
        save(saliency_picture(parts, backbone, IMAGES), out / f"{backbone}.jpg")
    save(concept_picture(parts), out / "concepts.jpg")
    draw_examples(params, project_root() / DATA, out)


if __name__ == "__main__":
    run_stage(main)
