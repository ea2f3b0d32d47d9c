"""Embedding of a dataset's explanations: only what is new is encoded.

What an encoder would see of an explanation is rendered, which is cheap, and hashed; the encoder is
asked only for hashes it has not yet answered. Techniques are finished one by one, so a killed run
loses at most one. The last digits of a vector depend on which others were in its batch, therefore
vectors that were added later equal those of a fresh run only up to rounding (about 1e-6).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.embedding import inputs
from pasta.embedding.base import Encoder, about
from pasta.embedding.sentences import RULE, pieces, sentence, sentence_vectors, top_concepts
from pasta.embedding.stored import (
    Floats,
    array_file,
    known_vectors,
    remove_others,
    techniques_of,
    write_vectors,
)
from pasta.errors import InputError, PastaError
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.models.clip.prompts import readable
from pasta.params.embedding import EmbeddingParams

Say = Callable[..., None]  # technique, a few words, how much is done of how much


class Rendered(NamedTuple):
    """Some explanations as an encoder would see them."""

    places: NDArray[np.int64]  # among the technique's explanations
    hashes: list[str]
    encode: Callable[[list[int]], Floats]  # vectors of some of them


def embed_dataset(
    folder: Path, encoder: Encoder, settings: EmbeddingParams, out: Path, say: Say
) -> pd.DataFrame:
    """Embed the explanations in a dataset's folder.

    Returns the explanations table with the file (below ``out``) and the row of each vector.
    """
    source = Source(StoredExplanations(folder))
    table = source.stored.table.copy()
    table["file"], table["place"] = "", 0
    for kind in ("saliency", "concept"):
        files = embed_kind(source, kind, encoder, settings, out, say)
        for technique, places in techniques_of(table):
            if technique in files:
                table.loc[places, "file"] = str(files[technique].relative_to(out))
                table.loc[places, "place"] = np.arange(len(places))
    return table


def embed_kind(
    source: Source, kind: str, encoder: Encoder, settings: EmbeddingParams, out: Path, say: Say
) -> dict[Technique, Path]:
    """Embed the ``saliency`` or the ``concept`` explanations; returns each technique's file."""
    if encoder.name != settings.encoder:
        raise PastaError(f"the settings name the encoder {settings.encoder}, not {encoder.name}")
    renderer = Renderer(source, encoder, settings)
    files: dict[Technique, Path] = {}
    for technique, places in techniques_of(source.stored.table):
        if technique.kind != kind:
            continue
        file = files[technique] = array_file(out, settings, technique)
        words = "as before"
        if file not in source.done:  # another variant may differ in the other kind alone
            words = _embed(renderer, technique, file)
            source.done.add(file)
        say(technique.key, words, len(places), len(places))
    remove_others(files.values())
    return files


def _embed(renderer: Renderer, technique: Technique, file: Path) -> str:
    """Bring one technique's file up to date; says what was done."""
    identity = about(renderer.encoder)
    known, before = known_vectors(file, identity)
    number, new = len(renderer.stored.rows(technique)), 0
    vectors = np.full((number, identity["width"]), np.nan, dtype=np.float32)
    hashes = [""] * number
    for part in renderer.rendered(technique):
        first = {key: place for place, key in enumerate(part.hashes) if key not in known}
        if first:
            known.update(zip(first, part.encode(list(first.values())), strict=True))
            new += len(first)
        for place, key in zip(part.places, part.hashes, strict=True):
            vectors[place], hashes[place] = known[key], key
    if hashes != before:
        write_vectors(vectors, hashes, identity, file)
    return f"{new} encoded"


