"""`pasta analyse TRIALS.csv --kind trials`: anybody's forced-choice answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pasta.cli import app
from pasta.commands.analyse_trials import read_trials
from pasta.errors import InputError

THEIRS = {"participant": "worker", "condition": "shown", "right": "correct", "item": "picture"}
NAMES = [part for name, theirs in THEIRS.items() for part in (f"--{name}", theirs)]


def write(file: Path, **cells: list[object]) -> Path:
    """Answers of 12 people in three conditions, of which one helps; ``cells`` replace columns."""
    random = np.random.default_rng(0)
    people = np.repeat(np.arange(36), 14)
    condition = np.array(["none", "good", "bad"])[people % 3]
    right = random.random(len(people)) < np.where(condition == "good", 0.95, 0.5)
    frame = pd.DataFrame(
        {"worker": people, "shown": condition, "correct": right, "picture": np.arange(504) % 14,
         "session": 1 + np.arange(504) % 14 // 7, "mood": "fine"}
    ).astype("str")  # fmt: skip
    for name, values in cells.items():
        frame.loc[range(len(values)), name] = list(map(str, values))
    frame.to_csv(file, index=False)
    return file


def test_columns_by_other_names_and_ways_to_say_right(tmp_path: Path) -> None:
    cells: dict[str, list[object]] = {"correct": ["yes", "0", "TRUE", "1.0", " no "]}
    trials, aside = read_trials(write(tmp_path / "a.csv", **cells), THEIRS)
    assert trials["right"].tolist()[:5] == [1, 0, 1, 1, 0]
    assert list(trials) == ["participant", "condition", "right", "item", "session"]
    assert aside == ["mood"]


def test_a_trial_without_an_answer_and_one_of_another_phase_do_not_count(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", correct=["", "1"])
    assert len(read_trials(file, THEIRS)[0]) == 503
    frame = pd.read_csv(file).assign(phase=["training"] * 14 + ["test"] * 490)
    frame.to_csv(file, index=False)
    assert len(read_trials(file, THEIRS)[0]) == 490


@pytest.mark.parametrize(
    ("cells", "row", "column", "found"),
    [
        ({"correct": ["1", "maybe"]}, 3, "correct", "'maybe'"),
        ({"worker": ["a", "b", ""]}, 4, "worker", "is empty"),
        ({"session": ["one"]}, 2, "session", "'one'"),
    ],
)
def test_an_error_names_the_row_and_the_column_as_the_file_has_them(
    tmp_path: Path, cells: dict[str, list[object]], row: int, column: str, found: str
) -> None:
    with pytest.raises(InputError) as caught:
        read_trials(write(tmp_path / "a.csv", **cells), THEIRS)
    assert f"a.csv, row {row}, column '{column}'" in str(caught.value)
    assert found in str(caught.value)


def test_a_column_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"column 'answer'.*--right"):
        read_trials(write(tmp_path / "a.csv"), {**THEIRS, "right": "answer"})


def test_the_command_finds_the_condition_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "mine.csv")
    options = ["--kind", "trials", *NAMES, "--baseline", "none", "--resamples", "200"]
    done = CliRunner().invoke(app, ["analyse", "mine.csv", *options])
    assert done.exit_code == 0, done.output
    assert "after good" in done.output and "left aside the columns 'mood'" in done.output
    folder = tmp_path / "mine-utility"
    assert (folder / "utility.pdf").read_bytes()[:4] == b"%PDF"
    utility = pd.read_csv(folder / "utility.csv")
    assert set(utility["condition"]) >= {"good", "bad"}
    options[options.index("none")] = "zero"
    without = CliRunner().invoke(app, ["analyse", "mine.csv", *options])
    assert "utility: nobody is in the baseline condition 'zero'" in without.output
