"""`pasta study prediction`: what only the meta-predictor study has.

Imports stand in the functions: the command line must be light.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Plan a meta-predictor study (do explanations help people predict the model?), check and "
    "import its answers.\n\nNew answers have arrived: `pasta study prediction check FILE`, then "
    "`pasta study prediction import FILE` and `dvc repro`.",
)


@app.command()
def plan(
    participants: Annotated[
        int | None,
        typer.Option(min=1, help="people of an experiment after the screening; default: params"),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="only this one; else all that are made")
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="only seats that stored answers leave open"),
    ] = False,
    seed: Annotated[int | None, typer.Option(help="another seed gives another plan")] = None,
    out: Annotated[Path | None, typer.Option(help="write the plan to this CSV file")] = None,
) -> None:
    """Say who sees what under which condition; print balance, power and smallest effect.

    With `--replace` the people whose answers are stored are screened, and only those who left are
    replaced, condition by condition.
    """
    import pandas as pd

    from pasta.config import load_params
    from pasta.errors import PastaError
    from pasta.paths import project_root
    from pasta.registry import did_you_mean
    from pasta.studies.prediction.design import (
        describe_balance,
        describe_power,
        make_plan,
        seats,
    )
    from pasta.studies.prediction.shown import shown_experiments

    params, root = load_params(), project_root()
    settings = params.prediction
    number = participants or settings.design.per_condition * len(settings.conditions)
    for line in describe_power(settings.conditions, number):
        typer.echo(line)
    made = {one.experiment: one for one in shown_experiments(root)}
    if not made:
        raise PastaError("there are no images to show yet: `dvc repro experiments` makes them")
    if experiment is not None and experiment not in made:
        raise PastaError(
            f"there is no experiment {experiment!r}. {did_you_mean(experiment, list(made))}"
        )
    kept, taken = _kept(root) if replace else ({}, {})
    parts = []
    for name in [experiment] if experiment is not None else list(made):
        first = taken.get(name, 0) + 1
        people = seats(name, settings.conditions, number, kept.get(name), first)
        if people.empty:
            typer.echo(f"{name}: every seat is filled by somebody who passed the screening")
            continue
        part = make_plan(
            made[name].pool,
            people,
            settings.design,
            params.seeds.simulating if seed is None else seed,
            name,
        )
        for line in describe_balance(part):
            typer.echo(f"{name}: {line}")
        parts.append(part)
    if out is not None and parts:
        from pasta.text_files import write_csv

        write_csv(pd.concat(parts, ignore_index=True), out)
        typer.echo(f"wrote {out}")


def _kept(root: Path) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """People of each experiment and condition who passed, and how many seats are taken."""
    from pasta.config import load_params
    from pasta.studies.batches import merged, project_batches
    from pasta.studies.prediction.screening import screen
    from pasta.studies.prediction.study import prediction

    params = load_params()
    study = prediction(params)
    answers = merged(study, project_batches(study, root))
    found = screen(answers["participants"], answers["trials"], params.prediction.design)
    kept = found[found["kept"]].groupby(["experiment", "condition"]).size()
    passed: dict[str, dict[str, int]] = {}
    for name, condition, number in kept.reset_index().itertuples(index=False, name=None):
        passed.setdefault(str(name), {})[str(condition)] = int(number)
    taken = found.groupby("experiment").size()
    return passed, {str(name): int(number) for name, number in taken.items()}
