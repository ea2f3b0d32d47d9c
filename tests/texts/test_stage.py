"""The stage: its tables keep their contracts, two runs make the same bytes, methods beat chance."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from pasta import store
from pasta.contracts import find_problems
from pasta.errors import PastaError
from pasta.texts.documents import Document
from pasta.texts.settings import TextsParams
from pasta.texts.stage import Seeds, TextStudy, cue_precision, study_texts
from pasta.texts.stored import (
    read_documents,
    read_documents_table,
    read_explanations,
    read_metrics,
    read_weights,
)
from pasta.texts.tables import PROBLEMS, TEXT_DOCUMENTS, TEXT_METRICS, TEXT_PROBLEMS
from tests.conftest import contents
from tests.models.small import profile
from tests.texts.test_files import imdb
from tests.texts.test_hugging_face import saved

SEEDS: Seeds = dict.fromkeys(("drawing", "splitting", "training", "explaining", "measuring"), 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("texts")
    study_texts(profile().texts, out, SEEDS, out)
    return out


def test_what_is_stored_fits_together(folder: Path) -> None:
    documents, weights = read_documents(folder), read_weights(folder)
    explanations, metrics = read_explanations(folder), read_metrics(folder)
    assert len(documents) == 4 and len(read_documents(folder, explained=False)) == 110
    assert {one.label for one in documents.values()} == {"negative", "positive"}
    methods = profile().texts.methods
    assert set(weights) == {(text, method) for text in documents for method in methods}
    assert all(len(own) == len(documents[text]) for (text, _), own in weights.items())
    assert len(explanations) == 16 and set(explanations["status"]) <= {"ok", "zero", "constant"}
    assert len(metrics) == 4 * 5 * 3 and set(metrics["metric"]) == set(TEXT_METRICS)
    assert metrics["value"].notna().equals(metrics["status"] == "ok")
    assert store.read(folder / PROBLEMS, TEXT_PROBLEMS).empty


def test_a_second_run_makes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    np.random.seed(1)  # noqa: NPY002 (nothing may depend on it)
    study_texts(profile().texts, tmp_path, SEEDS, tmp_path)
    assert contents(tmp_path) == contents(folder)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_seed_changes_what_it_is_for(folder: Path, tmp_path: Path, seed: str) -> None:
    study_texts(profile().texts, tmp_path, {**SEEDS, seed: 1}, tmp_path)
    before, after = contents(folder), contents(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert ("documents.parquet" in changed) == (seed in ("drawing", "training"))
    assert ("weights.parquet" in changed) == (seed not in ("measuring", "splitting"))
    assert ("metrics.parquet" in changed) == (seed != "splitting")


@pytest.mark.slow
def test_methods_find_the_cues_and_are_far_above_chance(tmp_path: Path) -> None:
    settings = TextsParams(train=400, validation=80, test=60, explained=40)
    study = study_texts(settings, tmp_path, SEEDS, tmp_path)
    assert study.accuracy > 0.9
    means = study.metrics.groupby(["metric", "method"])["value"].mean()
    floor = {metric: means[metric]["random"] for metric in TEXT_METRICS}
    for method in settings.methods:
        assert means["comprehensiveness"][method] > floor["comprehensiveness"] + 0.15
        assert means["sufficiency"][method] < floor["sufficiency"]
        assert means["cue_precision"][method] > 2 * floor["cue_precision"]


def hub_study(tmp_path: Path, **changes: object) -> TextStudy:
    imdb(tmp_path / "aclImdb", 12)
    saved(tmp_path / "own")
    (tmp_path / "aclImdb/test/neg/3_2.txt").write_text("")
    given = {
        **{"source": "imdb", "root": "aclImdb", "classifier": "own"},
        **{"train": 0, "validation": 0, "test": None, "explained": 3, **changes},
    }
    return study_texts(TextsParams.model_validate(given), tmp_path, SEEDS, tmp_path / "out")


def test_reviews_from_files_and_a_classifier_of_hugging_face(tmp_path: Path) -> None:
    study = hub_study(tmp_path)
    assert set(study.documents["predicted"]) <= {"negative", "positive"}
    assert set(study.documents["split"]) == {"test"}
    assert study.problems["file"].tolist() == ["test/neg/3_2.txt"]
    assert study.history is None and not (tmp_path / "out/model").exists()
    precision = study.metrics[study.metrics["metric"] == "cue_precision"]
    assert set(precision["status"]) <= {"no cues", "wrong prediction"}
    assert precision["value"].isna().all()


def test_a_classifier_of_other_classes_is_refused(tmp_path: Path) -> None:
    news = tmp_path / "news"
    for group in ("a.b", "c.d"):
        (news / group).mkdir(parents=True)
        for number in range(20):
            (news / group / str(number)).write_text("From: x\n\nsome words")
    saved(tmp_path / "own")
    given = {"source": "newsgroups", "root": "news", "classifier": "own", "train": None}
    settings = TextsParams.model_validate({**given, "validation": 0, "test": None})
    study = study_texts(settings, tmp_path, SEEDS, tmp_path / "out")
    assert set(study.documents["predicted"]) <= {"a.b", "c.d"}  # unrelated names: in their order
    (news / "e.f").mkdir()
    (news / "e.f" / "1").write_text("From: x\n\nsome words")
    with pytest.raises(PastaError, match="knows 2 classes"):
        study_texts(settings, tmp_path, SEEDS, tmp_path / "out")


def test_cue_precision_is_one_where_cues_weigh_most_and_is_missing_where_it_means_nothing() -> None:
    document = Document("so very good", "a", "positive", (2,))
    weights = np.array([0.1, 0.2, 0.9])
    assert cue_precision(document, weights, "positive", "ok") == (1.0, "ok")
    assert cue_precision(document, -weights, "positive", "ok")[0] == pytest.approx(1 / 3)
    for found in (
        cue_precision(document, weights, "negative", "ok"),
        cue_precision(Document("so", "a", "positive", (0,)), np.ones(1), "positive", "ok"),
        cue_precision(document, weights, "positive", "nan"),
    ):
        assert np.isnan(found[0]) and found[1] != "ok"


def test_cues_beyond_the_text_break_the_contract(folder: Path) -> None:
    frame = read_documents_table(folder)
    frame.loc[3, "cues"] = "0 5000"
    frame.loc[4, "cues"] = "1 x"
    found = find_problems(frame, TEXT_DOCUMENTS)
    assert [(one.row, one.column) for one in found] == [(3, "cues"), (4, "cues")]
    assert "below the number of words" in found[0].expected


@pytest.mark.parametrize(
    "name",
    [
        "documents",
        "corpus",
        "classifier",
        "explain",
        "faithfulness",
        "attention_files",
        "rendering",
    ],
)
def test_examples_in_docstrings_are_right(name: str) -> None:
    tested = doctest.testmod(import_module(f"pasta.texts.{name}"))
    assert tested.failed == 0 and tested.attempted > 0
