"""Reports are built from tables on disk, know where they come from, and never load torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pypdfium2
import pytest
from reports.facts import facts
from reports.library import build, build_all, names
from reports.previous import previous_headlines

from analysis.suites.agreement import agreement_tables
from pasta import store
from pasta.errors import PastaError
from pasta.paths import HEADLINES
from reports import parts
from tests.conftest import ROOT


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one commit, a lock, and what an analysis of agreement leaves."""
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    profile = (ROOT / "pipelines/profiles/ci.yaml").read_text()
    (tmp_path / "params.yaml").write_text(profile)
    lock = (
        "stages:\n  labels:\n    cmd: x\n    outs:\n"
        "    - path: pipelines/data/labels.parquet\n      md5: 0123456789abcdef\n"
    )
    (tmp_path / "dvc.lock").write_text(lock)
    data = tmp_path / "pipelines/data"
    ratings = pd.DataFrame(
        [
            (f"s{sample}", f"a{rater}", "Q1", 1 + (sample + (rater == 2) * (sample % 3 == 0)) % 5)
            for sample in range(20)
            for rater in range(3)
        ],
        columns=["sample_id", "annotator_id", "question", "rating"],
    )
    found = agreement_tables(ratings, resamples=50, permutations=50)
    store.write_csvs(found, data / "analysis/agreement")
    store.write_json({"simulated": 0}, data / "annotations.json")
    record = {"experiment": "annotations", "name": "simulated", "run_id": "abc", "stage": "s"}
    store.write_json(record, data / "simulate.run.json")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "params.yaml", "dvc.yaml")
    git(tmp_path, "commit", "-q", "-m", "start")
    return tmp_path


def test_a_report_is_built_from_what_is_there_twice_the_same(root: Path) -> None:
    first = build("agreement", root)
    assert first == root / "reports/agreement.pdf"
    second = build("agreement", root, root / "again.pdf")
    assert first.read_bytes() == second.read_bytes()
    pdf = pypdfium2.PdfDocument(first)
    title = pdf[0].get_textpage().get_text_range()
    pdf.close()
    assert "ci" in title and "labels.parquet" in title and "0123456789" in title
    assert "abc" in title and "simulated votes" not in title


def test_all_reports_at_once_are_those_built_one_by_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pasta.workers.processors", lambda: 2)
    built = list(build_all(parts.Found(root / "pipelines/data"), root / "together"))
    assert sorted(file.stem for file in built) == sorted(names())
    for file in built:
        alone = build(file.stem, root, root / f"alone/{file.name}")
        assert file.read_bytes() == alone.read_bytes(), file.stem


def test_every_report_says_what_it_is_about_and_an_unknown_one_is_an_error(root: Path) -> None:
    assert {"overview", "dataset", "agreement", "correlation", "score", "replication"} <= set(
        names()
    )
    with pytest.raises(PastaError, match=r"'agrement'.*'agreement'"):
        build("agrement", root)


def test_facts_say_what_is_committed_and_what_is_not(root: Path) -> None:
    found = facts(root, ["labels.parquet", "nowhere"], ["*.run.json"])
    assert "not committed" not in str(found["Commit"])
    assert found["Profile"] == "ci"
    assert found["Data (path · md5)"] == ["labels.parquet · 0123456789"]
    assert found["MLflow runs"] == ["annotations / simulated · abc"]
    (root / "params.yaml").write_text((root / "params.yaml").read_text() + "\n# changed\n")
    assert "not committed" in str(facts(root, [], [])["Commit"])


def test_the_version_before_is_the_last_one_with_other_numbers(root: Path) -> None:
    assert previous_headlines(root, {"kappa": 0.7}) is None
    file = root / HEADLINES
    file.parent.mkdir(exist_ok=True)
    for value in (0.5, 0.6):
        file.write_text(json.dumps({"kappa": value}))
        git(root, "add", str(HEADLINES))
        git(root, "commit", "-q", "-m", "votes")
    assert previous_headlines(root, {"kappa": 0.7}) == {"kappa": 0.6}  # not committed yet
    assert previous_headlines(root, {"kappa": 0.6}) == {"kappa": 0.5}  # committed
    assert previous_headlines(root, {"kappa": 0.6 + 1e-12}) == {"kappa": 0.5}


def test_analyses_that_have_not_run_are_left_out(root: Path) -> None:
    there = parts.parts(root / "pipelines/data")
    assert set(there) == {"agreement"}
    assert parts.ours(there, parts.applications_parts(root / "pipelines/data")) == {}
    with pytest.raises(PastaError, match="no tables yet"):
        store.read_csvs(root / "pipelines/data/nothing")


def test_kernel_widths_of_lime_are_read_from_what_tuning_tried() -> None:
    tried = pd.DataFrame(
        {
            "technique": ["lime/resnet50", "lime/resnet50", "gradcam/resnet50"],
            "candidate": ["kernel_width 0.15", "segments 20", "layer x"],
            "score": [3.0, 2.0, 1.0],
            "low": 1.0,
            "high": 4.0,
        }
    )
    found = parts.kernel_widths(tried)
    assert found[["kernel_width", "estimate"]].to_numpy().tolist() == [[0.15, 3.0]]


def test_tables_that_are_no_more_go(tmp_path: Path) -> None:
    store.write_csvs({"a": pd.DataFrame({"x": [1]}), "b": pd.DataFrame({"x": [2]})}, tmp_path)
    store.write_csvs({"a": pd.DataFrame({"x": [3]})}, tmp_path)
    found = store.read_csvs(tmp_path)
    assert list(found) == ["a"] and found["a"]["x"].tolist() == [3]


def test_no_report_and_no_analysis_loads_torch() -> None:
    script = (
        "import sys, reports.catalog, pipelines.analyse, pasta.annotations.box_maps\n"
        "import analysis.suites.agreement, analysis.suites.preference, analysis.suites.dataset\n"
        "import analysis.suites.correlation, pasta.annotations.studied, pasta.embedding.sentences\n"
        "import reports.pages.agreement, reports.pages.correlation, reports.pages.dataset\n"
        "import reports.pages.overview, reports.pages.replication, reports.pages.score\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert done.returncode == 0
