"""Predicted scores of all stored explanations: from stored vectors, nothing is encoded again.

Their faithfulness is read as it was measured.

**Cross-validation.** The public scorer leaves few images aside, and their votes have helped to
calibrate it. To judge the mixture on all rated images, images are dealt into folds: a scorer of the
same kind learns from all folds but two, is calibrated on one and scores the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store, tables
from pasta.applications.prepared.base import groups_with_new_images
from pasta.applications.simulated_judge import planted_quality
from pasta.config import Params
from pasta.embedding import inputs
from pasta.embedding.settings import EmbeddingParams
from pasta.embedding.stored import load_embeddings
from pasta.errors import PastaError
from pasta.layout import TABLE, Group
from pasta.registry import did_you_mean
from pasta.scoring.material import collect, split
from pasta.scoring.stored import ScorerCard, StoredScorer, load_scorer
from pasta.scoring.studies import fit_all, settings_of
from pasta.seeds import generator
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.tables import LABELS
from pasta.tracking import file_md5

METRIC = "faithfulness_correlation"
# sample_id to status are those of the explanations table. score, low, high: predicted stars and
# their 90 % interval, NaN where an explanation shows nothing. good: the same as a number from 0
# (the worst answer) to 1 (the best), whatever the direction of the question. held_out: whether the
# scorer has seen no explanation of the image. quality: what was planted, turned so that more is
# better, in the simulator's unit; NaN with real raters.
COLUMNS = (
    *("sample_id", "dataset", "image_id", "image", "method", "backbone", "technique", "kind"),
    *("predicted", "status", "score", "low", "high", "good", "held_out", "quality"),
)


def score_stored(
    groups: Sequence[Group],
    labels: Path,
    params: Params,
    question: str,
    scorer: Path,
    planted: Path | None = None,
) -> pd.DataFrame:
    """One row for each stored explanation with what the public scorer says of it, see COLUMNS.

    Parameters
    ----------
    groups
        Whose explanations are scored, in the order in which the scorer's stage was given them.
    labels
        The labels table that the scorer has learned from: it says which images it has not seen.
    question
        Whose stars are predicted; a scorer that has not learned it is an error.
    scorer, planted
        The folders of the public scorer, and of what was planted in the simulated raters.
    """
    stored = load_scorer(scorer)
    column = question_column(stored.card, question, scorer)
    settings = own_settings(stored.card, params.embedding)
    parts = [_scored(group, stored, settings, column) for group in groups]
    found = pd.concat(parts, ignore_index=True)
    found["image"] = found["dataset"] + "/" + found["image_id"]
    found["technique"] = found["method"] + "/" + found["backbone"]
    found["good"] = goodness(found["score"].to_numpy(), question, params.annotations.protocol)
    seen = training_images(groups, labels, params, stored.card, settings)
    found["held_out"] = ~found["image"].isin(seen)
    truth = planted_quality(planted, question) * direction(question, params.annotations.protocol)
    found["quality"] = found["sample_id"].map(truth).astype(float)
    return found[list(COLUMNS)]


def question_column(card: ScorerCard, question: str, scorer: Path) -> int:
    """Where a question stands among those of a scorer, or an error that names what it knows."""
    if question not in card.questions:
        hint = did_you_mean(question, list(card.questions))
        known = ", ".join(card.questions)
        raise PastaError(
            f"{scorer}: the scorer answers {known} and has not learned {question!r}. {hint}"
        )
    return card.questions.index(question)


def direction(question: str, protocol: str) -> int:
    """1 where many stars are good news, -1 where they are bad."""
    return load_protocol(protocol).question(question).direction or 1


def goodness(stars: NDArray[Any], question: str, protocol: str) -> NDArray[np.float64]:
    """Stars from 0, the worst answer to a question, to 1, the best."""
    up = (np.asarray(stars, np.float64) - 1) / 4
    return up if direction(question, protocol) > 0 else 1 - up


def own_settings(card: ScorerCard, settings: EmbeddingParams) -> EmbeddingParams:
    """The embedding's parameters that a scorer was trained with."""
    shown = card.preprocessing.model_dump(exclude={"overlay"})
    return settings.model_copy(
        update={"encoder": card.encoder.name, "weights": card.encoder.weights, **shown}
    )


def training_images(
    groups: Sequence[Group],
    labels: Path,
    params: Params,
    card: ScorerCard,
    settings: EmbeddingParams,
) -> frozenset[str]:
    """The images (``dataset/image``) of which the public scorer has seen an explanation.

    They follow from the split that the stage `score` makes of labels, explanations and vectors,
    with ``seeds.splitting`` and ``scoring.public.train``; other labels or explanations than those
    it was given would give another split, so they are an error.
    """
    known = set(card.training.values())
    for file in (labels, *(group.explanations / TABLE for group in groups)):
        if file_md5(file) not in known:
            raise PastaError(
                f"{file}: the scorer was trained with another version of this table, so it is "
                "not known which images it has seen; `dvc repro score` trains it again"
            )
    material = collect(groups, store.read(labels, LABELS))
    _, rows = material.rated(settings)
    samples = material.samples.iloc[rows].reset_index(drop=True)
    share = params.scoring.public.train
    places = samples[["dataset", "image", "technique"]]
    parts = split(places, "image_and_technique", share, params.seeds.splitting)
    return frozenset(samples["image"].iloc[parts.train])


