"""DVC stage `votes`: all batches of annotations as one set of tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    simulated: Annotated[Path, typer.Option(help="the batch of the simulated raters")],
    batches: Annotated[Path, typer.Option(help="the folder of imported batches")],
    out: Annotated[Path, typer.Option(help="folder for the tables")],
) -> None:
    """Merge the stored batches, later over earlier, and check every vote against its sample."""
    from pasta import store
    from pasta.annotations.batches import merged
    from pasta.annotations.importing import stored_folders
    from pasta.annotations.merging import summarise, write_tables
    from pasta.annotations.rateable import explained

    sources = stored_folders(batches, simulated)
    annotations = merged(sources)
    write_tables(annotations, explained(folders), out)
    store.write_json(summarise(annotations, len(sources)), out.with_name("annotations.json"))


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
