"""DVC stage `report`: one report as a PDF."""

from __future__ import annotations

from typing import Annotated

import typer

from pasta.stage import run_stage
from reports.source.catalog import build


def main(name: Annotated[str, typer.Argument(help="overview, agreement, ...")]) -> None:
    """Build the report NAME from what the stages have left."""
    build(name)


if __name__ == "__main__":
    run_stage(main)
