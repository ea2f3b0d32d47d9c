"""DVC stage `clip`: the vision-language encoder that several models share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    out: Annotated[Path, typer.Option(help="folder for the weights")],
) -> None:
    """Train CLIP on the training images of the datasets in FOLDERS, or check given weights."""
    from pasta.tracking import flatten, prepare, tracked_run

    connecting = prepare("classifiers")
    import torch

    from pasta.datasets.stored import open_dataset
    from pasta.models.clip.stage import make_clip
    from pasta.models.data import TrainingData
    from pasta.params import load_params
    from pasta.paths import project_root
    from pasta.progress import bar

    params, root = load_params(), project_root()
    parts = [TrainingData(open_dataset(path), params.seed, params, root) for path in folders]
    arrays = [folder / name for folder in folders for name in ("images.npy", "concepts.parquet")]
    settings = params.clip
    torch.set_num_threads(settings.training.threads)
    connecting.join()  # training wants all cores for itself
    with (
        tracked_run(
            "classifiers",
            "clip",
            "clip",
            inputs=arrays,
            params=settings.model_dump(),
            record=out.parent / "clip.run.json",
        ) as run,
        bar("clip", settings.training.epochs, "epochs") as line,
    ):

        def show(words: str, done: int | None = None, total: int | None = None) -> None:
            del done, total  # the bar counts for itself
            line.advance(words=words)

        about, history = make_clip(parts, settings, params.seed, out, show)
        epochs = max(map(len, history.curves.values()))  # those on small pictures are not validated
        for name, values in history.curves.items():
            run.log_curve(name, values, last=epochs)
        run.log_metrics(flatten({"zero_shot_accuracy": about["zero_shot_accuracy"]}))


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
