"""`pasta study`: check and import the answers of any study, list what was imported, export it.

A study of its own folder may have further commands, such as `pasta study ratings plan`.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pasta.commands.study_app import add_commands, new_study
from pasta.studies.ratings.commands import INFORMED, Next
from pasta.studies.registry import study_names, study_packages

if TYPE_CHECKING:
    import pandas as pd

    from pasta.config import Params
    from pasta.studies.base import Study
    from pasta.studies.importing import Outcome

File = Annotated[
    Path,
    typer.Argument(
        help="tables as CSV (a file or a folder), or JSON in a format of the study; for ratings: "
        "the released human_annotations.json (or its folder), or Label Studio's export"
    ),
]
People = Annotated[
    Path | None,
    typer.Option("--people", "--annotators", help="CSV of who took part, such as annotator_id,age"),
]
Ids = Annotated[
    Path | None,
    typer.Option(help="CSV of two columns: names of samples in the file, and their names here"),
]
_PAUSES = (1.0, 3.0)  # seconds between tries, while another dvc command holds the batches
_NEXT = "next: `dvc repro` takes it up, and `pasta changes` says what it did"
Replace = Annotated[bool, typer.Option("--replace", help="let the file overrule what is stored")]
Lenient = Annotated[
    bool,
    typer.Option("--lenient", help="leave out answers that cannot be used, name each (attention)"),
]


app = typer.Typer(
    help="Run a study with people: plan it, check and import answers, hand them on.\n\n"
    "New answers have arrived: `pasta study ratings check FILE`, then "
    "`pasta study ratings import FILE` and `dvc repro`. The rating study is also called "
    "`pasta annotations`.",
    no_args_is_help=True,
)


def _ask_informed(wanted: Next, params: Params, root: Path) -> pd.DataFrame:
    """Which ratings say most, by the public scorer and the votes so far."""
    from pasta.scoring.next_votes import current_belief
    from pasta.seeds import generator
    from pasta.studies.ratings.information import checked_goal, choose_votes

    belief = current_belief(params, root, wanted.question)
    random = generator(wanted.seed, "plan", "next", "candidates")
    return choose_votes(belief, wanted.number, checked_goal(wanted.goal), wanted.most, random)


INFORMED["information"] = _ask_informed


def study_app(name: str) -> typer.Typer:
    """The commands of a study: its own, and those that every study has."""
    about, own = f"The study {name!r}: check and import its answers.", None
    if name in study_packages() and importlib.util.find_spec(f"pasta.studies.{name}.commands"):
        own = importlib.import_module(f"pasta.studies.{name}.commands").app
        about = own.info.help
    made = typer.Typer(help=about, no_args_is_help=True)
    if own is not None:
        made.registered_commands += own.registered_commands
    taken = {one.name or getattr(one.callback, "__name__", "") for one in made.registered_commands}

    @made.command("check")
    def check(
        file: File,
        people: People = None,
        replace: Replace = False,
        ids: Ids = None,
        lenient: Lenient = False,
    ) -> None:
        """Say whether a file of answers could be imported, and if not, everything wrong in it."""
        _check(name, file, people, replace, ids, lenient)

    @made.command("import")
    def import_(
        file: File,
        people: People = None,
        replace: Replace = False,
        ids: Ids = None,
        lenient: Lenient = False,
        track: Annotated[bool, typer.Option(help="let DVC keep the batch at once")] = True,
    ) -> None:
        """Store the answers of a file, all or none. The same file twice changes nothing."""
        _import(name, file, people, replace, ids, lenient, track)

    @made.command("batches")
    def batches() -> None:
        """List what was imported: number, source, time and counts, and what was withdrawn."""
        _list_batches(name)

    @made.command("withdraw")
    def withdraw(
        batch: Annotated[str, typer.Argument(help="its number or name, see `batches`")],
        reason: Annotated[str, typer.Option(help="why, for the ledger")] = "",
        track: Annotated[bool, typer.Option(help="let DVC keep the change at once")] = True,
    ) -> None:
        """Take an imported batch back: its answers count no more, the ledger keeps it."""
        _withdraw(name, batch, reason, track)

    has_pages = name in study_packages() and importlib.util.find_spec(
        f"pasta.studies.{name}.app_new"
    )
    if "new" not in taken and has_pages:

        @made.command("new")
        def new(
            folder: Annotated[Path, typer.Argument(metavar="DIR", help="a new folder")],
            only: Annotated[
                str | None, typer.Option(help="only this experiment or part of the study")
            ] = None,
        ) -> None:
            """Prepare a study for the browser: pictures, order, texts and consent form.

            Then `pasta study serve DIR` and `pasta study invite DIR`.
            """
            new_study(name, folder, only)

    for verb in (_plan, _simulate, _export):
        if verb.__name__.removeprefix("_") not in taken:
            _add_verb(made, name, verb)
    return made


def _add_verb(made: typer.Typer, name: str, verb: Callable[[str, Path], None]) -> None:
    """Add a command that writes something of a study to a new place."""

    @made.command(verb.__name__.removeprefix("_"), help=verb.__doc__)
    def command(out: Annotated[Path, typer.Argument(help="a new file or folder")]) -> None:
        verb(name, out)


def _plan(name: str, out: Path) -> None:
    """Say who answers what, as CSV."""
    from pasta.config import load_params
    from pasta.errors import PastaError
    from pasta.layout import explained_groups
    from pasta.text_files import write_csv

    study, root = _load(name)
    if study.plan is None:
        raise PastaError(f"the study {name!r} needs no plan")
    planned = study.plan(explained_groups(root), load_params())
    write_csv(planned, out)
    typer.echo(f"wrote {len(planned):,} rows to {out}")


def _simulate(name: str, out: Path) -> None:
    """Write the answers of simulated people as CSV: a batch to try things with."""
    from pasta.config import load_params
    from pasta.errors import PastaError
    from pasta.layout import explained_groups
    from pasta.studies.reading import write_tidy

    study, root = _load(name)
    if study.simulate is None:
        raise PastaError(f"the study {name!r} has no simulated people")
    write_tidy(study, study.simulate(explained_groups(root), load_params()).frames, out)
    typer.echo(f"wrote simulated answers to {out}")


def _export(name: str, out: Path) -> None:
    """Write all stored answers as CSV, so that they can be imported elsewhere."""
    from pasta.studies.batches import merged, project_batches
    from pasta.studies.reading import write_tidy

    study, root = _load(name)
    answers = merged(study, project_batches(study, root))
    write_tidy(study, answers, out)
    main = study.main.table.name
    typer.echo(f"wrote {len(answers[main]):,} {main} to {out}")


def _load(name: str) -> tuple[Study, Path]:
    from pasta.config import load_params
    from pasta.paths import project_root
    from pasta.studies.registry import load_study

    return load_study(name, load_params()), project_root()


def _check(
    name: str, file: Path, people: Path | None, replace: bool, ids: Path | None, lenient: bool
) -> None:
    from pasta.studies.batches import merged, project_batches
    from pasta.studies.checking import Known, summary, unchecked
    from pasta.studies.importing import read_and_check
    from pasta.studies.reading import read_ids

    study, root = _load(name)
    outside = study.outside(root)
    names = {} if ids is None else read_ids(ids, study)
    known = Known(outside, merged(study, project_batches(study, root)))
    submission, checked = read_and_check(file, study, known, people, names, replace, lenient)
    for reason, number in submission.dropped.items():
        typer.echo(f"left out: {number} {reason}")
    for line in summary(checked.findings):
        typer.echo(line)
    if checked.unchecked:
        typer.echo(f"not checked: {unchecked(checked, study)}")
    if checked.findings:
        typer.echo(f"{file}: {len(checked.findings)} problems; nothing could be imported")
        raise typer.Exit(1)
    for table, counts in checked.counts.items():
        if counts.new or counts.known:
            typer.echo(f"{table}: {counts.new} new, {counts.known} stored already")
    if checked.gives_way:
        typer.echo(_gives_way(checked.gives_way, study))
    rest = "everything else" if checked.unchecked else "everything"
    typer.echo(f"{file}: {rest} is in order")


def _import(
    name: str,
    file: Path,
    people: Path | None,
    replace: bool,
    ids: Path | None,
    lenient: bool,
    track: bool,
) -> None:
    from pasta.commands.changes import keep_before
    from pasta.studies.importing import import_file

    study, root = _load(name)
    folder = root / study.batch_folder
    simulated = root / study.simulated_folder
    outside = study.outside(root)
    outcome = import_file(file, study, folder, outside, replace, simulated, people, ids, lenient)
    _print_outcome(outcome, study)
    if outcome.batch is None:
        return
    if track:
        _keep(folder)
    keep_before(root)
    typer.echo(_NEXT)


def _withdraw(name: str, batch: str, reason: str, track: bool) -> None:
    from pasta.commands.changes import keep_before
    from pasta.studies.base import simulated_rows
    from pasta.studies.batches import merged, project_batches
    from pasta.studies.importing import withdraw

    study, root = _load(name)
    folder = root / study.batch_folder
    typer.echo(withdraw(batch, study, folder, reason))
    left = merged(study, project_batches(study, root))
    main = study.main.table.name
    which = "simulated " if simulated_rows(study, left) else ""
    typer.echo(f"{len(left[main]):,} {which}{main} count now")
    if track:
        _keep(folder)
    keep_before(root)
    typer.echo(_NEXT)


def import_answers(name: str, file: Path, track: bool = True) -> None:
    """Import a file of answers and say what came of it."""
    _import(name, file, None, False, None, False, track)


def _list_batches(name: str) -> None:
    from pasta.commands.show import print_table
    from pasta.studies.batches import ledger

    study, root = _load(name)
    table = ledger(study, root / study.batch_folder)
    if table.empty:
        typer.echo("nothing was imported yet")
        return
    counted = [name for name in study.parts if table[name].any()]
    left = ["withdrawn_at", "reason"] if table["withdrawn_at"].any() else []
    columns = ["number", "source", "format", "imported_at", "replaced", *counted, "sha256", *left]
    table["sha256"] = table["sha256"].str[:12]
    for when in ("imported_at", "withdrawn_at"):
        table[when] = table[when].str[:16].str.replace("T", " ")
    rows = table[columns].astype(str).to_numpy().tolist()
    titles = [name.removesuffix("_at") for name in columns]
    print_table("Imported batches", titles, rows, numbers=["number", "replaced", *counted])


def _print_outcome(outcome: Outcome, study: Study) -> None:
    typer.echo(outcome.message)
    for reason, number in outcome.dropped.items():
        typer.echo(f"left out: {number} {reason}")
    for name, counts in outcome.counts.items():
        if counts.rows:
            over = f", {counts.replaced} replaced" if counts.replaced else ""
            typer.echo(f"{name}: {counts.new} new, {counts.known} stored already{over}")
    if outcome.gives_way:
        typer.echo(_gives_way(outcome.gives_way, study))
    if outcome.questions:
        shares = ", ".join(f"{name} {number}" for name, number in outcome.questions.items())
        typer.echo(f"new {study.main.table.name} by question: {shares}")


def _gives_way(number: int, study: Study) -> str:
    main = study.main.table.name
    return f"{number:,} simulated {main} give way: tables and reports are made of people's {main}"


def _keep(folder: Path) -> None:
    """Let DVC take the batches into its cache, so that nothing is lost with a work tree.

    Another dvc command may be at work on them, for hours perhaps: then `dvc repro` takes them up.
    """
    command = [sys.executable, "-m", "dvc", "add", str(folder)]
    for pause in (*_PAUSES, None):
        done = subprocess.run(  # noqa: S603
            command, cwd=folder.parent, capture_output=True, text=True, check=False
        )
        if not done.returncode:
            return
        reason = done.stderr.strip() or done.stdout.strip() or f"it ended with {done.returncode}"
        busy = "is busy" in reason or "acquire lock" in reason
        if pause is None or not busy:
            break
        time.sleep(pause)
    typer.echo(f"the change is stored, but DVC has not taken it up yet: {reason}", err=True)
    if not busy:
        typer.echo(f"when that is mended: `dvc add {folder}`", err=True)
        raise typer.Exit(1)
    typer.echo("another dvc command is running; wait until it has ended", err=True)


add_commands(app)
for _name in study_names():
    app.add_typer(study_app(_name), name=_name)
