"""DVC stage `train`: all classifiers of one dataset, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folder: Annotated[Path, typer.Argument(help="the dataset's folder, with its images")],
    workers: Annotated[int | None, typer.Option(help="models at a time; default: cores")] = None,
) -> None:
    """Train the classifiers of the dataset in FOLDER, predict its test images and score them."""
    from pasta import store, tables
    from pasta.datasets.stored import open_dataset
    from pasta.models.data import TrainingData
    from pasta.models.report import Score, describe, track
    from pasta.models.suite import Trained, predictions, train_suite
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import lines
    from pasta.tracking import prepare
    from reports.plots.classifiers import confusion_figure, curves_figure

    connecting = prepare("classifiers")
    params = load_params()
    data = TrainingData(open_dataset(folder), params.seed, params, project_root())
    scores: dict[str, Score] = {}

    def ready(trained: Trained) -> None:
        scores[trained.name] = own = describe(data, trained)
        found = f"{own['accuracy']['estimate']:.1%} of test images right"
        if trained.history is None:
            say(trained.name, f"is up to date, {found}")
            return
        connecting.join()
        track(data, trained, folder, own, (curves_figure, confusion_figure))
        say(trained.name, f"trained in {trained.card['seconds']:.1f} s, {found}")

    with lines(f"classifiers of {data.name}") as say:
        suite = train_suite(
            data, folder / "models", say, workers=workers or processors(), ready=ready
        )
    images = data.dataset.images
    table = predictions(data, suite)
    store.write(table, folder / "predictions.parquet", tables.PREDICTIONS, {"images": images})
    store.write_json(scores, folder / "accuracy.json")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
