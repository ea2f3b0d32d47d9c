"""`pasta tables`: the contracts, and what is on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pasta.commands.options import OneDataset, require_dataset

if TYPE_CHECKING:
    from pasta.contracts import Table

app = typer.Typer(help="List the tables that flow between stages, or look into one.")


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    """List every table, its key and how much of it is there."""
    if context.invoked_subcommand is not None:
        return
    from pasta.commands.show import print_table
    from pasta.studies.registry import load_tables
    from pasta.tables import TABLES

    load_tables()
    rows = []
    for table in (TABLES[name] for name in TABLES):
        files = _files(table.name)
        there = f"{sum(map(_length, files)):,} rows in {len(files)}" if files else "-"
        rows.append((table.name, ", ".join(table.key), there, table.about))
    print_table("Tables", ("table", "key", "here", "what it holds"), rows)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="TABLE", help="one of those that `pasta tables` lists")
    ],
    dataset: OneDataset = None,
    rows: Annotated[int, typer.Option(min=0, help="rows to print of each file")] = 5,
) -> None:
    """Print a table's schema, and the head of every current file of it."""
    from pasta import store
    from pasta.commands.show import console, print_table
    from pasta.studies.registry import load_tables
    from pasta.tables import TABLES

    load_tables()
    table = TABLES[name]
    if dataset is not None:
        require_dataset(dataset)
    print_table(f"{name}: {table.about}", ("column", "type", "key", "expected"), _schema(table))
    files = [file for file in _files(name) if dataset in (None, file.parent.name)]
    if not files:
        console().print("No file of this table is here yet: `dvc repro` makes them.")
    for file in files:
        frame = store.read(file, table)
        head = frame.head(rows)
        cells = head.itertuples(index=False, name=None)
        print_table(
            f"{_relative(file)}: {len(frame):,} rows",
            list(map(str, frame.columns)),
            [[_cell(value) for value in row] for row in cells],
            numbers=[str(c) for c in frame.columns if frame[c].dtype.kind in "if"],
        )


def _schema(table: Table) -> list[tuple[str, str, str, str]]:
    return [
        (
            name,
            str(column.dtype).replace("string[pyarrow]", "text"),
            "key" if name in table.key else "",
            str(column.description) + (" (may be empty)" if column.nullable else ""),
        )
        for name, column in table.columns.items()
    ]


def _files(name: str) -> list[Path]:
    from pasta.paths import DATA, project_root
    from pasta.tables import TABLES

    folder = project_root() / DATA
    header = ",".join(TABLES[name].columns)
    texts = (file for file in folder.glob(f"**/{name}.csv") if _first_line(file) == header)
    return sorted([*folder.glob(f"**/{name}.parquet"), *texts])


def _first_line(file: Path) -> str:
    """What tells a table of the pipeline from a result that is called alike."""
    with file.open() as lines:
        return lines.readline().strip()


def _length(file: Path) -> int:
    if file.suffix == ".csv":
        with file.open() as lines:
            return sum(1 for _ in lines) - 1
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import read_metadata

    from pasta.errors import InputError

    try:
        return int(read_metadata(file).num_rows)
    except (ArrowInvalid, OSError) as error:
        expected = "a whole parquet file; `dvc status` tells which stage makes it"
        raise InputError(f"cannot be read: {error}", file=file, expected=expected) from error


def _relative(file: Path) -> Path:
    from pasta.paths import project_root

    return file.relative_to(project_root())


def _cell(value: Any) -> str:
    import pandas as pd

    if pd.api.types.is_scalar(value) and bool(pd.isna(value)):
        return "·"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
