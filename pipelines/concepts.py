"""DVC stage `concepts`: which concepts each image of one dataset shows, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folder: Annotated[Path, typer.Argument(help="the dataset's folder, with its images")],
) -> None:
    """Write the concepts table of the images in FOLDER and a summary of both."""
    from pasta import store, tables
    from pasta.datasets.concepts import concept_table, summary
    from pasta.datasets.stored import CONCEPTS, open_dataset

    data = open_dataset(folder)
    concepts = concept_table(data.images, data.regions(), data.parts)
    store.write(concepts, folder / CONCEPTS, tables.CONCEPTS, {"images": data.images})
    store.write_json(summary(data.images, concepts), folder / "summary.json")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
