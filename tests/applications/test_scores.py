"""Scores of stored explanations: from stored vectors, and honest about what the scorer has seen."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from pasta import store, tables
from pasta.applications import crossed
from pasta.applications import scores as module
from pasta.applications.scores import COLUMNS, score_stored
from pasta.embedding.base import about
from pasta.embedding.embed import embed_dataset
from pasta.embedding.inputs import with_label
from pasta.embedding.stored import load_embeddings
from pasta.errors import PastaError
from pasta.params import Params, load_params
from pasta.params.baselines import PenaltyParams
from pasta.scoring import public
from pasta.scoring.base import SCORERS, Fitted, Rated
from pasta.scoring.folder import register_all, save_scorer
from pasta.scoring.material import collect
from pasta.scoring.splits import split
from pasta.seeds import generator
from pasta.tracking import file_md5
from tests.embedding.small import Counting, settings, silent, write_dataset

ASKED = ("Q1", "Q2")
EMPTY = "catsdogscars/0002/gradcam/resnet50"


class Project(NamedTuple):
    """A dataset with vectors, votes and a scorer."""

    folder: Path
    labels: Path
    scorer: Path
    fitted: Fitted
    params: Params

    def scores(self, question: str = "Q2", **changes: Any) -> pd.DataFrame:
        given = self._replace(**changes)
        return score_stored([given.folder], given.labels, given.params, question, given.scorer)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    small = partial(split, fewest=1)
    monkeypatch.setattr(module, "split", small)
    monkeypatch.setattr(public, "split", small)
    folder, encoder, own = write_dataset(tmp_path / "catsdogscars", EMPTY), Counting(), settings()
    embed_dataset(folder, encoder, own, folder / "embeddings", silent)
    embedded = load_embeddings(folder, own)
    labels = tmp_path / "labels.parquet"
    store.write(_labels(embedded.table["sample_id"].tolist()), labels, tables.LABELS)
    features = with_label(embedded.vectors, embedded.table["predicted"].tolist())
    usable = embedded.usable
    stars = generator(0, "stars").uniform(1, 5, (len(features), 2)).astype(np.float32)
    counts = np.ones((len(features), 2, 5), np.int64)
    rated = Rated(features, counts, stars).at(usable)
    register_all()
    fitted = SCORERS["ridge"].fit(rated, rated, PenaltyParams(alpha=1.0), 0)
    save_scorer(
        tmp_path / "scorer",
        "ridge",
        fitted,
        questions=ASKED,
        encoder=about(encoder),
        preprocessing=own,
        with_labels=True,
        training={str(file): file_md5(file) for file in (labels, folder / "explanations.parquet")},
        metrics={},
        techniques={},
        familiar={},
    )
    whole = load_params()
    shared = whole.scoring.public.model_copy(update={"train": 0.5})
    scoring = whole.scoring.model_copy(update={"public": shared})
    params = whole.model_copy(update={"embedding": own, "scoring": scoring})
    return Project(folder, labels, tmp_path / "scorer", fitted, params)


def _labels(samples: list[str]) -> pd.DataFrame:
    votes = {f"votes_{star}": 1 for star in range(1, 6)}
    plain = {"mode": 1, "mean": 3.0, "median": 3.0, "n_votes": 5, **votes}
    rows = [
        {"sample_id": sample, "question": question, **plain, "entropy": 2.3, "simulated": True}
        for sample in samples
        for question in ASKED
    ]
    return tables.LABELS.frame(rows)


def test_scores_are_the_scorers_answers_to_the_stored_vectors(project: Project) -> None:
    found = project.scores()
    assert list(found.columns) == list(COLUMNS)
    embedded = load_embeddings(project.folder, settings())
    features = with_label(embedded.vectors, embedded.table["predicted"].tolist())
    expected = project.fitted.predict(features[embedded.usable]).stars[:, 1]
    np.testing.assert_allclose(found.loc[embedded.usable, "score"], expected, rtol=1e-6)
    np.testing.assert_allclose(found["good"], (found["score"] - 1) / 4)


def test_what_shows_nothing_has_no_score(project: Project) -> None:
    found = project.scores().set_index("sample_id")
    assert found.index[found["score"].isna()].tolist() == [EMPTY]


def test_held_out_images_are_those_the_public_scorer_is_not_trained_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Rated] = []

    def stop(_name: str, train: list[Rated], *rest: Any) -> None:
        seen.extend(train)
        raise InterruptedError

    monkeypatch.setattr(public, "fit_all", stop)
    material = collect([project.folder], store.read(project.labels, tables.LABELS))
    with pytest.raises(InterruptedError):
        public.train_public(material, project.params)
    rated, rows = material.rated(project.params.embedding)
    image = material.samples["image"].to_numpy()[rows]
    trained = {
        str(image[np.flatnonzero((rated.features == row).all(axis=1))[0]])
        for row in seen[0].features
    }
    found = project.scores()
    assert set(found.loc[~found["held_out"], "image"]) == trained
    assert found["held_out"].any()


def test_a_scorer_for_another_question_is_an_error_that_says_so(project: Project) -> None:
    with pytest.raises(PastaError, match="answers Q1, Q2 and has not learned 'Q4'"):
        project.scores("Q4")


def test_other_labels_than_the_scorers_are_an_error(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other.parquet"
    table = store.read(project.labels, tables.LABELS)
    store.write(table.assign(mean=4.0), other, tables.LABELS)
    with pytest.raises(PastaError, match="not known which images it has seen"):
        project.scores(labels=other)


def test_vectors_of_another_encoder_are_an_error(project: Project) -> None:
    own = settings()
    other = Counting(md5="1" * 32)
    embed_dataset(project.folder, other, own, project.folder / "embeddings", silent)
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

    monkeypatch.setattr(crossed, "fit_all", fit)
    scores = project.scores("Q1")
    found = crossed.score_crossed(scores, [project.folder], project.labels, project.params, "Q1", 3)
    assert found["held_out"].all()
    assert found.loc[found["score"].isna(), "sample_id"].tolist() == [EMPTY]
    assert found["fold"].nunique() == 3
    material = collect([project.folder], store.read(project.labels, tables.LABELS))
    rated, rows = material.rated(project.params.embedding)
    samples = material.samples.iloc[rows]
    fold = samples["image"].map(dict(zip(found["image"], found["fold"], strict=True))).to_numpy()
    assert len(seen) == 3
    for number, (train, validation) in enumerate(seen):
        for part in (train, validation):
            places = [np.flatnonzero((rated.features == row).all(1))[0] for row in part.features]
            assert number not in set(fold[places])


def test_too_few_images_or_folds_cannot_be_dealt() -> None:
    assert sorted(crossed.deal(list("abcdefg"), 3, 0).values()) == [0, 0, 0, 1, 1, 2, 2]
    for images, folds in ((["a", "b"], 3), (list("abcd"), 2)):
        with pytest.raises(PastaError, match="cannot be dealt"):
            crossed.deal(images, folds, 0)
