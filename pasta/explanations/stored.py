"""Explanations on disk: the files of one group, written once, read as computed or as people see.

======================================  ========================================================
``explanations.parquet``                a row for each image and technique
``perturbed.parquet``                   its perturbed copies, usually a light and a strong one
``explanations.json``                   shares of maps and copies with which something is wrong
``techniques.json``                     title, kind and sign of each technique
``perturbed/<backbone>.npy``            perturbed images
``<method>.<backbone>.npy``             maps of originals and of perturbed copies
``<method>.<backbone>.parquet``         the same for concepts
``seen/<method>.<backbone>/``           pictures that people saw, where they are not drawn here
======================================  ========================================================

The column ``row`` of both tables says where an attribution is in the file of its technique, and
``copy`` where a perturbed image is. Every technique may explain other images.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.datasets.files.images import SUFFIXES
from pasta.errors import InputError
from pasta.explanations.attribution import shown_maps
from pasta.explanations.techniques import Technique

TABLE, PERTURBED, SHARES = "explanations.parquet", "perturbed.parquet", "explanations.json"
TECHNIQUES = "techniques.json"
STRENGTHS = ("light", "strong")  # the order of the perturbed images of a backbone


@dataclass(frozen=True)
class Copies:
    """What is known about the images of one backbone: n originals, n light, n strong copies."""

    ids: tuple[str, ...]  # of the originals
    classes: tuple[str, ...]
    predicted: NDArray[np.int64]  # (3 n,), the class that is explained
    perturbation: NDArray[Any]  # (2 n,)
    magnitude: NDArray[np.float64]  # (2 n,)
    changed: NDArray[np.bool_]  # (2 n,), whether the class is another than that of the original


@dataclass(frozen=True)
class StoredExplanations:
    """The explanations of one group; arrays stay memory-mapped."""

    folder: Path  # of the group's explanations

    @cached_property
    def table(self) -> pd.DataFrame:
        """The explanations table."""
        return store.read(self.folder / TABLE, tables.EXPLANATIONS)

    @cached_property
    def perturbed(self) -> pd.DataFrame:
        """The table of perturbed copies."""
        return store.read(self.folder / PERTURBED, tables.PERTURBED, {"explanations": self.table})

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return str(self.table["dataset"].iloc[0])

    @cached_property
    def techniques(self) -> list[Technique]:
        """All techniques, in the order of the table."""
        pairs = zip(self.table["method"], self.table["backbone"], strict=True)
        return [self.technique(*pair) for pair in dict.fromkeys(pairs)]

    def technique(self, method: str, backbone: str) -> Technique:
        """What is known of a technique whose explanations are here."""
        about = self._about.get(f"{method}/{backbone}")
        if about is None:
            raise InputError(f"says nothing of {method}/{backbone}", file=self.folder / TECHNIQUES)
        return Technique(method, backbone, **about)

    @cached_property
    def _about(self) -> dict[str, Any]:
        return dict(store.read_json(self.folder / TECHNIQUES))

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[int]]:
        """Where the explanations of each technique are in the table."""
        places: dict[tuple[str, str], list[int]] = {}
        keys = zip(self.table["method"].tolist(), self.table["backbone"].tolist(), strict=True)
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        return places

    @cached_property
    def _concepts(self) -> dict[Technique, tuple[tuple[str, ...], NDArray[np.float64]]]:
        """What was read already: tables take longer to check than to use."""
        return {}

    def rows(self, technique: Technique) -> pd.DataFrame:
        """The explanations of one technique, in the order of its file."""
        return self.table.iloc[self._places.get((technique.method, technique.backbone), [])]

    def maps(self, technique: Technique) -> NDArray[Any]:
        """Maps of a saliency technique, each divided by its scale."""
        return store.read_array(attribution_file(self.folder, technique))

    def shown(self, technique: Technique, rows: Sequence[int]) -> NDArray[np.float32]:
        """Maps as people see them: the sign of a technique is known, not guessed from a map."""
        return shown_maps(np.asarray(self.maps(technique)[list(rows)]), technique.sign)

    def concepts(self, technique: Technique) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """The concepts' names, and rows x concepts of attributions, each row by its scale."""
        if technique not in self._concepts:
            table = store.read(attribution_file(self.folder, technique), tables.ATTRIBUTIONS)
            names = tuple(table.loc[table["row"] == table["row"].iloc[0], "concept"])
            values = table["value"].to_numpy(np.float64).reshape(-1, len(names))
            values.flags.writeable = False
            self._concepts[technique] = names, values
        return self._concepts[technique]

    def copies(self, backbone: str) -> NDArray[np.uint8]:
        """The perturbed inputs of a backbone (n, *spatial, channels), see the column ``copy``."""
        return store.read_array(copies_file(self.folder, backbone))

    def seen(self, technique: Technique, image_id: str) -> Path | None:
        """The picture that people saw, if it is not for us to draw."""
        folder = seen_folder(self.folder, technique)
        files = (folder / f"{image_id}{suffix}" for suffix in SUFFIXES)
        return next((file for file in files if file.is_file()), None)


