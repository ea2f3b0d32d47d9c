"""COCO 2017 with a scene label for each indoor image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pasta.datasets.files.base import FILES, FileSource, Found, Given, Instance, Orphans
from pasta.datasets.files.images import PixelBox, decode_as
from pasta.datasets.files.tables import Row, read_table
from pasta.datasets.records import Item
from pasta.errors import InputError
from pasta.registry import did_you_mean

SCENES = "scene_labels.csv"
# The small file first: the large one (half a gigabyte) is not parsed when no image needs it.
PARTS: tuple[tuple[str, Given], ...] = (("val2017", "test"), ("train2017", "train"))


@dataclass(frozen=True)
class Picture:
    """What is kept of one image in the annotation file."""

    file_name: str
    folder: str
    given: Given
    label: str
    width: int
    height: int
    annotations: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


@FILES.register("coco")
class Coco(FileSource):
    """Indoor scenes of COCO: val2017 is for testing, train2017 for training and validation."""

    dataset = "coco"

    def required_paths(self) -> Sequence[str]:
        """Return both annotation files, both image folders and the scene labels."""
        folders = [folder for folder, _ in PARTS]
        files = [self.relative(self.annotation_file(folder)) for folder in folders]
        return [*files, *folders, SCENES]

    def annotation_file(self, folder: str) -> Path:
        """Return the JSON file for one of COCO's image folders."""
        return annotation_file(self.root, folder)

    @cached_property
    def _labels(self) -> dict[int, Row]:
        labels: dict[int, Row] = {}
        for row in read_table(self.root / SCENES, ("image_id", "label")):
            text = row["image_id"]
            if not text.isascii() or not text.isdigit() or len(text) > 15:
                raise row.error(f"{text!r} is no COCO image id", "image_id", "a whole number")
            row.one_of("label", self.vocabulary.classes, "scene")
            if int(text) in labels:
                first = labels[int(text)].number
                raise row.error(f"{text} is already in row {first}", "image_id")
            labels[int(text)] = row
        return labels

    @cached_property
    def _pictures(self) -> dict[str, Picture]:
        """Read the labelled images by file stem; drop everything else in the files at once."""
        wanted = dict(self._labels)
        pictures: dict[str, Picture] = {}
        for folder, given in PARTS:
            if not wanted:
                break
            file = self.annotation_file(folder)
            content = _parse(file)
            for name in (one.get("name") for one in content["categories"]):
                self._check(name, file)
            for picture in _keep(content, file, folder, given, wanted):
                stem = Path(picture.file_name).stem
                if Path(picture.file_name).name != picture.file_name or stem in pictures:
                    problem = f"the file name {picture.file_name!r} is a path or used twice"
                    raise InputError(problem, file=file)
                pictures[stem] = picture
        for row in wanted.values():
            raise row.error(f"COCO 2017 has no image {row['image_id']}", "image_id")
        return pictures

    def _check(self, name: object, file: Path) -> None:
        if name not in self.vocabulary.concepts:
            hint = did_you_mean(str(name), list(self.vocabulary.concepts))
            raise InputError(f"{name!r} is no object category of COCO. {hint}", file=file)

    def find_images(self) -> Iterator[Found]:
        """List the images with a scene label."""
        for stem, picture in self._pictures.items():
            yield Found(stem, picture.label, picture.given)

    def _picture(self, item: Item) -> Picture:
        if item.image_id not in self._pictures:
            raise InputError(f"no row for the image {item.image_id!r}", file=self.root / SCENES)
        return self._pictures[item.image_id]

    def path(self, item: Item) -> Path:
        """Return the image file of an item."""
        picture = self._picture(item)
        return self.root / picture.folder / picture.file_name

    def read(self, item: Item) -> tuple[Image.Image, Sequence[Instance]]:
        """Read one image and all of its objects, crowds included."""
        picture = self._picture(item)
        file = self.annotation_file(picture.folder)
        image = decode_as(self.path(item), picture.width, picture.height, file)
        return image, [
            _instance(concept, annotation, image, file)
            for concept, annotation in picture.annotations
        ]

    def find_orphans(self) -> Orphans:
        """Find labelled images without objects, and labelled images without a file."""
        pictures = self._pictures.values()
        paths = {id(one): self.root / one.folder / one.file_name for one in pictures}
        return Orphans(
            [self.relative(paths[id(one)]) for one in pictures if not one.annotations],
            [self.relative(paths[id(one)]) for one in pictures if not paths[id(one)].is_file()],
        )


def annotation_file(root: Path, folder: str) -> Path:
    """Return the JSON file for one of COCO's image folders."""
    return root / "annotations" / f"instances_{folder}.json"


def list_annotated(file: Path) -> list[tuple[int, str]]:
    """List the id and the file name of every image with at least one object, by id."""
    content = _parse(file)
    try:
        with_objects = {one["image_id"] for one in content["annotations"]}
        found = {
            int(one["id"]): str(one["file_name"])
            for one in content["images"]
            if one["id"] in with_objects
        }
    except (KeyError, TypeError, ValueError) as error:
        raise _incomplete(file, error) from None
    for number, name in found.items():
        if Path(name).name != name:
            raise InputError(f"the file name {name!r} is a path", file=file, row=f"image {number}")
    return sorted(found.items())


