"""What is marked and rated: images with their objects, and maps of them as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.datasets.stored import StoredDataset, class_parts, open_dataset
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import TABLE, Group
from pasta.studies.attention.settings import AttentionParams

Bits = NDArray[np.bool_]
_PARTS = 2  # datasets, where none are named


@dataclass(frozen=True)
class Picture:
    """An image that people mark.

    Attributes
    ----------
    image_id
        ``dataset/image``.
    label
        The class that is asked for.
    pixels
        (height, width, 3) bytes.
    parts
        (height, width), which concept each pixel shows; 0 is none.
    object
        Where the object is: the pixels of concepts of the class.
    concepts
        The names of the values in ``parts`` from 1.
    """

    image_id: str
    label: str
    pixels: NDArray[np.uint8]
    parts: NDArray[np.uint8]
    object: Bits
    concepts: tuple[str, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return (self.object.shape[0], self.object.shape[1])


@dataclass(frozen=True)
class Material:
    """The images of a study, those that are checks apart."""

    images: tuple[Picture, ...]
    checks: tuple[Picture, ...]

    @property
    def objects(self) -> dict[str, Bits]:
        """Where the objects are, without the checks."""
        return {one.image_id: one.object for one in self.images}


@dataclass(frozen=True)
class Maps:
    """Maps of one technique as people see them, with the image of each."""

    technique: Technique
    samples: tuple[str, ...]
    images: tuple[str, ...]
    values: NDArray[np.float32]


def study_groups(groups: Sequence[Group], settings: AttentionParams) -> list[Group]:
    """The groups whose images are marked."""
    known = list(dict.fromkeys(one.dataset for one in groups))
    wanted = settings.datasets or tuple(known[:_PARTS])
    return [one for one in groups if one.dataset in wanted]


def read_material(groups: Sequence[Group], settings: AttentionParams) -> Material:
    """Choose the images: those that were explained first, then others of the test part.

    Those of the checks come after the ones of the study, one from each dataset in turn.
    """
    images: list[Picture] = []
    spare: list[list[Picture]] = []
    done: set[Path] = set()
    for group in study_groups(groups, settings):
        if group.images in done:
            continue
        done.add(group.images)
        same = [one.explanations for one in groups if one.dataset == group.dataset]
        found = _pictures(group, same, settings.images + settings.checks)
        images += found[: settings.images]
        spare.append(found[settings.images :])
    longest = max(map(len, spare), default=0)
    turn = [row[place] for place in range(longest) for row in spare if place < len(row)]
    checks = turn[: settings.checks]
    if len(checks) < settings.checks:  # a small test part: the last images are the checks
        lacking = min(settings.checks - len(checks), max(0, len(images) - 1))
        checks += images[len(images) - lacking :]
        images = images[: len(images) - lacking]
    return Material(tuple(images), tuple(checks))


def _pictures(group: Group, folders: Sequence[Path], most: int) -> list[Picture]:
    dataset = open_dataset(group.images)
    if dataset.vocabulary.modality != "image":
        return []
    explained: list[str] = []
    for folder in folders:
        if (folder / TABLE).is_file():
            explained += StoredExplanations(folder).table["image_id"].astype(str).tolist()
    test = dataset.images.loc[dataset.images["split"] == "test", "image_id"].astype(str)
    order = list(dict.fromkeys([*explained, *test]))
    known = dataset.images.set_index("image_id")
    typical = _typical(dataset)
    pictures: list[Picture] = []
    for name in order:
        if name not in known.index or len(pictures) == most:
            continue
        row, label = int(known.loc[name, "row"]), str(known.loc[name, "label"])
        parts = np.asarray(dataset.parts[row])
        where = typical[dataset.vocabulary.class_index(label)][parts]
        if not where.any():
            continue  # nothing of the class can be seen
        pixels = np.asarray(dataset.pixels[row])
        key = f"{group.dataset}/{name}"
        pictures.append(Picture(key, label, pixels, parts, where, dataset.vocabulary.concepts))
    return pictures


def _typical(dataset: StoredDataset) -> Bits:
    """Classes x values of the part-index array: which parts belong to the class."""
    words, table = dataset.vocabulary, dataset.concepts()
    if table.empty:  # nobody has said where parts are
        return np.zeros((len(words.classes), len(words.concepts) + 1), bool)
    seen = table.pivot(index="image_id", columns="concept", values="present")  # noqa: PD010
    seen = seen.reindex(columns=list(words.concepts)).astype(bool)
    parts = class_parts(seen, dataset.images)
    known = parts.reindex(list(words.classes), fill_value=False).to_numpy(bool)
    return np.pad(known, ((0, 0), (1, 0)))


def read_maps(
    groups: Sequence[Group],
    settings: AttentionParams,
    images: Sequence[str],
    rated_only: bool = False,
) -> list[Maps]:
    """Maps of the images, technique by technique; failed ones are left out.

    ``rated_only`` takes the techniques that people rate, the settings' methods of their backbone.
    """
    wanted = set(images)
    found: list[Maps] = []
    for group in study_groups(groups, settings):
        if not (group.explanations / TABLE).is_file():
            continue
        stored = StoredExplanations(group.explanations)
        for technique in stored.techniques:
            if technique.kind != "saliency":
                continue
            rated = technique.backbone == settings.backbone and technique.method in settings.methods
            if rated_only and not rated:
                continue
            rows = stored.rows(technique)
            rows = rows[rows["status"] == "ok"]
            names = group.dataset + "/" + rows["image_id"].astype(str)
            rows = rows[names.isin(wanted).to_numpy()]
            if len(rows):
                places = [int(one) for one in rows["row"]]
                values = np.abs(stored.shown(technique, places))
                ids = tuple(group.dataset + "/" + rows["image_id"].astype(str))
                found.append(Maps(technique, tuple(rows["sample_id"].astype(str)), ids, values))
    return found


def image_table(groups: Sequence[Group]) -> pd.DataFrame:
    """Every image that answers may refer to: image_id, label, size."""
    rows = []
    for folder in dict.fromkeys(group.images for group in groups):
        dataset = open_dataset(folder)
        if dataset.vocabulary.modality == "image":
            names = dataset.vocabulary.dataset + "/" + dataset.images["image_id"].astype(str)
            size = dataset.pixels.shape[1]
            rows.append(
                pd.DataFrame({"image_id": names, "label": dataset.images["label"], "size": size})
            )
    empty = pd.DataFrame({"image_id": [], "label": [], "size": []})
    return pd.concat(rows, ignore_index=True) if rows else empty
