"""DVC stage `report`: one report as a PDF, from the tables of the analyses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    name: Annotated[str, typer.Argument(help="which report")],
    out: Annotated[Path, typer.Option(help="the PDF to write")],
) -> None:
    """Build the report NAME."""
    from reports.library import build

    build(name, out=out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
