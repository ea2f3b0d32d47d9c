"""DVC stage `report`: one report as a PDF."""

from __future__ import annotations

from typing import Annotated

import typer

from pasta.paths import DATA, project_root
from pasta.pinned import require_pinned
from pasta.stage import run_stage
from reports.source.catalog import build
from reports.source.data import REPORTS


def main(name: Annotated[str, typer.Argument(help="overview, agreement, ...")]) -> None:
    """Build the report NAME from what the stages have left."""
    reads = REPORTS.entry(name).metadata["reads"]
    require_pinned([(DATA / folder).as_posix() for folder in reads], project_root())
    build(name)


if __name__ == "__main__":
    run_stage(main)
