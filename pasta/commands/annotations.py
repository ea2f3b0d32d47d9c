"""`pasta annotations`: plan a rating study, check and import its votes, hand them on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    import pandas as pd

    from pasta.studies.ratings.checking import Known
    from pasta.studies.ratings.importing import Outcome

app = typer.Typer(
    help="Plan a rating study, check and import its votes, and hand them on.\n\n"
    "New votes have arrived: `pasta annotations check FILE`, then `pasta annotations import FILE` "
    "and `dvc repro`.",
    no_args_is_help=True,
)

File = Annotated[
    Path,
    typer.Argument(
        help="tidy CSV (or a folder of it), the released human_annotations.json (or its folder), "
        "or Label Studio's JSON export"
    ),
]
People = Annotated[
    Path | None, typer.Option("--annotators", help="CSV with annotator_id, age, sex, country")
]
Replace = Annotated[bool, typer.Option("--replace", help="let the file overrule stored votes")]


@app.command()
def plan(
    annotators: Annotated[
        int | None, typer.Option(min=1, help="how many people; default: params")
    ] = None,
    votes: Annotated[int | None, typer.Option(min=1, help="people for each sample")] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="a random subset of so many samples, as in P1")
    ] = None,
    techniques_per_image: Annotated[
        int | None, typer.Option(min=1, help="so many techniques of each image, as in P2")
    ] = None,
    unrated: Annotated[bool, typer.Option("--unrated", help="only samples without votes")] = False,
    seed: Annotated[int | None, typer.Option(help="another seed gives another plan")] = None,
    out: Annotated[Path | None, typer.Option(help="write the plan to this CSV file")] = None,
) -> None:
    """Choose samples and say who rates which, evenly; print the balance and the hours of work."""
    from pasta.config import load_params
    from pasta.layout import explained_groups
    from pasta.paths import project_root
    from pasta.studies.ratings.plan import make_plan, summary
    from pasta.studies.ratings.rateable import rateable

    params, root = load_params(), project_root()
    settings = params.annotations
    candidates = rateable(explained_groups(root), settings.extras)
    if unrated:
        candidates = _without_votes(candidates, root)
    made = make_plan(
        candidates,
        annotators or settings.annotators,
        votes or settings.votes,
        params.seed if seed is None else seed,
        samples or settings.samples,
        techniques_per_image or settings.techniques_per_image,
    )
    for line in summary(made, candidates, settings.seconds_per_sample):
        typer.echo(line)
    if out is not None:
        from pasta import store

        with store.atomic(out) as temporary:
            made.to_csv(temporary, index=False, lineterminator="\n")
        typer.echo(f"wrote {out}")


@app.command()
def check(file: File, annotators: People = None, replace: Replace = False) -> None:
    """Say whether a file of votes could be imported, and if not, everything that is wrong."""
    from pasta.studies.ratings.checking import check as check_submission
    from pasta.studies.ratings.checking import summary
    from pasta.studies.ratings.formats.base import read

    known, _ = _known()
    submission = read(file, known.protocol, known.sample_ids, annotators)
    checked = check_submission(submission, known, replace)
    for reason, number in submission.dropped.items():
        typer.echo(f"left out: {number} {reason}")
    for line in summary(checked.findings):
        typer.echo(line)
    if checked.findings:
        typer.echo(f"{file}: {len(checked.findings)} problems; nothing could be imported")
        raise typer.Exit(1)
    for name, counts in checked.counts.items():
        if counts.new or counts.known:
            typer.echo(f"{name}: {counts.new} new, {counts.known} stored already")
    typer.echo(f"{file}: everything is in order")


@app.command("import")
def import_(
    file: File,
    annotators: People = None,
    replace: Replace = False,
    track: Annotated[bool, typer.Option(help="let DVC keep the batch at once")] = True,
) -> None:
    """Store the votes of a file, all or none. The same file twice changes nothing."""
    from pasta.studies.ratings.importing import import_file
    from pasta.studies.ratings.study import BATCHES, SIMULATED

    known, root = _known(stored=False)
    outcome = import_file(
        file,
        root / BATCHES,
        known.sample_ids,
        known.protocol,
        known.votes_per_sample,
        replace,
        root / SIMULATED,
        annotators,
    )
    _print_outcome(outcome)
    if outcome.batch is None:
        return
    if track:
        _keep(root / BATCHES)
    typer.echo("next: `dvc repro` brings labels and reports up to date")


@app.command()
def batches() -> None:
    """List what was imported: number, source, time and counts."""
    from pasta.commands.show import print_table
    from pasta.paths import project_root
    from pasta.studies.ratings.batches import ledger
    from pasta.studies.ratings.records import PARTS
    from pasta.studies.ratings.study import BATCHES

    table = ledger(project_root() / BATCHES)
    if table.empty:
        typer.echo("nothing was imported yet")
        return
    counted = [name for name in PARTS if table[name].any()]
    columns = ["number", "source", "format", "imported_at", "replaced", *counted, "sha256"]
    table["sha256"] = table["sha256"].str[:12]
    rows = table[columns].astype(str).to_numpy().tolist()
    titles = [name.replace("imported_at", "imported") for name in columns]
    print_table("Imported batches", titles, rows, numbers=["number", "replaced", *counted])


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="a new folder")],
    form: Annotated[
        Literal["all", "tidy", "released", "label_studio"],
        typer.Option("--format", help="only this one, straight into the folder"),
    ] = "all",
    pictures: Annotated[
        bool,
        typer.Option(help="with the released JSON, for others: images, attributions, pictures"),
    ] = False,
) -> None:
    """Write all stored annotations so that they can be imported elsewhere, or here, unchanged.

    Without `--format` there is a folder for each: `tidy` (CSV), `released` (the JSON of the
    released dataset) and `label_studio` (tasks with their answers, and the labelling
    configuration). A release for people who do not have the explanations needs `--pictures`,
    which takes a tenth of a second for each sample.
    """
    from pasta.layout import explained_groups
    from pasta.studies.ratings.batches import merged
    from pasta.studies.ratings.exporting import write_exports
    from pasta.studies.ratings.study import batches_of

    known, root = _known(stored=False)
    annotations = merged(batches_of(root))
    groups = explained_groups(root) if pictures else []
    write_exports(annotations, out, form, known.protocol, groups)
    typer.echo(f"wrote {len(annotations.votes):,} votes to {out}")


@app.command()
def tasks(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="from `plan --out`")],
    out: Annotated[Path, typer.Option(help="a new folder for tasks.json, config.xml, pictures")],
) -> None:
    """Prepare a Label Studio project: the tasks of a plan with their pictures, and its form."""
    from pasta.layout import explained_groups
    from pasta.studies.ratings.exporting import write_project

    known, root = _known(stored=False)
    number = write_project(plan_file, out, explained_groups(root), known.protocol)
    typer.echo(f"wrote {number} tasks, their pictures and the labelling configuration to {out}")


@app.command()
def simulate(
    out: Annotated[Path, typer.Argument(help="a new folder of tidy CSV")],
    samples: Annotated[int, typer.Option(min=1, help="unrated samples to rate")] = 50,
    seed: Annotated[int, typer.Option(help="another seed gives other raters")] = 1,
) -> None:
    """Let new simulated raters rate samples that have no votes yet: a batch to try things with."""
    from pasta.config import load_params
    from pasta.layout import explained_groups
    from pasta.paths import project_root
    from pasta.studies.ratings.formats.tidy import write_tidy
    from pasta.studies.ratings.plan import make_plan
    from pasta.studies.ratings.protocol import study_protocol
    from pasta.studies.ratings.rateable import rateable
    from pasta.studies.ratings.simulation.study import simulate as run_study

    params, root = load_params(), project_root()
    settings, groups = params.annotations, explained_groups(root)
    candidates = _without_votes(rateable(groups, settings.extras), root)
    made = make_plan(candidates, settings.annotators, settings.votes, seed, samples)
    made["annotator_id"] = f"seed{seed}-" + made["annotator_id"]
    study = run_study(groups, made, settings.simulation, seed, study_protocol(params))
    write_tidy(study.annotations, out, settings.protocol)
    typer.echo(f"wrote {len(study.annotations.votes):,} simulated votes to {out}")


def _known(stored: bool = True) -> tuple[Known, Path]:
    """What a file is held against, and the project's root."""
    import pandas as pd

    from pasta.config import load_params
    from pasta.layout import explained_groups
    from pasta.paths import project_root
    from pasta.studies.ratings.batches import merged
    from pasta.studies.ratings.checking import Known
    from pasta.studies.ratings.protocol import study_protocol
    from pasta.studies.ratings.rateable import explained
    from pasta.studies.ratings.study import batches_of

    root, params = project_root(), load_params()
    samples = pd.Index(explained(explained_groups(root))["sample_id"])
    known = merged(batches_of(root) if stored else [])
    return Known(samples, known, study_protocol(params), params.annotations.votes), root


