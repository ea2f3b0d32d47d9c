"""DVC stage `experiments`: what participants of one experiment are shown."""

from __future__ import annotations

from typing import Annotated

import typer

from pasta.config import load_params
from pasta.experiments.run import make_experiment
from pasta.paths import DATA, FIGURES, project_root
from pasta.stage import run_stage
from pasta.studies.prediction.settings import FOLDER
from pasta.tracking import tracked_run


def main(name: Annotated[str, typer.Argument(help="biased, hard, useless, ...")]) -> None:
    """Train the classifier of the experiment NAME, choose images, explain and measure them."""
    params, root = load_params(), project_root()
    with tracked_run(
        "annotations",
        f"experiments@{name}",
        f"experiment: {name}",
        about=f"What people are shown in the experiment {name!r} of the meta-predictor study.",
        tags={"study": "prediction"},
        inputs=[],
        params=params.prediction.experiments[name].model_dump(mode="json"),
    ) as run:
        out, figure = root / DATA / FOLDER / name, root / FIGURES / FOLDER / f"{name}.jpg"
        run.log_metrics(make_experiment(name, params, root, out, figure))


if __name__ == "__main__":
    run_stage(main)
