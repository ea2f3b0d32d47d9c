"""DVC stage `contact_sheet`: one picture of all datasets with their part masks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    out: Annotated[Path, typer.Option(help="the JPEG file to write")],
) -> None:
    """Draw the contact sheet of the datasets in FOLDERS."""
    from pasta import store
    from pasta.datasets.contact_sheet import contact_sheet
    from pasta.tracking import flatten, tracked_run

    arrays = [folder / name for folder in folders for name in ("images.npy", "concepts.parquet")]
    record = folders[0].parent / "contact_sheet.run.json"
    with tracked_run("reports", "contact_sheet", "datasets", inputs=arrays, record=record) as run:
        sheet = contact_sheet(folders)
        with store.atomic(out) as temporary:
            sheet.save(temporary, format="JPEG", quality=92, subsampling=0, optimize=True)
        summaries = {folder.name: store.read_json(folder / "summary.json") for folder in folders}
        run.log_metrics(flatten(summaries))
        run.log_file(out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
