"""Galleries: a few images of every dataset, explained by all methods of a backbone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from pasta import store
from pasta.datasets.stored import StoredDataset
from pasta.explanations.rendering import ConceptValues
from pasta.explanations.sheets import Entry, gallery, sheet
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique, techniques
from pasta.models.base import MODELS

BLACK_BOXES = ("resnet50", "vit_b_16", "clip_zero_shot")
Part = tuple[StoredDataset, StoredExplanations]
WIDTH = 2400  # pixels; more would not fit on a page


def saliency_picture(parts: Sequence[Part], backbone: str, images: int) -> Image.Image:
    """Rows: the first images of each dataset. Columns: the methods applied to the backbone."""
    ours = [one for one in techniques() if one.backbone == backbone]
    rows = list(range(images))
    columns = {
        one.about["title"]: (
            np.concatenate([stored.shown(one, rows) for _, stored in parts]),
            one.signed,
        )
        for one in ours
    }
    pixels = [_pixels(dataset, stored, ours[0], rows) for dataset, stored in parts]
    titles = [title for _, stored in parts for title in _titles(stored, ours[0], rows)]
    name = MODELS.entry(backbone).metadata["title"]
    return gallery(np.concatenate(pixels), columns, titles, f"Explanations of {name}", cell=112)


def concept_picture(parts: Sequence[Part]) -> Image.Image:
    """The first image of the first dataset, explained by all concept techniques."""
    ours = [one for one in techniques() if one.kind == "concept"]
    dataset, stored = parts[0]
    found = {one: stored.concepts(one) for one in ours}
    entries = [
        Entry("", _title(one), ConceptValues(list(names), values[0]))
        for one, (names, values) in found.items()
    ]
    label = _label(dataset, stored, ours[0]).replace("_", " ")
    title = f"Explanations of concept models: {label}"
    return sheet(_pixels(dataset, stored, ours[0], [0])[0], entries, title)


def save(picture: Image.Image, path: Path) -> None:
    """Write a JPEG that is no wider than a page needs."""
    if picture.width > WIDTH:
        height = round(picture.height * WIDTH / picture.width)
        picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    with store.atomic(path) as temporary:
        picture.convert("RGB").save(temporary, "JPEG", quality=85)


def _pixels(
    dataset: StoredDataset, stored: StoredExplanations, technique: Technique, rows: Sequence[int]
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    names = stored.rows(technique)["image_id"].iloc[list(rows)]
    places = dataset.images.set_index("image_id").loc[names, "row"].to_numpy()
    return np.ascontiguousarray(dataset.pixels[places])


def _titles(stored: StoredExplanations, technique: Technique, rows: Sequence[int]) -> list[str]:
    return [str(label) for label in stored.rows(technique)["predicted"].iloc[list(rows)]]


def _label(dataset: StoredDataset, stored: StoredExplanations, technique: Technique) -> str:
    """What the first image really shows: concept models may differ in what they say."""
    name = stored.rows(technique)["image_id"].iloc[0]
    return str(dataset.images.set_index("image_id").loc[name, "label"])


def _title(technique: Technique) -> str:
    """Method and, where it is not its own, backbone."""
    model = MODELS.entry(technique.backbone).metadata["title"]
    title = str(technique.about["title"])
    return title if technique.about["stage"] == "ante-hoc" else f"{title} on {model}"
