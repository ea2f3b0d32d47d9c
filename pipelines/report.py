"""DVC stage `report`: all reports as PDFs, and the numbers in them that others look up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    data: Annotated[Path, typer.Argument(help="the folder of all data")],
    replication: Annotated[Path, typer.Option(help="folder for the table of printed numbers")],
    headlines: Annotated[Path, typer.Option(help="the metrics file to write")],
    out: Annotated[Path, typer.Option(help="the folder for the PDFs")],
) -> None:
    """Compare with the papers what the stages have left in DATA, and build every report.

    `pasta report NAME` builds one.
    """
    from pasta import store
    from pasta.progress import bar
    from reports.library import build_all, names
    from reports.pages.headlines import headline_numbers
    from reports.parts import Found

    found = Found(data)

    def write_numbers() -> None:
        store.write_csvs({"replication": found.replication}, replication)
        store.write_json(headline_numbers(found.parts), headlines)

    with bar("reports", len(names()), "PDFs") as line:
        for file in build_all(found, out, write_numbers):
            line.advance(words=file.stem)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
