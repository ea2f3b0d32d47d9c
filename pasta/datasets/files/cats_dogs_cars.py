"""Class folders with boxes of parts: Cats Dogs Cars, and any dataset that has no own importer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from pasta.datasets.files.base import (
    FILES,
    FileSource,
    Found,
    Given,
    Instance,
    Orphans,
    index_by_stem,
    is_inside,
    list_image_files,
)
from pasta.datasets.files.images import PixelBox, decode
from pasta.datasets.files.tables import Row, read_table
from pasta.datasets.records import Item
from pasta.errors import InputError
from pasta.registry import did_you_mean

BOXES = "boxes.csv"
EDGES = ("x0", "y0", "x1", "y1")
GIVEN: tuple[Given, ...] = ("train", "test")


class Picture(NamedTuple):
    """An image file, and its class and split by its folders."""

    path: Path
    label: str
    given: Given


class ClassFolders(FileSource):
    """Class folders: ``test`` is for testing, ``train`` for training and validation.

    The folders are called as the classes of the dataset's vocabulary. ``boxes.csv`` may have boxes
    of its concepts.
    """

    def __init__(self, root: Path, seed: int, dataset: str) -> None:
        super().__init__(root, seed)
        self.dataset = dataset

    @property
    def folders(self) -> Mapping[str, str]:
        """Return the class of each folder name, in lower case."""
        return {label.lower(): label for label in self.vocabulary.classes}

    def required_paths(self) -> Sequence[str]:
        """Return both image folders."""
        return GIVEN

    @cached_property
    def pictures(self) -> dict[str, Picture]:
        """The image files by identifier; boxes are not read for it."""
        pictures = [picture for given in GIVEN for picture in self._folder(given)]
        by_path = {picture.path: picture for picture in pictures}
        return {stem: by_path[path] for stem, path in index_by_stem(by_path).items()}

    def _folder(self, given: Given) -> Iterator[Picture]:
        parent = self.root / given
        if not parent.is_dir():
            raise InputError("there is no such folder", file=parent, expected="train and test")
        missing = set(self.vocabulary.classes)
        for folder in sorted(parent.iterdir()):
            if not folder.is_dir() or folder.name.startswith("."):
                continue
            label = self.folders.get(folder.name.lower())
            if label is None:
                hint = did_you_mean(folder.name.lower(), dict(self.folders))
                raise InputError(f"{folder.name!r} is no class. {hint}", file=folder)
            for path in list_image_files(folder):
                missing.discard(label)
                yield Picture(path, label, given)
        if missing:
            raise InputError(f"no images of {', '.join(sorted(missing))}", file=parent)

    @cached_property
    def _boxes(self) -> dict[str, list[tuple[Row, Instance]]]:
        """Read the boxes by image file."""
        if BOXES not in self.required_paths() and not (self.root / BOXES).exists():
            return {}
        files = {self.relative(picture.path) for picture in self.pictures.values()}
        boxes: dict[str, list[tuple[Row, Instance]]] = {}
        seen: dict[tuple[str, Instance], int] = {}
        for row in read_table(self.root / BOXES, ("file", "concept", *EDGES)):
            name = row["file"]
            if name not in files:
                hint = did_you_mean(name, sorted(files)) if len(files) < 1000 else ""
                raise row.error(f"there is no image {name!r}. {hint}".rstrip(), "file")
            instance = self._instance(row)
            if (name, instance) in seen:
                first = seen[name, instance]
                raise row.error(f"the same box is already in row {first}", "file")
            seen[name, instance] = row.number
            boxes.setdefault(name, []).append((row, instance))
        return boxes

    def _instance(self, row: Row) -> Instance:
        concept = row.one_of("concept", self.vocabulary.concepts, "concept")
        box = PixelBox(*(row.number_in(edge) for edge in EDGES))
        for low, high in (("x0", "x1"), ("y0", "y1")):
            if getattr(box, low) >= getattr(box, high):
                raise row.error(f"{row[low]} is not less than {row[high]}", high, f"{low} < {high}")
        return Instance(concept, box)

    def find_images(self) -> Iterator[Found]:
        """List every image; read the boxes too, so that a bad table is known before training."""
        _ = self._boxes
        for stem, picture in self.pictures.items():
            yield Found(stem, picture.label, picture.given)

    def path(self, item: Item) -> Path:
        """Return the image file of an item."""
        if item.image_id not in self.pictures:
            raise InputError(f"there is no image {item.image_id!r}", file=self.root)
        return self.pictures[item.image_id].path

    def read(self, item: Item) -> tuple[Image.Image, Sequence[Instance]]:
        """Read one image and its boxes."""
        path = self.path(item)
        image = decode(path)
        rows = self._boxes.get(self.relative(path), [])
        for row, instance in rows:
            if not is_inside(instance.box, *image.size):
                raise row.error(
                    f"the box {tuple(instance.box)} is not inside of the image",
                    "x1" if instance.box.x1 > image.width + 1 or instance.box.x0 < -1 else "y1",
                    f"0 to {image.width} across and 0 to {image.height} down",
                )
        return image, [instance for _, instance in rows]

    def find_orphans(self) -> Orphans:
        """Find images without a box; a box without an image is an error in the table."""
        names = sorted(self.relative(picture.path) for picture in self.pictures.values())
        return Orphans([name for name in names if name not in self._boxes], [])


@FILES.register("catsdogscars")
class CatsDogsCars(ClassFolders):
    """Part boxes of a detector, checked by hand; folders are ``cats`` or ``cat``, and so on."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed, "catsdogscars")

    @property
    def folders(self) -> Mapping[str, str]:
        """Return the class of each folder name."""
        return {label + ending: label for ending in ("s", "") for label in self.vocabulary.classes}

    def required_paths(self) -> Sequence[str]:
        """Return both image folders and the boxes."""
        return (*GIVEN, BOXES)
