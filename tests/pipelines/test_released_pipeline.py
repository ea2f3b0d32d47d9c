"""A release from votes to PDFs and the public scorer, in the tiny profile: no network, no training.

``pasta profile use released ci --root FOLDER && dvc repro`` is all it takes.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pypdfium2
import pytest
from PIL import Image

from pasta import store, tables
from pasta.layout import groups
from pasta.scoring.score import PastaScore, Score
from tests.conftest import Runner, copy_project, runner
from tests.release_generator import Planted, Settings, generate

pytestmark = pytest.mark.slow
REPORTS = (
    *("overview", "dataset", "agreement", "correlation"),
    *("score", "applications", "replication"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Runner, Path, Planted]:
    """A project after `dvc repro`, what runs in it, the release, and what was planted there."""
    root = tmp_path_factory.mktemp("released")
    planted = generate(root / "release", Settings(images=40, techniques=21, size=48))
    project = copy_project(root / "project")
    run = runner(project)
    run("pasta", "profile", "use", "released", "ci", "--root", str(root / "release"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PASTA_WORKERS", "1")
        run("dvc", "repro")
    return project, run, root / "release", planted


def words_of(file: Path) -> str:
    with pypdfium2.PdfDocument(file) as document:
        return "\n".join(page.get_textpage().get_text_range() for page in document)


def test_seven_reports_are_filled(made: tuple[Path, Runner, Path, Planted]) -> None:
    project, *_ = made
    told = {name: words_of(project / "reports" / f"{name}.pdf") for name in REPORTS}
    assert all(len(text) > 1000 for text in told.values())
    assert "come from a release" in told["applications"]
    data = project / "pipelines/data"
    preference = {
        name: pd.read_csv(data / f"analyse/preference/{name}.csv").dropna(subset=["estimate"])
        for name in ("technique_scores", "kinds", "backbones", "top_techniques", "ranking")
    }
    assert preference["technique_scores"]["technique"].nunique() == 46  # Table 12
    assert set(preference["kinds"]["group"]) == {"concept", "saliency"}  # Figure 3a
    assert {"resnet50", "vit_b_16"} <= set(preference["backbones"]["group"])  # Figure 3b
    assert len(preference["top_techniques"]) == len(preference["ranking"]) == 46  # Figure 10
    correlations = pd.read_csv(data / "analyse/correlation/correlations.csv")
    known = correlations.dropna(subset=["estimate"])
    assert {"sparseness", "entropy", "effective_complexity"} <= set(known["metric"])
    summary = pd.read_csv(data / "score/summary.csv")
    assert summary.loc[summary["study"] == "main", "mean"].notna().any()
    numbers = pd.read_csv(project / "reports/tables/replication/all_numbers.csv")
    pasta = numbers[numbers["paper"].isin(["P1", "P2"])]
    ours = pasta["ours"].notna().groupby(pasta["table"]).mean()
    filled = ["Figures 3a, 3b", "Figures 4, 5", "Table 10", "Table 12"]
    assert (ours[filled] == 1).all(), ours
    lacking = numbers[numbers["ours"].isna() & numbers["paper_value"].notna()]
    assert (lacking["verdict"] == "out of reach").all() and lacking["reason"].notna().all()


def test_the_planted_order_of_techniques_is_found_again(
    made: tuple[Path, Runner, Path, Planted],
) -> None:
    project, _, _, planted = made
    ranking = pd.read_csv(project / "pipelines/data/analyse/preference/ranking.csv")
    wanted = ranking["technique"].map(planted.techniques)
    assert ranking["estimate"].corr(wanted, method="spearman") > 0.8


def test_what_needs_a_classifier_is_empty_and_says_why(
    made: tuple[Path, Runner, Path, Planted],
) -> None:
    project, *_ = made
    for name in ("steering", "backbones", "tuning"):
        folder = project / "pipelines/data/applications" / name
        assert [file.name for file in folder.glob("*.csv")] == ["missing.csv"]
        assert "release" in pd.read_csv(folder / "missing.csv")["why"].iloc[0]
    for group in groups(root=project):
        assert store.read_json(group.models / "accuracy.json") == {}
        measured = store.read(group.metrics / "metric_values.parquet", tables.METRIC_VALUES)
        assert "faithfulness" not in set(measured["metric"]) and len(measured)


def test_every_explanation_of_the_release_is_rated_and_embedded(
    made: tuple[Path, Runner, Path, Planted],
) -> None:
    project, _, _, planted = made
    own = [store.read(one.explanations / "explanations.parquet", tables.EXPLANATIONS)
           for one in groups(root=project)]  # fmt: skip
    labels = pd.read_parquet(project / "pipelines/data/votes/ratings/labels.parquet")
    samples = set(pd.concat(own)["sample_id"])
    assert samples == set(labels["sample_id"]) == set(planted.samples)
    for group in groups(root=project):
        assert (group.embeddings / "tiny-clip.seen" / "gradcam.resnet50.npy").is_file()


def test_the_public_scorer_opens_and_scores(made: tuple[Path, Runner, Path, Planted]) -> None:
    project, _, release, _ = made
    score = PastaScore.load("Q1", project / "pipelines/data/score/public")
    entry = next(
        one
        for one in json.loads((release / "human_annotations.json").read_text())
        if one["activations"].endswith(".npy") and "/catsdogscars_" in one["img"]
    )
    with Image.open(release / entry["img"]) as picture:
        image = np.asarray(picture.convert("RGB"))
    saliency = np.load(release / entry["activations"])
    saliency = saliency[..., 3] if saliency.ndim == 3 else saliency
    stars = score(image=image, saliency=saliency, label="cat")
    assert isinstance(stars, Score) and 1 <= float(stars) <= 5


def test_a_changed_release_runs_again_and_an_unchanged_one_does_not(
    made: tuple[Path, Runner, Path, Planted],
) -> None:
    _, run, release, _ = made
    assert "up to date" in run("dvc", "status").stdout
    entries = json.loads((release / "human_annotations.json").read_text())
    entries[0]["Annotation"][0]["Q1"] = 6 - entries[0]["Annotation"][0].get("Q1", 1)
    saved = release.with_name("saved.json")
    shutil.copy(release / "human_annotations.json", saved)
    (release / "human_annotations.json").write_text(json.dumps(entries))
    assert "release" in run("dvc", "status").stdout
    run("dvc", "repro", "--single-item", "release")
    changed = run("dvc", "status").stdout
    shutil.copy(saved, release / "human_annotations.json")
    run("dvc", "repro", "--single-item", "release")
    assert "simulate@ratings" in changed and "explain@coco" not in changed
    assert "up to date" in run("dvc", "status").stdout
