"""The command line: pleasant to read, quick to start, errors without tracebacks."""

from __future__ import annotations

import json
from pathlib import Path

from pasta import __version__
from pasta.config import profile_text
from tests.conftest import ROOT, Runner


def test_help_names_every_group(run: Runner) -> None:
    said = run("pasta", "--help").stdout
    assert all(name in said for name in ("data", "tables", "profile", "outcome"))


def test_the_version_is_that_of_the_package_and_help_keeps_underscores(run: Runner) -> None:
    assert run("pasta", "--version").stdout.strip() == __version__
    assert "{dataset}_{id}_{label}" in run("pasta", "score", "--help").stdout


def test_reports_are_opened_as_they_are_and_never_built_on_the_way(
    run: Runner, project: Path
) -> None:
    missing = run("pasta", "report", "agreement", "--open", check=False)
    assert missing.returncode == 1 and "`dvc repro report@agreement` makes it" in missing.stderr
    typo = run("pasta", "report", "agreemnt", check=False)
    assert typo.returncode == 1 and "Did you mean 'agreement'?" in typo.stderr
    listed = run("pasta", "report", check=False)
    assert listed.returncode == 1 and "replication" in listed.stdout
    assert not list((project / "reports").glob("*.pdf"))


def test_starting_the_command_line_imports_nothing_heavy(run: Runner) -> None:
    heavy = "torch pandas numpy mlflow pandera matplotlib scipy sklearn"
    script = f"import sys, pasta.cli; print([m for m in '{heavy}'.split() if m in sys.modules])"
    assert run("python", "-c", script).stdout.strip() == "[]"


def test_the_outcome_lists_stages_in_the_order_of_the_pipeline_and_none_that_is_no_more(
    run: Runner, project: Path
) -> None:
    folder = project / "pipelines/data/timings"
    folder.mkdir(parents=True)
    for name in ("votes@ratings", "images@coco", "forgotten"):
        note = {"stage": name, "seconds": 1.5, "peak_mebibytes": 1234}
        (folder / f"{name}.json").write_text(json.dumps(note))
    said = run("pasta", "outcome").stdout
    assert said.index("images@coco") < said.index("votes@ratings") and "forgotten" not in said
    assert "3.0 s in all" in said and "1,234" in said


def test_a_profile_is_shown_used_and_required(run: Runner, project: Path) -> None:
    assert "siglip-vit-l-16-384" in run("pasta", "profile", "show", "paper_p2").stdout
    assert "is now the profile 'paper_p2'" in run("pasta", "profile", "use", "paper_p2").stdout
    assert (project / "params.yaml").read_text() == profile_text("paper_p2", ROOT)
    assert "already is" in run("pasta", "profile", "use", "paper_p2").stdout
    refused = run("pasta", "profile", "require", "demo", check=False)
    assert refused.returncode == 1 and "`pasta profile use demo` installs it" in refused.stderr
    run("pasta", "profile", "use", "demo")
    assert (project / "params.yaml").read_text() == (ROOT / "params.yaml").read_text()


def test_an_unknown_profile_gets_a_suggestion_and_changes_nothing(
    run: Runner, project: Path
) -> None:
    before = (project / "params.yaml").read_text()
    said = run("pasta", "profile", "use", "demmo", check=False)
    assert said.returncode == 1 and "Did you mean 'demo'?" in said.stderr
    assert "Traceback" not in said.stderr
    assert (project / "params.yaml").read_text() == before


def test_tables_are_listed_and_shown(run: Runner) -> None:
    run("dvc", "repro", "--quiet", "images@monumai")
    assert "metric_values" in run("pasta", "tables").stdout
    said = run("pasta", "tables", "show", "images").stdout
    assert "pipelines/data/images/monumai/images.parquet: 40 rows" in said and "Gothic" in said
    wrong = run("pasta", "tables", "show", "image", check=False)
    assert wrong.returncode == 1 and "Did you mean 'images'?" in wrong.stderr


def test_a_drawn_dataset_is_described_before_and_after_it_is_drawn(run: Runner) -> None:
    before = run("pasta", "data", "check", "monumai", check=False)
    assert before.returncode == 1 and "dvc repro images@monumai" in before.stderr
    run("dvc", "repro", "--quiet", "images@monumai")
    after = run("pasta", "data", "check", "monumai").stdout
    assert "MonuMAI" in after and "4 classes, 15 concepts" in after and "Baroque" in after


def test_missing_originals_are_listed_with_what_to_do(run: Runner, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    said = run("pasta", "data", "check", "coco", "--root", str(empty), check=False)
    assert said.returncode == 1 and "missing" in said.stdout and "Expected layout" in said.stdout


def test_an_unknown_dataset_gets_a_suggestion(run: Runner) -> None:
    said = run("pasta", "data", "check", "monumay", check=False)
    assert said.returncode == 1 and "Did you mean 'monumai'?" in said.stderr
