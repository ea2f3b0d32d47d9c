"""How the commands print: tables with few lines and numbers that line up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

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


def note_training(dataset: str) -> None:
    """Say so, on the error stream, if the classifiers of a dataset know drawings only."""
    import typer

    if trained_on(dataset) == "drawings":
        typer.echo(
            f"note: the classifiers of {dataset} were trained on drawings; on photographs their "
            "answers mean little",
            err=True,
        )