def _incomplete(file: Path, error: Exception) -> InputError:
    return InputError(
        f"an entry is incomplete: {error!r}", file=file, expected="COCO's instance format"
    )


def _instance(concept: str, annotation: dict[str, Any], image: Image.Image, file: Path) -> Instance:
    row = f"annotation {annotation.get('id')}"
    box = annotation.get("bbox")
    if (
        not isinstance(box, list)
        or len(box) != 4
        or not all(isinstance(edge, int | float) for edge in box)
    ):
        raise InputError(f"the box {box!r}", file=file, row=row, expected="[x, y, width, height]")
    x, y, width, height = map(float, box)
    try:
        mask = decode_segmentation(annotation.get("segmentation"), image.height, image.width)
    except InputError as error:
        raise InputError(error.problem, file=file, row=row, expected=error.expected) from None
    return Instance(concept, PixelBox(x, y, x + width, y + height), mask)


def decode_segmentation(segmentation: object, height: int, width: int) -> NDArray[np.bool_]:
    """Decode a COCO ``segmentation``: polygons, run lengths, or run lengths packed into text.

    The input is checked here because pycocotools does not: it reads past the end of damaged text
    and leaves pixels undefined that no run covers.

    Examples
    --------
    >>> decode_segmentation({"size": [2, 2], "counts": [1, 2, 1]}, 2, 2).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    from pycocotools import mask

    if isinstance(segmentation, list):
        _check_polygons(segmentation)
        if not segmentation:
            return np.zeros((height, width), dtype=np.bool_)
        shapes = mask.decode(mask.frPyObjects(segmentation, height, width))
        return np.asarray(shapes.any(axis=2), dtype=np.bool_)
    if not isinstance(segmentation, dict):
        raise InputError("a segmentation", expected="polygons or run lengths")
    size, counts = [height, width], segmentation.get("counts")
    if segmentation.get("size") != size:
        raise InputError(
            f"a mask of size {segmentation.get('size')!r}",
            expected=f"{size}, the size of its image",
        )
    if isinstance(counts, str):
        return _unpack_text(counts, size)
    _check_lengths(counts, height * width)
    runs = mask.frPyObjects({"size": size, "counts": counts}, height, width)
    return np.asarray(mask.decode(runs), dtype=np.bool_)


def _unpack_text(text: str, size: list[int]) -> NDArray[np.bool_]:
    """Decode packed run lengths: five bits a character from "0" on, and one for "more follow"."""
    from pycocotools import mask

    problem = InputError(
        f"the packed run lengths {text[:20]!r} are damaged",
        expected=f"what COCO's tools write for a mask of {size[0]} x {size[1]} pixels",
    )
    if not re.fullmatch(r"(?:[P-o]{0,5}[0-O])+", text):
        raise problem
    try:
        decoded = mask.decode({"size": size, "counts": text})
    except ValueError:
        raise problem from None
    if mask.encode(decoded)["counts"] != text.encode():  # other lengths, or they end too early
        raise problem
    return np.asarray(decoded, dtype=np.bool_)


def _check_lengths(counts: object, pixels: int) -> None:
    if not isinstance(counts, list):
        raise InputError("run lengths that are neither a list nor text")
    for length in counts:
        if not isinstance(length, int) or isinstance(length, bool) or length < 0:
            raise InputError(f"{length!r} is no run length", expected="a whole number from 0")
    if sum(counts) != pixels:
        raise InputError(f"the run lengths cover {sum(counts)} pixels", expected=str(pixels))


def _check_polygons(shapes: list[object]) -> None:
    for shape in shapes:
        if not isinstance(shape, list) or len(shape) < 6 or len(shape) % 2:
            raise InputError("a polygon", expected="an even number of at least 6 coordinates")
        if not all(isinstance(edge, int | float) and abs(edge) < 1e5 for edge in shape):
            raise InputError("a polygon's coordinate is no number of pixels")


def _parse(file: Path) -> dict[str, list[dict[str, Any]]]:
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise InputError(
            "there is no such file", file=file, expected="COCO's instance annotations"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"not readable as JSON: {error}", file=file) from None
    for key in ("images", "annotations", "categories"):
        entries = content.get(key) if isinstance(content, dict) else None
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise InputError(f"no list of objects called {key!r}", file=file)
    return dict(content)


def _keep(
    content: dict[str, list[dict[str, Any]]],
    file: Path,
    folder: str,
    given: Given,
    wanted: dict[int, Row],
) -> list[Picture]:
    """Take the wanted images out of one annotation file and off the list of wanted ones."""
    here: dict[int, Picture] = {}
    try:
        categories = {one["id"]: str(one["name"]) for one in content["categories"]}
        for one in content["images"]:
            if one["id"] in wanted:
                label = wanted.pop(one["id"])["label"]
                name, width, height = str(one["file_name"]), int(one["width"]), int(one["height"])
                here[one["id"]] = Picture(name, folder, given, label, width, height)
        for one in content["annotations"]:
            if one["image_id"] in here:
                kept = {key: one.get(key) for key in ("id", "bbox", "segmentation")}
                here[one["image_id"]].annotations.append((categories[one["category_id"]], kept))
    except (KeyError, TypeError, ValueError) as error:
        raise _incomplete(file, error) from None
    return list(here.values())
