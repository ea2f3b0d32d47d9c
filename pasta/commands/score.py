"""`pasta score`: how people would rate a folder of explanations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from pasta.scoring.files import Listed
    from pasta.scoring.score import PastaScore, Scores

_AT_ONCE = 256  # files read before they are scored


def score(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="files named `{dataset}_{id}_{label}.npy` (or `.json`, `.png`)"
        ),
    ],
    question: Annotated[
        str | None, typer.Option(help="a question answered with stars; default: the main one")
    ] = None,
    scorer: Annotated[
        Path | None, typer.Option(help="a folder with a trained scorer; else the project's own")
    ] = None,
    images: Annotated[
        Path | None, typer.Option(help="where the images of the maps are, if not beside them")
    ] = None,
    signed: Annotated[
        bool, typer.Option("--signed", help="maps go from -1 to 1, negative is against the class")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable output")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="one line for each file")] = False,
) -> None:
    """Predict how people would rate explanations, without a user study.

    Maps (`.npy`, from 0 to 1, with the image as `.png` of the same name), concepts (`.json`,
    `{concept: value}`) or explanations already drawn (only `.png`). Prints the mean with a
    bootstrap interval and the place among the techniques that the scorer was trained on.
    """
    if as_json and as_csv:
        raise typer.BadParameter("give either --json or --csv")
    from pasta.scoring.files import KNOWN, list_folder
    from pasta.scoring.score import PastaScore
    from pasta.scoring.stored import FOLDER, load_scorer
    from pasta.studies.ratings.settings import MAIN

    if scorer is None:
        from pasta.paths import project_root

        scorer = project_root() / FOLDER
    labels = load_scorer(scorer).card.labels
    listed = list_folder(folder, KNOWN if labels is None else labels.datasets, images)
    metric = PastaScore.load(question or MAIN, scorer)
    scores = _score(metric, listed, signed)
    report = _report(metric, listed, scores)
    _warn(scores, listed)
    if as_json:
        import json

        typer.echo(json.dumps(report, indent=2))
    elif as_csv:
        _print_csv(report)
    else:
        _print(report)


def _score(metric: PastaScore, listed: Listed, signed: bool) -> list[Scores]:
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

    from pasta.scoring.score import better_techniques, summarise_scores

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
        "unfamiliar": sum(not one.familiar for one in each if one.status == "ok"),
        "scores": [
            {
                "file": file.name,
                "score": one.score if one.status == "ok" else None,
                "interval": None if one.low is None or one.status != "ok" else [one.low, one.high],
                "familiar": one.familiar,
                "status": one.status,
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
            "trained on (1 % would be usual); do not trust their scores",
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
            "" if one["familiar"] else ("unfamiliar" if one["status"] == "ok" else one["status"]),
        )
        for one in report["scores"][:_SHOWN]
    ]
    more = len(report["scores"]) - len(rows)
    caption = f"and {more} more (--csv and --json list all)" if more else None
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


def _print_csv(report: dict[str, Any]) -> None:
    import csv
    import sys

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("file", "score", "low", "high", "familiar", "status"))
    for one in report["scores"]:
        low, high = one["interval"] or ("", "")
        value = "" if one["score"] is None else one["score"]
        out.writerow((one["file"], value, low, high, str(one["familiar"]).lower(), one["status"]))


_SHOWN = 20
