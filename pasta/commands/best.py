"""`pasta best`: the explanation of an image that people would like most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pasta.commands.options import (
    AsJson,
    Dataset,
    Image,
    Model,
    Picture,
    Question,
    Scorer,
    require_dataset,
    require_file,
    require_model,
    require_picture,
)

if TYPE_CHECKING:
    from pasta.applications.best import Best, Ranked


def best(
    image: Image,
    dataset: Dataset,
    model: Model = "resnet50",
    question: Question = None,
    scorer: Scorer = None,
    shown: Annotated[
        int, typer.Option(min=1, help="explanations in the picture, the winner first")
    ] = 4,
    out: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Explain an image by all methods and choose the one with the best predicted score.

    `pasta best cat.jpg --dataset catsdogscars` prints the methods in their order and writes
    `cat.best.png` with the winner beside the runners-up.
    """
    require_dataset(dataset)
    require_model(model)
    require_file(image)
    target = out or Path(f"{image.stem}.best.png")
    require_picture(target)
    from pasta.applications.best import best_explanations
    from pasta.commands.show import note_cropping, note_training, trained_on
    from pasta.explanations.catalog import techniques
    from pasta.progress import bar
    from pasta.studies.ratings.settings import MAIN

    number = sum(one.backbone == model for one in techniques())
    with bar(f"explain {image.name}", number, "techniques") as line:
        found = best_explanations(
            image,
            dataset,
            model,
            question or MAIN,
            scorer,
            advance=lambda key: line.advance(words=key),
        )
    _save(found, target, shown)
    if as_json:
        import json

        known = {"trained_on": trained_on(dataset)}
        typer.echo(json.dumps(_plain(found, target) | known, indent=2))
    else:
        _print(found)
        typer.echo(f"wrote {target}")
        note_cropping(image)
        note_training(dataset)


def _print(found: Best) -> None:
    from pasta.commands.show import print_table

    columns = ("place", "technique", "stars", "90 % interval", "note")
    rows = [
        (
            "-" if one.place is None else f"{one.place}{' =' if one.tied else ''}",
            one.answer.technique.key,
            "-" if one.place is None else f"{one.score.score:.2f}",
            "-"
            if one.place is None or one.score.low is None
            else f"{one.score.low:.1f} to {one.score.high:.1f}",
            _note(one),
        )
        for one in found.ranked
    ]
    first = found.ranked[0].answer
    title = f"{first.predicted} ({first.probability:.1%}), {found.question}: {found.wording}"
    print_table(title, columns, rows, numbers=columns[:1] + columns[2:4])
    if found.ranked[0].score.origin:
        typer.echo(f"The scorer has {found.ranked[0].score.origin}.")
    if found.ranked[0].score.warning:
        typer.echo(f"Warning: {found.ranked[0].score.warning}.")
    if found.ranked[0].place is None:
        typer.echo("no explanation of this image can be scored: all show nothing", err=True)
    elif found.undecided:
        typer.echo("all explanations have the same score: it cannot choose among them", err=True)
    elif found.ranked[0].tied:
        names = [one.answer.technique.key for one in found.ranked if one.place == 1]
        typer.echo(f"{' and '.join(names)} share the first place", err=True)


def _note(one: Ranked) -> str:
    if one.place is None:
        return f"shows nothing ({one.answer.status})"
    words = [] if one.score.familiar else ["unlike what the scorer was trained on"]
    return ", ".join(words if one.score.informative else [*words, "no information"])


def _plain(found: Best, target: Path) -> dict[str, Any]:
    first = found.ranked[0].answer
    return {
        "question": found.question,
        "origin": found.ranked[0].score.origin or None,
        "warning": found.ranked[0].score.warning or None,
        "predicted": first.predicted,
        "probability": first.probability,
        "undecided": found.undecided,
        "picture": str(target),
        "explanations": [
            {
                "place": one.place,
                "tied": one.tied,
                "technique": one.answer.technique.key,
                "score": None if one.place is None else one.score.score,
                "interval": None
                if one.place is None or one.score.low is None
                else [one.score.low, one.score.high],
                "familiar": one.score.familiar,
                "informative": one.score.informative,
                "notes": list(one.score.notes),
                "status": one.answer.status,
            }
            for one in found.ranked
        ],
    }


def _save(found: Best, target: Path, shown: int) -> None:
    from PIL import Image as Pillow

    from pasta import store
    from pasta.applications.best import best_picture

    with store.atomic(target) as temporary:
        kind = Pillow.registered_extensions()[target.suffix.lower()]
        Pillow.fromarray(best_picture(found, shown)).save(temporary, kind)
