"""`pasta analyse TRIALS.csv --kind trials`: anybody's forced-choice answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pasta.errors import InputError, PastaError

if TYPE_CHECKING:
    import pandas as pd

NEEDED = ("participant", "condition", "right")
OPTIONAL = ("item", "session", "seconds")
# as the study's own table calls them
USUAL = {"participant": "participant_id", "item": "image_id"}
TRUE, FALSE = ("true", "1", "1.0", "yes"), ("false", "0", "0.0", "no")


def read_trials(file: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, list[str]]:
    """Read trials with their columns by other names.

    Parameters
    ----------
    file
        CSV.
    columns
        Names in the file of participant, condition, right, item, session and seconds.

    Returns
    -------
    trials : DataFrame
        participant, condition, right, and those of item, session, seconds that are there; what is
        not a test trial (``phase``) or has no answer is left out.
    aside : list of str
        Columns that nothing was made of.
    """
    import pandas as pd

    from pasta.text_files import read_csv

    expected = "columns such as participant,condition,item,right,session,seconds"
    text = read_csv(file, frozenset(columns.values()), expected).complete()
    if "phase" in text.columns:
        text = text[text["phase"] == "test"]
    found: dict[str, pd.Series] = {}
    for name in (*NEEDED, *OPTIONAL):
        theirs = columns.get(name) or next(
            (one for one in (name, USUAL.get(name, name)) if one in text.columns), name
        )
        if theirs in text.columns:
            found[name] = text[theirs]
        elif name in NEEDED or name in columns:
            hint = f"name it with --{name}, or add it"
            raise InputError("is missing", file=file, row=1, column=theirs, expected=hint)
    theirs_of = {name: str(column.name) for name, column in found.items()}
    frame = pd.DataFrame(found)
    frame = frame[frame["right"].str.strip() != ""]
    frame["right"] = _flags(frame["right"], theirs_of["right"], file)
    for name in ("session", "seconds"):
        if name in frame:
            frame[name] = _numbers(frame[name], theirs_of[name], file)
    for name in ("participant", "condition"):
        empty = frame.index[frame[name].str.strip() == ""]
        if len(empty):
            row, column = int(empty[0]), theirs_of[name]
            raise InputError("is empty", file=file, row=row, column=column, expected="a name")
    aside = [str(one) for one in text.columns if one not in theirs_of.values()]
    return frame.reset_index(drop=True), aside


def _flags(cells: pd.Series, column: str, file: Path) -> pd.Series:
    lower = cells.str.strip().str.lower()
    wrong = lower.index[~lower.isin([*TRUE, *FALSE])]
    if len(wrong):
        row, value = int(wrong[0]), cells[wrong[0]]
        expected = "0 or 1, true or false, yes or no"
        raise InputError(f"found {value!r}", file=file, row=row, column=column, expected=expected)
    return lower.isin(TRUE).astype("float64")


def _numbers(cells: pd.Series, column: str, file: Path) -> pd.Series:
    import pandas as pd

    values = pd.to_numeric(cells.where(cells.str.strip() != ""), errors="coerce")
    wrong = cells.index[values.isna() & (cells.str.strip() != "")]
    low = values.index[values < 0]
    if len(wrong) or len(low):
        row = int([*wrong, *low][0])
        expected = "a number of 0 or more"
        raise InputError(
            f"found {cells[row]!r}", file=file, row=row, column=column, expected=expected
        )
    return values.astype("float64")


def analyse_trials(
    file: Path,
    columns: Mapping[str, str],
    baseline: str,
    examples: int,
    margin: float,
    resamples: int,
    seed: int,
    out: Path | None,
) -> Path:
    """Analyse forced choices; writes ``utility.pdf`` and tables, and returns the PDF."""
    from pasta import store
    from pasta.studies.prediction.analyses import trial_tables
    from pasta.studies.prediction.settings import UNNAMED
    from reports.source.pages.utility import utility_report
    from reports.source.typesetting import compile_pdf

    folder = out or Path(f"{file.stem}-utility")
    if folder.exists() and not folder.is_dir():
        raise PastaError(f"{folder}: is a file; --out wants a folder")
    trials, aside = read_trials(file, columns)
    if aside:
        typer.echo(f"{file.name}: left aside the columns {', '.join(map(repr, aside))}")
    seen: dict[object, float] | None = None
    if "session" in trials:
        seen = {number: float(number * examples) for number in sorted(trials["session"].unique())}
    try:
        tables = trial_tables(
            trials, baseline, examples=seen, margin=margin, resamples=resamples, seed=seed
        )
    except ValueError as error:
        raise InputError(str(error), file=file) from error
    named = {
        name: table if name == "missing" else table.assign(experiment=UNNAMED)
        for name, table in tables.items()
    }
    document = utility_report(named, {}, {}, simulated=False, baseline=baseline)
    pdf = compile_pdf(document, {"input": file.name})
    folder.mkdir(parents=True, exist_ok=True)
    store.write_csvs(tables, folder)
    with store.atomic(folder / "utility.pdf") as temporary:
        temporary.write_bytes(pdf)
    for line in (*document.content["findings"], *document.content["lacks"]):
        typer.echo(line)
    typer.echo(f"wrote {folder / 'utility.pdf'} and {len(tables)} tables beside it")
    return folder / "utility.pdf"
