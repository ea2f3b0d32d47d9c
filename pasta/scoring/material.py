"""All that scorers can learn from: rated explanations, their labels and their vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.embedding.inputs import with_label as labelled
from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.stored import Embedded, load_embeddings
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.scoring.base import Floats, Rated
from pasta.scoring.settings import Aggregate
from pasta.studies.ratings.rateable import explained
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.tables import STARS

_AGAIN = "`dvc repro embed` embeds all explanations again"


@dataclass(frozen=True)
class Material:
    """Rated explanations, sorted by sample; rows of all arrays agree."""

    samples: pd.DataFrame  # sample_id, dataset, image, technique, kind, predicted
    counts: NDArray[np.int64]  # samples x questions x stars
    labels: Mapping[str, Floats]  # mode, mean and median: samples x questions, NaN without votes
    groups: tuple[Group, ...]

    @property
    def places(self) -> pd.DataFrame:
        """What splits are made by."""
        return self.samples[["dataset", "image", "technique"]]

    def rated(
        self,
        settings: EmbeddingParams,
        aggregate: Aggregate = "mode",
        with_label: bool = True,
        questions: Sequence[str] = QUESTIONS,
    ) -> tuple[Rated, NDArray[np.int64]]:
        """Features and votes, and the rows they belong to: those that could be embedded."""
        vectors = self.vectors(settings)
        usable = np.flatnonzero(np.isfinite(vectors).all(axis=1))
        features = vectors[usable]
        if with_label:
            features = labelled(features, self.samples["predicted"].iloc[usable].tolist())
        names: list[str] = list(QUESTIONS)
        columns = [names.index(question) for question in questions]
        labels = self.labels[aggregate][usable][:, columns]
        return Rated(features, self.counts[usable][:, columns], labels), usable

    def vectors(self, settings: EmbeddingParams) -> Floats:
        """One row for each sample, NaN where there was nothing to embed."""
        parts = self.embedded(settings)
        every = pd.Index(np.concatenate([part.table["sample_id"] for part in parts]))
        place = every.get_indexer(pd.Index(self.samples["sample_id"]))
        found: Floats = np.concatenate([part.vectors for part in parts])[place]
        return found

    def embedded(self, settings: EmbeddingParams) -> list[Embedded]:
        """The stored vectors of all groups; they must be of one encoder."""
        parts = [load_embeddings(group, settings) for group in self.groups]
        if len({str(part.encoder) for part in parts}) > 1:
            raise PastaError(f"the datasets were embedded by different encoders: {_AGAIN}")
        return parts


def collect(groups: Sequence[Group], labels: pd.DataFrame) -> Material:
    """The explanations of all groups that the labels table knows.

    The table is the only source of labels: how ties are settled was decided when it was made.
    """
    explanations = explained(groups)
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
    votes = _spread(samples["sample_id"], labels, [f"votes_{star}" for star in STARS])
    names = get_args(Aggregate)
    aggregates = _spread(samples["sample_id"], labels, names).astype(np.float32)
    return Material(
        samples,
        np.nan_to_num(votes).astype(np.int64),
        {name: aggregates[..., place] for place, name in enumerate(names)},
        tuple(groups),
    )


def _spread(
    samples: pd.Series[Any], labels: pd.DataFrame, columns: Sequence[str]
) -> NDArray[np.float64]:
    """Columns of the labels table as samples x questions x columns; NaN where there is no row."""
    found = np.full((len(samples), len(QUESTIONS), len(columns)), np.nan)
    row = pd.Index(samples).get_indexer(pd.Index(labels["sample_id"]))
    question = pd.Index(QUESTIONS).get_indexer(pd.Index(labels["question"]))
    known = row >= 0
    found[row[known], question[known]] = labels[list(columns)].to_numpy(np.float64)[known]
    return found
