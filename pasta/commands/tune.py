"""`pasta tune`: settings of an explanation method by predicted score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pasta.commands.options import (
    AsJson,
    Question,
    Scorer,
    require_dataset,
    require_file,
    require_technique,
)

if TYPE_CHECKING:
    from pasta.applications.tuning import Tuned
    from pasta.config import Params
    from pasta.explanations.techniques import Technique
    from pasta.layout import Group


def tune(
    technique: Annotated[
        str, typer.Option(metavar="METHOD/MODEL", help="what to tune, e.g. lime/resnet50")
    ],
    grid: Annotated[
        Path, typer.Option(metavar="FILE", help="YAML with {setting: [values]}, see above")
    ],
    dataset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="whose images, e.g. coco; may be given several times, else all"
        ),
    ] = None,
    question: Question = None,
    search: Annotated[
        int, typer.Option(min=1, help="images of each dataset, to choose settings on")
    ] = 8,
    held_out: Annotated[
        int, typer.Option(min=1, help="other images of each dataset, to compare on")
    ] = 8,
    trials: Annotated[
        int | None, typer.Option(min=1, help="try so many, chosen by Optuna; else all")
    ] = None,
    subsets: Annotated[int, typer.Option(min=3, help="for each faithfulness correlation")] = 50,
    scorer: Scorer = None,
    as_json: AsJson = False,
) -> None:
    """Find settings of an explanation method that people would rate higher.

    The grid is a YAML file with the settings to vary, for instance

        kernel_width: [0.1, 0.15, 0.25]

        segments: [20, 30, 50]

    Settings are those of `explanations.methods` in params.yaml (`pasta profile show demo`); for
    CAM methods there is also `layer`, the name of the target layer: `network.layer3.-1` is the
    last block of that stage. What is not in the grid stays as it is.

    Every combination is scored on test images that nobody has rated. **The score can be
    over-optimised**, so the winner is compared with the default on other such images: its score,
    its faithfulness, which was not optimised, and, where raters are simulated, the quality they
    really see. Look at these numbers before you use the winner.

    Every candidate is a nested run in MLflow.
    """
    require_technique(technique)
    for name in dataset or ():
        require_dataset(name)
    require_file(grid)
    groups = _groups(dataset)
    from pasta.applications.prepared.candidates import read_grid
    from pasta.config import load_params
    from pasta.explanations.catalog import technique as named
    from pasta.studies.ratings.settings import MAIN

    chosen, values, params = named(technique), read_grid(grid), load_params()
    own = params.applications.model_copy(update={"subsets": subsets, "resamples": _RESAMPLES})
    params = params.model_copy(update={"applications": own})
    tuned = _tuned(
        chosen,
        values,
        groups,
        params,
        question or MAIN,
        (search, held_out),
        trials,
        scorer,
    )
    if as_json:
        import json

        typer.echo(json.dumps(_plain(tuned), indent=2))
    else:
        _print(tuned)


def _tuned(
    technique: Technique,
    values: dict[str, list[Any]],
    groups: list[Group],
    params: Params,
    question: str,
    numbers: tuple[int, int],
    trials: int | None,
    scorer: Path | None,
) -> Tuned:
    from math import prod

    from pasta.applications.prepared.candidates import open_table
    from pasta.applications.simulated_judge import judges_of, planted_folder
    from pasta.applications.tuning import log_candidate, log_tuned
    from pasta.applications.tuning import tune as search
    from pasta.datasets.stored import open_dataset
    from pasta.paths import DATA, project_root
    from pasta.pinned import require_pinned
    from pasta.progress import bar
    from pasta.scoring.score import PastaScore
    from pasta.tracking import tracked_run

    root = project_root()
    read = [folder for one in groups for folder in (one.images, one.models, one.explanations)]
    require_pinned([folder.relative_to(root).as_posix() for folder in read], root)
    metric = PastaScore.load(question, scorer)
    table = open_table(technique, values, groups, params, root, numbers, "--search + --held-out")
    datasets = {group.dataset: open_dataset(group.images) for group in groups}
    judges = judges_of(planted_folder(root / DATA), question, datasets)
    total = prod(len(own) for own in values.values())
    about = {
        "technique": technique.key,
        "grid": {key: str(own) for key, own in values.items()},
        "question": question,
        "images": numbers[0],
        "held_out": numbers[1],
    }
    with (
        tracked_run(
            "explanations",
            "tune",
            f"tune {technique.key}",
            about=f"Settings of {technique.key} by predicted stars on {question}; each candidate "
            "is a run inside this one.",
            inputs=[scorer or root / DATA / "score/public"],
            params=about,
            tags={
                "dataset": ", ".join(sorted(datasets)),
                "scorer": metric.stored.card.scorer,
                "encoder": metric.stored.card.encoder.name,
                "technique": technique.key,
            },
        ) as run,
        bar(f"tune {technique.key}", min(total, trials or total) + 1, "candidates") as line,
    ):

        def tell(one: Any, answer: Any) -> None:
            log_candidate(one, answer)
            line.advance()

        tuned = search(table, params, metric, judges, trials=trials, tell=tell)
        log_tuned(run, tuned)
    return tuned


def _groups(names: list[str] | None) -> list[Group]:
    """Those of the named datasets, or all whose explanations are there."""
    from pasta.errors import PastaError
    from pasta.layout import explained_groups

    there = explained_groups()
    wanted = set(names or ())
    missing = wanted - {group.dataset for group in there}
    if missing or not there:
        whose = f" of {min(missing)}" if missing else ""
        raise PastaError(f"there are no explanations{whose}; `dvc repro explain` makes them")
    return [group for group in there if not wanted or group.dataset in wanted]


def _plain(tuned: Tuned) -> dict[str, Any]:
    """JSON has no NaN: what is not there is null."""

    def rows(frame: Any) -> list[dict[str, Any]]:
        return [
            {key: value if known[key] else None for key, value in row.items()}
            for row, known in zip(
                frame.to_dict("records"), frame.notna().to_dict("records"), strict=True
            )
        ]

    return {
        "technique": tuned.technique.key,
        "default": tuned.default,
        "winner": tuned.winner,
        "conclusion": tuned.conclusion,
        "candidates": rows(tuned.candidates),
        "verdict": rows(tuned.verdict),
    }


def _print(tuned: Tuned) -> None:
    from pasta.commands.show import console, print_table

    rows = [
        (
            row["candidate"],
            f"{row['score']:.3f}",
            "" if row["default"] else f"{row['difference']:+.3f}",
            str(row["best_on"]),
            str(row["missing"] or ""),
            ", ".join(word for word in ("default", "winner", "tied") if row[word]),
        )
        for row in tuned.candidates.to_dict("records")
    ]
    columns = ("candidate", "score", "to default", "best on", "empty maps", "note")
    print_table(
        f"{tuned.technique.key}: predicted stars by settings", columns, rows, numbers=columns[1:5]
    )
    for sentence in tuned.conclusion:
        console().print(sentence, highlight=False)


_RESAMPLES = 2000
