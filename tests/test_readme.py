"""README.md: what it prints can be typed. Commands on the pipeline's data run with the pipeline."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import typer.main

from pasta.cli import app
from tests.conftest import ROOT, environment
from tests.readme import readme_blocks

BLOCKS = readme_blocks()
COMMANDS = [command for block in BLOCKS if block.language == "sh" for command in block.commands]
TEXT = (ROOT / "README.md").read_text()


def test_every_block_is_python_or_commands_or_says_why_it_is_neither() -> None:
    assert len(BLOCKS) > 10
    for block in BLOCKS:
        assert block.language in ("sh", "python") or block.not_run, f"line {block.line}"


def parse(words: list[str]) -> None:
    """Read a line as `pasta` does, without doing anything."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    command.make_context("pasta", [*words])


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_and_their_options_are_real(command: list[str]) -> None:
    program, *words = command
    if program == "pasta":
        parse(words)
    elif program == "make":
        assert re.search(rf"^{words[0]}:.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    elif program == "dvc":
        from dvc.cli import parse_args

        parse_args(words)
    elif program == "mlflow":
        from mlflow.models.cli import commands

        own: Any = commands
        assert words[0] == "models"
        own.commands[words[1]].make_context("mlflow", words[2:])


def test_a_renamed_option_is_noticed() -> None:
    with pytest.raises(Exception, match=r"[Nn]o such option"):
        parse(["best", "photo.jpg", "--dataset", "coco", "--backbone", "resnet50"])


def test_commands_within_sentences_are_real() -> None:
    found = re.findall(r"`(pasta [a-z][^`]*)`", TEXT)
    assert len(found) > 10
    known: Any = typer.main.get_command(app)
    for line in found:
        command = known
        for word in line.split()[1:]:
            if not hasattr(command, "commands"):
                break
            if word in command.commands:
                command = command.commands[word]
            elif not word.startswith(("-", "N")):
                pytest.fail(f"`{line}`: there is no command {word!r}")
        options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        unknown = set(re.findall(r"--[a-z-]+", line)) - options - {"--help"}
        assert not unknown or line.startswith("pasta workers"), f"`{line}`: {unknown}"


def test_the_snippets_run_in_their_order_and_go_on_where_the_last_one_ended() -> None:
    snippets = [
        block for block in BLOCKS if block.language == "python" and "PastaScore" not in block.text
    ]
    assert len(snippets) == 4
    names: dict[str, Any] = {}
    torch.manual_seed(0)
    for block in snippets:
        exec(compile(block.text, f"README.md:{block.line}", "exec"), names)  # noqa: S102
    assert {name: len(one) for name, one in names["statuses"].items()} == dict.fromkeys(
        names["methods"], 4
    )
    assert names["maps"]["gradcam"].shape == (4, 96, 96)


def test_measuring_runs_as_it_is_printed(tmp_path: Path) -> None:
    """With a model that gives logits, as most do."""
    (tmp_path / "mymodel.py").write_text(
        "import torch\n\n\ndef load():\n    torch.manual_seed(0)\n"
        "    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(300, 4))\n"
    )
    random = np.random.default_rng(0)
    np.save(tmp_path / "maps.npy", random.random((3, 10, 10)))
    np.save(tmp_path / "images.npy", random.random((3, 3, 10, 10), dtype=np.float32))
    (command,) = [words for words in COMMANDS if words[:2] == ["pasta", "measure"]]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(ROOT),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "values.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 3 and "sparseness" in rows[1]


def test_the_request_for_the_served_score_is_one() -> None:
    (command,) = [words for words in COMMANDS if words[0] == "curl"]
    request = json.loads(command[command.index("-d") + 1])
    assert set(request) == {"dataframe_records", "params"}
    (record,) = request["dataframe_records"]
    assert set(record) <= {"image", "saliency", "concepts", "label", "dataset", "signed"}


def test_uv_is_on_the_path_of_the_environment() -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv, "`make setup` puts it there"
    subprocess.run([uv, "pip", "install", "--help"], check=True, capture_output=True)
    for extra in re.findall(r"uv pip install -e '\.\[([a-z]+)\]'", TEXT):
        assert f"\n{extra} = [" in (ROOT / "pyproject.toml").read_text()
