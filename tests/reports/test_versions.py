"""Two versions in git: `pasta changes`, `dvc metrics diff`, `dvc plots diff`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from pasta import store
from pasta.cli import app
from pasta.commands.changes import keep_before, read_version
from pasta.errors import PastaError
from pasta.paths import BEFORE, HEADLINES, NUMBERS
from reports.source.numbers import choose_headlines
from tests.conftest import ROOT, environment
from tests.reports.test_numbers import numbers

PLOTS = YAML(typ="safe").load((ROOT / "dvc.yaml").read_text())["plots"]


def run(root: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{what}": "test@example.org" for role in ("AUTHOR", "COMMITTER")
           for what in ("NAME", "EMAIL")}  # fmt: skip
    done = subprocess.run(
        arguments, cwd=root, check=True, capture_output=True, text=True,
        env={**environment(root), **who},
    )  # fmt: skip
    return done.stdout


def commit(root: Path, votes: int, shift: float) -> None:
    found = numbers(votes, shift)
    store.write_csvs(found, root / NUMBERS)
    store.write_json(choose_headlines(found), root / HEADLINES)
    run(root, "git", "add", "-A")
    run(root, "git", "commit", "-q", "-m", f"{votes} votes")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project without results, then with 76,800 votes, then with 82,800 and other kappas."""
    folder = tmp_path_factory.mktemp("versions")
    run(folder, "git", "init", "-q")
    run(folder, "dvc", "init", "-q")
    shutil.copytree(ROOT / ".dvc/plots", folder / ".dvc/plots", dirs_exist_ok=True)
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copy(ROOT / ".gitignore", folder)
    with (folder / "dvc.yaml").open("w") as file:
        YAML().dump({"metrics": [HEADLINES.as_posix()], "plots": PLOTS}, file)
    run(folder, "git", "add", "-A")
    run(folder, "git", "commit", "-q", "-m", "start")
    commit(folder, 76800, 0.0)
    commit(folder, 82800, 0.1)
    return folder


def changes(root: Path, *arguments: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        outcome = CliRunner().invoke(app, ["changes", *arguments], catch_exceptions=False)
    assert outcome.exit_code == 0
    return outcome.stdout.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_what_changed_is_said_by_topic_with_intervals(root: Path) -> None:
    assert changes(root) == "Nothing changed beyond rounding.\n"
    text = changes(root, "HEAD~1")
    assert "Data and votes: 1 of 3 changed." in text
    assert "The number of votes rose from 76 800 to 82 800 (+6 000)." in text
    assert "on Q1 rose from 0.60 [0.58, 0.62] to 0.70 [0.68, 0.72]: more than" in text
    assert "and 2 more: `pasta changes HEAD~1 --all`" in text and "Correlation" not in text
    assert len(changes(root, "HEAD~1", "--all").splitlines()) == 2 + 1 + 7
    rows = json.loads(changes(root, "HEAD~1", "--json"))
    assert len(rows) == 8 and {row["verdict"] for row in rows} == {"clear", "no interval"}


def test_a_version_without_numbers_and_one_that_is_not_there_are_named(root: Path) -> None:
    with pytest.raises(PastaError, match=r"'HEAD~2' has no reports/numbers.*were not committed"):
        read_version(root, "HEAD~2")
    with pytest.raises(PastaError, match="'nonsense' cannot be read"):
        read_version(root, "nonsense")


def test_the_numbers_before_an_import_are_kept_for_the_overview(root: Path) -> None:
    keep_before(root)
    kept = pd.read_csv(root / BEFORE)
    assert kept.loc[kept["name"] == "votes", "estimate"].tolist() == [82800]
    changes(root, "HEAD~1", "--baseline")
    kept = pd.read_csv(root / BEFORE)
    assert kept.loc[kept["name"] == "votes", "estimate"].tolist() == [76800]
    assert list(kept.columns) == list(pd.read_csv(ROOT / BEFORE).columns)
    (root / BEFORE).unlink()
    keep_before(root / "reports")  # a project without numbers
    assert not (root / "reports" / BEFORE).exists()


def test_dvc_lists_what_changed_and_nothing_else(root: Path) -> None:
    assert run(root, "dvc", "metrics", "diff") == ""
    rows = run(root, "dvc", "metrics", "diff", "HEAD~1").splitlines()[1:]
    assert [row.split()[1:] for row in rows] == [
        ["people", "0.7", "0.8", "0.1"],
        ["votes", "76800", "82800", "6000"],
    ]
    shown = run(root, "dvc", "exp", "show", "--only-changed", "--csv", "-n", "2").splitlines()
    assert shown[0].endswith("Created,people,votes")


def test_dvc_plots_have_an_axis_of_names_and_draw_both_versions(root: Path) -> None:
    """Numbers on an axis of names drew nothing."""
    run(root, "dvc", "plots", "diff", "HEAD~1")
    html = (root / "dvc_plots/index.html").read_text()
    specs = [json.loads(found) for found in re.findall(r"var spec = (.*);\n", html)]
    assert len(specs) == len(PLOTS) == 6
    drawn = [spec for spec in specs if spec]
    assert len(drawn) >= 3  # the others have no numbers in this small study
    for spec in drawn:
        inner = spec.get("spec", spec)
        assert inner["encoding"]["y"]["type"] == "nominal"
        assert inner["encoding"]["y"]["field"] in spec["data"]["values"][0]
        assert {row["rev"] for row in spec["data"]["values"]} == {"HEAD~1", "workspace"}
        assert "<DVC_METRIC" not in json.dumps(spec)
    assert "dvc_plots" not in run(root, "git", "status", "--porcelain")  # it is ignored


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: next(iter(plot)))
def test_every_plot_shows_columns_that_its_table_has(plot: dict[str, dict[str, str]]) -> None:
    [(file, settings)] = plot.items()
    assert (ROOT / ".dvc/plots" / f"{settings['template']}.json").is_file()
    columns = numbers()[Path(file).stem].columns
    assert {settings["x"], settings["y"]} <= set(columns)
