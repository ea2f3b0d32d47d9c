"""A study that nobody here knows, added by registering it: everything generic works for it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner, Result

import pasta.studies
from pasta.commands import study as commands
from pasta.commands.study import study_app
from pasta.config import load_params
from pasta.contracts import find_problems
from pasta.errors import PastaError
from pasta.studies.batches import (
    ledger,
    list_batches,
    merged,
    project_batches,
    write_simulated,
    write_tables,
)
from pasta.studies.importing import SubmissionError, import_file
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.study import rating_study
from pasta.studies.registry import STUDIES, load_study, study_names
from pasta.studies.scales import YES_NO, forced_choice, rating_scale, trials_table
from tests.conftest import ROOT, names
from tests.studies.toy import simulated, toy, toy_study, write_answers

STUDY = toy_study()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(study_app("toy"), list(arguments))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy study among the others, until the end of the test."""
    monkeypatch.setattr(STUDIES, "_entries", dict(STUDIES._entries))
    STUDIES.register("toy")(toy)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def test_answers_are_checked_imported_once_merged_and_listed_by_the_commands(project: Path) -> None:
    given = write_answers(project / "given", ["ann", "bob"])
    assert "toy" in study_names()
    checked = run("check", str(given))
    assert checked.exit_code == 0 and "sounds: 16 new, 0 stored already" in checked.stdout
    first = run("import", str(given), "--no-track")
    assert "stored as batch 0001-given" in first.stdout
    assert "new sounds by question: clear 8, odd 8" in first.stdout
    assert "already imported as batch 0001-given" in run("import", str(given)).stdout
    later = write_answers(project / "later", ["bob", "cat"], answer=3)
    assert "contradicts what is stored" in str(run("import", str(later), "--no-track").exception)
    replaced = run("import", str(later), "--no-track", "--replace")
    assert "sounds: 16 new, 0 stored already, 8 replaced" in replaced.stdout
    root = project / STUDY.batch_folder
    assert ledger(STUDY, root)["sounds"].tolist() == [16, 16]
    listed = run("batches").stdout
    assert "given" in listed and "later" in listed
    answers = merged(STUDY, project_batches(STUDY, project))
    assert len(answers["sounds"]) == 24 and len(answers["listeners"]) == 3
    assert answers["sounds"].set_index(["participant_id", "trial", "question"])["answer"].loc[
        [("ann", "sound0", "clear"), ("bob", "sound0", "clear")]
    ].tolist() == [2, 4]
    assert run("export", str(project / "out")).exit_code == 0
    assert names(project / "out") == ["listeners.csv", "sounds.csv", "study.json"]
    import_file(project / "out", STUDY, project / "elsewhere", {})
    again = merged(STUDY, list_batches(project / "elsewhere"))
    pd.testing.assert_frame_equal(again["sounds"], answers["sounds"])


def test_a_batch_is_withdrawn_by_its_command(project: Path) -> None:
    write_simulated(STUDY, simulated(0, seed=4), project)
    given = write_answers(project / "given", ["ann", "bob"])
    stored = run("import", str(given), "--no-track").stdout
    assert "1 simulated sounds give way: tables and reports are made of people's sounds" in stored
    words = ("withdraw", "1", "--reason", "asked to", "--no-track")
    assert "withdrew batch 0001-given" in run(*words).stdout
    assert "1 simulated sounds count now" in run(*words).stdout
    listed = run("batches").stdout
    assert "withdrawn" in listed and "asked to" in listed
    assert "give way" in run("check", str(given)).stdout
    assert "stored as batch 0002-given" in run("import", str(given), "--no-track").stdout
    assert "no batch 'given'" in str(run("withdraw", "given").exception)


