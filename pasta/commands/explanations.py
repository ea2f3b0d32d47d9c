"""`pasta techniques` and `pasta explain`: what there is, and what it says about an image."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pasta.commands.options import (
    AsJson,
    Dataset,
    Image,
    Picture,
    require_dataset,
    require_file,
    require_picture,
    require_technique,
)

if TYPE_CHECKING:
    from pasta.explanations.single import Answer


def techniques(
    as_json: AsJson = False,
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
    image: Image,
    dataset: Dataset,
    technique: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD/MODEL", help="e.g. gradcam/resnet50; may be given several times"
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="a contact sheet of every technique")
    ] = False,
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="explain this class, not the predicted one"),
    ] = None,
    out: Picture = None,
    as_json: AsJson = False,
) -> None:
    """Explain what a trained classifier says about an image, as a picture.

    `pasta explain cat.jpg --dataset catsdogscars --technique gradcam/resnet50` writes
    `cat.gradcam-resnet50.png`; `--all` writes one sheet with every technique. `pasta techniques`
    lists them. The picture is what the classifier sees: the middle square of the image.
    """
    require_dataset(dataset)
    if every == bool(technique):
        raise typer.BadParameter("give either --technique or --all")
    for key in technique or ():
        require_technique(key)
    require_file(image)
    if out is not None:
        require_picture(out)
    from pasta.commands.show import note_cropping, note_training, trained_on
    from pasta.config import load_params
    from pasta.datasets.vocabulary import vocabulary
    from pasta.explanations.catalog import technique as named
    from pasta.explanations.catalog import techniques as known
    from pasta.explanations.single import explain_file
    from pasta.models.checkpoint import find_models
    from pasta.paths import project_root
    from pasta.progress import bar

    words = vocabulary(dataset)
    if label is not None:
        words.class_index(label)
    chosen = [named(key) for key in dict.fromkeys(technique or [])]
    if every:
        there = find_models(dataset, load_params(), project_root())
        chosen = [one for one in known() if one.backbone in there]
    single = chosen[0].key.replace("/", "-") if len(chosen) == 1 else "explanations"
    target = out or Path(f"{image.stem}.{single}.png")
    with bar(f"explain {image.name}", len(chosen), "techniques") as line:
        answers = explain_file(image, dataset, chosen, label, lambda key: line.advance(words=key))
    _save(answers, target)
    if as_json:
        import json

        said = {
            "picture": str(target),
            "trained_on": trained_on(dataset),
            "explanations": [_plain(answer) for answer in answers],
        }
        typer.echo(json.dumps(said, indent=2))
        return
    for answer in answers:
        _print_answer(answer)
    typer.echo(f"wrote {target}")
    note_cropping(image)
    note_training(dataset)


def _print_answer(answer: Answer) -> None:
    note = "" if answer.status == "ok" else f", the attribution is {answer.status}"
    other = "" if answer.explained == answer.predicted else f", explained: {answer.explained}"
    typer.echo(
        f"{answer.technique.key}: {answer.predicted} ({answer.probability:.1%}){other}{note}"
    )


def _plain(answer: Answer) -> dict[str, Any]:
    return {
        "technique": answer.technique.key,
        "predicted": answer.predicted,
        "probability": answer.probability,
        "explained": answer.explained,
        "status": answer.status,
    }


def _save(answers: list[Answer], target: Path) -> None:
    from PIL import Image as Pillow

    from pasta import store
    from pasta.explanations.single import answer_card, answer_sheet

    pixels = answer_card(answers[0]) if len(answers) == 1 else answer_sheet(answers)
    with store.atomic(target) as temporary:
        kind = Pillow.registered_extensions()[target.suffix.lower()]
        Pillow.fromarray(pixels).save(temporary, kind)
