"""What the public scorer believes of all explanations, for choosing which votes to ask for next."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.config import Params
from pasta.embedding.inputs import with_label
from pasta.embedding.stored import load_embeddings
from pasta.errors import InputError, PastaError
from pasta.layout import explained_groups
from pasta.paths import DATA
from pasta.scoring.held_out import COUNTS
from pasta.scoring.ordinal import FittedOrdinal
from pasta.scoring.stored import FOLDER, load_scorer
from pasta.studies.ratings.information import (
    Belief,
    Components,
    believe,
    variance_components,
    vote_noise,
)
from pasta.studies.ratings.rateable import rateable
from pasta.studies.ratings.settings import NAME
from pasta.studies.ratings.tables import LABELS, STARS

Doubles = NDArray[np.float64]
PREDICTIONS = "predictions.csv"  # of explanations that the scorer had not seen


def current_belief(params: Params, root: Path, question: str) -> Belief:
    """What scorer and votes say of every explanation that can be rated, on one question.

    The members of the public ordinal scorer predict each explanation; how far it errs comes from
    the held-out predictions of the stage `score`, and the votes are those of the stage `votes`.
    """
    stored = load_scorer(root / FOLDER)
    fitted = stored.fitted
    if not isinstance(fitted, FittedOrdinal):
        raise PastaError(
            f"the public scorer is {stored.card.scorer!r}, which does not say how sure it is: "
            "scoring.public.scorer has to be ordinal"
        )
    groups = explained_groups(root)
    parts = [load_embeddings(group, params.embedding) for group in groups]
    rows = pd.Index(np.concatenate([part.table["sample_id"] for part in parts]))
    table = rateable(groups, params.annotations.extras).sort_values("sample_id")
    vectors = np.concatenate([part.vectors for part in parts])[
        rows.get_indexer(pd.Index(table["sample_id"]))
    ]
    usable = np.isfinite(vectors).all(axis=1)
    table, vectors = table[usable].reset_index(drop=True), vectors[usable]
    if stored.card.labels is not None:
        order = stored.card.labels.order
        given = [label if label in order else None for label in table["predicted"]]
        vectors = with_label(vectors, given, order)
    samples = pd.DataFrame(
        {
            "sample_id": table["sample_id"],
            "technique": table["method"] + "/" + table["backbone"],
            "image": table["dataset"] + "/" + table["image_id"],
        }
    )
    place = list(stored.card.questions).index(question)
    members = fitted.member_stars(vectors)[:, :, place]
    counts = _counts(root, question, samples["sample_id"])
    return believe(samples, members, counts, held_out_components(root, question))


def _counts(root: Path, question: str, samples: pd.Series[str]) -> NDArray[np.int64]:
    """Votes on a question so far, samples x stars."""
    labels = store.read(root / DATA / "votes" / NAME / "labels.parquet", LABELS)
    mine = labels[labels["question"] == question].set_index("sample_id")
    columns = [f"votes_{star}" for star in STARS]
    return mine[columns].reindex(samples).fillna(0).to_numpy(np.int64)


def held_out_components(root: Path, question: str) -> Components:
    """How far the ordinal scorer errs on explanations that it has not seen."""
    file = root / DATA / "score" / PREDICTIONS
    if not file.is_file():
        raise PastaError(f"{file}: is not there; `dvc repro score` makes it")
    found = pd.read_csv(file)
    found = found[found["question"] == question]
    if len(found) < 2:
        raise InputError(f"has no predictions for {question}", file=file)
    return components_of(found)


def components_of(found: pd.DataFrame) -> Components:
    """Variances from a table of held-out predictions, see :mod:`pasta.scoring.held_out`.

    An explanation that several splits have held out counts once, with its mean prediction.
    """
    once = found.groupby("sample_id", as_index=False).agg(
        {"stars": "mean", **dict.fromkeys(COUNTS, "first")}
    )
    parts = once["sample_id"].str.split("/", n=2, expand=True)
    places = pd.DataFrame({"image": parts[0] + "/" + parts[1], "technique": parts[2]})
    counts = once[COUNTS].to_numpy(np.int64)
    votes = counts.sum(axis=1)
    errors = counts @ np.array(STARS) / votes - once["stars"].to_numpy(np.float64)
    return variance_components(errors, votes, vote_noise(counts), places)
