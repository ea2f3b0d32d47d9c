"""DVC stage `applications@NAME`: let the score choose, compare, steer or tune explanations."""

from __future__ import annotations

from typing import Annotated

import typer

from pasta.applications.run import Project, run_application
from pasta.compute import limit_threads
from pasta.config import load_params
from pasta.layout import groups
from pasta.paths import DATA, project_root
from pasta.stage import run_stage
from pasta.studies.ratings.settings import NAME
from pasta.studies.source import common_source, write_source


def main(
    name: Annotated[str, typer.Argument(help="mixture, steering, backbones or tuning")],
) -> None:
    """Ask the public scorer about stored and prepared explanations."""
    limit_threads()
    root, params = project_root(), load_params()
    project = Project(groups(params), params, root / DATA)
    out = root / DATA / "applications" / name
    source = common_source([root / DATA / "votes" / NAME, root / DATA / "score"])
    run_application(name, project, out)
    write_source(source, out)


if __name__ == "__main__":
    run_stage(main)
