"""`pasta score`: how people would rate a folder of explanations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pasta.commands.options import AsJson, Question, Scorer, TableFile, require_table

if TYPE_CHECKING:
    from pasta.scoring.files import Listed
    from pasta.scoring.score import PastaScore, Scores

_AT_ONCE = 256  # files read before they are scored


def score(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="files named `{dataset}_{id}_{label}.npy` (or `.json`, `.png`, `.jpg`), or as you "
            "like, then without a label",
        ),
    ],
    question: Question = None,
    scorer: Scorer = None,
    images: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="where the images of the maps are, if not beside them"),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="the predicted class of files whose name has none")
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", help="maps go from -1 to 1, negative is against the class")
    ] = False,
    out: TableFile = None,
    as_json: AsJson = False,
) -> None:
    """Predict how people would rate explanations, without a user study.

    Maps (`.npy`, with the image as `.png` or `.jpg` of the same name), concepts (`.json`,
    `{concept: value}`) or explanations already drawn (only images). Prints the mean with a
    bootstrap interval and the place among the techniques that the scorer was trained on. Maps of
    another size than the image or another range than 0 to 1 are converted, with a note.
    """
    require_table(out)
    from pasta.scoring.files import KNOWN, list_folder
    from pasta.scoring.score import PastaScore
    from pasta.scoring.stored import FOLDER, load_scorer
    from pasta.studies.ratings.settings import MAIN

    if scorer is None:
        from pasta.paths import project_root

        scorer = project_root() / FOLDER
    labels = load_scorer(scorer).card.labels
    listed = list_folder(folder, KNOWN if labels is None else labels.datasets, images, label)
    metric = PastaScore.load(question or MAIN, scorer)
    scores = score_files(metric, listed, signed)
    report = _report(metric, listed, scores)
    _warn(scores, listed)
    if out is not None:
        _write(report, out)
    if as_json:
        import json

        typer.echo(json.dumps(report, indent=2))
        return
    _print(report)
    if out is not None:
        typer.echo(f"wrote {out}")


def score_files(metric: PastaScore, listed: Listed, signed: bool) -> list[Scores]:
    """Scores of all files, some at a time so that memory does not grow with the folder."""
    import warnings

    from pasta.errors import PastaError
    from pasta.progress import bar
    from pasta.scoring.files import read_batch

    found: list[Any] = []
    with bar(f"score {metric.question}", len(listed.files), "explanations") as line:
        for start in range(0, len(listed.files), _AT_ONCE):
            rows = range(start, min(start + _AT_ONCE, len(listed.files)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # said once, at the end
                given = read_batch(listed, rows)
                try:
                    found.append(metric.score(**given, signed=signed, watch=line.advance))
                except PastaError as error:
                    if named := _named(metric, listed, given, rows, signed):
                        raise named from error
                    raise
    return found


def _named(
    metric: PastaScore, listed: Listed, given: Any, rows: range, signed: bool
) -> Exception | None:
    """The error of the first file that has one alone."""
    from pasta.errors import InputError, PastaError

    for place, row in enumerate(rows):
        try:
            metric.check(**{key: values[place] for key, values in given.items()}, signed=signed)
        except PastaError as own:
            return InputError(str(own), file=listed.files[row])
    return None


def _report(metric: PastaScore, listed: Listed, parts: list[Scores]) -> dict[str, Any]:
    import numpy as np

    from pasta.scoring.score import better_techniques, summarise_scores, weak_question

    means = metric.card.techniques.get(metric.question, {})
    summary = summarise_scores(np.concatenate([part.score for part in parts]))
    each = [one for part in parts for one in part]
    better = better_techniques(summary.mean, means, metric.direction)
    return {
        "question": metric.question,
        "origin": metric.card.origin or None,
        "direction": metric.direction,
        "n": summary.n,
        "mean": summary.mean if summary.n else None,
        "ci95": None if summary.ci95 is None else list(summary.ci95),
        "rank": None if better is None else 1 + len(better),
        "next_better": better[0] if better else None,
        "techniques": len(means),
        "kappa": metric.card.kappa(metric.question),
        "warning": weak_question(metric.card, metric.question) or None,
        "unfamiliar": sum(not one.familiar for one in each if one.status == "ok"),
        "uninformative": sum(not one.informative for one in each if one.status == "ok"),
        "scores": [
            {
                "file": file.name,
                "score": one.score if one.status == "ok" else None,
                "interval": None if one.low is None or one.status != "ok" else [one.low, one.high],
                "familiar": one.familiar,
                "informative": one.informative,
                "status": one.status,
                "notes": list(one.notes),
            }
            for file, one in zip(listed.files, each, strict=True)
        ],
    }


def _warn(parts: list[Scores], listed: Listed) -> None:
    from pasta.scoring.ood import surprisingly_many

    each = [one for part in parts for one in part]
    rated = [one for one in each if one.status == "ok"]
    strange = sum(not one.familiar for one in rated)
    if surprisingly_many(strange, len(rated)):
        typer.echo(
            f"warning: {strange} of {len(rated)} explanations look unlike what the scorer was "
            "trained on (5 % would be usual); do not trust their scores",
            err=True,
        )
    useless = sum(not one.informative for one in rated)
    if useless:
        typer.echo(
            f"warning: {useless} of {len(rated)} scores carry no information: their intervals "
            "cover nearly the whole scale",
            err=True,
        )
    empty = [file.name for file, one in zip(listed.files, each, strict=True) if one.status != "ok"]
    if empty:
        typer.echo(
            f"warning: {len(empty)} of {len(each)} explanations show nothing and have no score, "
            f"the first is {empty[0]}",
            err=True,
        )
    if listed.kind == "picture":
        typer.echo("note: pictures without maps are taken as explanations already drawn", err=True)


def _print(report: dict[str, Any]) -> None:
    from pasta.commands.show import console, print_table

    if report["mean"] is None:
        console().print(f"{report['question']}: no explanation here can be scored")
        return
    rows = [
        (
            one["file"],
            "-" if one["score"] is None else f"{one['score']:.2f}",
            "-" if one["interval"] is None else "{:.1f} to {:.1f}".format(*one["interval"]),
            _note(one),
        )
        for one in report["scores"][:_SHOWN]
    ]
    more = len(report["scores"]) - len(rows)
    caption = f"and {more} more (--out and --json have all)" if more else None
    columns = ("file", "stars", "90 % interval", "note")
    print_table(report["question"], columns, rows, numbers=columns[1:3], caption=caption)
    interval = (
        "" if report["ci95"] is None else " (95 % CI {:.2f} to {:.2f})".format(*report["ci95"])
    )
    console().print(f"mean of {report['n']}: {report['mean']:.2f} stars{interval}")
    if report["rank"] is not None:
        nearest = f", next after {report['next_better']}" if report["next_better"] else ""
        fewer = " (fewer stars are better)" if report["direction"] < 0 else ""
        console().print(
            f"place {report['rank']} among the {report['techniques']} techniques of the "
            f"training data{nearest}{fewer}"
        )
    if report["origin"]:
        console().print(f"The scorer has {report['origin']}.")
    if report["warning"]:
        console().print(f"Warning: {report['warning']}.")
    notes = [note for one in report["scores"] for note in one["notes"]]
    for start, words in _CONVERTED.items():
        if number := sum(note.startswith(start) for note in notes):
            console().print(f"Note: {number} of {len(report['scores'])} {words}.")


def _note(one: dict[str, Any]) -> str:
    """The few words on one score for which there is room in a table."""
    if one["status"] != "ok":
        return str(one["status"])
    words = [] if one["familiar"] else ["unfamiliar"]
    return ", ".join(words if one["informative"] else [*words, "no information"])


def _write(report: dict[str, Any], out: Path) -> None:
    import pandas as pd

    from pasta.commands.show import write_table

    rows = [
        (
            one["file"],
            one["score"],
            *(one["interval"] or (None, None)),
            one["familiar"],
            one["informative"],
            one["status"],
            "; ".join(one["notes"]),
        )
        for one in report["scores"]
    ]
    columns = ["file", "score", "low", "high", "familiar", "informative", "status", "notes"]
    write_table(pd.DataFrame(rows, columns=columns), out)


_SHOWN = 20  # files on the page
_CONVERTED = {  # beginnings of notes, and how many of them are summed up
    "the map was resized": "maps were resized to their images",
    "the map was divided": "maps were divided by their largest value",
    "the map was lifted": "maps were lifted to 0 and divided by their largest value",
    "scored without a label": "were scored without a label that the scorer knows",
}