def test_an_import_that_meets_a_running_dvc_says_what_to_do_and_repro_takes_it_up(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dvc(*words: str) -> str:
        command = [sys.executable, "-m", "dvc", *words]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
        return done.stdout

    monkeypatch.setattr(commands, "_PAUSES", (0.1,))
    dvc("init", "--no-scm", "--quiet")
    assert run("import", str(write_answers(project / "first", ["ann"]))).exit_code == 0
    kept = project / STUDY.batch_folder.with_suffix(".dvc")
    before = kept.read_text()
    (project / "dvc.yaml").write_text(
        "stages:\n  votes:\n    cmd: touch started; until [ -e go ]; do sleep 0.1; done\n"
        f"    deps: [{STUDY.batch_folder}]\n"
    )
    with subprocess.Popen([sys.executable, "-m", "dvc", "repro", "-q"], cwd=project) as running:
        while not (project / "started").exists():
            assert running.poll() is None
            time.sleep(0.05)
        met = run("import", str(write_answers(project / "second", ["bob"])))
        (project / "go").touch()
    assert met.exit_code == 0 and "stored as batch 0002-second" in met.stdout
    assert "is busy" in met.stderr and "another dvc command is running" in met.stderr
    assert "next: `dvc repro` takes it up" in met.stdout and kept.read_text() == before
    dvc("repro", "--quiet")
    assert kept.read_text() != before and "up to date" in dvc("status")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answer": "8"}, "an answer has not: an answer on the scale of its question"),
        ({"question": "clera"}, "Did you mean 'clear'?"),
        ({"participant_id": "dan"}, "give a row of the listeners table"),
        ({"seconds": "-1"}, "the seconds is not as expected: how long it took"),
        ({"right": "9"}, "a right answer on the scale"),
        ({"position": "0"}, "place in the session from 1"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, str], words: str
) -> None:
    folder = write_answers(tmp_path / "given", ["ann"])
    rows = pd.read_csv(folder / "sounds.csv", dtype=str).assign(
        seconds="2.5", right="3", position="1"
    )
    rows.loc[1, list(change)] = list(change.values())
    rows.to_csv(folder / "sounds.csv", index=False)
    with pytest.raises(SubmissionError) as refusal:
        import_file(folder, STUDY, tmp_path / "batches", {})
    assert words in str(refusal.value) and "line 3" in str(refusal.value)
    assert not (tmp_path / "batches").exists()


def test_scales_of_all_kinds_stand_in_one_table_of_trials() -> None:
    scales = {"sure": rating_scale(10), "seen": YES_NO, "side": forced_choice("left", "right")}
    table = trials_table("trials", "mixed", scales)
    assert rating_scale(10).numbers == tuple(range(1, 11)) and YES_NO.numbers == (0, 1)
    assert forced_choice("left", "right").direction is None
    assert YES_NO.refusal("answer") == (
        "the answer is not one of no, yes",
        "give no or yes, or remove the row",
    )
    rows = [
        {"participant_id": "ann", "trial": "t1", "question": question, "answer": answer,
         "right": right, "simulated": False}
        for question, answer, right in (
            ("sure", "10", None), ("seen", "yes", "no"), ("side", "up", None), ("seen", "10", None),
        )
    ]  # fmt: skip
    rows[-1]["trial"] = "t2"
    problems = find_problems(table.frame(rows), table)
    assert [(one.row, one.column) for one in problems] == [(2, "answer"), (3, "answer")]


def test_a_folder_is_enough_for_a_study(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project / "more" / "shop"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "tables.py").write_text("from tests.studies.toy import PEOPLE, TRIALS\n")
    (folder / "study.py").write_text(
        "from dataclasses import replace\n"
        "from pasta.studies.registry import STUDIES\n"
        "from tests.studies.toy import toy_study\n"
        "STUDIES.register('shop')(lambda params: replace(toy_study(), name='shop'))\n"
    )
    (folder / "commands.py").write_text(
        "import typer\n"
        "app = typer.Typer(help='A study in a shop.')\n"
        "@app.command()\n"
        "def plan(): typer.echo('its own plan')\n"
    )
    monkeypatch.setattr(pasta.studies, "__path__", [*pasta.studies.__path__, str(folder.parent)])
    assert {"ratings", "shop"} <= set(study_names())
    given = write_answers(project / "given", ["ann"])
    stored = CliRunner().invoke(study_app("shop"), ["import", str(given), "--no-track"])
    assert "stored as batch 0001-given" in stored.stdout
    assert names(project / "pipelines/annotations/shop/batches") == ["0001-given"]
    assert CliRunner().invoke(study_app("shop"), ["plan"]).stdout == "its own plan\n"
    with pytest.raises(PastaError, match="Did you mean 'shop'"):
        load_study("shopp", load_params())


def test_simulated_people_come_as_a_file_or_as_the_batch_of_the_stage(project: Path) -> None:
    assert run("simulate", str(project / "robots")).exit_code == 0
    assert "needs no plan" in str(run("plan", str(project / "plan.csv")).exception)
    assert "sounds: 1 new" in run("check", str(project / "robots")).stdout
    write_simulated(STUDY, simulated(0, seed=4), project)
    answers = merged(STUDY, project_batches(STUDY, project))["sounds"]
    assert answers["answer"].tolist() == [5] and answers["simulated"].all()
    write_tables(STUDY, merged(STUDY, project_batches(STUDY, project)), {}, project / "tables")
    assert names(project / "tables") == ["listeners.parquet", "sounds.csv", "sounds.parquet"]


def test_a_study_in_the_pipeline_is_a_line_in_its_lists() -> None:
    stages = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["stages"]
    study = rating_study(load_protocol("p2"))
    assert study.name in stages["simulate"]["foreach"] and study.name in stages["votes"]["foreach"]
    assert set(study.analyses) <= set(stages["analyse"]["foreach"])
    assert set(study.reports) <= set(stages["report"]["foreach"])
