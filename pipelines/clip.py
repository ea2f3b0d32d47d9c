"""DVC stage `clip`: the vision-language encoder that several models share."""

from __future__ import annotations

from pasta import compute
from pasta.config import load_params
from pasta.datasets.stored import open_dataset
from pasta.datasets.vocabulary import vocabulary
from pasta.models.clip import FOLDER
from pasta.models.clip_training import make_clip
from pasta.models.data import TrainingData
from pasta.paths import DATA, project_root
from pasta.progress import bar
from pasta.stage import run_stage
from pasta.tracking import flatten, tracked_run


def main() -> None:
    """Train CLIP on the training images of all datasets, or check given weights."""
    params, root = load_params(), project_root()
    settings = params.clip
    names = [name for name in params.datasets if vocabulary(name).modality == "image"]
    folders = [root / DATA / "images" / name for name in names]
    parts = [
        TrainingData(open_dataset(path), params.seeds.training, params, root) for path in folders
    ]
    compute.use_all_cores()
    with (
        tracked_run(
            "classifiers",
            "clip",
            "clip",
            about="The vision-language encoder that several classifiers and the score share.",
            inputs=folders,
            params=settings.model_dump(),
            tags={"dataset": ", ".join(names), "model": "clip"},
        ) as run,
        bar("clip", settings.training.epochs, "epochs") as line,
    ):

        def show(words: str, done: int | None = None, total: int | None = None) -> None:
            del done, total  # the bar counts for itself
            line.advance(words=words)

        about, history = make_clip(parts, settings, params.seeds.training, root / FOLDER, show)
        epochs = max(map(len, history.curves.values()), default=0)
        for name, values in history.curves.items():  # epochs on small pictures are not validated
            run.log_curve(name, values, last=epochs)
        run.log_metrics(flatten({"zero_shot_accuracy": about["zero_shot_accuracy"]}))


if __name__ == "__main__":
    run_stage(main)
