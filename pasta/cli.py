"""`pasta ...`: the command line. Light to import: `pasta --help` must be instant."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from pasta.commands import (
    analyse,
    attention,
    benchmark,
    best,
    changes,
    data,
    explanations,
    machine,
    metrics,
    models,
    profile,
    report,
    score,
    study,
    tables,
    tour,
    tune,
)
from pasta.errors import guarded

app = typer.Typer(
    name="pasta",
    help="Human-aligned evaluation of explanations in computer vision.\n\n"
    "Start with `make demo`, then look around: `pasta tour`, `pasta doctor`, "
    "`pasta data check coco`, `pasta profile show paper_p2`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from pasta import __version__

        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[  # noqa: ARG001 (its callback prints it)
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="print the version and stop"
        ),
    ] = False,
    device: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="where models run, such as cpu or cuda:1 (PASTA_DEVICE)"),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="no progress and no notes: answers and errors only")
    ] = False,
) -> None:
    """Options before the name of a command."""
    if device is not None:
        os.environ["PASTA_DEVICE"] = device
    if quiet:
        from pasta.progress import QUIET

        os.environ[QUIET] = "1"


app.add_typer(data.app, name="data")
app.add_typer(study.app, name="study")
app.add_typer(study.study_app("ratings"), name="annotations")
app.add_typer(tables.app, name="tables")
app.add_typer(profile.app, name="profile")
app.add_typer(benchmark.app, name="benchmark")
app.add_typer(attention.app, name="attention")
app.command("doctor")(machine.doctor)
app.command(
    "workers",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)(machine.workers)
app.command("models")(models.models)
app.command("predict")(models.predict)
app.command("techniques")(explanations.techniques)
app.command("explain")(explanations.explain)
app.command("metrics")(metrics.metrics)
app.command("measure")(metrics.measure)
app.command("score")(score.score)
app.command("best")(best.best)
app.command("tune")(tune.tune)
app.command("analyse")(analyse.analyse)
app.command("report")(report.report)
app.command("outcome")(report.outcome)
app.command("changes")(changes.changes)
app.command("tour")(tour.tour)


def main() -> None:
    """Run the command line; an error meant for the user is printed without a traceback."""
    guarded(app)