class Source:
    """The explanations of one dataset and what can be used again for every way of showing them."""

    def __init__(self, stored: StoredExplanations) -> None:
        self.stored = stored
        self.dataset: StoredDataset = open_dataset(stored.folder)
        self.done: set[Path] = set()  # files that are up to date
        self._fitting: dict[str, Callable[[str], bool]] = {}

    def fits(self, encoder: Encoder) -> Callable[[str], bool]:
        """Which texts an encoder sees to their end; longer lists begin as shorter ones do."""
        if encoder.name not in self._fitting:
            self._fitting[encoder.name] = lru_cache(maxsize=100_000)(encoder.fits)
        return self._fitting[encoder.name]

    @cached_property
    def shown(self) -> dict[str, int]:
        """The images that have explanations, numbered."""
        return {name: place for place, name in enumerate(self.stored.table["image_id"].unique())}

    @cached_property
    def images(self) -> inputs.Bytes:
        """Those images, with the colours first."""
        row = self.dataset.images.set_index("image_id")["row"]
        missing = [name for name in self.shown if name not in row.index]
        if missing:
            raise InputError(
                f"there is no image {missing[0]!r}", file=self.stored.folder / "images.parquet"
            )
        pixels = self.dataset.pixels[row.loc[list(self.shown)].to_numpy()]
        return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))


class Renderer:
    """Explanations of one dataset as an encoder would see them."""

    def __init__(self, source: Source, encoder: Encoder, settings: EmbeddingParams) -> None:
        self.source, self.encoder, self.settings = source, encoder, settings
        self.stored = source.stored
        self._fits = source.fits(encoder)
        self._concept_vectors: dict[tuple[str, ...], Floats] = {}

    def rendered(self, technique: Technique) -> Iterator[Rendered]:
        """The explanations of a technique whose status is ok, batch by batch."""
        rows = self.stored.rows(technique)
        places = np.flatnonzero(rows["status"] == "ok")
        if not len(places):
            return
        if technique.kind == "concept":
            yield self._concepts(technique, rows, places)
            return
        size = self.settings.batch_size
        for start in range(0, len(places), size):
            yield self._pictures(technique, rows, places[start : start + size])

    def _pictures(
        self, technique: Technique, rows: pd.DataFrame, places: NDArray[np.int64]
    ) -> Rendered:
        chosen = rows.iloc[places]
        maps = self.stored.shown(technique, chosen["row"].tolist())
        index = self._image_rows(chosen)
        sides = self.source.images.shape[2:]
        if maps.shape[1:] != sides:
            raise InputError(
                f"the maps of {technique.key} are {maps.shape[1]} x {maps.shape[2]}",
                file=self.stored.folder,
                expected=f"{sides[0]} x {sides[1]}, as the images are",
            )
        soft = self._soft[index] if self.settings.image == "blur" else None
        pictures = inputs.render(
            self.source.images[index], maps, technique.signed, self.settings, soft
        )

        def encode(some: list[int]) -> Floats:
            batch = torch.from_numpy(pictures[some])
            return np.asarray(self.encoder.images(batch), dtype=np.float32)

        return Rendered(places, [_hash(picture.tobytes()) for picture in pictures], encode)

    def _concepts(
        self, technique: Technique, rows: pd.DataFrame, places: NDArray[np.int64]
    ) -> Rendered:
        names, table = self.stored.concepts(technique)
        values = table[rows["row"].to_numpy()[places]]
        if self.settings.text == "weighted":
            spoken = "\x1f".join(names).encode()
            hashes = [_hash(spoken, row.tobytes()) for row in values]
            return Rendered(
                places,
                hashes,
                lambda some: inputs.weighted_sum(values[some], self._vectors_of(names)),
            )
        template = self.settings.template
        named = [top_concepts(names, row, self.settings.n_top) for row in values]
        hashes = [_hash(f"{RULE} {sentence(words, template)}".encode()) for words in named]

        def encode(some: list[int]) -> Floats:
            told = [pieces(named[place], template, self._fits) for place in some]
            return sentence_vectors(self.encoder, told)

        return Rendered(places, hashes, encode)

    def _vectors_of(self, names: tuple[str, ...]) -> Floats:
        if names not in self._concept_vectors:
            spoken = self.encoder.texts([readable(name) for name in names])
            self._concept_vectors[names] = np.asarray(spoken, dtype=np.float32)
        return self._concept_vectors[names]

    @cached_property
    def _soft(self) -> Floats:
        return inputs.blurred(self.source.images, self.settings.blur)

    def _image_rows(self, chosen: pd.DataFrame) -> NDArray[np.int64]:
        return np.array([self.source.shown[name] for name in chosen["image_id"]], dtype=np.int64)


def _hash(*parts: bytes) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
