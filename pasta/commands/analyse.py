"""`pasta analyse`: agreement and bias of anybody's ratings, or the utility of explanations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pasta.errors import InputError, PastaError

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 101  # of a scale; beyond it ratings are no categories


def analyse(
    ratings: Annotated[Path, typer.Argument(metavar="RATINGS.csv", help="one row for each rating")],
    item: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="what was rated; else sample_id")
    ] = None,
    rater: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="who rated; else annotator_id")
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="what was asked; else question, or a single one"),
    ] = None,
    rating: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="the rating; else rating")
    ] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="when; else submitted_at")
    ] = None,
    annotators: Annotated[
        Path | None, typer.Option(metavar="FILE", help="the raters, with any of age, sex, country")
    ] = None,
    age: Annotated[str | None, typer.Option(metavar="COLUMN", help="of the raters")] = None,
    sex: Annotated[str | None, typer.Option(metavar="COLUMN", help="of the raters")] = None,
    country: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="of the raters"),
    ] = None,
    samples: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="what was rated, with any of kind, dataset, image_id"),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="kind of what was rated; or `trials`: the file has forced choices",
        ),
    ] = None,
    participant: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="of trials: who chose; else participant")
    ] = None,
    condition: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="of trials; else condition")
    ] = None,
    right: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="of trials: 0 or 1; else right")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="of trials, numbered; else session")
    ] = None,
    seconds: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="of trials; else seconds")
    ] = None,
    baseline: Annotated[
        str, typer.Option(metavar="NAME", help="of trials: the condition without explanations")
    ] = "baseline",
    examples: Annotated[
        int, typer.Option(min=1, help="of trials: examples in the training of a session")
    ] = 5,
    margin: Annotated[
        float, typer.Option(min=0.001, help="of trials: of Utility around 1, for equivalence")
    ] = 0.1,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="where to write; else RATINGS-agreement")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(metavar="LOW-HIGH", help="first and last step; else a usual scale that fits"),
    ] = None,
    resamples: Annotated[int, typer.Option(min=100, help="of the bootstrap")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="of the bootstrap and the tests")] = 0,
    open_: Annotated[bool, typer.Option("--open", help="show the PDF when it is done")] = False,
) -> None:
    """Say how well annotators agree and whether it matters who they are, as a PDF and tables.

    RATINGS.csv has one row for each rating, for example

        sample_id,annotator_id,question,rating
        cat-17,ann,trust,4
        cat-17,bob,trust,5

    or with other names and another scale, as `pasta analyse study.csv --item picture --rater
    worker --question asked --rating answer --scale 1-7`. A time such as 2024-05-01T12:30:00Z adds
    order, fatigue and speed; `simulated` (true or false) marks ratings that no person gave. An
    empty rating, or NA, counts as not given.

    With `--annotators` the report compares sexes, ages and countries; with `--samples` it compares
    kinds of samples, and intervals allow for samples that share an image. The names of raters and
    of samples have the same columns there. What is missing is said in the report, and the rest is
    there.

    With `--kind trials` the file has forced choices instead, one row each, with participant,
    condition, right, and perhaps item, session and seconds: how much better people predict a model
    under each condition than under the baseline (Utility), as `utility.pdf` and tables.

    Writes `agreement.pdf` and one CSV file for each table, or nothing at all if the input is not
    in order.
    """
    if kind == "trials" and samples is None:
        from pasta.commands.analyse_trials import analyse_trials

        given = _given(
            participant=participant or rater,
            condition=condition,
            right=right,
            item=item,
            session=session,
            seconds=seconds,
        )
        written = analyse_trials(ratings, given, baseline, examples, margin, resamples, seed, out)
        if open_:
            typer.launch(str(written))
        return
    from analysis.tables import joined
    from pasta.studies.ratings.analyses.agreement import agreement_tables
    from pasta.studies.ratings.analyses.bias import bias_tables
    from pasta.studies.ratings.ratings_file import (
        infer_scale,
        read_annotators,
        read_ratings,
        read_samples,
    )
    from reports.source.pages.agreement import agreement_report, printable
    from reports.source.typesetting import compile_pdf

    categories = None if scale is None else steps(scale)
    people_names = _given(annotator_id=rater)
    item_names = _given(sample_id=item)
    names = people_names | item_names | _given(question=question, rating=rating, submitted_at=time)
    folder = out or Path(f"{ratings.stem}-agreement")
    if folder.exists() and not folder.is_dir():
        raise PastaError(f"{folder}: is a file; --out wants a folder")
    votes, ignored = read_ratings(ratings, categories, names)
    if categories is None:
        categories = infer_scale(votes["rating"])
        typer.echo(
            f"scale: {categories[0]} to {categories[-1]}, a usual one that has all ratings; "
            "say --scale if it is another"
        )
    aside = {ratings: ignored}
    people = shown = None
    if annotators is not None:
        people, aside[annotators] = read_annotators(
            annotators, people_names | _given(age=age, sex=sex, country=country)
        )
    if samples is not None:
        shown, aside[samples] = read_samples(samples, item_names | _given(kind=kind))
    for file, others in aside.items():
        if others:
            typer.echo(f"{file.name}: left aside the columns {', '.join(map(repr, others))}")
    empty = int(votes["rating"].isna().sum())
    if empty:
        typer.echo(f"{ratings.name}: {empty} rows without a rating count as not given")
    try:
        tables = joined(
            agreement_tables(votes, shown, categories=categories, resamples=resamples, seed=seed),
            bias_tables(votes, people, shown, categories=categories, seed=seed),
        )
    except ValueError as error:
        raise InputError(str(error), file=ratings) from error
    simulated = "simulated" in votes and bool(votes["simulated"].any())
    document = agreement_report(tables, simulated, own=False)
    files = [file for file in (ratings, annotators, samples) if file is not None]
    pdf = compile_pdf(document, {"input": [printable(_checksum(file)) for file in files]})
    _write(folder, pdf, tables)
    _tell(tables, folder)
    if open_:
        typer.launch(str(folder / "agreement.pdf"))


def _given(**columns: str | None) -> dict[str, str]:
    """The columns that were named."""
    return {name: column for name, column in columns.items() if column is not None}


def steps(scale: str) -> tuple[int, ...]:
    """The steps of a scale such as "1-7"."""
    found = re.fullmatch(r"\s*(-?\d{1,6})\s*-\s*(-?\d{1,6})\s*", scale)
    low, high = (int(end) for end in found.groups()) if found else (0, 0)
    if not 0 < high - low < MOST_STEPS:
        raise typer.BadParameter(
            f"{scale!r} is no scale; write its first and last step, such as 1-7",
            param_hint="--scale",
        )
    return tuple(range(low, high + 1))


def _checksum(file: Path) -> str:
    """A file by its name and the beginning of its SHA-256."""
    import hashlib

    return f"{file.name} (sha256 {hashlib.sha256(file.read_bytes()).hexdigest()[:12]})"


def _write(folder: Path, pdf: bytes, tables: dict[str, pd.DataFrame]) -> None:
    from pasta import store

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PastaError(f"{folder}: cannot be made: {error.strerror or error}") from error
    for name, table in tables.items():
        with store.atomic(folder / f"{name}.csv") as temporary:
            table.to_csv(temporary, index=False, lineterminator="\n")
    with store.atomic(folder / "agreement.pdf") as temporary:
        temporary.write_bytes(pdf)


def _tell(tables: dict[str, pd.DataFrame], folder: Path) -> None:
    """The first findings, and where everything is."""
    from reports.source.pages.agreement import (
        look_at_sentence,
        mode_sentence,
        name_printably,
        study_sentence,
        verdicts_sentence,
    )

    named, _ = name_printably(tables)
    told: Sequence[str] = [
        study_sentence(named),
        mode_sentence(named),
        verdicts_sentence(named),
        look_at_sentence(named),
    ]
    for line in told:
        if line:
            typer.echo(line)
    typer.echo(f"wrote {folder / 'agreement.pdf'} and {len(tables)} tables beside it")
