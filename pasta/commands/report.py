"""`pasta report` and `pasta outcome`: the PDFs, and what the last run of the pipeline made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

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


def outcome() -> None:
    """Print the stages with their seconds and memory, the reports, and what was found.

    Memory is that of the largest process of a stage.
    """
    from pasta import store
    from pasta.commands.show import console, print_table
    from pasta.paths import DATA, FIGURES, TIMINGS, project_root

    root = project_root()
    found = [store.read_json(file) for file in (root / TIMINGS).glob("*.json")]
    by_stage = {note["stage"]: note for note in found}
    notes = [by_stage[name] for name in stage_names(root) if name in by_stage]
    rows = [(n["stage"], f"{n['seconds']:.1f}", f"{n['peak_mebibytes']:,}") for n in notes]
    total = f"{sum(note['seconds'] for note in notes):.1f} s in all, without DVC's own time"
    columns = ("stage", "seconds", "MiB")
    print_table("Stages, as last run", columns, rows, numbers=columns[1:], caption=total)
    for file in sorted((root / FIGURES.parent).glob("*.pdf")):
        console().print(f"[green]made[/] {file.relative_to(root)}")
    if (root / DATA / "analyse").is_dir():
        _say_findings(root)


def stage_names(root: Path) -> list[str]:
    """The stages of the pipeline as it is now; a stage of many items has one name for each."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe")
    stages = yaml.load((root / "dvc.yaml").read_text())["stages"]
    params = yaml.load((root / "params.yaml").read_text())
    return [
        f"{name}@{item}" if item else name
        for name, stage in stages.items()
        for item in _items(stage.get("foreach", [""]), params)
    ]


def _items(foreach: Any, params: Any) -> Iterable[str]:
    """The items of a `foreach`: a list, the keys of a mapping, or ``${...}`` in the parameters."""
    found = foreach
    if isinstance(foreach, str):
        found = params
        for step in foreach.removeprefix("${").removesuffix("}").split("."):
            found = found[step]
    return map(str, found)


def _say_findings(root: Path) -> None:
    from pasta.commands.show import console
    from reports.source.data import ANALYSES, SCORE, VOTES, Data
    from reports.source.pages.overview import headline_findings

    data = Data(root, (VOTES, *ANALYSES, SCORE))
    votes = "simulated votes, which say nothing about people" if data.simulated else "votes"
    console().print(f"\n[bold]What was found[/] (from {votes})")
    for sentence in headline_findings(data.parts):
        console().print(f"- {sentence}", highlight=False)
