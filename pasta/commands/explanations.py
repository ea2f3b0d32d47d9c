"""`pasta techniques` and `pasta explain`: what there is, and what it says about an image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pasta.explanations.single import Answer


def techniques(
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable output")] = False,
    extras: Annotated[
        bool, typer.Option("--extras", help="also those that are not among the papers' 46")
    ] = False,
) -> None:
    """List the techniques: a method applied to a backbone, as people rate them.

    The 46 of the papers carry the numbers of the released dataset. `--extras` adds LayerCAM, RISE
    on images and others.
    """
    from pasta.explanations.catalog import technique_row
    from pasta.explanations.catalog import techniques as known

    rows = [technique_row(one) for one in known(extras)]
    if as_json:
        import json

        typer.echo(json.dumps(rows, indent=2))
        return
    from pasta.commands.show import print_table

    print_table(
        "Techniques",
        ("id", "technique", "kind", "functioning", "stage"),
        [
            (
                "extra" if row["extra"] else str(row["released_id"]),
                row["technique"],
                row["kind"],
                row["functioning"],
                row["stage"],
            )
            for row in rows
        ],
        numbers=("id",),
    )


def explain(
    image: Annotated[Path, typer.Argument(help="an image file of any common format")],
    dataset: Annotated[str, typer.Option(help="whose classifiers, e.g. coco")],
    technique: Annotated[
        list[str] | None,
        typer.Option(help="method/backbone, e.g. gradcam/resnet50; may be given several times"),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="a contact sheet of every technique")
    ] = False,
    label: Annotated[
        str | None, typer.Option("--class", help="explain this class, not the predicted one")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="the picture to write; its name says the format")
    ] = None,
) -> None:
    """Explain what a trained classifier says about an image, as a picture.

    `pasta explain cat.jpg --dataset catsdogscars --technique gradcam/resnet50` writes
    `cat.gradcam-resnet50.png`; `--all` writes one sheet with every technique. `pasta techniques`
    lists them.
    """
    from pasta.commands.show import note_training
    from pasta.datasets.vocabulary import vocabulary
    from pasta.explanations.catalog import technique as named
    from pasta.explanations.catalog import techniques as known
    from pasta.explanations.single import explain_file
    from pasta.progress import bar

    words = vocabulary(dataset)
    if every == bool(technique):
        raise typer.BadParameter("give either --technique or --all")
    if label is not None:
        words.class_index(label)
    chosen = known() if every else [named(key) for key in dict.fromkeys(technique or [])]
    single = chosen[0].key.replace("/", "-") if len(chosen) == 1 else "explanations"
    target = out or Path(f"{image.stem}.{single}.png")
    _require_format(target)
    with bar(f"explain {image.name}", len(chosen), "techniques") as line:
        answers = explain_file(image, dataset, chosen, label, lambda key: line.advance(words=key))
    for answer in answers:
        _print_answer(answer)
    _save(answers, target)
    typer.echo(f"wrote {target}")
    note_training(dataset)


def _print_answer(answer: Answer) -> None:
    note = "" if answer.status == "ok" else f", the attribution is {answer.status}"
    other = "" if answer.explained == answer.predicted else f", explained: {answer.explained}"
    typer.echo(
        f"{answer.technique.key}: {answer.predicted} ({answer.probability:.1%}){other}{note}"
    )


def _require_format(target: Path) -> None:
    from PIL import Image

    if target.suffix.lower() not in Image.registered_extensions():
        raise typer.BadParameter(f"{target}: no picture format ends in {target.suffix!r}")


def _save(answers: list[Answer], target: Path) -> None:
    from PIL import Image

    from pasta import store
    from pasta.explanations.single import answer_card, answer_sheet

    pixels = answer_card(answers[0]) if len(answers) == 1 else answer_sheet(answers)
    with store.atomic(target) as temporary:
        kind = Image.registered_extensions()[target.suffix.lower()]
        Image.fromarray(pixels).save(temporary, kind)
