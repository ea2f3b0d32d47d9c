"""The embed stage: several ways of embedding the same explanations, each once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pasta import compute
from pasta.embedding.base import Encoder, about
from pasta.embedding.embed import kind_vectors
from pasta.embedding.encoders import ENCODERS
from pasta.embedding.handcrafted import handcrafted_features, identity
from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.stored import HANDCRAFTED, array_folder, write_vectors
from pasta.layout import Group
from pasta.models.base import silent
from pasta.models.clip import FOLDER, WEIGHTS
from pasta.resume import Arrays, kept_units

Say = Callable[..., None]  # group and variant, a few words
KINDS = ("saliency", "concept")  # what takes longer comes first


@dataclass(frozen=True)
class EmbedUnit:
    """Vectors of one folder of a group."""

    group: Group
    kind: str  # saliency, concept or handcrafted
    settings: EmbeddingParams
    root: Path  # of the project

    @property
    def name(self) -> str:
        """The folder that the vectors belong to."""
        return array_folder(self.settings, self.kind)


def embed_groups(
    groups: Sequence[Group], variants: Sequence[EmbeddingParams], root: Path, say: Say = silent
) -> pd.DataFrame:
    """Write the vectors of all explanations in every way; returns the seconds of each unit."""
    units = units_of(groups, variants, root)
    inputs = [folder for group in groups for folder in (group.explanations, group.images)]
    if (root / FOLDER).is_dir():
        inputs.append(root / FOLDER)
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
    groups: Sequence[Group], variants: Sequence[EmbeddingParams], root: Path
) -> list[EmbedUnit]:
    """What is to be done; variants that show the same of a kind of explanation are one."""
    found: dict[tuple[str, str, Group], EmbedUnit] = {}
    for kind in KINDS:
        for settings in variants:
            own = HANDCRAFTED if settings.encoder == HANDCRAFTED else kind
            for group in groups:
                unit = EmbedUnit(group, own, settings, root)
                found.setdefault((own, unit.name, group), unit)
    return list(found.values())


def embed_unit(unit: EmbedUnit) -> Arrays:
    """Vectors of each technique, and what made them."""
    started = time.perf_counter()
    known: dict[str, Any]
    if unit.kind == HANDCRAFTED:
        found = handcrafted_features(unit.group, unit.settings.handcrafted)
        known = {"encoder": identity(unit.settings.handcrafted)}
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
