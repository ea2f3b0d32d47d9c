"""The real image datasets, read from the files that their authors publish."""

from pasta.datasets.files import cats_dogs_cars, coco, monumai, pascal_part
from pasta.datasets.files.base import FILES, FileSource

__all__ = ["FILES", "FileSource", "cats_dogs_cars", "coco", "monumai", "pascal_part"]
