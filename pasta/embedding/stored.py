"""Stored vectors of explanations: one array per encoder, kind of input and technique.

``{encoder}.{variant}/{method}.{backbone}.npy`` has a row for each explanation of the technique, in
the order of the explanations table. The variant is the technique's own: a change of the sentence
leaves the pictures' vectors alone. Beside the arrays ``encoder.json`` says which encoder made them;
vectors of different encoders are never mixed.

Explanations whose status is not ok (all zero, constant, not a number) show people nothing, so
there is nothing to embed: their rows are NaN, and ``Embedded.usable`` leaves them out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.embedding.settings import EmbeddingParams
from pasta.errors import InputError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.models.settings import with_seed

HANDCRAFTED, GIVEN, ENCODER = "handcrafted", "given", "encoder.json"
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Embedded:
    """The vectors of a group's explanations; rows as in the explanations table."""

    table: pd.DataFrame
    vectors: Floats  # n x width, NaN where there is nothing to embed
    encoder: Mapping[str, Any]  # name, md5 of the weights, size and width

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which rows have a vector."""
        return np.asarray(np.isfinite(self.vectors).all(1))


def variant(settings: EmbeddingParams, kind: str) -> str:
    """A short name of what is shown of a ``saliency`` or a ``concept`` explanation."""
    if kind == "saliency":
        return f"blur{settings.blur:g}" if settings.image == "blur" else settings.image
    if settings.text == "weighted":
        return "weighted"
    return f"top{settings.n_top}" + (f"-{_slug(settings.template)}" if settings.template else "")


def array_folder(settings: EmbeddingParams, kind: str) -> str:
    """The name of the folder with vectors of one kind.

    Handcrafted features and vectors that were given have no variants.
    """
    if settings.encoder in (HANDCRAFTED, GIVEN):
        return settings.encoder
    return f"{settings.encoder}.{variant(settings, kind)}"


def load_embeddings(group: Group, settings: EmbeddingParams) -> Embedded:
    """All vectors of a group's explanations; they must be of one encoder."""
    table = StoredExplanations(group.explanations).table
    encoder: dict[str, Any] = {}
    parts: list[tuple[NDArray[np.int64], Floats]] = []
    keys = (table["method"] + "." + table["backbone"]).to_numpy()
    for key in dict.fromkeys(keys):
        places = np.flatnonzero(keys == key)
        folder = group.embeddings / array_folder(settings, str(table["kind"].iloc[places[0]]))
        found: dict[str, Any] = store.read_json(folder / ENCODER)
        if encoder and found != encoder:
            raise InputError(
                f"was made by the encoder {_told(found)}",
                file=folder / ENCODER,
                expected=_told(encoder),
            )
        encoder = found
        file = folder / f"{key}.npy"
        parts.append((places, store.read_array(file, (len(places), int(encoder["width"])))))
    joined = np.empty((len(table), int(encoder["width"])), dtype=np.float32)
    for places, vectors in parts:
        joined[places] = vectors
    return Embedded(table, joined, encoder)


def techniques_of(stored: StoredExplanations) -> list[tuple[Technique, NDArray[np.int64]]]:
    """The techniques of a group with the places of their rows in the explanations table."""
    keys = (stored.table["method"] + "/" + stored.table["backbone"]).to_numpy()
    return [(one, np.flatnonzero(keys == one.key)) for one in stored.techniques]


def write_vectors(vectors: Mapping[str, Floats], encoder: Mapping[str, Any], folder: Path) -> None:
    """Write the arrays of techniques (``method.backbone``), then what made them."""
    for name, values in vectors.items():
        store.write_array(values, folder / f"{name}.npy")
    store.write_json(dict(encoder), folder / ENCODER)


def _told(encoder: Mapping[str, Any]) -> str:
    return f"{encoder['encoder']} (md5 {encoder['md5']}, {encoder['width']} wide)"


def _slug(template: str) -> str:
    """A readable beginning, and enough of a hash to keep templates apart."""
    words = re.sub(r"[^a-z0-9]+", "-", template.lower()).strip("-")[:20].strip("-")
    number = hashlib.md5(template.encode(), usedforsecurity=False).hexdigest()[:6]
    return f"{words}-{number}" if words else number


def variants(settings: EmbeddingParams, seed: int = 0) -> list[EmbeddingParams]:
    """All ways of embedding that the parameters ask for, the usual one first, none twice.

    ``seed`` draws random weights, where these are asked for.
    """
    more = settings.variants
    shown = settings.encoder != GIVEN  # of given vectors nobody knows what else would be seen
    changes: list[dict[str, Any]] = [
        {},
        *({"image": image} for image in more.images if shown),
        *({"n_top": number} for number in more.n_top if shown),
        *({"text": "sentence", "template": words} for words in ("", more.template) if shown),
        *([{"text": "weighted"}] if more.weighted and shown else []),
        *({"encoder": name, "weights": weights} for name, weights in more.encoders.items()),
        {"encoder": HANDCRAFTED},
    ]
    found: list[EmbeddingParams] = []
    for change in changes:
        changed = settings.model_copy(update=change)
        changed = changed.model_copy(update={"weights": with_seed(changed.weights, seed)})
        if changed not in found:
            found.append(changed)
    return found
