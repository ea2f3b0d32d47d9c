"""What can be rated, and what people see of it: the stored explanations of all groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.contracts import Table
from pasta.datasets.stored import open_dataset
from pasta.errors import PastaError
from pasta.explanations.rendering import concept_bars, overlay
from pasta.explanations.settings import Style
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import PUBLISHED, Technique
from pasta.layout import Group
from pasta.studies.ratings.analyses.boxes import MEASURES, box_measures
from pasta.studies.ratings.released import Rated, View

Pixels = NDArray[np.uint8]
Row = Mapping[str, Any]

# Where each table of a group is.
_PLACES: Mapping[str, Callable[[Group], Path]] = {
    "images": lambda group: group.images,
    "regions": lambda group: group.images,
    "concepts": lambda group: group.images,
    "predictions": lambda group: group.models,
    "explanations": lambda group: group.explanations,
    "perturbed": lambda group: group.explanations,
    "metric_values": lambda group: group.metrics,
}


def read_all(groups: Iterable[Group], table: Table) -> pd.DataFrame:
    """A table of all groups in one frame; groups of one dataset share the tables of its images."""
    folders = dict.fromkeys(_PLACES[table.name](group) for group in groups)
    parts = [store.read(folder / f"{table.name}.parquet", table) for folder in folders]
    return pd.concat(parts, ignore_index=True)


def explained(groups: Sequence[Group]) -> pd.DataFrame:
    """The explanations of all groups in one frame."""
    if not groups:
        raise PastaError(
            "there is nothing to rate yet: `dvc repro explain` computes the explanations"
        )
    return read_all(groups, tables.EXPLANATIONS)


def rateable(groups: Sequence[Group], extras: bool) -> pd.DataFrame:
    """The explanations that are put before raters.

    ``extras`` (``annotations.extras`` in the parameters) adds to the papers' 46 techniques all
    others that are explained, those registered by a user among them.
    """
    found = explained(groups)
    return found if extras else published(found)


def published(explanations: pd.DataFrame) -> pd.DataFrame:
    """Only the explanations by the papers' 46 techniques."""
    keys = explanations["method"] + "/" + explanations["backbone"]
    return explanations[keys.isin(PUBLISHED)]


class Views:
    """What people see of the samples of several groups."""

    def __init__(self, groups: Iterable[Group], style: Style = "pasta") -> None:
        self._explained = [_Explained(group, style) for group in groups]

    @cached_property
    def _places(self) -> dict[str, _Explained]:
        return {sample: one for one in self._explained for sample in one.samples}

    def __contains__(self, sample_id: str) -> bool:
        return sample_id in self._places

    def predicted(self, sample_id: str, strength: str | None = None) -> str:
        """The class that a sample's explanation explains, or that of a perturbed copy."""
        explained = self._places[sample_id]
        if strength is not None:
            return str(explained.copies[sample_id, strength]["predicted"])
        return str(explained.samples[sample_id]["predicted"])

    def view(self, sample_id: str, strength: str | None = None) -> View:
        """The original with its explanation, or a perturbed copy with its own."""
        return self._places[sample_id].view(sample_id, strength)

    def rated(self, sample_id: str) -> Rated:
        """Everything that a release says of a sample; its twin is the lightly perturbed one."""
        explained = self._places[sample_id]
        return Rated(
            label=explained.image(sample_id)["label"],
            predicted=self.predicted(sample_id),
            view=self.view(sample_id),
            perturbed=self.view(sample_id, "light"),
        )


class _Explained:
    """The stored explanations of a group, and what they explain."""

    def __init__(self, group: Group, style: Style) -> None:
        self.style = style
        self.stored, self.dataset = (
            StoredExplanations(group.explanations),
            open_dataset(group.images),
        )
        self.images = {row["image_id"]: row for row in _rows(self.dataset.images)}
        self.samples = {row["sample_id"]: row for row in _rows(self.stored.table)}
        self.copies = {
            (row["sample_id"], row["strength"]): row for row in _rows(self.stored.perturbed)
        }

    def image(self, sample_id: str) -> Row:
        return self.images[self.samples[sample_id]["image_id"]]

    def view(self, sample_id: str, strength: str | None) -> View:
        sample = self.samples[sample_id]
        if strength is None:
            original: Pixels = self.dataset.pixels[self.image(sample_id)["row"]]
            return self._view(sample, sample["row"], original)
        copy = self.copies[sample_id, strength]
        pixels = self.stored.copies(sample["backbone"])[copy["copy"]]
        return self._view(sample, copy["row"], pixels)

    def _view(self, sample: Row, row: int, image: Pixels) -> View:
        """An image with the attribution in a row, as it was computed and as people see it."""
        technique = self.stored.technique(sample["method"], sample["backbone"])
        if sample["kind"] == "concept":
            names, values = self.stored.concepts(technique)
            own = dict(zip(names, values[row].tolist(), strict=True))
            return View(image, own, concept_bars(names, values[row]))
        raw, shown = self.stored.maps(technique)[row], self.stored.shown(technique, [row])[0]
        return View(image, raw, overlay(image, shown, technique.signed, style=self.style))


def box_values(groups: Iterable[Group], boxes: pd.DataFrame) -> pd.DataFrame:
    """How much of each saliency map lies inside each annotator's boxes (P1, B.3).

    Parameters
    ----------
    groups
        The groups whose maps were shown.
    boxes
        The boxes table.

    Returns
    -------
    DataFrame with sample_id, annotator_id and the measures of :func:`.analyses.boxes.box_measures`,
    of the maps as people saw them. A map with nothing to see has no measures.
    """
    parts = [pd.DataFrame(columns=["sample_id", "annotator_id", *MEASURES])]
    for stored, technique, rows in _seen(groups, "saliency", set(boxes["sample_id"])):
        maps = stored.shown(technique, rows["row"].tolist())
        mine = boxes[boxes["sample_id"].isin(set(rows["sample_id"]))]
        parts.append(box_measures(maps, rows["sample_id"].tolist(), mine))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def concept_sentences(
    groups: Iterable[Group],
    sample_ids: Iterable[str],
    describe: Callable[[Sequence[str], NDArray[np.float64]], str],
) -> pd.DataFrame:
    """Each concept explanation in words (P1, Eq. 2 and B.3).

    Parameters
    ----------
    groups
        The groups whose explanations were shown.
    sample_ids
        The samples to describe; those that are no concept explanations are left out.
    describe
        Makes a sentence of the concepts' names and their attributions.

    Returns
    -------
    DataFrame with sample_id, sentence
    """
    found = []
    for stored, technique, rows in _seen(groups, "concept", set(sample_ids)):
        names, values = stored.concepts(technique)
        pairs = zip(rows["sample_id"], rows["row"], strict=True)
        found += [(sample, describe(names, values[row])) for sample, row in pairs]
    return pd.DataFrame(found, columns=["sample_id", "sentence"])


def _seen(
    groups: Iterable[Group], kind: str, samples: set[str]
) -> Iterable[tuple[StoredExplanations, Technique, pd.DataFrame]]:
    """Some samples of one kind that show something, technique by technique."""
    for group in groups:
        stored = StoredExplanations(group.explanations)
        table = stored.table
        table = table[(table["kind"] == kind) & (table["status"] == "ok")]
        table = table[table["sample_id"].isin(samples)]
        for (method, backbone), rows in table.groupby(["method", "backbone"], sort=True):
            yield stored, stored.technique(str(method), str(backbone)), rows


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]
