"""`pasta report`: the PDFs, built again from the tables that are there."""

from __future__ import annotations

from typing import Annotated

import typer


def report(
    name: Annotated[
        str | None, typer.Argument(help="overview, agreement, ...; without it, all are built")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="open the PDF when it is built")] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="list the reports, build nothing")
    ] = False,
) -> None:
    """Build report PDFs from the tables of the last run, without computing anything anew.

    `dvc repro` brings tables and reports up to date; this command is for a changed text or
    figure, or to open a report: `pasta report agreement --open`.
    """
    from pasta.commands.show import console, print_table
    from pasta.paths import project_root
    from pasta.progress import bar
    from reports.source.catalog import build, names

    known = names()
    if listing:
        print_table("Reports", ("name", "about"), known.items())
        return
    built = []
    with bar("reports", 1 if name else len(known), "PDFs") as line:
        for one in [name] if name else known:
            built.append(build(one))
            line.advance(words=one)
    for file in built:
        console().print(f"[green]made[/] {file.relative_to(project_root())}")
        if show:
            typer.launch(str(file))