def _without_votes(candidates: pd.DataFrame, root: Path) -> pd.DataFrame:
    from pasta.studies.ratings.batches import merged
    from pasta.studies.ratings.study import batches_of

    rated = merged(batches_of(root)).votes["sample_id"]
    return candidates[~candidates["sample_id"].isin(set(rated))]


def _print_outcome(outcome: Outcome) -> None:
    typer.echo(outcome.message)
    for reason, number in outcome.dropped.items():
        typer.echo(f"left out: {number} {reason}")
    for name, counts in outcome.counts.items():
        if counts.rows:
            over = f", {counts.replaced} replaced" if counts.replaced else ""
            typer.echo(f"{name}: {counts.new} new, {counts.known} stored already{over}")
    if outcome.questions:
        shares = ", ".join(f"{name} {number}" for name, number in outcome.questions.items())
        typer.echo(f"new votes by question: {shares}")


def _keep(folder: Path) -> None:
    """Let DVC take the batches into its cache, so that nothing is lost with a work tree."""
    import subprocess
    import sys

    command = [sys.executable, "-m", "dvc", "add", "--quiet", str(folder)]
    done = subprocess.run(  # noqa: S603
        command, cwd=folder.parent, capture_output=True, text=True, check=False
    )
    if done.returncode:
        typer.echo(f"stored, but `dvc add` failed: {done.stderr.strip()}", err=True)
        raise typer.Exit(1)
