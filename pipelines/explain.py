"""DVC stage `explain`: all explanations of one dataset, original and perturbed images."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Annotated, Any

import typer


def main(
    folder: Annotated[Path, typer.Argument(help="the dataset's folder, with trained models")],
) -> None:
    """Explain test images of the dataset in FOLDER by every technique, only what has changed."""
    from pasta.quick_start import import_torchvision

    import_torchvision()
    from pasta import store, tables
    from pasta.datasets.stored import open_dataset
    from pasta.explanations.results import (
        explanations_table,
        metrics,
        perturbed_table,
        timings,
    )
    from pasta.explanations.suite import explain_dataset
    from pasta.explanations.techniques import techniques
    from pasta.params import load_params
    from pasta.paths import processors, project_root
    from pasta.progress import lines, print_seconds
    from pasta.tracking import prepare, require_tracking, tracked_run

    require_tracking()
    params, dataset = load_params(), open_dataset(folder)
    name = dataset.vocabulary.dataset
    connecting: Thread | None = None
    with lines(f"explanations of {name}") as say:

        def told(*words: Any) -> None:
            nonlocal connecting  # not before: a process is not copied while it imports
            connecting = connecting or prepare("explanations")
            say(*words)

        chosen = techniques(params.explanations.extras)
        done = explain_dataset(dataset, params, project_root(), chosen, told, processors())
    explained = explanations_table(name, done)
    perturbed = perturbed_table(name, done)
    parents = {"images": dataset.images}
    store.write(explained, folder / "explanations.parquet", tables.EXPLANATIONS, parents)
    parents = {"explanations": explained}
    store.write(perturbed, folder / "perturbed.parquet", tables.PERTURBED, parents)
    store.write_json(metrics(done), folder / "explanations.json")
    spent = timings(done)
    (connecting or prepare("explanations")).join()
    models = [folder / "models" / one.backbone / "weights.safetensors" for one in done]
    with tracked_run(
        "explanations",
        "explain",
        name,
        inputs=[folder / "images.npy", *models],
        params=params.explanations.model_dump(mode="json"),
        record=folder / "explanations.run.json",
    ) as run:
        run.set_tags({"dataset": name})
        run.log_metrics({"seconds": spent["seconds"].sum(), "explanations": len(explained)})
        run.log_metrics({"not_ok": (explained["status"] != "ok").mean()})
        run.log_table(spent, "seconds.csv")
    print_seconds(spent)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
