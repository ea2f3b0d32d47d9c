"""All that scorers can learn from: rated explanations, their votes and their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.params.scoring import Aggregate
from pasta.scoring.base import Floats, Rated
from pasta.tables import QUESTIONS, STARS

if TYPE_CHECKING:
    from pasta.params.embedding import EmbeddingParams


@dataclass(frozen=True)
class Material:
    """Rated explanations, sorted by sample; rows of all arrays agree."""

    samples: pd.DataFrame  # sample_id, dataset, image, technique, kind, predicted
    counts: NDArray[np.int64]  # samples x questions x stars
    folders: tuple[Path, ...]  # of the datasets

    @cached_property
    def aggregates(self) -> dict[str, Floats]:
        """The label of each sample and question, by the way of aggregating; NaN without votes."""
        from pasta.annotations.aggregate import median, mode

        flat = self.counts.reshape(-1, len(STARS))
        voted = flat.sum(axis=1) > 0
        safe = np.where(voted[:, None], flat, 1)
        made = {
            "mode": mode(safe, "smallest"),
            "mean": safe @ np.array(STARS) / safe.sum(axis=1),
            "median": median(safe),
        }
        shape = self.counts.shape[:2]
        return {
            name: np.where(voted, values, np.nan).reshape(shape).astype(np.float32)
            for name, values in made.items()
        }

    def rated(
        self,
        settings: EmbeddingParams,
        aggregate: Aggregate = "mode",
        with_label: bool = True,
        questions: Sequence[str] = QUESTIONS,
    ) -> tuple[Rated, NDArray[np.int64]]:
        """Features and votes, and the rows they belong to: those that could be embedded."""
        from pasta.embedding.inputs import with_label as labelled

        vectors = self.vectors(settings)
        usable = np.flatnonzero(np.isfinite(vectors).all(axis=1))
        features = vectors[usable]
        if with_label:
            features = labelled(features, self.samples["predicted"].iloc[usable].tolist())
        columns = [QUESTIONS.index(question) for question in questions]
        labels = self.aggregates[aggregate][usable][:, columns]
        return Rated(features, self.counts[usable][:, columns], labels), usable

    def vectors(self, settings: EmbeddingParams) -> Floats:
        """One row for each sample, NaN where there was nothing to embed. Read once."""
        if settings not in self._read:
            self._read[settings] = self._vectors(settings)
        return self._read[settings]

    @cached_property
    def _read(self) -> dict[EmbeddingParams, Floats]:
        return {}

    def _vectors(self, settings: EmbeddingParams) -> Floats:
        from pasta.embedding.stored import load_embeddings

        parts = [load_embeddings(folder, settings) for folder in self.folders]
        identity = {str(part.encoder) for part in parts}
        if len(identity) > 1:
            raise PastaError("the datasets were embedded by different encoders: `dvc repro embed`")
        every = pd.Index(np.concatenate([part.table["sample_id"] for part in parts]))
        vectors: Floats = np.concatenate([part.vectors for part in parts])
        own: Floats = vectors[every.get_indexer(pd.Index(self.samples["sample_id"]))]
        return own

    @property
    def places(self) -> pd.DataFrame:
        """What splits are made by."""
        return self.samples[["dataset", "image", "technique"]]


def collect(folders: Sequence[Path], labels: pd.DataFrame) -> Material:
    """The rated explanations of several datasets; votes on others are an error."""
    from pasta.annotations.rateable import explained

    explanations = explained(list(folders))
    rated = explanations[explanations["sample_id"].isin(set(labels["sample_id"]))]
    rated = rated.sort_values("sample_id", ignore_index=True)
    if rated.empty:
        raise PastaError("no explanation has votes: import annotations, or simulate them")
    samples = pd.DataFrame(
        {
            "sample_id": rated["sample_id"],
            "dataset": rated["dataset"],
            "image": rated["dataset"] + "/" + rated["image_id"],
            "technique": rated["method"] + "/" + rated["backbone"],
            "kind": rated["kind"],
            "predicted": rated["predicted"],
        }
    )
    return Material(samples, star_counts(samples["sample_id"], labels), tuple(folders))


def star_counts(samples: pd.Series[Any], labels: pd.DataFrame) -> NDArray[np.int64]:
    """Samples x questions x stars."""
    counts = np.zeros((len(samples), len(QUESTIONS), len(STARS)), dtype=np.int64)
    row = pd.Index(samples).get_indexer(pd.Index(labels["sample_id"]))
    column = pd.Index(QUESTIONS).get_indexer(pd.Index(labels["question"]))
    known = row >= 0
    votes = labels[[f"votes_{star}" for star in STARS]].to_numpy(np.int64)
    counts[row[known], column[known]] = votes[known]
    return counts
