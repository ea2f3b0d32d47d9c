"""DVC stage `report`: all reports as PDFs, from the tables of the analyses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    out: Annotated[Path, typer.Option(help="the folder for the PDFs")],
) -> None:
    """Build every report; `pasta report NAME` builds one."""
    from pasta.progress import bar
    from reports.library import build_all, names

    with bar("reports", len(names()), "PDFs") as line:
        for file in build_all(folder=out):
            line.advance(words=file.stem)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
