"""DVC stage `replication`: every number the papers print beside ours, and the headline numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    data: Annotated[Path, typer.Argument(help="the folder of all data")],
    out: Annotated[Path, typer.Option(help="folder for the table")],
    headlines: Annotated[Path, typer.Option(help="the metrics file to write")],
) -> None:
    """Compare with the papers what the analyses in DATA have found."""
    from pasta import store
    from reports.pages.headlines import headline_numbers
    from reports.parts import ours, parts
    from reports.replication.published import published_tables
    from reports.replication.table import replication_table

    found = replication_table(published_tables(), ours(data))
    store.write_csvs({"replication": found}, out)
    store.write_json(headline_numbers(parts(data)), headlines)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
