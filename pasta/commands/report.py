"""`pasta report` and `pasta outcome`: the PDFs, and what the last run of the pipeline made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

SOURCE = "reports/source"  # texts and figures: changes that are to be tried are no stale results


def report(
    name: Annotated[
        str | None, typer.Argument(help="overview, agreement, ...; without it, all of them")
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="open the PDFs that are there")] = False,
    out: Annotated[
        Path | None, typer.Option(help="build the PDFs into this folder, from the tables here")
    ] = None,
) -> None:
    """List the reports, open them, or build them elsewhere.

    `pasta report agreement --open` opens what `dvc repro` has made and changes nothing. To try a
    changed text or figure, `pasta report agreement --out /tmp` builds it without computing
    anything anew; if stages before it are not up to date, every page says so. `dvc repro` brings
    the PDFs in `reports/` up to date.
    """
    from pasta.commands.show import console, print_table
    from pasta.errors import PastaError
    from pasta.paths import FIGURES, project_root
    from pasta.pipeline_state import stale_stages
    from pasta.progress import bar
    from pasta.registry import did_you_mean
    from reports.source.catalog import build, names

    known, folder = names(), project_root() / FIGURES.parent
    if name is not None and name not in known:
        raise PastaError(f"there is no report {name!r}. {did_you_mean(name, list(known))}")
    wanted = {name: known[name]} if name else known
    if out is not None:
        if out.resolve() == folder.resolve():
            raise PastaError(f"{out}: there `dvc repro` makes the PDFs; choose another folder")
        out.mkdir(parents=True, exist_ok=True)
        stale = stale_stages(project_root(), [f"report@{one}" for one in wanted], but=[SOURCE])
        if stale:
            console().print(f"not up to date, as every page will say: {', '.join(stale)}")
        with bar("reports", len(wanted), "PDFs") as line:
            for one in wanted:
                build(one, out=out / f"{one}.pdf", stale=stale)
                line.advance(words=one)
    here = {one: (out or folder) / f"{one}.pdf" for one in wanted}
    if not show:
        rows = [(one, wanted[one], file if file.exists() else "-") for one, file in here.items()]
        print_table("Reports", ("name", "about", "file"), rows)
        return
    for one, file in here.items():
        if not file.exists():
            raise PastaError(f"{file}: not made yet, `dvc repro report@{one}` makes it")
        console().print(f"opening {file}")
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
