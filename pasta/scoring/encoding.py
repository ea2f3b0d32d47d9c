"""Vectors of checked explanations, as the scorer's encoder sees them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pasta.compute import to_numpy
from pasta.datasets.vocabulary import readable
from pasta.embedding import inputs
from pasta.embedding.encoders import Encoder, sentence_vectors
from pasta.embedding.sentences import pieces, top_concepts
from pasta.scoring.base import Floats
from pasta.scoring.given import Many
from pasta.scoring.image_statistics import image_statistics
from pasta.scoring.stored import PreprocessingCard

Watch = Callable[[int], None]  # explanations encoded since the last call


class ExplanationEncoder:
    """Draws explanations as the scorer has learned them, and encodes them in batches."""

    def __init__(self, encoder: Encoder, shown: PreprocessingCard, batch_size: int) -> None:
        self.encoder, self.batch_size = encoder, batch_size
        self._settings: Any = shown  # as much of the embedding's parameters as is needed
        self._concept_vectors: dict[str, Floats] = {}
        self.where = torch.device("cpu")  # of the vectors that the encoder gave last

    def statistics(self, images: Many, some: NDArray[np.int64]) -> Floats:
        """What images look like; one that several maps explain is looked at once."""
        digests = [_digest(images.items[row]) for row in some]
        different = {digest: images.items[row] for digest, row in zip(digests, some, strict=True)}
        by_size: dict[tuple[int, ...], list[bytes]] = {}
        for digest, image in different.items():
            by_size.setdefault(image.shape, []).append(digest)
        found: dict[bytes, Floats] = {}
        for own in by_size.values():
            together = torch.from_numpy(np.stack([different[digest] for digest in own]))
            found.update(zip(own, image_statistics(together, self.encoder.size), strict=True))
        return np.stack([found[digest] for digest in digests])

    def pictures(
        self,
        images: Many,
        maps: list[Floats] | None,
        some: NDArray[np.int64],
        signed: bool,
        say: Watch,
    ) -> Floats:
        """Vectors of drawn explanations; those of one size go through the encoder together."""
        by_size: dict[tuple[int, ...], list[int]] = {}
        for row in some:
            by_size.setdefault(images.items[row].shape, []).append(int(row))
        found = np.empty((len(images.items), self.encoder.width), np.float32)
        for rows in by_size.values():
            for start in range(0, len(rows), self.batch_size):
                part = rows[start : start + self.batch_size]
                shown = np.ascontiguousarray(np.stack([images.items[row] for row in part]))
                if maps is not None:
                    heat = np.stack([maps[row] for row in part])
                    shown = inputs.render(shown, heat, signed, self._settings)
                vectors = self.encoder.images(torch.from_numpy(shown))
                self.where = vectors.device
                found[part] = to_numpy(vectors)
                say(len(part))
        return found[some]

    def concepts(self, rows: list[tuple[tuple[str, ...], NDArray[Any]]], say: Watch) -> Floats:
        """Vectors of concept explanations."""
        if self._settings.text == "weighted":
            parts = [
                inputs.weighted_sum(values[None], self._vectors_of(names)) for names, values in rows
            ]
            say(len(rows))
            return np.concatenate(parts)
        template, most = self._settings.template, self._settings.n_top
        fits = lru_cache(maxsize=10_000)(self.encoder.fits)  # sentences often repeat each other
        told = [pieces(top_concepts(names, values, most), template, fits) for names, values in rows]
        found = []
        for start in range(0, len(told), self.batch_size):
            part = told[start : start + self.batch_size]
            found.append(sentence_vectors(self.encoder, part))
            say(len(part))
        return np.concatenate(found)

    def _vectors_of(self, names: Sequence[str]) -> Floats:
        new = [name for name in dict.fromkeys(names) if name not in self._concept_vectors]
        if new:
            vectors = to_numpy(self.encoder.texts([readable(name) for name in new]))
            self._concept_vectors.update(zip(new, vectors, strict=True))
        return np.stack([self._concept_vectors[name] for name in names])


def _digest(image: NDArray[Any]) -> bytes:
    return hashlib.sha256(f"{image.shape} {image.dtype}".encode() + image.tobytes()).digest()
