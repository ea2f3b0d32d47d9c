"""Tiny datasets in the true layouts: what the authors' archives look like after unpacking."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pasta.datasets.rehearsal import write_mat, write_voc_xml
from pasta.datasets.vocabulary import VOCABULARIES

WIDTH, HEIGHT = 60, 40  # of most images here


def picture(path: Path, width: int = WIDTH, height: int = HEIGHT, colour: str = "navy") -> Path:
    """Write an image of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (width, height), colour).save(path)
    return path


def text(path: Path, *lines: str) -> Path:
    """Write a text file line by line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def rectangle(x0: int, y0: int, x1: int, y1: int) -> NDArray[np.uint8]:
    """A mask of the usual size with one filled rectangle."""
    mask = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    mask[y0:y1, x0:x1] = 1
    return mask


def pack(lengths: Sequence[int]) -> str:
    """COCO's text form of run lengths, written from its description (``maskApi.c``)."""
    out = ""
    for place, length in enumerate(lengths):
        value = length - lengths[place - 2] if place > 2 else length
        more = True
        while more:
            bits = value & 31
            value >>= 5
            more = value != (-1 if bits & 16 else 0)
            out += chr(bits + (32 if more else 0) + 48)
    return out


def runs(mask: NDArray[Any]) -> list[int]:
    """Run lengths of a mask, column by column, background first, one pixel at a time."""
    lengths, current = [0], False
    for pixel in mask.T.ravel().tolist():
        if bool(pixel) != current:
            current = bool(pixel)
            lengths.append(0)
        lengths[-1] += 1
    return lengths


def annotation(
    number: int, image: int, category: int, box: Sequence[float], shape: Any, crowd: int = 0
) -> dict[str, Any]:
    """One entry of COCO's ``annotations``."""
    return {
        "id": number,
        "image_id": image,
        "category_id": category,
        "bbox": list(box),
        "area": 1.0,
        "segmentation": shape,
        "iscrowd": crowd,
    }


def coco(root: Path) -> Path:
    """Two training and two test images, of which one has no scene; all three mask forms."""
    categories = [
        {"id": place + 1, "name": name, "supercategory": "thing"}
        for place, name in enumerate(VOCABULARIES["coco"].concepts)
    ]
    chair = VOCABULARIES["coco"].value("chair")
    cup = VOCABULARIES["coco"].value("cup")
    mask = rectangle(20, 10, 40, 30)
    contents: Mapping[str, tuple[Sequence[int], list[dict[str, Any]]]] = {
        "train2017": (
            (9, 25),
            [
                annotation(1, 9, chair, [20, 10, 20, 20], [[20, 10, 40, 10, 40, 30, 20, 30]]),
                annotation(2, 9, cup, [28, 18, 4, 4], [[28, 18, 32, 18, 32, 22, 28, 22]]),
                annotation(
                    3, 25, cup, [20, 10, 20, 20], {"size": [40, 60], "counts": runs(mask)}, 1
                ),
            ],
        ),
        "val2017": (
            (139, 285),
            [
                annotation(
                    4, 139, cup, [20, 10, 20, 20], {"size": [40, 60], "counts": pack(runs(mask))}
                )
            ],
        ),
    }
    for folder, (ids, entries) in contents.items():
        images = [
            {"id": one, "file_name": f"{one:012d}.jpg", "width": WIDTH, "height": HEIGHT}
            for one in ids
        ]
        for image in images:
            picture(root / folder / str(image["file_name"]))
        text(
            root / "annotations" / f"instances_{folder}.json",
            json.dumps({"images": images, "annotations": entries, "categories": categories}),
        )
    text(root / "scene_labels.csv", "image_id,label", "9,workplace", "25,cultural", "139,cultural")
    return root


def mat(
    path: Path, objects: Sequence[tuple[str, NDArray[np.uint8], Mapping[str, NDArray[np.uint8]]]]
) -> Path:
    """A PASCAL-Part annotation: objects as (class, mask, parts by name)."""
    write_mat(path, objects)
    return path


