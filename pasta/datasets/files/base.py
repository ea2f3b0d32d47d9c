"""What the importers share: listing, splitting, painting instances and building records."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pasta.datasets.files import images
from pasta.datasets.files.images import PixelBox
from pasta.datasets.files.tables import Row, read_table
from pasta.datasets.records import SPLITS, Item, Record, Region, Split
from pasta.datasets.vocabulary import Vocabulary, vocabulary
from pasta.errors import InputError
from pasta.registry import Registry
from pasta.seeds import entropy

SPLIT_FILE = "split.csv"
UNUSED = "unused"  # the split of images that are left out
Given = Literal["train", "test"]

# Where train and validation end between 0 and 1; the rest tests. Where the dataset has its own
# test images, a tenth of its training images validates.
_SHARES: Mapping[Given | None, tuple[float, float]] = {
    None: (0.7, 0.8),
    "train": (0.9, math.inf),
    "test": (0.0, 0.0),
}


@dataclass(frozen=True)
class Instance:
    """One annotated concept in the original image; without a mask the box is filled."""

    concept: str
    box: PixelBox
    mask: NDArray[np.bool_] | None = None

    @property
    def area(self) -> float:
        """Return how many pixels it covers."""
        return self.box.area if self.mask is None else float(np.count_nonzero(self.mask))


class Found(NamedTuple):
    """An image as the dataset lists it, before it is given a split."""

    image_id: str
    label: str
    given: Given | None


class Orphans(NamedTuple):
    """What has no counterpart, as file names relative to the root."""

    images: list[str]  # without annotations
    annotations: list[str]  # without an image


class FileSource(ABC):
    """A dataset on disk. Nothing is read before it is needed; what was read is pickled along."""

    dataset: str
    complete: ClassVar[bool] = False  # whether an image without annotations is a fault

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.seed = Path(root), seed

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the classes and concepts of the dataset."""
        return vocabulary(self.dataset)

    @abstractmethod
    def required_paths(self) -> Sequence[str]:
        """Return the files and folders that must be there, relative to the root."""

    @abstractmethod
    def find_images(self) -> Iterable[Found]:
        """List every image of the dataset in any order."""

    @abstractmethod
    def path(self, item: Item) -> Path:
        """Return the image file of an item."""

    @abstractmethod
    def read(self, item: Item) -> tuple[Image.Image, Sequence[Instance]]:
        """Read one image in its original size and all of its annotated instances."""

    @abstractmethod
    def find_orphans(self) -> Orphans:
        """Find images without annotations and annotations without images."""

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        chosen = read_split_file(self.root)
        items = []
        for image_id, label, given in sorted(self.find_images()):
            if image_id in chosen:
                split = chosen.pop(image_id)[0]
            else:
                split = assign_split(self.seed, self.dataset, image_id, given)
            if split is not None:
                items.append(Item(image_id, split, label))
        for image_id, (_, row) in chosen.items():
            raise row.error(f"there is no image {image_id!r}", "image_id")
        return tuple(items)

    def items(self) -> Sequence[Item]:
        """List every image, sorted by its identifier."""
        return self._items

    def load(self, item: Item, size: int) -> Record:
        """Load one image at model size with its part-index array and visible instances."""
        image, instances = self.read(item)
        width, height = image.size
        fitted = (
            (instance.concept, images.fit_box(instance.box, width, height, size))
            for instance in instances
        )
        return Record(
            label=item.label,
            image=np.array(images.fit(image, size), dtype=np.uint8),
            parts=images.fit_parts(paint_parts(instances, self.vocabulary, width, height), size),
            regions=tuple(Region(concept, box) for concept, box in fitted if box is not None),
            source=self.relative(self.path(item)),
            width=width,
            height=height,
        )

    def relative(self, path: Path) -> str:
        """Return a path below the root with forward slashes on every system."""
        return path.relative_to(self.root).as_posix()


FILES: Registry[type[FileSource]] = Registry("dataset of files")


def assign_split(seed: int, dataset: str, image_id: str, given: Given | None) -> Split:
    """Assign a split to one image, independently of all others.

    Parameters
    ----------
    given
        What the dataset itself says: a test image stays one, and None leaves all to the hash.

    Examples
    --------
    >>> assign_split(0, "coco", "000000000139", "test")
    'test'
    """
    train, validation = _SHARES[given]
    place = entropy(seed, "split", dataset, image_id) / 2**128
    if place < train:
        return "train"
    return "validation" if place < validation else "test"


def read_split_file(root: Path) -> dict[str, tuple[Split | None, Row]]:
    """Read ``split.csv`` (image_id, split); without such a file there are no overrides.

    The split of an image that is not used is None.
    """
    path = root / SPLIT_FILE
    chosen: dict[str, tuple[Split | None, Row]] = {}
    if not path.exists():
        return chosen
    for row in read_table(path, ("image_id", "split")):
        name = row.one_of("split", (*SPLITS, UNUSED), "split")
        if row["image_id"] in chosen:
            first = chosen[row["image_id"]][1].number
            raise row.error(f"{row['image_id']!r} is already in row {first}", "image_id")
        split: Split | None = next((split for split in SPLITS if split == name), None)
        chosen[row["image_id"]] = (split, row)
    return chosen


def paint_parts(
    instances: Sequence[Instance], names: Vocabulary, width: int, height: int
) -> NDArray[np.uint8]:
    """Return the concept of each pixel; small instances cover large ones."""
    parts = np.zeros((height, width), dtype=np.uint8)
    for instance in sorted(instances, key=lambda instance: -instance.area):
        value = names.value(instance.concept)
        if instance.mask is None:
            x0, y0, x1, y1 = (max(round(edge), 0) for edge in instance.box)
            parts[y0:y1, x0:x1] = value
        else:
            parts[instance.mask] = value
    return parts


def list_image_files(folder: Path) -> list[Path]:
    """List the image files of a folder, without hidden ones, which file managers leave."""
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in images.SUFFIXES and not path.name.startswith(".")
    )


def index_by_stem(paths: Iterable[Path]) -> dict[str, Path]:
    """Index files by name without suffix, which identifies an image and must be unique."""
    chosen: dict[str, Path] = {}
    for path in paths:
        if path.stem in chosen:
            raise InputError(
                f"the image identifier {path.stem!r} is also that of {chosen[path.stem]}",
                file=path,
                expected="file names that are unique in the whole dataset",
            )
        chosen[path.stem] = path
    return chosen


def is_inside(box: PixelBox, width: int, height: int) -> bool:
    """Tell whether a box lies in the image, give or take a pixel, as tools round differently."""
    return box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
