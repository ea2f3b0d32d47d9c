"""DVC stage `accuracy`: the classifiers of all datasets in one table and figure (P1, Fig. 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    table: Annotated[Path, typer.Option(help="the CSV file to write")],
    figure: Annotated[Path, typer.Option(help="the SVG file to write")],
) -> None:
    """Collect the accuracies of the datasets in FOLDERS."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    from pasta import store
    from pasta.models.report import collect, titles
    from reports.plots.classifiers import accuracy_figure
    from reports.plots.style import style

    scores = collect({folder.name: folder / "accuracy.json" for folder in folders})
    with store.atomic(table) as temporary:
        scores.to_csv(temporary, index=False, lineterminator="\n")
    drawn = accuracy_figure(scores[scores["measure"] == "accuracy"], titles())
    with store.atomic(figure) as temporary, style():  # the names of its parts are made on saving
        drawn.savefig(temporary, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