def pascal_part(root: Path) -> Path:
    """Three annotated images, one without any of the 16 classes, and one image without a file."""
    images, files = root / "VOCdevkit/VOC2010/JPEGImages", root / "Annotations_Part"
    for name in ("2008_000002", "2008_000003", "2008_000007", "2008_000008", "2008_000009"):
        picture(images / f"{name}.jpg")
    whole = rectangle(12, 5, 48, 35)
    mat(files / "2008_000002.mat", [("tvmonitor", whole, {"screen": rectangle(20, 10, 40, 30)})])
    mat(
        files / "2008_000003.mat",
        [
            ("person", rectangle(0, 0, 5, 5), {}),
            (
                "bird",
                whole,
                {"lwing": rectangle(20, 10, 30, 20), "leye": rectangle(22, 12, 25, 15)},
            ),
        ],
    )
    mat(files / "2008_000007.mat", [("boat", whole, {})])
    mat(
        files / "2008_000008.mat",
        [
            (
                "aeroplane",
                whole,
                {"lwing": rectangle(20, 10, 30, 20), "engine_1": rectangle(32, 12, 36, 16)},
            )
        ],
    )
    return root


def label_me(
    path: Path,
    objects: Sequence[tuple[str, Sequence[int], int | None]],
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Path:
    """An annotation of semantic PASCAL-Part: objects as (name, box, number of its whole)."""
    entries = []
    for number, (name, (x0, y0, x1, y1), whole) in enumerate(objects):
        parts = ",".join(str(place) for place, one in enumerate(objects) if one[2] == number)
        relation = (
            f"<hasparts>{parts}</hasparts><ispartof/>"
            if whole is None
            else f"<ispartof>{whole}</ispartof>"
        )
        corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
        points = "".join(f"<pt><x>{x}</x><y>{y}</y></pt>" for x, y in corners)
        entries.append(
            f"<object><name>{name}</name><deleted>0</deleted><verified>0</verified>"
            f"<parts>{relation}</parts><id>{number}</id><polygon>{points}</polygon></object>"
        )
    return text(
        path,
        f"<annotation><filename>{path.stem}.jpg</filename><folder>pascal</folder>"
        f"<imagesize><nrows>{height}</nrows><ncols>{width}</ncols></imagesize>"
        f"{''.join(entries)}</annotation>",
    )


def semantic_pascal_part(root: Path) -> Path:
    """Two images for training, one of which has no class, and one for testing."""
    for part, names in {"trainval": ("000001", "000003"), "test": ("000002",)}.items():
        for name in names:
            picture(root / f"JPEGImages_{part}" / f"{name}.jpg")
    bird = [
        ("Person", (0, 0, 5, 5), None),
        ("Bird", (12, 5, 48, 35), None),
        ("Animal_Wing", (20, 10, 40, 30), 1),
        ("Eye", (25, 15, 30, 20), 1),
        ("Ebrow", (0, 0, 0, 5), 0),  # such empty boxes are there
    ]
    label_me(root / "Annotations_trainval" / "000001.xml", bird)
    label_me(root / "Annotations_trainval" / "000003.xml", [("diningtable", (1, 1, 50, 30), None)])
    plane = [("Aeroplane", (12, 5, 48, 35), None), ("Artifact_Wing", (20, 10, 70, 30), 0)]
    label_me(root / "Annotations_test" / "000002.xml", plane)
    return root


def cats_dogs_cars(root: Path) -> Path:
    """Two images of each class in train and one in test; some boxes."""
    for label in ("cat", "dog", "car"):
        for number in range(2):
            picture(root / "train" / f"{label}s" / f"{label}{number}.jpg")
        picture(root / "test" / f"{label}s" / f"{label}9.png")
    text(
        root / "boxes.csv",
        "file,concept,x0,y0,x1,y1",
        "train/cats/cat0.jpg,head,20,10,40,30",
        "train/cats/cat0.jpg,eye,25.0,15.0,30.0,20.0",
        "test/cars/car9.png,wheel,20,10,40,30",
    )
    return root


def voc_xml(path: Path, elements: Mapping[str, Sequence[object]], width: int, height: int) -> Path:
    """A Pascal VOC annotation."""
    write_voc_xml(path, elements.items(), width, height)
    return path


def monumai(root: Path) -> Path:
    """Two images of each style."""
    for style in VOCABULARIES["monumai"].classes:
        for number in range(2):
            name = f"5b{style[:2].lower()}{number}"
            picture(root / style / f"{name}.jpg")
            voc_xml(
                root / style / "xml" / f"{name}.xml",
                {"arco-herradura": (20, 10, 40, 30), "porthole": (25, 15, 30, 20)},
                WIDTH,
                HEIGHT,
            )
    return root
