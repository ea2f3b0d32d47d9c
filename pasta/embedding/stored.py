"""Stored vectors of explanations: one array per encoder, kind of input and technique.

``embeddings/{encoder}.{variant}/{method}.{backbone}.npy`` has a row for each explanation of the
technique, in the order of the explanations table. The variant is the technique's own: a change of
the sentence leaves the pictures' vectors alone. Beside each array lies a card with the encoder, the
hash of what each row was made from and the md5 of the array; an array that does not fit its card is
not believed.

Explanations whose status is not ok (all zero, constant, not a number) show people nothing, so
there is nothing to embed: their rows are NaN, their hash is empty, and ``Embedded.usable`` leaves
them out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.errors import InputError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.params.embedding import EmbeddingParams

FOLDER, HANDCRAFTED = "embeddings", "handcrafted"
IDENTITY = ("encoder", "md5", "size", "width")
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Embedded:
    """The vectors of a dataset's explanations; rows as in the explanations table."""

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


def array_file(folder: Path, settings: EmbeddingParams, technique: Technique) -> Path:
    """Where the vectors of a technique are; handcrafted features have no variants."""
    kind = variant(settings, technique.kind)
    name = HANDCRAFTED if settings.encoder == HANDCRAFTED else f"{settings.encoder}.{kind}"
    return folder / name / f"{technique.method}.{technique.backbone}.npy"


def write_vectors(
    vectors: Floats, hashes: Sequence[str], encoder: Mapping[str, Any], file: Path
) -> None:
    """Write an array, then its card."""
    store.write_array(vectors, file)
    card = {**encoder, "hashes": list(hashes), "array_md5": _digest(vectors)}
    store.write_json(card, file.with_suffix(".json"))


def read_vectors(file: Path) -> tuple[Floats, dict[str, Any]]:
    """An array and its card, or an error if they do not belong together."""
    card: dict[str, Any] = store.read_json(file.with_suffix(".json"))
    missing = [key for key in (*IDENTITY, "hashes", "array_md5") if key not in card]
    if missing:
        place = file.with_suffix(".json")
        raise InputError(f"there is no {missing[0]!r}", file=place, expected="a card of vectors")
    stored = store.read_array(file, (len(card["hashes"]), int(card["width"])))
    vectors: Floats = np.array(stored, dtype=np.float32)
    if _digest(vectors) != card["array_md5"]:
        raise InputError("does not fit its card", file=file, expected=f"md5 {card['array_md5']}")
    return vectors, card


def known_vectors(file: Path, encoder: Mapping[str, Any]) -> tuple[dict[str, Floats], list[str]]:
    """What an earlier run has left: vectors by hash, and the hashes by row.

    Nothing, if there is no whole array, or if it is of another encoder.
    """
    if not file.is_file() or not file.with_suffix(".json").is_file():
        return {}, []
    try:
        vectors, card = read_vectors(file)
    except InputError:  # a killed run has written the array and not yet its card
        return {}, []
    if any(card[key] != encoder[key] for key in IDENTITY):
        return {}, []
    hashes = [str(key) for key in card["hashes"]]
    return {key: vectors[row] for row, key in enumerate(hashes) if key}, hashes


def load_embeddings(
    dataset: Path, settings: EmbeddingParams, folder: Path | None = None
) -> Embedded:
    """All vectors of a dataset's explanations; they must be of one encoder."""
    table = StoredExplanations(dataset).table
    parts: list[Floats] = []
    encoder: dict[str, Any] = {}
    for technique, places in techniques_of(table):
        file = array_file(folder or dataset / FOLDER, settings, technique)
        vectors, card = read_vectors(file)
        found = {key: card[key] for key in IDENTITY}
        if encoder and found != encoder:
            raise InputError(
                f"was made by the encoder {_told(found)}", file=file, expected=_told(encoder)
            )
        if len(vectors) != len(places):
            expected = f"{len(places)}, as in the explanations table"
            raise InputError(f"has {len(vectors)} rows", file=file, expected=expected)
        encoder = found
        parts.append(vectors)
    order = np.concatenate([places for _, places in techniques_of(table)])
    joined = np.empty((len(table), int(encoder["width"])), dtype=np.float32)
    joined[order] = np.concatenate(parts)
    return Embedded(table, joined, encoder)


def techniques_of(table: pd.DataFrame) -> list[tuple[Technique, NDArray[np.int64]]]:
    """The techniques of an explanations table with the places of their rows in it."""
    keys = list(zip(table["method"].astype(str), table["backbone"].astype(str), strict=True))
    places: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return [(Technique(*key), np.array(found)) for key, found in places.items()]


def remove_others(files: Iterable[Path]) -> None:
    """Forget techniques that are no longer among the explanations; ``files`` are the present."""
    keep = {file.with_suffix(suffix) for file in files for suffix in (".npy", ".json")}
    for folder in {file.parent for file in keep}:
        for file in folder.iterdir():
            if file.suffix in (".npy", ".json") and file not in keep:
                file.unlink()


def _told(encoder: Mapping[str, Any]) -> str:
    return f"{encoder['encoder']} (md5 {encoder['md5']}, {encoder['width']} wide)"


def _slug(template: str) -> str:
    """A readable beginning, and enough of a hash to keep templates apart."""
    words = re.sub(r"[^a-z0-9]+", "-", template.lower()).strip("-")[:20].strip("-")
    number = hashlib.md5(template.encode(), usedforsecurity=False).hexdigest()[:6]
    return f"{words}-{number}" if words else number


def _digest(vectors: Floats) -> str:
    plain = np.ascontiguousarray(vectors).tobytes()
    return hashlib.md5(plain, usedforsecurity=False).hexdigest()
