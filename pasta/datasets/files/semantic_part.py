"""Semantic PASCAL-Part: PASCAL-Part with merged parts as boxes (Donadello and Serafini, 2016).

The same images as PASCAL-Part, with the 39 concepts of P1, and with its own test images. Each image
has one XML file in the style of LabelMe: whole objects and parts are objects with a polygon around
their box; ``parts/ispartof`` says whose part one is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

from PIL import Image

from pasta.datasets.files.base import FileSource, Found, Given, Instance, Orphans, list_image_files
from pasta.datasets.files.images import PixelBox, decode, decode_as
from pasta.datasets.files.pascal_part import ANNOTATIONS
from pasta.datasets.files.xml_files import number_in, parse_xml, text_in
from pasta.datasets.records import Item
from pasta.errors import InputError
from pasta.registry import did_you_mean

INNER = "semanticPascalPart"  # where the archive has the folders
PARTS: Mapping[str, Given] = {"trainval": "train", "test": "test"}
# Names of the XML files, in lower case, that are written otherwise in P1.
NAMES: Mapping[str, str] = {
    "animal_wing": "animal wing",
    "artifact_wing": "artifact wing",
    "ebrow": "eyebrow",
}
WITHOUT_PARTS = ("boat", "chair", "diningtable", "sofa")  # and without a class in P1


def is_semantic(root: Path) -> bool:
    """Tell whether a folder has the layout of semantic PASCAL-Part, and not of PASCAL-Part too."""
    folders = (_base(root) / f"Annotations_{part}" for part in PARTS)
    return not (root / ANNOTATIONS).exists() and any(folder.is_dir() for folder in folders)


def _base(root: Path) -> Path:
    inner = root / INNER
    return inner if inner.is_dir() else root


class Annotated(NamedTuple):
    """One object of an annotation file: a whole one, or a part, with its box."""

    name: str
    box: PixelBox


class SemanticPascalPart(FileSource):
    """Images with one of the 16 classes that have parts, labelled by their largest object.

    The label is in the annotations only, so that the first call of ``items`` opens all of them
    (about ten thousand, some seconds).
    """

    dataset = "pascalpart"

    def required_paths(self) -> Sequence[str]:
        """Return the folders of images and annotations."""
        return [
            self.relative(_base(self.root) / f"{kind}_{part}")
            for part in PARTS
            for kind in ("Annotations", "JPEGImages")
        ]

    @cached_property
    def _files(self) -> dict[str, tuple[Path, str]]:
        """The annotation file of each image, and the part of the dataset it is in."""
        files: dict[str, tuple[Path, str]] = {}
        for part in PARTS:
            folder = _base(self.root) / f"Annotations_{part}"
            found = sorted(folder.glob("[!.]*.xml"))
            if not found:
                raise InputError("no .xml file", file=folder)
            for file in found:
                if file.stem in files:
                    problem = f"the image {file.stem} is also in {files[file.stem][0].parent}"
                    raise InputError(problem, file=file, expected="each image once")
                files[file.stem] = file, part
        return files

    def find_images(self) -> Iterator[Found]:
        """List the images with an object of one of the 16 classes."""
        for stem, (file, part) in self._files.items():
            whole = [one for one in self.objects(file) if one.name in self.vocabulary.classes]
            if whole:
                yield Found(stem, max(whole, key=lambda one: one.box.area).name, PARTS[part])

    def path(self, item: Item) -> Path:
        """Return the image file of an item."""
        file, part = self._file(item)
        return _base(self.root) / f"JPEGImages_{part}" / f"{file.stem}.jpg"

    def _file(self, item: Item) -> tuple[Path, str]:
        if item.image_id not in self._files:
            raise InputError(f"there is no annotation of {item.image_id!r}", file=self.root)
        return self._files[item.image_id]

    def read(self, item: Item) -> tuple[Image.Image, Sequence[Instance]]:
        """Read one image and its parts; boxes end at the edge of the image, empty ones are none."""
        file, _ = self._file(item)
        image = _decode(self.path(item), file)
        boxes = (
            (one.name, _clip(one.box, image))
            for one in self.objects(file)
            if one.name in self.vocabulary.concepts
        )
        return image, [Instance(name, box) for name, box in boxes if box.area]

    def objects(self, file: Path) -> list[Annotated]:
        """Read the objects of an annotation file by the names of the vocabulary."""
        return [self._object(element, file) for element in parse_xml(file).iter("object")]

    def _object(self, element: Element, file: Path) -> Annotated:
        written = text_in(element, "name", file)
        name = NAMES.get(written.lower(), written.lower())
        known = (*self.vocabulary.classes, *self.vocabulary.concepts, *WITHOUT_PARTS)
        if name not in known:
            hint = did_you_mean(name, list(known))
            raise InputError(f"{written!r} is no object of PASCAL-Part. {hint}", file=file)
        points = element.findall("polygon/pt")
        if len(points) < 2:
            raise InputError(
                f"{written!r} has no box", file=file, expected="a <polygon> of at least two <pt>"
            )
        across = [number_in(point, "x", file) for point in points]
        down = [number_in(point, "y", file) for point in points]
        return Annotated(name, PixelBox(min(across), min(down), max(across), max(down)))

    def find_orphans(self) -> Orphans:
        """Find images without an annotation file and the reverse."""
        pictures = {
            path.stem: path
            for part in PARTS
            for path in list_image_files(_base(self.root) / f"JPEGImages_{part}")
        }
        lonely = (stem for stem in sorted(self._files) if stem not in pictures)
        return Orphans(
            [self.relative(pictures[stem]) for stem in sorted(pictures.keys() - self._files)],
            [self.relative(self._files[stem][0]) for stem in lonely],
        )


def _clip(box: PixelBox, image: Image.Image) -> PixelBox:
    return PixelBox(
        max(box.x0, 0.0),
        max(box.y0, 0.0),
        min(box.x1, float(image.width)),
        min(box.y1, float(image.height)),
    )


def _decode(path: Path, file: Path) -> Image.Image:
    size = parse_xml(file).find("imagesize")
    if size is None:
        return decode(path)
    rows, columns = (int(number_in(size, tag, file)) for tag in ("nrows", "ncols"))
    image = decode(path)
    if image.size == (rows, columns):  # readers of this dataset disagree on which is which
        return image
    return decode_as(path, columns, rows, file)
