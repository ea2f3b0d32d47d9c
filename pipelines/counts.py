"""DVC stage `counts`: how much there is of everything in the study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    annotations: Annotated[Path, typer.Option(help="folder of the merged annotations")],
    accuracy: Annotated[Path, typer.Option(help="the classifiers' table")],
    out: Annotated[Path, typer.Option(help="folder for the tables")],
) -> None:
    """Count images, techniques, perturbed copies, votes and annotators."""
    import pandas as pd

    from analysis.suites.dataset import dataset_tables
    from pasta import store, tables
    from pasta.annotations.rateable import published
    from pasta.annotations.studied import Study, everywhere
    from reports.replication.measured import study_facts

    study = Study(annotations, folders)
    images, perturbed = everywhere(folders, tables.IMAGES), everywhere(folders, tables.PERTURBED)
    shown = published(study.samples)
    found = dataset_tables(
        images,
        study.samples,
        perturbed,
        study.votes,
        study.annotators,
        published=set(shown["method"] + "/" + shown["backbone"]),
    )
    models = pd.read_csv(accuracy)
    found["accuracy"] = models
    found["facts"] = study_facts(
        study.votes, shown, study.annotators, models, images=images, perturbed=perturbed
    )
    store.write_csvs(found, out)


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
