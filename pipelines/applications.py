"""DVC stage `applications@NAME`: let the score choose, compare, steer or tune explanations."""

from __future__ import annotations

from typing import Annotated

import typer

from pasta.applications.run import Project, run_application
from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import DATA, project_root
from pasta.stage import run_stage


def main(
    name: Annotated[str, typer.Argument(help="mixture, steering, backbones or tuning")],
) -> None:
    """Ask the public scorer about stored and prepared explanations."""
    root, params = project_root(), load_params()
    project = Project(groups(params), params, root / DATA)
    run_application(name, project, root / DATA / "applications" / name)


if __name__ == "__main__":
    run_stage(main)
