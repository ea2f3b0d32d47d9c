"""`pasta models` and `pasta predict`: the trained classifiers and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pasta.commands.options import (
    AsJson,
    Dataset,
    Model,
    OneDataset,
    require_dataset,
    require_file,
    require_model,
)


def models(dataset: OneDataset = None, as_json: AsJson = False) -> None:
    """List the classifiers: kind, datasets, accuracy on test images, size."""
    from pasta import store
    from pasta.commands.show import print_table
    from pasta.datasets.vocabulary import vocabulary
    from pasta.errors import PastaError
    from pasta.layout import every_group

    wanted = None if dataset is None else vocabulary(dataset).dataset
    scores: dict[str, dict[str, Any]] = {}
    for group in every_group():
        file = group.models / "accuracy.json"
        if wanted in (None, group.dataset) and file.exists():
            scores.setdefault(group.dataset, {}).update(store.read_json(file))
    if not scores:
        whose = "" if dataset is None else f" of {dataset}"
        raise PastaError(f"no classifier{whose} is trained yet; `dvc repro train` trains them")
    if as_json:
        import json

        typer.echo(json.dumps(scores, indent=2))
        return
    rows = list(dict.fromkeys(model for own in scores.values() for model in own))
    first = {model: next(own[model] for own in scores.values() if model in own) for model in rows}
    print_table(
        "Classifiers, test accuracy with 95 % interval",
        ("model", "kind", *scores, "parameters"),
        [
            (
                model,
                first[model]["kind"],
                *(_accuracy(own.get(model)) for own in scores.values()),
                f"{first[model]['parameters']:,}",
            )
            for model in rows
        ],
        numbers=(*scores, "parameters"),
    )


def predict(
    images: Annotated[
        list[Path], typer.Argument(metavar="IMAGE...", help="image files of any common format")
    ],
    dataset: Dataset,
    model: Model,
    top: Annotated[int, typer.Option(min=1, help="classes and concepts to show")] = 5,
    as_json: AsJson = False,
) -> None:
    """Classify images: the most probable classes, and the strongest concepts of concept models."""
    require_dataset(dataset)
    require_model(model)
    for file in images:
        require_file(file)
    from pasta.commands.show import note_cropping, note_training, trained_on
    from pasta.models.checkpoint import predict_files

    answers = predict_files(images, dataset, model, top)
    if as_json:
        import json

        known = {"trained_on": trained_on(dataset)}
        typer.echo(json.dumps([answer | known for answer in answers], indent=2))
        return
    for answer in answers:
        _print_answer(answer)
    note_cropping(*images)
    note_training(dataset)


def _print_answer(answer: dict[str, Any]) -> None:
    from pasta.commands.show import print_table

    rows = [
        (entry["class"], f"{entry['probability']:.1%}", "█" * round(30 * entry["probability"]))
        for entry in answer["classes"]
    ]
    title = f"{answer['image']} ({answer['model']} of {answer['dataset']})"
    print_table(title, ("class", "probability", ""), rows, numbers=("probability",))
    if answer["concepts"]:
        concepts = [(entry["concept"], f"{entry['score']:.3f}") for entry in answer["concepts"]]
        print_table("Strongest concepts", ("concept", "score"), concepts, numbers=("score",))


def _accuracy(own: dict[str, Any] | None) -> str:
    if own is None:
        return "-"
    score = own["accuracy"]
    return f"{score['estimate']:.1%} ({score['low']:.0%}-{score['high']:.0%})"
