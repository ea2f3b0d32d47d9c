"""The stage `score` on a made-up project: what it writes, twice the same, and nothing of here."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pasta import store, tables
from pasta.config import Params, load_params, profile_text
from pasta.datasets.build import build_dataset
from pasta.datasets.drawn.source import DrawnSource
from pasta.layout import Group
from pasta.scoring.stored import FOLDER, load_scorer
from pasta.scoring.studies import setups
from pasta.studies.ratings import tables as rating_tables
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.source import describe_source, read_source, write_source
from pipelines import score as stage
from tests.conftest import ROOT
from tests.scoring.small_scorer import make_root, tiny
from tests.scoring.test_studies import BACKBONES, DATASET, groups, random_votes

__all__ = ["groups"]  # a fixture
SCORERS = ("constant", "pasta-linear", "pasta-mlp", "ordinal")


def contents(root: Path) -> dict[str, str]:
    """A digest of every file that the stage has written."""
    out = [*(root / "pipelines/data/score").rglob("*"), root / "reports/figures/score.svg"]
    return {
        file.relative_to(root).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(out)
        if file.is_file()
    }


def _draw(group: Group, params: Params) -> None:
    """Some images, which say what images look like."""
    source = DrawnSource(DATASET, 0, (10, 2, 2), 0.0)
    build_dataset(DATASET, source, source.items(), params.image_size, group.images)


@pytest.mark.usefixtures("groups")
def test_the_stage_writes_tables_figure_and_scorer_twice_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_root(tmp_path, tiny())
    (tmp_path / "params.yaml").write_text(profile_text("ci", ROOT))
    params = load_params(tmp_path / "params.yaml")
    scoring = params.scoring.model_copy(update={"scorers": SCORERS})
    params = params.model_copy(update={"scoring": scoring})
    found = [Group(f"{DATASET}-{name}", DATASET, tmp_path) for name in BACKBONES]
    votes = random_votes()
    folder = tmp_path / "pipelines/data/votes/ratings"
    store.write(votes, folder / "votes.parquet", rating_tables.VOTES)
    store.write(aggregate(votes), folder / "labels.parquet", rating_tables.LABELS)
    flags = {"anonymous": False, "simulated": True}
    people = [{"annotator_id": name, **flags} for name in votes["annotator_id"].unique()]
    annotators = rating_tables.ANNOTATORS.frame(people)
    store.write(annotators, folder / "annotators.parquet", rating_tables.ANNOTATORS)
    write_source(describe_source(folder, 0), folder)
    for group in found:
        group.embeddings.mkdir(parents=True)
    _draw(found[0], params)
    wanted = [one for one in setups(params.embedding, scoring) if one.study == "main"]
    wanted = [one for one in wanted if one.scorer in SCORERS]
    logged: list[Path] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PASTA_WORKERS", "1")
    monkeypatch.setattr(stage, "load_params", lambda: params)
    monkeypatch.setattr(stage, "groups", lambda *_: found)
    monkeypatch.setattr(stage, "setups", lambda *_: wanted)
    monkeypatch.setattr(stage, "track", lambda *_: None)
    monkeypatch.setattr(stage, "log_served", logged.append)
    stage.main()
    first = contents(tmp_path)
    assert set(first) == {
        "pipelines/data/score/score_results.parquet",
        "pipelines/data/score/summary.csv",
        "pipelines/data/score/facts.csv",
        "pipelines/data/score/differences.csv",
        "pipelines/data/score/predictions.csv",
        "pipelines/data/score/source.json",
        "pipelines/data/score/score.json",
        "pipelines/data/score/public/scorer.json",
        "pipelines/data/score/public/weights.safetensors",
        "pipelines/data/score/public/encoder/clip.json",
        "pipelines/data/score/public/encoder/weights.safetensors",
        "reports/figures/score.svg",
    }
    stage.main()
    assert contents(tmp_path) == first
    for name in first:
        assert str(tmp_path).encode() not in (tmp_path / name).read_bytes(), name
    assert read_source(tmp_path / "pipelines/data/score") == read_source(folder)
    _check_predictions(tmp_path / "pipelines/data/score", params.scoring.public.scorer)
    _check_facts(tmp_path / "pipelines/data/score", params)
    card = load_scorer(tmp_path / FOLDER).card
    assert "pipelines/data/votes/ratings/labels.parquet" in card.training
    assert set(card.familiar) == {"image", "saliency"}
    assert card.labels is not None and card.labels.dropout == 0.2
    assert all(isinstance(card.kappa(question), float) for question in card.questions)
    assert logged == 2 * [tmp_path / FOLDER]
    assert not list((tmp_path / "pipelines/data/units").glob("*"))


def _check_facts(folder: Path, params: Params) -> None:
    """Sizes are those of the runs, and settings those of the parameters."""
    facts = pd.read_csv(folder / "facts.csv").set_index("fact")["estimate"]
    results = store.read(folder / "score_results.parquet", tables.SCORE_RESULTS)
    own = results[(results["scorer"] == "pasta-linear") & (results["measure"] == "mse")]
    assert facts["test_samples"] == pytest.approx(own["n"].mean())
    assert facts["training_samples"] > facts["test_samples"] > 0
    linear = params.scoring.linear
    assert facts["learning_rate"] == linear.learning_rate and facts["beta"] == 0.01
    assert facts["runs"] == params.scoring.split.seeds and facts["epochs"] == linear.epochs


def _check_predictions(folder: Path, scorer: str) -> None:
    """They are those of the runs: their mean squared errors are the ones in the table."""
    found = pd.read_csv(folder / "predictions.csv")
    assert not found.duplicated(["sample_id", "seed", "question"]).any()
    results = store.read(folder / "score_results.parquet", tables.SCORE_RESULTS)
    own = results[(results["level"] == scorer) & (results["measure"] == "mse")]
    errors = (found["stars"] - found["label"]).pow(2).groupby([found["question"], found["seed"]])
    expected = own.set_index(["question", "seed"])["estimate"].sort_index()
    np.testing.assert_allclose(errors.mean().sort_index(), expected, atol=1e-3)
    votes = found[[f"n{star}" for star in range(1, 6)]].sum(axis=1)
    assert (votes > 0).all() and ((found["low"] <= found["high"]) | found["low"].isna()).all()
