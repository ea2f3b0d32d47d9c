"""Scores of every explanation by a scorer that has not seen its image.

The public scorer leaves few images aside, and their votes have helped to calibrate it. So that the
mixture can be judged on all rated images, the images are dealt into folds: a scorer of the same
kind learns from all folds but two, is calibrated on one and scores the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.applications.scores import goodness
from pasta.config import Params
from pasta.embedding.inputs import with_label
from pasta.embedding.stored import load_embeddings
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.scoring.material import collect
from pasta.scoring.running import fit_all, settings_of
from pasta.seeds import generator
from pasta.studies.ratings.tables import LABELS

FEWEST = 3  # folds: to learn from, to calibrate on, to score


def cross_validate(
    scores: pd.DataFrame,
    groups: Sequence[Group],
    labels: Path,
    params: Params,
    question: str,
    folds: int,
) -> pd.DataFrame:
    """The table of scores with others' scores in it, and a column ``fold``.

    ``scores`` come from :func:`~pasta.applications.scores.score_stored`. Images without votes are
    left out; intervals are, too. Every image is held out.
    """
    material = collect(groups, store.read(labels, LABELS))
    rated, rows = material.rated(params.embedding, questions=(question,))
    images = material.samples["image"].to_numpy(str)[rows]
    fold_of = deal(sorted(set(images)), folds, params.seed)
    fold = np.array([fold_of[image] for image in images])
    numbers = range(folds)
    after = [(number + 1) % folds for number in numbers]
    name = params.scoring.public.scorer
    fitted = fit_all(
        name,
        [rated.at((fold != one) & (fold != after[one])) for one in numbers],
        [rated.at(fold == other) for other in after],
        settings_of(name, params.scoring),
        [params.seed] * folds,
    )
    found = scores[scores["image"].isin(fold_of)].reset_index(drop=True)
    found["fold"] = found["image"].map(fold_of).astype(int)
    found[["score", "low", "high", "good"]] = np.nan
    found["held_out"] = True
    features = _features(found, groups, params)
    usable = np.isfinite(features).all(axis=1)
    for number in numbers:
        own = usable & (found["fold"] == number).to_numpy()
        if own.any():
            stars = fitted[number].predict(features[own]).stars[:, 0]
            found.loc[own, "score"] = stars.astype(np.float64)
    found["good"] = goodness(found["score"].to_numpy(), question, params.annotations.protocol)
    return found


def deal(images: Sequence[str], folds: int, seed: int) -> dict[str, int]:
    """Images into folds of about equal size, at random."""
    if folds < FEWEST or len(images) < folds:
        raise PastaError(
            f"{len(images)} images cannot be dealt into {folds} folds (expected at least {FEWEST} "
            "folds, and an image for each)"
        )
    order = generator(seed, "applications", "folds").permutation(len(images))
    return {image: int(place) % folds for image, place in zip(images, order, strict=True)}


def _features(found: pd.DataFrame, groups: Sequence[Group], params: Params) -> NDArray[np.float32]:
    """Vectors with labels, in the order of the table; NaN where there is nothing to embed."""
    parts = [load_embeddings(group, params.embedding) for group in groups]
    every = pd.Index(np.concatenate([part.table["sample_id"] for part in parts]))
    vectors = np.concatenate([part.vectors for part in parts])
    places = every.get_indexer(pd.Index(found["sample_id"]))
    return with_label(vectors[places], found["predicted"].tolist())