# Statuses and scales (3 n,) of each technique's attributions of n originals, light, strong copies
Known = Mapping[Technique, tuple[NDArray[Any], NDArray[np.float64]]]


def attribution_file(folder: Path, technique: Technique) -> Path:
    """Where a technique's attributions are: an array of maps, or a table of concepts."""
    suffix = "npy" if technique.kind == "saliency" else "parquet"
    return folder / f"{technique.method}.{technique.backbone}.{suffix}"


def copies_file(folder: Path, backbone: str) -> Path:
    """Where the perturbed images of a backbone are."""
    return folder / "perturbed" / f"{backbone}.npy"


def seen_folder(folder: Path, technique: Technique) -> Path:
    """Where the pictures of a technique are that people saw."""
    return folder / "seen" / f"{technique.method}.{technique.backbone}"


def write_values(
    folder: Path, technique: Technique, values: NDArray[np.float16], concepts: Sequence[str]
) -> None:
    """Leave the file of a technique behind."""
    file = attribution_file(folder, technique)
    if technique.kind == "saliency":
        store.write_array(values, file)
        return
    columns = {
        "row": np.repeat(np.arange(len(values)), len(concepts)),
        "concept": np.tile(np.asarray(concepts, dtype=object), len(values)),
        "value": values.astype(np.float64).ravel(),
    }
    frame = pd.DataFrame(columns).astype({"concept": "str"})
    store.write(frame, file, tables.ATTRIBUTIONS)


def write_tables(
    folder: Path,
    images: pd.DataFrame,
    dataset: str,
    copies: Mapping[str, Copies],
    done: Known,
) -> None:
    """Leave the tables of computed explanations behind: n originals, n light, n strong copies."""
    rows = list(_rows(dataset, copies, done))
    explained = [row for row in rows if "strength" not in row]
    write_rows(folder, images, explained, [row for row in rows if "strength" in row], done)


def write_rows(
    folder: Path,
    images: pd.DataFrame,
    explained: Iterable[Mapping[str, Any]],
    perturbed: Iterable[Mapping[str, Any]],
    techniques: Collection[Technique],
) -> None:
    """Leave both tables behind, given as rows, what is wrong with them, and the techniques."""
    table, copies = tables.EXPLANATIONS.frame(explained), tables.PERTURBED.frame(perturbed)
    store.write(table, folder / TABLE, tables.EXPLANATIONS, {"images": images})
    store.write(copies, folder / PERTURBED, tables.PERTURBED, {"explanations": table})
    known = table.set_index("sample_id")[["method", "backbone"]]
    copies = copies.join(known, on="sample_id")
    columns = ["method", "backbone", "status"]
    every = pd.concat([table[columns], copies[columns]])
    wrong = (every["status"] != "ok").groupby(every["method"] + "/" + every["backbone"]).mean()
    strong = copies[copies["strength"] == STRENGTHS[1]]
    changed = strong.groupby("backbone")["changed"].mean()
    order = dict.fromkeys(one.backbone for one in techniques)
    shares = {
        "not_ok": {one.key: round(float(wrong[one.key]), 4) for one in techniques},
        "changed": {name: round(float(changed[name]), 4) for name in order if name in changed},
    }
    store.write_json(shares, folder / SHARES)
    write_facts(folder, techniques)


def write_facts(folder: Path, techniques: Iterable[Technique]) -> None:
    """Leave behind what must be known of the techniques, for those who do not load the methods."""
    facts = ("title", "kind", "sign", "stage")
    about = {one.key: {name: getattr(one, name) for name in facts} for one in techniques}
    store.write_json(about, folder / TECHNIQUES)


def _rows(dataset: str, copies: Mapping[str, Copies], done: Known) -> Iterator[dict[str, Any]]:
    """Rows of both tables; those of copies have a strength."""
    for technique, (statuses, scales) in done.items():
        about = copies[technique.backbone]
        number = len(about.ids)
        for row in range(3 * number):
            image, place = about.ids[row % number], row - number
            known = {
                "sample_id": f"{dataset}/{image}/{technique.key}",
                "predicted": about.classes[about.predicted[row]],
                "status": str(statuses[row]),
                "scale": float(scales[row]),
                "row": row,
            }
            if row < number:
                yield known | {
                    "dataset": dataset,
                    "image_id": image,
                    "method": technique.method,
                    "backbone": technique.backbone,
                    "kind": technique.kind,
                }
            else:
                yield known | {
                    "strength": STRENGTHS[place // number],
                    "perturbation": str(about.perturbation[place]),
                    "magnitude": float(about.magnitude[place]),
                    "changed": bool(about.changed[place]),
                    "copy": place,
                }
