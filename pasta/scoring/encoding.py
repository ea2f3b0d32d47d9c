"""Vectors of checked explanations, as the scorer's encoder sees them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pasta.embedding import inputs
from pasta.embedding.base import Encoder
from pasta.embedding.sentences import pieces, sentence_vectors, top_concepts
from pasta.models.clip.prompts import readable
from pasta.paths import processors
from pasta.scoring.folder import PreprocessingCard
from pasta.scoring.given import Floats, Many
from pasta.scoring.threads import one_thread_each

T = TypeVar("T")
_LEAST = 8  # pictures in a batch; fewer are not worth a thread
Watch = Callable[[int], None]  # explanations encoded since the last call


def side_by_side(work: Callable[[T], Floats], parts: Sequence[T]) -> Iterator[Floats]:
    """Results in order; each core draws and encodes for itself.

    Between large steps in which all cores join there are many small ones that keep one busy.
    """
    import torch

    if torch.get_num_threads() == 1 or len(parts) == 1:
        return map(work, parts)
    return one_thread_each(work, parts)


class ExplanationEncoder:
    """Draws explanations as the scorer has learned them, and encodes them in batches."""

    def __init__(self, encoder: Encoder, shown: PreprocessingCard, batch_size: int) -> None:
        self.encoder, self.batch_size = encoder, batch_size
        self._settings: Any = shown  # as much of the embedding's parameters as is needed
        self._fits = lru_cache(maxsize=10_000)(encoder.fits)
        self._concept_vectors: dict[str, Floats] = {}

    def pictures(
        self,
        images: Many,
        maps: list[Floats] | None,
        some: NDArray[np.int64],
        signed: bool,
        say: Watch,
    ) -> Floats:
        """Vectors of drawn explanations; those of one size go through the encoder together."""
        import torch

        by_size: dict[tuple[int, ...], list[int]] = {}
        for row in some:
            by_size.setdefault(images.items[row].shape, []).append(int(row))
        parts = [part for rows in by_size.values() for part in self._parts(rows)]

        def encode(part: list[int]) -> Floats:
            # A stack keeps the order of its parts in memory; drawing wants the colours first.
            shown = np.ascontiguousarray(np.stack([images.items[row] for row in part]))
            if maps is not None:
                heat = np.stack([maps[row] for row in part])
                shown = inputs.render(shown, heat, signed, self._settings)
            return np.asarray(self.encoder.images(torch.from_numpy(shown)))

        found = np.empty((len(images.items), self.encoder.width), np.float32)
        for part, vectors in zip(parts, side_by_side(encode, parts), strict=True):
            found[part] = vectors
            say(len(part))
        return found[some]

    def _parts(self, rows: list[int]) -> list[list[int]]:
        """Batches of about equal size, so that no core waits for another at the end."""
        number = processors() * math.ceil(len(rows) / (processors() * self.batch_size))
        number = min(number, math.ceil(len(rows) / _LEAST))
        return [part.tolist() for part in np.array_split(np.array(rows), number)]

    def concepts(self, rows: list[tuple[tuple[str, ...], NDArray[Any]]], say: Watch) -> Floats:
        """Vectors of concept explanations."""
        if self._settings.text == "weighted":
            parts = [
                inputs.weighted_sum(values[None], self._vectors_of(names)) for names, values in rows
            ]
            say(len(rows))
            return np.concatenate(parts)
        template, most = self._settings.template, self._settings.n_top
        told = [
            pieces(top_concepts(names, values, most), template, self._fits)
            for names, values in rows
        ]
        found = []
        for start in range(0, len(told), self.batch_size):
            part = told[start : start + self.batch_size]
            found.append(sentence_vectors(self.encoder, part))
            say(len(part))
        return np.concatenate(found)

    def _vectors_of(self, names: Sequence[str]) -> Floats:
        new = [name for name in dict.fromkeys(names) if name not in self._concept_vectors]
        if new:
            vectors = np.asarray(self.encoder.texts([readable(name) for name in new]), np.float32)
            self._concept_vectors.update(zip(new, vectors, strict=True))
        return np.stack([self._concept_vectors[name] for name in names])
