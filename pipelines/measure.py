"""DVC stage `measure`: computational metrics of one dataset's saliency maps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folder: Annotated[Path, typer.Argument(help="the dataset's folder, with its explanations")],
) -> None:
    """Measure the saliency maps of the dataset in FOLDER; only what has changed."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    from pasta import store, tables
    from pasta.explanations.stored import StoredExplanations
    from pasta.metrics.backbones import loader
    from pasta.metrics.jobs import Settings
    from pasta.metrics.stage import measure_dataset
    from pasta.metrics.stored import TABLE
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import lines

    params = load_params()
    settings = Settings(params.metrics, params.explanations, params.seed)
    load = loader(folder, params, project_root())
    with lines(f"metrics of {folder.name}") as say:
        values = measure_dataset(folder, settings, load, say, processors())
    parents = {"explanations": StoredExplanations(folder).table}
    store.write(values, folder / TABLE, tables.METRIC_VALUES, parents)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
