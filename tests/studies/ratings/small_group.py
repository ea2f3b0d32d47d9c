"""A small group on disk: three images of cats and cars, and explanations by some techniques."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.datasets.vocabulary import vocabulary
from pasta.explanations.catalog import technique
from pasta.explanations.stored import write_facts
from pasta.layout import Group

DATASET = "catsdogscars"
SIDE, IMAGES = 8, ("0000", "0001", "0002")
LABELS = ("cat", "car", "cat")
WORDS = vocabulary(DATASET)
SEEN = ("head", "wheel", "head")  # the upper left quarter of each image

Values = NDArray[Any]  # 9 maps, or 9 rows of concepts: originals, light copies, strong copies


def sample(image: int, technique: str) -> str:
    """The sample id of an image and a technique."""
    return f"{DATASET}/{IMAGES[image]}/{technique}"


def write_group(
    data: Path,
    attributions: Mapping[str, Values],
    statuses: Mapping[tuple[str, int], str] | None = None,
    key: str = DATASET,
) -> Group:
    """Write a group whose explanations are given by technique; everything is called a cat.

    ``statuses`` gives the status of rows of a technique's file that are not ok.
    """
    group = Group(key, DATASET, data)
    _write_images(group.images)
    empty = statuses or {}
    explanations: list[dict[str, Any]] = []
    perturbed: list[dict[str, Any]] = []
    for name, values in attributions.items():
        method, backbone = name.split("/")
        kind = "saliency" if values.ndim == 3 else "concept"
        about = {"predicted": "cat", "scale": 1.0}
        for row, image in enumerate(IMAGES):
            one = {"sample_id": sample(row, name), "method": method, "backbone": backbone}
            status = empty.get((name, row), "ok")
            explanations.append(_row(image, **one, kind=kind, row=row, status=status, **about))
            perturbed += [
                {
                    "sample_id": sample(row, name),
                    "strength": strength,
                    "perturbation": "masking",
                    "magnitude": 0.5,
                    "changed": False,
                    "row": 3 * place + row,
                    "copy": 3 * (place - 1) + row,
                    "status": empty.get((name, 3 * place + row), "ok"),
                    **about,
                }
                for place, strength in enumerate(("light", "strong"), start=1)
            ]
        _write_values(group.explanations / f"{method}.{backbone}", values)
        copies = np.arange(6, dtype=np.uint8)[:, None, None, None] + np.zeros(
            (1, SIDE, SIDE, 3), np.uint8
        )
        store.write_array(copies, group.explanations / "perturbed" / f"{backbone}.npy")
    write_facts(group.explanations, [technique(name) for name in attributions])
    for name, table, rows in (
        ("explanations", tables.EXPLANATIONS, explanations),
        ("perturbed", tables.PERTURBED, perturbed),
    ):
        store.write(table.frame(rows), group.explanations / f"{name}.parquet", table)
    return group


def _write_values(stem: Path, values: Values) -> None:
    if values.ndim == 3:
        store.write_array(values, stem.with_name(f"{stem.name}.npy"))
        return
    places, names = np.indices(values.shape)
    frame = pd.DataFrame(
        {
            "row": places.ravel(),
            "concept": np.array(WORDS.concepts, dtype=object)[names.ravel()],
            "value": values.ravel(),
        }
    ).astype({"concept": "str"})
    store.write(frame, stem.with_name(f"{stem.name}.parquet"), tables.ATTRIBUTIONS)


def _write_images(folder: Path) -> None:
    box = {"x0": 0.0, "y0": 0.0, "x1": 0.5, "y1": 0.5}
    nowhere = dict.fromkeys(box, np.nan)
    images = [
        _row(image, source="drawn", split="test", label=label, width=SIDE, height=SIDE, row=row)
        for row, (image, label) in enumerate(zip(IMAGES, LABELS, strict=True))
    ]
    regions = [
        _row(image, concept=seen, instance=0, **box)
        for image, seen in zip(IMAGES, SEEN, strict=True)
    ]
    concepts = [
        _row(
            image,
            concept=concept,
            present=concept == seen,
            **(box if concept == seen else nowhere),
            instances=int(concept == seen),
            share=0.25 * (concept == seen),
            value=WORDS.value(concept),
        )
        for image, seen in zip(IMAGES, SEEN, strict=True)
        for concept in WORDS.concepts
    ]
    for name, table, rows in (
        ("images", tables.IMAGES, images),
        ("regions", tables.REGIONS, regions),
        ("concepts", tables.CONCEPTS, concepts),
    ):
        store.write(table.frame(rows), folder / f"{name}.parquet", table)
    parts = np.zeros((3, SIDE, SIDE), np.uint8)
    for row, seen in enumerate(SEEN):
        parts[row, :4, :4] = WORDS.value(seen)
    parts[0, 4:, 4:] = WORDS.value("wheel")  # no part of a cat
    store.write_array(parts, folder / "parts.npy")
    store.write_array(np.full((3, SIDE, SIDE, 3), 100, np.uint8), folder / "images.npy")


def _row(image: str, **columns: Any) -> dict[str, Any]:
    return {"dataset": DATASET, "image_id": image, **columns}
