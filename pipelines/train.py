"""DVC stage `train`: the classifiers of one group."""

from __future__ import annotations

from typing import Annotated

import typer

from analysis.classification import confusion
from pasta.config import load_params
from pasta.layout import find_group
from pasta.models.suite import NOT_TRAINED, open_data, tracked, train_group, train_nothing
from pasta.paths import project_root
from pasta.progress import lines
from pasta.stage import run_stage
from pasta.tracking import require_tracking
from reports.source.plots.classifiers import confusion_figure, curves_figure


def main(key: Annotated[str, typer.Argument(metavar="GROUP", help="a key of `models`")]) -> None:
    """Train the classifiers of GROUP, predict its test images and score them."""
    params, root = load_params(), project_root()
    group = find_group(key, params, root)
    if params.datasets[group.dataset].source == "released":
        train_nothing(group)
        typer.echo(f"{key}: nothing to train, {NOT_TRAINED}")
        return
    require_tracking()  # before hours of work
    with lines(f"classifiers of {key}") as say:
        suite = train_group(group, params, root, say)
    data = open_data(group, params, root)
    labels = data.labels[data.rows("test")].numpy()
    for trained in suite:
        with tracked(group, trained) as run:
            history = trained.history
            if history.curves:
                run.log_figure(curves_figure(history.curves, history.best_epoch), "curves.png")
            counts = confusion(labels, trained.probabilities.argmax(1), len(data.classes))
            run.log_figure(confusion_figure(counts, data.classes), "confusion.png")


if __name__ == "__main__":
    run_stage(main)
