"""DVC stage `votes`: all batches of annotations as one set of tables, and the labels they give."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    simulated: Annotated[Path, typer.Option(help="the batch of the simulated raters")],
    batches: Annotated[Path, typer.Option(help="the folder of imported batches")],
    out: Annotated[Path, typer.Option(help="folder for the tables of annotations")],
    labels: Annotated[Path, typer.Option(help="the labels table to write")],
) -> None:
    """Merge the stored batches, later over earlier, and check every vote against its sample.

    The votes on each sample and question become one label: mode, mean and median, with the counts
    behind them.
    """
    from pasta import store, tables
    from pasta.annotations.aggregate import aggregate
    from pasta.annotations.batches import merged
    from pasta.annotations.importing import stored_folders
    from pasta.annotations.merging import summarise, summarise_labels, write_tables
    from pasta.annotations.rateable import explained
    from pasta.params import load_params

    ties = load_params().annotations.ties
    sources = stored_folders(batches, simulated)
    annotations = merged(sources)
    write_tables(annotations, explained(folders), out)
    store.write_json(summarise(annotations, len(sources)), out.with_suffix(".json"))
    found = aggregate(annotations.votes, ties)
    store.write(found, labels, tables.LABELS)
    store.write_json(summarise_labels(found), labels.with_suffix(".json"))


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