def read_faithfulness(
    scores: pd.DataFrame, groups: Sequence[Group], backbones: Sequence[str]
) -> pd.DataFrame:
    """Columns sample_id, faithfulness, why: of all stored saliency maps of these backbones.

    Values are those of the stage `measure`; ``why`` is their status.
    """
    wanted = scores[(scores["kind"] == "saliency") & scores["backbone"].isin(list(backbones))]
    if wanted.empty:
        raise PastaError(
            f"there is no saliency map of {', '.join(backbones)}: faithfulness needs one; "
            f"stored are explanations of {', '.join(sorted(set(scores['backbone'])))}"
        )
    files = [group.metrics / "metric_values.parquet" for group in groups]
    table = pd.concat([store.read(file, tables.METRIC_VALUES) for file in files])
    own = table[table["metric"] == METRIC].drop_duplicates("sample_id").set_index("sample_id")
    if own.empty and groups_with_new_images(groups):
        raise PastaError(
            f"{files[0]}: {METRIC} is not measured; name it in metrics.names and "
            "`dvc repro measure`"
        )
    # in the order of the metrics' tables
    own = own[own.index.isin(set(wanted["sample_id"]))]
    missing = wanted.loc[~wanted["sample_id"].isin(own.index), "sample_id"]
    found = own.reindex([*own.index, *missing])[["value", "status"]]
    found["status"] = found["status"].fillna("not measured")
    return found.rename(columns={"value": "faithfulness", "status": "why"}).reset_index()


def _scored(
    group: Group, stored: StoredScorer, settings: EmbeddingParams, column: int
) -> pd.DataFrame:
    card, embedded = stored.card, load_embeddings(group, settings)
    if embedded.encoder["md5"] != card.encoder.md5:
        raise PastaError(
            f"{group.embeddings}: the stored vectors were made by an encoder with the md5 "
            f"{embedded.encoder['md5']}, the scorer was trained with {card.encoder.md5}; "
            "`dvc repro score` brings both up to date"
        )
    usable = embedded.usable
    table = embedded.table.drop(columns=["scale", "row"]).copy()
    features = embedded.vectors[usable]
    if card.labels is not None:
        features = inputs.with_label(
            features, table["predicted"][usable].tolist(), card.labels.order
        )
    answer = stored.fitted.predict(features)
    for name, values in (("score", answer.stars), ("low", answer.low), ("high", answer.high)):
        table[name] = np.nan
        if values is not None:
            table.loc[usable, name] = values[:, column].astype(np.float64)
    return table


FEWEST = 3  # folds: to learn from, to calibrate on, to score


def cross_validate(
    scores: pd.DataFrame,
    groups: Sequence[Group],
    labels: Path,
    params: Params,
    question: str,
    folds: int,
    scorer: str | None = None,
) -> pd.DataFrame:
    """The table of scores with others' scores in it, and a column ``fold``.

    ``scores`` come from :func:`score_stored`, by a ``scorer`` that is the public one unless it is
    named. Images without votes are left out; intervals are, too. Every image is held out.
    """
    material = collect(groups, store.read(labels, LABELS))
    own = params.scoring
    rated, rows = material.rated(params.embedding, own.aggregate, own.label_input, (question,))
    images = material.samples["image"].to_numpy(str)[rows]
    fold_of = deal(sorted(set(images)), folds, params.seeds.splitting)
    fold = np.array([fold_of[image] for image in images])
    numbers = range(folds)
    after = [(number + 1) % folds for number in numbers]
    name = own.public.scorer if scorer is None else scorer
    fitted = fit_all(
        name,
        [rated.at((fold != one) & (fold != after[one])) for one in numbers],
        [rated.at(fold == other) for other in after],
        settings_of(name, own),
        [params.seeds.training] * folds,
    )
    found = scores[scores["image"].isin(fold_of)].reset_index(drop=True)
    found["fold"] = found["image"].map(fold_of).astype(int)
    found[["score", "low", "high", "good"]] = np.nan
    found["held_out"] = True
    features = _features(found, groups, params)
    usable = np.isfinite(features).all(axis=1)
    for number in numbers:
        there = usable & (found["fold"] == number).to_numpy()
        if there.any():
            stars = fitted[number].predict(features[there]).stars[:, 0]
            found.loc[there, "score"] = stars.astype(np.float64)
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
    """Features in the order of the table; NaN where there is nothing to embed."""
    parts = [load_embeddings(group, params.embedding) for group in groups]
    every = pd.Index(np.concatenate([part.table["sample_id"] for part in parts]))
    vectors: NDArray[np.float32] = np.concatenate([part.vectors for part in parts])
    vectors = vectors[every.get_indexer(pd.Index(found["sample_id"]))]
    if not params.scoring.label_input:
        return vectors
    classes = inputs.label_order(inputs.classes_of(group.dataset for group in groups))
    return inputs.with_label(vectors, found["predicted"].tolist(), classes)
