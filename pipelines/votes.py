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
    from pasta.tracking import flatten, tracked_run

    sources = stored_folders(batches, simulated)
    annotations = merged(sources)
    write_tables(annotations, explained(folders), out)
    summary = summarise(annotations, len(sources))
    store.write_json(summary, out.with_name("annotations.json"))
    with tracked_run(
        "annotations",
        "votes",
        "votes",
        inputs=[folder / "batch.json" for folder in sources],
        params={"batches": [folder.name for folder in sources]},
        record=out.with_name("votes.run.json"),
    ) as run:
        run.log_metrics(flatten(summary))


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
