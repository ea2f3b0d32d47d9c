"""Small datasets of drawings in the layouts of the real ones, to rehearse an experiment.

What is written are folders as the authors' archives leave them: COCO with its JSON and scene
labels, PASCAL-Part with MATLAB files, MonuMAI with XML files, Cats Dogs Cars with ``boxes.csv``;
all classes and concepts, with a few images of each class. They are read by the same importers.
``split.csv`` deals the images out, so that each class is in every split.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.io import savemat

from pasta.datasets.drawn.source import draw
from pasta.datasets.files.base import SPLIT_FILE
from pasta.datasets.files.cats_dogs_cars import BOXES, EDGES
from pasta.datasets.files.coco import SCENES
from pasta.datasets.files.monumai import NAMES
from pasta.datasets.files.pascal_part import ANNOTATIONS, CONCEPTS, IMAGES
from pasta.datasets.records import SPLITS, Record, Split
from pasta.datasets.vocabulary import Vocabulary, vocabulary
from pasta.errors import InputError

SIZE = 256  # pixels of a side
Mask = NDArray[np.bool_]


class Drawn(NamedTuple):
    """One image before it is written."""

    number: int  # from 0, over all splits
    split: Split
    record: Record

    @property
    def given(self) -> str:
        """The folder that it belongs to where the dataset says what is for testing."""
        return "test" if self.split == "test" else "train"


class Part(NamedTuple):
    """One instance of a concept, in pixels."""

    concept: str
    box: tuple[int, int, int, int]  # x0, y0, x1, y1
    mask: Mask  # its visible pixels


def write_rehearsal(
    dataset: str,
    root: Path,
    per_class: tuple[int, int, int] = (2, 1, 1),
    least_test: int = 6,
    seed: int = 0,
) -> int:
    """Write a dataset of drawings in its true layout; returns the number of images.

    Parameters
    ----------
    root
        A folder that is not there yet, or empty.
    per_class
        Images of each class to train, to validate and to test on.
    least_test
        Images to test on, at least: some are explained and rated, others nobody may have rated.
    """
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise InputError(
            "is there already", file=root, expected="a new folder: nothing is written over"
        )
    writer, words = WRITERS[dataset], vocabulary(dataset)
    train, validation, test = (number * len(words.classes) for number in per_class)
    counts = (train, validation, max(test, least_test))
    splits = [split for split, number in zip(SPLITS, counts, strict=True) for _ in range(number)]
    images = [
        Drawn(number, split, draw(dataset, seed, number, SIZE))
        for number, split in enumerate(splits)
    ]
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{root.name}-", dir=root.parent) as folder:
        whole = Path(folder) / root.name
        names = writer(whole, images, words)
        rows = [(name, one.split) for name, one in zip(names, images, strict=True)]
        write_table(whole / SPLIT_FILE, ("image_id", "split"), rows)
        whole.replace(root)  # whole or not at all
    return len(images)


def write_coco(root: Path, images: Sequence[Drawn], words: Vocabulary) -> list[str]:
    """Write instance annotations of training and validation images, and the scene labels."""
    from pycocotools import mask

    categories = [{"id": place, "name": name} for place, name in enumerate(words.concepts, start=1)]
    for folder, given in (("train2017", "train"), ("val2017", "test")):
        own = [one for one in images if one.given == given]
        annotations: list[dict[str, Any]] = []
        for one in own:
            write_image(root / folder / f"{one.number + 1:012d}.jpg", one)
            for concept, (x0, y0, x1, y1), pixels in parts_of(one.record, words):
                packed = mask.encode(np.asfortranarray(pixels.astype(np.uint8)))
                shape = {"size": packed["size"], "counts": packed["counts"].decode()}
                annotations.append(
                    {
                        "id": len(annotations) + 1,
                        "image_id": one.number + 1,
                        "category_id": words.value(concept),
                        "bbox": [x0, y0, x1 - x0, y1 - y0],
                        "area": int(pixels.sum()),
                        "segmentation": shape,
                        "iscrowd": 0,
                    }
                )
        entries = [
            {
                "id": one.number + 1,
                "file_name": f"{one.number + 1:012d}.jpg",
                "width": SIZE,
                "height": SIZE,
            }
            for one in own
        ]
        content = {"images": entries, "annotations": annotations, "categories": categories}
        file = root / "annotations" / f"instances_{folder}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content))
    labels = [(one.number + 1, one.record.label) for one in images]
    write_table(root / SCENES, ("image_id", "label"), labels)
    return [f"{one.number + 1:012d}" for one in images]


def write_pascal_part(root: Path, images: Sequence[Drawn], words: Vocabulary) -> list[str]:
    """Write an annotation file for each image, with one object and its parts."""
    names = [f"2010_{one.number:06d}" for one in images]
    for name, one in zip(names, images, strict=True):
        write_image(root / IMAGES / f"{name}.jpg", one)
        fine = {concept: part for part, concept in CONCEPTS[one.record.label].items()}
        parts: dict[str, Mask] = {}
        for part in parts_of(one.record, words):
            if part.concept in fine:
                first = fine[part.concept]
                again = sum(key.startswith(f"{first}_") for key in parts)
                parts[f"{first}_{again + 1}"] = part.mask
        write_mat(
            root / ANNOTATIONS / f"{name}.mat", [(one.record.label, one.record.parts > 0, parts)]
        )
    return names


def write_monumai(root: Path, images: Sequence[Drawn], words: Vocabulary) -> list[str]:
    """Write a folder for each style with images, and an XML file for each."""
    spanish = {concept: name for name, concept in reversed(list(NAMES.items()))}
    names = [f"5b{one.number:022x}" for one in images]
    for name, one in zip(names, images, strict=True):
        folder = root / one.record.label
        write_image(folder / f"{name}.jpg", one)
        elements = [(spanish[part.concept], part.box) for part in parts_of(one.record, words)]
        write_voc_xml(folder / "xml" / f"{name}.xml", elements, SIZE, SIZE)
    return names


def write_cats_dogs_cars(root: Path, images: Sequence[Drawn], words: Vocabulary) -> list[str]:
    """Write class folders and the boxes of parts."""
    names = [f"{one.record.label}.{one.number}" for one in images]
    boxes: list[tuple[object, ...]] = []
    for name, one in zip(names, images, strict=True):
        file = Path(one.given) / f"{one.record.label}s" / f"{name}.jpg"
        write_image(root / file, one)
        found = dict.fromkeys((part.concept, *part.box) for part in parts_of(one.record, words))
        boxes += [(file.as_posix(), *row) for row in found]
    write_table(root / BOXES, ("file", "concept", *EDGES), boxes)
    return names


WRITERS: Mapping[str, Callable[[Path, Sequence[Drawn], Vocabulary], list[str]]] = {
    "catsdogscars": write_cats_dogs_cars,
    "pascalpart": write_pascal_part,
    "monumai": write_monumai,
    "coco": write_coco,
}


def parts_of(record: Record, words: Vocabulary) -> list[Part]:
    """List the visible instances of a drawing with their pixels."""
    found = []
    for region in record.regions:
        x0, y0, x1, y1 = (round(edge * SIZE) for edge in region.box)
        mask = np.zeros(record.parts.shape, dtype=np.bool_)
        mask[y0:y1, x0:x1] = record.parts[y0:y1, x0:x1] == words.value(region.concept)
        if mask.any() and x1 > x0 and y1 > y0:
            found.append(Part(region.concept, (x0, y0, x1, y1), mask))
    return found


def write_image(file: Path, one: Drawn) -> None:
    """Write the image as a JPEG."""
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(one.record.image).save(file, quality=90)


def write_table(file: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def write_mat(
    file: Path, objects: Sequence[tuple[str, NDArray[Any], Mapping[str, NDArray[Any]]]]
) -> None:
    """Write an annotation of PASCAL-Part: objects as (class, mask, parts by name)."""
    file.parent.mkdir(parents=True, exist_ok=True)
    structs = [
        {
            "class": label,
            "class_ind": 1.0,
            "mask": mask.astype(np.uint8),
            "parts": _cells(
                [
                    {"part_name": name, "mask": part.astype(np.uint8)}
                    for name, part in parts.items()
                ],
                ("part_name", "mask"),
            ),
        }
        for label, mask, parts in objects
    ]
    content = {
        "imname": file.stem,
        "objects": _cells(structs, ("class", "class_ind", "mask", "parts")),
    }
    savemat(file, {"anno": content}, do_compression=True)


def _cells(structs: Sequence[Mapping[str, Any]], names: Sequence[str]) -> NDArray[Any]:
    """Return a 1 x n struct array, or MATLAB's empty 0 x 0 array of numbers."""
    if not structs:
        return np.zeros((0, 0))
    array = np.empty((1, len(structs)), dtype=[(name, object) for name in names])
    for place, struct in enumerate(structs):
        for name in names:
            array[0, place][name] = struct[name]
    return array


def write_voc_xml(
    file: Path, elements: Iterable[tuple[str, Sequence[object]]], width: int, height: int
) -> None:
    """Write boxes by name as labelImg does, in Pascal VOC's XML."""
    file.parent.mkdir(parents=True, exist_ok=True)
    annotation = ElementTree.Element("annotation")
    ElementTree.SubElement(annotation, "filename").text = f"{file.stem}.jpg"
    size = ElementTree.SubElement(annotation, "size")
    for tag, value in (("width", width), ("height", height), ("depth", 3)):
        ElementTree.SubElement(size, tag).text = str(value)
    for name, box in elements:
        found = ElementTree.SubElement(annotation, "object")
        ElementTree.SubElement(found, "name").text = name
        corners = ElementTree.SubElement(found, "bndbox")
        for tag, edge in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True):
            ElementTree.SubElement(corners, tag).text = str(edge)
    ElementTree.ElementTree(annotation).write(file, encoding="utf-8")
