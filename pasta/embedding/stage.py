"""The embed stage: the explanations of each group as an encoder sees them, in several ways.

The last digits of a vector depend on which others were in its batch, therefore batches are cut
within a technique, always alike.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pasta import compute
from pasta.config import Params
from pasta.datasets.files.images import decode
from pasta.datasets.stored import IMAGES, StoredDataset, open_dataset
from pasta.datasets.vocabulary import readable
from pasta.embedding import inputs
from pasta.embedding.encoders import (
    ENCODERS,
    Encoder,
    about,
    pictures,
    sentence_vectors,
    squared,
)
from pasta.embedding.given import given_once, given_vectors, last_written
from pasta.embedding.handcrafted import handcrafted_features, identity
from pasta.embedding.sentences import pieces, top_concepts
from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.stored import (
    GIVEN,
    HANDCRAFTED,
    Floats,
    array_folder,
    techniques_of,
    write_vectors,
)
from pasta.errors import InputError, PastaError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.models.base import silent
from pasta.models.clip import FOLDER, WEIGHTS
from pasta.paths import VECTORS
from pasta.resume import Arrays, kept_units


def embed_group(group: Group, encoder: Encoder, settings: EmbeddingParams) -> None:
    """Embed all explanations of a group with an encoder that is open already."""
    for kind in ("saliency", "concept"):
        found = kind_vectors(group, kind, encoder, settings)
        if found:
            write_vectors(found, about(encoder), group.embeddings / array_folder(settings, kind))


def kind_vectors(
    group: Group, kind: str, encoder: Encoder, settings: EmbeddingParams
) -> dict[str, Floats]:
    """Vectors of the ``saliency`` or the ``concept`` explanations, by ``method.backbone``."""
    if encoder.name != settings.encoder:
        raise PastaError(f"the settings name the encoder {settings.encoder}, not {encoder.name}")
    renderer = Renderer(group, encoder, settings)
    return {
        f"{technique.method}.{technique.backbone}": renderer.vectors(technique)
        for technique, _ in techniques_of(renderer.stored)
        if technique.kind == kind
    }


class Renderer:
    """Explanations of one group in the eyes of an encoder."""

    def __init__(self, group: Group, encoder: Encoder, settings: EmbeddingParams) -> None:
        self.encoder, self.settings = encoder, settings
        self.stored = StoredExplanations(group.explanations)
        self.dataset: StoredDataset = open_dataset(group.images)
        # longer lists begin as shorter ones do
        self._fits = lru_cache(maxsize=100_000)(encoder.fits)

    def vectors(self, technique: Technique) -> Floats:
        """A row for each explanation; NaN where there is nothing to see."""
        rows = self.stored.rows(technique)
        places = np.flatnonzero(rows["status"] == "ok")
        found = np.full((len(rows), self.encoder.width), np.nan, dtype=np.float32)
        if technique.kind == "concept" and len(places):
            found[places] = self._concepts(technique, rows["row"].to_numpy()[places])
        if technique.kind == "saliency":
            size = self.settings.batch_size
            for start in range(0, len(places), size):
                some = places[start : start + size]
                pictures = torch.from_numpy(self.pictures(technique, rows.iloc[some]))
                found[some] = compute.to_numpy(self.encoder.images(pictures))
        return found

    def pictures(self, technique: Technique, chosen: pd.DataFrame) -> inputs.Bytes:
        """What stands for some saliency maps."""
        if self.settings.image == "seen":
            names = chosen["image_id"].astype(str)
            files = [self.stored.seen(technique, name) for name in names]
            if all(file is not None for file in files):
                return np.concatenate([self._picture(file) for file in files if file is not None])
        maps = self.stored.shown(technique, chosen["row"].tolist())
        index = np.array([self._shown[name] for name in chosen["image_id"]], dtype=np.int64)
        sides = self._images.shape[2:]
        if maps.shape[1:] != sides:
            raise InputError(
                f"the maps of {technique.key} are {maps.shape[1]} x {maps.shape[2]}",
                file=self.stored.folder,
                expected=f"{sides[0]} x {sides[1]}, as the images are",
            )
        soft = self._soft[index] if self.settings.image == "blur" else None
        return inputs.render(self._images[index], maps, technique.signed, self.settings, soft)

    def _picture(self, file: Path) -> inputs.Bytes:
        """A picture that people saw, whole, at the size of the image tower."""
        pixels = np.asarray(decode(file)).transpose(2, 0, 1)[None]
        whole = squared(pictures(torch.from_numpy(np.ascontiguousarray(pixels))), self.encoder.size)
        return compute.to_numpy((whole * 255).round().to(torch.uint8))

    def _concepts(self, technique: Technique, rows: NDArray[np.int64]) -> Floats:
        names, table = self.stored.concepts(technique)
        values, template = table[rows], self.settings.template
        if self.settings.text == "weighted":
            spoken = compute.to_numpy(self.encoder.texts([readable(name) for name in names]))
            return inputs.weighted_sum(values, spoken)
        named = [top_concepts(names, row, self.settings.n_top) for row in values]
        told = [pieces(words, template, self._fits) for words in named]
        return sentence_vectors(self.encoder, told)

    @cached_property
    def _shown(self) -> dict[str, int]:
        """The images that have explanations, numbered."""
        return {name: place for place, name in enumerate(self.stored.table["image_id"].unique())}

    @cached_property
    def _images(self) -> inputs.Bytes:
        """Those images, with the colours first."""
        row = self.dataset.images.set_index("image_id")["row"]
        missing = [name for name in self._shown if name not in row.index]
        if missing:
            raise InputError(f"there is no image {missing[0]!r}", file=self.dataset.folder / IMAGES)
        pixels = self.dataset.pixels[row.loc[list(self._shown)].to_numpy()]
        return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))

    @cached_property
    def _soft(self) -> Floats:
        return inputs.blurred(self._images, self.settings.blur)


Say = Callable[..., None]  # group and variant, a few words
KINDS = ("saliency", "concept")  # what takes longer comes first


@dataclass(frozen=True)
class EmbedUnit:
    """Vectors of one folder of a group."""

    group: Group
    kind: str  # saliency, concept, handcrafted or given
    settings: EmbeddingParams
    root: Path  # of the project
    params: Params | None = None  # of it, for those who explain again

    @property
    def name(self) -> str:
        """The folder that the vectors belong to."""
        return array_folder(self.settings, self.kind)


def embed_groups(
    groups: Sequence[Group],
    variants: Sequence[EmbeddingParams],
    root: Path,
    say: Say = silent,
    params: Params | None = None,
) -> pd.DataFrame:
    """Write the vectors of all explanations in every way; returns the seconds of each unit.

    ``params`` are needed where handcrafted features are of images that are explained again.
    """
    units = units_of(groups, variants, root, params)
    inputs = [folder for group in groups for folder in (group.explanations, group.images)]
    inputs += [root / place for place in (FOLDER, VECTORS) if (root / place).is_dir()]
    spent = []
    with kept_units("embed", inputs) as kept:
        for place, arrays in compute.map_units(embed_unit, units, kept):
            unit, known = units[place], json.loads(str(arrays.pop("known")))
            if arrays:
                write_vectors(arrays, known["encoder"], unit.group.embeddings / unit.name)
            spent.append({"group": unit.group.key, "work": unit.name, "seconds": known["seconds"]})
            say(f"{unit.group.key}: {unit.name}", f"{len(arrays)} techniques")
    return pd.DataFrame(spent).sort_values(["group", "work"], ignore_index=True)


def units_of(
    groups: Sequence[Group],
    variants: Sequence[EmbeddingParams],
    root: Path,
    params: Params | None = None,
) -> list[EmbedUnit]:
    """What is to be done; variants that show the same of a kind of explanation are one."""
    return [
        EmbedUnit(group, kind, settings, root, params if kind == HANDCRAFTED else None)
        for kind, settings in different_ways(variants)
        for group in groups
    ]


def different_ways(variants: Sequence[EmbeddingParams]) -> list[tuple[str, EmbeddingParams]]:
    """Kinds of explanations with the variants that show something else of them."""
    found: dict[tuple[str, str], EmbeddingParams] = {}
    for kind in KINDS:
        for settings in variants:
            own = settings.encoder if settings.encoder in (HANDCRAFTED, GIVEN) else kind
            found.setdefault((own, array_folder(settings, own)), settings)
    return [(kind, settings) for (kind, _), settings in found.items()]


def embed_unit(unit: EmbedUnit) -> Arrays:
    """Vectors of each technique, and what made them."""
    started = time.perf_counter()
    known: dict[str, Any] = {}
    if unit.kind == HANDCRAFTED:
        found = handcrafted_features(unit.group, unit.settings.handcrafted, unit.params, unit.root)
        known = {"encoder": identity(unit.settings.handcrafted)}
    elif unit.kind == GIVEN:
        name = unit.settings.weights
        given = given_once(name, unit.root, last_written(name, unit.root))
        found, known["encoder"] = given_vectors(unit.group, given)
    else:
        encoder = _encoder(unit.settings, unit.root)
        found = kind_vectors(unit.group, unit.kind, encoder, unit.settings)
        known = {"encoder": about(encoder)}
    known["seconds"] = round(time.perf_counter() - started, 3)
    return {**found, "known": np.array(json.dumps(known))}


def _encoder(settings: EmbeddingParams, root: Path) -> Encoder:
    """The encoder of this process, opened again if the trained weights are others."""
    own = root / FOLDER / WEIGHTS
    written = own.stat().st_mtime_ns if own.is_file() else 0
    return _opened(settings.encoder, settings.weights, root, written)


@lru_cache(maxsize=1)
def _opened(name: str, weights: str, root: Path, written: int) -> Encoder:
    del written
    return ENCODERS[name](weights, root)
