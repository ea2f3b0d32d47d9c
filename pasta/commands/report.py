"""`pasta report` and `pasta outcome`: the PDFs, and what the last run of the pipeline made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SOURCE = "reports/source"  # texts and figures: changes that are to be tried are no stale results


def report(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="overview, agreement, ...; without it, all of them"),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="open the PDFs that are there")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="build the PDFs there, from the tables here"),
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

    root = project_root()
    known, folder = names(), root / FIGURES.parent
    if name is not None and name not in known:
        raise PastaError(f"there is no report {name!r}. {did_you_mean(name, list(known))}")
    wanted = {name: known[name]} if name else known
    if out is not None:
        if out.resolve() == folder.resolve():
            raise PastaError(f"{out}: there `dvc repro` makes the PDFs; choose another folder")
        for one in wanted:
            _require_made(one, root)
        out.mkdir(parents=True, exist_ok=True)
        stale = stale_stages(root, [f"report@{one}" for one in wanted], but=[SOURCE])
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
        if not any(file.exists() for file in here.values()):
            which = f"report@{name}" if name else "report"
            raise PastaError(f"nothing is made yet; `dvc repro {which}` makes it")
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
    from pasta.errors import InputError, PastaError
    from pasta.paths import FIGURES, TIMINGS, project_root
    from pasta.pinned import stage_names

    root = project_root()
    by_stage = {}
    for file in sorted((root / TIMINGS).glob("*.json")):
        note = store.read_json(file)
        if not isinstance(note, dict) or not {"stage", "seconds", "peak_mebibytes"} <= set(note):
            raise InputError("tells nothing of a stage", file=file, expected="what a stage wrote")
        by_stage[note["stage"]] = note
    notes = [by_stage[name] for name in stage_names(root) if name in by_stage]
    if not notes:
        raise PastaError("no stage has run here yet; `make demo` or `dvc repro` runs them")
    rows = [(n["stage"], f"{n['seconds']:.1f}", f"{n['peak_mebibytes']:,}") for n in notes]
    total = f"{sum(note['seconds'] for note in notes):.1f} s in all, without DVC's own time"
    columns = ("stage", "seconds", "MiB")
    print_table("Stages, as last run", columns, rows, numbers=columns[1:], caption=total)
    for file in sorted((root / FIGURES.parent).glob("*.pdf")):
        console().print(f"[green]made[/] {file.relative_to(root)}")
    _say_findings(root)


def _require_made(name: str, root: Path) -> None:
    """An error if what a report reads is not there, or not as it was made."""
    from pasta.errors import PastaError
    from pasta.paths import DATA
    from pasta.pinned import require_inputs, require_pinned
    from reports.source.data import REPORTS

    for folder in REPORTS.entry(name).metadata["reads"]:
        if not (root / DATA / folder).exists():
            raise PastaError(
                f"{root / DATA / folder}: is not there, and {name} reads it; "
                f"`dvc repro report@{name}` makes both"
            )
        require_pinned([(DATA / folder).as_posix()], root)
    require_inputs(f"report@{name}", root)


def _say_findings(root: Path) -> None:
    from pasta.commands.show import console
    from pasta.paths import DATA
    from pasta.pinned import require_pinned
    from reports.source.catalog import PART_FINDINGS
    from reports.source.data import ANALYSES, OTHERS, SCORE, VOTES, Data

    reads = (VOTES, *ANALYSES, SCORE)
    missing = [folder for folder in reads if not (root / DATA / folder).is_dir()]
    if missing:
        console().print(f"\nNothing is known of {', '.join(missing)} yet: `dvc repro` goes on.")
        return
    there = [folder for folder in (*reads, *OTHERS) if (root / DATA / folder).is_dir()]
    require_pinned([(DATA / folder).as_posix() for folder in there], root)
    data = Data(root, reads, others=OTHERS)
    simulated = data.simulated or data.others_simulated
    answers = "simulated answers, which say nothing about people" if simulated else "answers"
    console().print(f"\n[bold]What was found[/], study by study (from {answers})")
    for sentence in PART_FINDINGS["overview"](data.parts):
        console().print(f"- {sentence}", highlight=False)
