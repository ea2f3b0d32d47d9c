"""What `dvc status` says about the stages before a report."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pasta.errors import PastaError
from pasta.pipeline_state import stale_stages

PIPELINE = """\
stages:
  votes: {cmd: cp a b, deps: [a], outs: [b]}
  score: {cmd: cp b c, deps: [b, texts], outs: [c]}
  report: {cmd: cp c d, deps: [c, texts], outs: [d]}
"""


def dvc(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "dvc", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_stages_before_a_report_that_have_to_run_again_are_named(tmp_path: Path) -> None:
    (tmp_path / "dvc.yaml").write_text(PIPELINE)
    (tmp_path / "a").write_text("votes")
    (tmp_path / "texts").write_text("words")
    dvc(tmp_path, "init", "--no-scm", "--quiet")
    dvc(tmp_path, "repro", "--quiet")
    assert stale_stages(tmp_path, ["report"]) == []
    (tmp_path / "texts").write_text("other words")
    assert stale_stages(tmp_path, ["report"]) == ["score"]
    assert stale_stages(tmp_path, ["report"], but=["texts"]) == []
    (tmp_path / "a").write_text("other votes")
    assert stale_stages(tmp_path, ["report"], but=["texts"]) == ["votes"]
    dvc(tmp_path, "repro", "--quiet", "--single-item", "votes")
    assert stale_stages(tmp_path, ["report"], but=["texts"]) == ["score"]
    with pytest.raises(PastaError, match="dvc status"):
        stale_stages(tmp_path, ["nothing"])
