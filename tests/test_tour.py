"""`pasta tour`: in a project without data, with some of it, and the findings of reports."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from pasta import store
from pasta.cli import app
from pasta.commands.tour import Stop, describe, finding, is_made, stops_of
from pasta.config import checked_params, profile_text
from pasta.paths import PARAMS
from pasta.studies.registry import study_names
from tests.conftest import ROOT

STOP = Stop("Votes", "People rate", "votes@x", ("votes/x",), ("first", "second"), ("pasta x",))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "dvc.yaml").touch()
    (tmp_path / PARAMS).write_text(profile_text("ci", ROOT))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make_votes(root: Path, origin: str) -> None:
    folder = root / "pipelines/data/votes/x"
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"rating": range(1200)}).to_parquet(folder / "votes.parquet")
    store.write_json({"origin": origin, "md5": "0"}, folder / "source.json")


def test_where_nothing_is_made_every_part_names_its_command(project: Path) -> None:
    said = CliRunner().invoke(app, ["tour"])
    assert said.exit_code == 0, said.output
    params = checked_params(project / PARAMS, (project / PARAMS).read_text())
    for stop in stops_of(params):
        assert stop.title in said.stdout and not is_made(stop, project)
        assert f"not made yet: `dvc repro {stop.stage}`" in said.stdout
    assert "`dvc repro` makes all of it" in said.stdout
    assert all(f"The study '{name}'" in said.stdout for name in study_names())


@pytest.mark.parametrize(
    ("origin", "words"),
    [("people", "1,200 votes; of people"), ("simulated", "simulated[/], nothing about people")],
)
def test_answers_are_counted_and_simulated_ones_called_so(
    project: Path, origin: str, words: str
) -> None:
    make_votes(project, origin)
    said = describe(STOP, project)
    assert any(line.startswith("where: pipelines/data/votes/x (2 files") for line in said)
    assert any(words in line for line in said)
    assert "the report is not made yet: `dvc repro report@first`" in said
    assert said[-1] == "try: `pasta x`"


def test_the_first_report_with_a_finding_tells_it(project: Path) -> None:
    make_votes(project, "people")
    assert finding(STOP.reports, project) is None
    folder = project / "reports/tables/second"
    folder.mkdir(parents=True)
    sentences = pd.DataFrame({"finding": ["They **agree**, mostly.", "More."]})
    sentences.to_csv(folder / "findings.csv", index=False)
    (project / "reports/second.pdf").touch()
    said = describe(STOP, project)
    assert "found: They agree, mostly." in said
    assert "read: reports/second.pdf" in said


def test_every_stop_is_a_stage_of_the_pipeline() -> None:
    from pasta.pinned import stage_names

    stages = stage_names(ROOT)
    for stop in stops_of(checked_params(ROOT / PARAMS, profile_text("demo", ROOT))):
        assert any(name == stop.stage or name.startswith(f"{stop.stage}@") for name in stages)
