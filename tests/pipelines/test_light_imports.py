"""Stages that handle tables only do not load torch, which takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIGHT = ["accuracy", "analyse", "headlines", "images", "report", "simulate", "votes"]


def test_stages_of_tables_do_not_load_torch() -> None:
    code = f"import sys, {', '.join(f'pipelines.{name}' for name in LIGHT)}\n"
    code += "print({'torch', 'torchvision', 'open_clip', 'mlflow'} & set(sys.modules))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
