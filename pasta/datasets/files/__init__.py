"""The real datasets, read from the files that their authors publish."""

from pathlib import Path

from pasta.datasets.files import cats_dogs_cars, coco, monumai, pascal_part, solids
from pasta.datasets.files.base import FILES, FileSource
from pasta.datasets.files.semantic_part import SemanticPascalPart, is_semantic

__all__ = [
    "FILES",
    "FileSource",
    "cats_dogs_cars",
    "coco",
    "file_source",
    "monumai",
    "pascal_part",
    "solids",
]


def file_source(dataset: str, root: Path, seed: int) -> FileSource:
    """Open a dataset by its own importer, or as class folders if it has none.

    A root in the layout of semantic PASCAL-Part is read as that.
    """
    if dataset == "pascalpart" and is_semantic(root):
        return SemanticPascalPart(root, seed)
    if dataset in FILES:
        return FILES[dataset](root, seed)
    return cats_dogs_cars.ClassFolders(root, seed, dataset)
