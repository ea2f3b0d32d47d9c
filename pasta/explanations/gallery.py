"""Galleries: a few images of every dataset, explained by all methods of a backbone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from pasta import store
from pasta.datasets.stored import StoredDataset
from pasta.errors import PastaError
from pasta.explanations.rendering import ConceptValues, Pixels
from pasta.explanations.sheets import Entry, gallery, sheet
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique, backbone_title

BLACK_BOXES = ("resnet50", "vit_b_16", "clip_zero_shot")
Part = tuple[StoredDataset, StoredExplanations]  # of one group
WIDTH = 2400  # pixels; more would not fit on a page


def saliency_picture(parts: Sequence[Part], backbone: str, images: int) -> Image.Image:
    """Rows: the first images of each group that has the backbone. Columns: its methods."""
    there = [part for part in parts if (part[1].table["backbone"] == backbone).any()]
    ours = [one for one in _techniques(there) if one.backbone == backbone]
    ours = [one for one in ours if all(_has(stored, one) for _, stored in there)]
    if not there or not ours:
        raise PastaError(f"no group has explanations of {backbone}")
    rows = list(range(images))
    columns = {
        one.title: (
            np.concatenate([stored.shown(one, rows) for _, stored in there]),
            one.signed,
        )
        for one in ours
    }
    firsts = [(dataset, stored.rows(ours[0]).iloc[rows]) for dataset, stored in there]
    pixels = [_pixels(dataset, table["image_id"].tolist()) for dataset, table in firsts]
    titles = [str(label) for _, table in firsts for label in table["predicted"]]
    title = f"Explanations of {backbone_title(backbone)}"
    return gallery(np.concatenate(pixels), columns, titles, title, cell=112)


def concept_picture(parts: Sequence[Part]) -> Image.Image:
    """The first image of the first dataset, explained by all concept techniques."""
    first = parts[0][0]
    groups = [part for part in parts if part[0].folder == first.folder]
    ours = [one for one in _techniques(groups) if one.kind == "concept"]
    found = {one: stored.concepts(one) for one in ours for _, stored in groups if _has(stored, one)}
    if not found:
        raise PastaError(f"{first.folder}: there are no explanations of concept models")
    entries = [
        Entry("", _title(one), ConceptValues(list(names), values[0]))
        for one, (names, values) in found.items()
    ]
    image = str(groups[0][1].table["image_id"].iloc[0])  # the same of all backbones
    # What it really shows: concept models may differ in what they say.
    label = str(first.images.set_index("image_id").loc[image, "label"]).replace("_", " ")
    title = f"Explanations of concept models: {label}"
    return sheet(_pixels(first, [image])[0], entries, title)


def save(picture: Image.Image, path: Path) -> None:
    """Write a JPEG that is no wider than a page needs."""
    if picture.width > WIDTH:
        height = round(picture.height * WIDTH / picture.width)
        picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    with store.atomic(path) as temporary:
        picture.convert("RGB").save(temporary, "JPEG", quality=85)


def _techniques(parts: Sequence[Part]) -> list[Technique]:
    """All that the groups have: by released number, then the extras."""
    found = dict.fromkeys(one for _, stored in parts for one in stored.techniques)
    return sorted(found, key=lambda one: one.place)


def _has(stored: StoredExplanations, technique: Technique) -> bool:
    return len(stored.rows(technique)) > 0


def _pixels(dataset: StoredDataset, images: Sequence[str]) -> Pixels:
    places = dataset.images.set_index("image_id").loc[list(images), "row"].to_numpy()
    return np.ascontiguousarray(dataset.pixels[places])


def _title(technique: Technique) -> str:
    """Method and, where it is not its own, backbone."""
    on = f"{technique.title} on {backbone_title(technique.backbone)}"
    return technique.title if technique.stage == "ante-hoc" else on
