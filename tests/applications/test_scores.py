"""Scores of stored explanations: from stored vectors, and honest about what the scorer has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pasta import store, tables
from pasta.applications import scores as module
from pasta.applications.scores import COLUMNS, score_stored
from pasta.config import Params, load_params
from pasta.embedding.inputs import classes_of, label_order, with_label
from pasta.embedding.stored import Embedded
from pasta.errors import PastaError
from pasta.layout import Group
from pasta.scoring import material as material_module
from pasta.scoring import public
from pasta.scoring.base import SCORERS, Fitted, Rated
from pasta.scoring.material import collect, split
from pasta.scoring.settings import PenaltyParams
from pasta.scoring.stored import save_scorer
from pasta.seeds import generator
from pasta.studies.ratings import tables as rating_tables
from pasta.studies.ratings.settings import QUESTIONS
from pasta.tracking import file_md5

ASKED = ("Q1", "Q2")
DATASET, WIDTH, IMAGES = "catsdogscars", 8, 6
EMPTY = f"{DATASET}/0002/gradcam/resnet50"
LABELS = ("cat", "dog")
KNOWN = classes_of([DATASET])
GROUPS = {  # of one dataset, with a technique each
    f"{DATASET}-resnet50": ("gradcam", "resnet50", "saliency"),
    f"{DATASET}-vit_b_16": ("lime", "vit_b_16", "saliency"),
    f"{DATASET}-clip_qda": ("clip_qda", "clip_qda", "concept"),
}


@dataclass(frozen=True)
class Project:
    """A dataset in several groups with vectors, votes and a scorer."""

    groups: Sequence[Group]
    labels: Path
    scorer: Path
    fitted: Fitted
    params: Params
    embedded: dict[str, Embedded]  # by group

    def scores(self, question: str = "Q2", **changes: Any) -> pd.DataFrame:
        own = replace(self, **changes)
        return score_stored(own.groups, own.labels, own.params, question, own.scorer)

    @property
    def table(self) -> pd.DataFrame:
        return pd.concat([one.table for one in self.embedded.values()], ignore_index=True)

    @property
    def vectors(self) -> np.ndarray:
        return np.concatenate([one.vectors for one in self.embedded.values()])


def _embedded(key: str) -> Embedded:
    method, backbone, kind = GROUPS[key]
    rows = [
        {
            "sample_id": f"{DATASET}/{row:04d}/{method}/{backbone}",
            "dataset": DATASET,
            "image_id": f"{row:04d}",
            "method": method,
            "backbone": backbone,
            "kind": kind,
            "predicted": LABELS[row % 2],
            "status": "ok",
            "scale": 1.0,
            "row": row,
        }
        for row in range(IMAGES)
    ]
    table = tables.EXPLANATIONS.frame(rows)
    vectors = generator(0, "vectors", key).normal(size=(IMAGES, WIDTH)).astype(np.float32)
    vectors[table["sample_id"] == EMPTY] = np.nan
    table.loc[table["sample_id"] == EMPTY, "status"] = "constant"
    about = {"encoder": "counting", "md5": "0" * 32, "size": 16, "width": WIDTH}
    return Embedded(table, vectors, about)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    small = partial(split, fewest=1)
    monkeypatch.setattr(module, "split", small)
    monkeypatch.setattr(public, "split", small)
    embedded = {key: _embedded(key) for key in GROUPS}
    for place in (module, material_module):
        monkeypatch.setattr(place, "load_embeddings", lambda group, _: embedded[group.key])
    groups = [Group(key, DATASET, tmp_path) for key in GROUPS]
    for group in groups:
        file = group.explanations / "explanations.parquet"
        store.write(embedded[group.key].table, file, tables.EXPLANATIONS)
    labels = tmp_path / "labels.parquet"
    samples = [str(one) for part in embedded.values() for one in part.table["sample_id"]]
    store.write(_labels(samples), labels, rating_tables.LABELS)
    whole = load_params()
    own = whole.embedding.model_copy(update={"encoder": "counting", "weights": "none"})
    files = (labels, *(group.explanations / "explanations.parquet" for group in groups))
    fitted = _fitted(embedded)
    save_scorer(
        tmp_path / "scorer",
        "ridge",
        fitted,
        directions=dict.fromkeys(ASKED, 1),
        origin="",
        encoder=embedded[groups[0].key].encoder,
        preprocessing=own,
        labels=KNOWN,
        training={str(file): file_md5(file) for file in files},
        metrics={},
        techniques={},
        familiar={},
    )
    shared = whole.scoring.public.model_copy(update={"train": 0.5})
    scoring = whole.scoring.model_copy(update={"public": shared})
    params = whole.model_copy(update={"embedding": own, "scoring": scoring})
    return Project(groups, labels, tmp_path / "scorer", fitted, params, embedded)


def _fitted(embedded: dict[str, Embedded]) -> Fitted:
    vectors = np.concatenate([one.vectors for one in embedded.values()])
    labels = [str(one) for part in embedded.values() for one in part.table["predicted"]]
    stars = generator(0, "stars").uniform(1, 5, (len(vectors), 2)).astype(np.float32)
    rated = Rated(
        with_label(vectors, labels, label_order(KNOWN)),
        np.ones((len(vectors), 2, 5), np.int64),
        stars,
    )
    known = rated.at(np.isfinite(vectors).all(axis=1))
    settings: Any = PenaltyParams(alpha=1.0)
    return SCORERS["ridge"].fit(known, known, settings, 0)


def _labels(samples: list[str]) -> pd.DataFrame:
    votes = {f"votes_{star}": 1 for star in range(1, 6)}
    plain = {"mode": 1, "mean": 3.0, "median": 3.0, "n_votes": 5, **votes}
    rows = [
        {"sample_id": sample, "question": question, **plain, "entropy": 2.3, "simulated": True}
        for sample in samples
        for question in QUESTIONS
    ]
    return rating_tables.LABELS.frame(rows)


def test_scores_are_the_scorers_answers_to_the_stored_vectors(project: Project) -> None:
    found = project.scores()
    assert list(found.columns) == list(COLUMNS)
    assert found["sample_id"].tolist() == project.table["sample_id"].tolist()
    features = with_label(project.vectors, project.table["predicted"].tolist(), label_order(KNOWN))
    usable = np.isfinite(project.vectors).all(axis=1)
    expected = project.fitted.predict(features[usable]).stars[:, 1]
    np.testing.assert_allclose(found.loc[usable, "score"], expected, rtol=1e-6)
    np.testing.assert_allclose(found["good"], (found["score"] - 1) / 4)


def test_what_shows_nothing_has_no_score(project: Project) -> None:
    found = project.scores().set_index("sample_id")
    assert found.index[found["score"].isna()].tolist() == [EMPTY]


def test_held_out_images_are_those_the_public_scorer_is_not_trained_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Rated] = []
    fit = type(SCORERS["ridge"]).fit

    def look(self: Any, train: Rated, *rest: Any) -> Any:
        seen.append(train)
        return fit(self, train, *rest)

    monkeypatch.setattr(type(SCORERS["ridge"]), "fit", look)
    shared = project.params.scoring.public.model_copy(update={"scorer": "ridge"})
    scoring = project.params.scoring.model_copy(update={"public": shared})
    params = project.params.model_copy(update={"scoring": scoring})
    material = collect(project.groups, store.read(project.labels, rating_tables.LABELS))
    looks = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    public.train_public(material, params, looks)
    rated, rows = material.rated(params.embedding)
    image = material.samples["image"].to_numpy()[rows]
    width = material.embedded(params.embedding)[0].encoder["width"]  # labels may be taken away
    trained = {
        str(image[np.flatnonzero((rated.features == row)[:, :width].all(axis=1))[0]])
        for row in seen[0].features
    }
    without = (seen[0].features[:, width:] == 0).all(axis=1)
    assert 0 < without.mean() < 0.5  # scoring.public.label_dropout is 0.2
    found = project.scores()
    assert set(found.loc[~found["held_out"], "image"]) == trained
    assert found["held_out"].any()


def test_a_scorer_for_another_question_is_an_error_that_says_so(project: Project) -> None:
    with pytest.raises(PastaError, match="answers Q1, Q2 and has not learned 'Q4'"):
        project.scores("Q4")


def test_other_labels_than_the_scorers_are_an_error(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    table = store.read(project.labels, rating_tables.LABELS)
    store.write(table.assign(mean=4.0), other, rating_tables.LABELS)
    expected = "not known which images it has seen; `dvc repro score` trains"
    with pytest.raises(PastaError, match=expected):
        project.scores(labels=other)


def test_vectors_of_another_encoder_are_an_error(project: Project) -> None:
    key = project.groups[0].key
    other = {**project.embedded[key].encoder, "md5": "1" * 32}
    project.embedded[key] = replace(project.embedded[key], encoder=other)
    with pytest.raises(PastaError, match="made by an encoder with the md5 1111"):
        project.scores()


def test_crossed_scores_come_from_scorers_that_have_not_seen_the_image(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Rated, Rated]] = []

    def fit(name: str, train: list[Rated], validation: list[Rated], *rest: Any) -> list[Fitted]:
        seen.extend(zip(train, validation, strict=True))
        chosen: Any = PenaltyParams(alpha=1.0)
        pairs = zip(train, validation, strict=True)
        return [SCORERS["ridge"].fit(one, other, chosen, 0) for one, other in pairs]

    monkeypatch.setattr(module, "fit_all", fit)
    scores = project.scores("Q1")
    found = module.cross_validate(scores, project.groups, project.labels, project.params, "Q1", 3)
    assert found["held_out"].all()
    assert found.loc[found["score"].isna(), "sample_id"].tolist() == [EMPTY]
    assert found["fold"].nunique() == 3
    material = collect(project.groups, store.read(project.labels, rating_tables.LABELS))
    rated, rows = material.rated(project.params.embedding)
    samples = material.samples.iloc[rows]
    fold = samples["image"].map(dict(zip(found["image"], found["fold"], strict=True))).to_numpy()
    assert len(seen) == 3
    for number, (train, validation) in enumerate(seen):
        for part in (train, validation):
            places = [np.flatnonzero((rated.features == row).all(1))[0] for row in part.features]
            assert number not in set(fold[places])


def test_too_few_images_or_folds_cannot_be_dealt() -> None:
    assert sorted(module.deal(list("abcdefg"), 3, 0).values()) == [0, 0, 0, 1, 1, 2, 2]
    for images, folds in ((["a", "b"], 3), (list("abcd"), 2)):
        with pytest.raises(PastaError, match="cannot be dealt"):
            module.deal(images, folds, 0)
