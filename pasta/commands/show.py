"""How the commands print: tables with few lines and numbers that line up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    import pandas as pd

STATES = {"ok": "[green]ok[/]", "missing": "[yellow]missing[/]", "problem": "[red]problem[/]"}


def console() -> Console:
    """Standard output; wide enough for a table when it is no terminal."""
    out = Console()
    return out if out.is_terminal else Console(width=140)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Iterable[str] = (),
    caption: str | None = None,
) -> None:
    """Print rows under a title; the named columns are numbers and stand to the right."""
    right = set(numbers)
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.caption, table.caption_justify = caption, "left"
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(str, row))
    console().print(table)


def trained_on(dataset: str) -> str:
    """What the classifiers of a dataset were trained on: ``drawings`` or ``images``."""
    from pasta.config import load_params

    return "drawings" if load_params().datasets[dataset].source == "drawn" else "images"


def note(words: str) -> None:
    """Say something beside the answer, on the error stream; `pasta --quiet` keeps it back."""
    import typer

    from pasta.progress import is_quiet

    if not is_quiet():
        typer.echo(f"note: {words}", err=True)


def note_training(dataset: str) -> None:
    """Say so if the classifiers of a dataset know drawings only."""
    if trained_on(dataset) == "drawings":
        note(
            f"the classifiers of {dataset} were trained on drawings; on photographs their answers "
            "mean little"
        )


def note_cropping(*images: Path) -> None:
    """Say which images are not square: classifiers see the middle of them."""
    from PIL import Image

    for file in images:
        with Image.open(file) as opened:
            width, height = opened.size
        if width != height:
            side = min(width, height)
            note(f"{file}: {width} x {height} pixels, of which the middle {side} x {side} are seen")


def write_table(table: pd.DataFrame, out: Path) -> None:
    """Write a table as CSV or Parquet, as its name says."""
    from pasta import store

    with store.atomic(out) as temporary:
        if out.suffix == ".csv":
            table.to_csv(temporary, index=False, lineterminator="\n")
        else:
            table.to_parquet(temporary, index=False)
