"""DVC stage `analyse`: what the votes say, and whether computational metrics agree with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from analysis.suites.tables import Tables
    from pasta.annotations.studied import Study
    from pasta.params import Params


def main(
    folders: Annotated[list[Path], typer.Argument(help="the datasets' folders")],
    annotations: Annotated[Path, typer.Option(help="folder of the merged annotations")],
    labels: Annotated[Path, typer.Option(help="the labels table")],
    accuracy: Annotated[Path, typer.Option(help="the classifiers' table")],
    out: Annotated[Path, typer.Option(help="folder for a folder of tables of each analysis")],
) -> None:
    """Count, and analyse agreement, bias, preferences and correlations with metrics."""
    from pasta import store
    from pasta.annotations.studied import Study
    from pasta.params import load_params
    from pasta.tracking import require_tracking
    from pasta.workers import one_thread

    require_tracking()  # before any work
    one_thread()
    params, study = load_params(), Study(annotations, folders)

    def meanwhile() -> None:
        store.write_csvs(_counts(study, accuracy), out / "dataset")

    store.write_csvs(_agreement(study, params, meanwhile), out / "agreement")
    store.write_csvs(_preference(study, params), out / "preference")
    found = _correlation(study, labels, params)
    store.write_csvs(found, out / "correlation")
    _track(found, [labels, *(one / "metric_values.parquet" for one in folders)], params, out)


def _counts(study: Study, accuracy: Path) -> Tables:
    """How much there is of everything, and what the papers say of their study in words."""
    import pandas as pd

    from analysis.suites.dataset import dataset_tables
    from pasta import tables
    from pasta.annotations.rateable import published
    from pasta.annotations.studied import everywhere
    from reports.replication.measured import study_facts

    images = everywhere(study.folders, tables.IMAGES)
    perturbed = everywhere(study.folders, tables.PERTURBED)
    shown = published(study.samples)
    found = dataset_tables(
        images,
        study.samples,
        perturbed,
        study.votes,
        study.annotators,
        published=set(shown["method"] + "/" + shown["backbone"]),
    )
    found["accuracy"] = models = pd.read_csv(accuracy)
    found["facts"] = study_facts(
        study.votes, shown, study.annotators, models, images=images, perturbed=perturbed
    )
    return found


def _agreement(study: Study, params: Params, meanwhile: Callable[[], None]) -> Tables:
    """How far annotators agree, and whether it matters who they are."""
    from analysis.suites.agreement import agreement_tables
    from pasta.annotations.box_maps import box_values, concept_sentences
    from pasta.workers import at_once

    told = study.descriptions["sample_id"].unique().tolist()
    return agreement_tables(
        study.votes,
        study.annotators,
        study.samples,
        study.descriptions,
        lambda: concept_sentences(study.folders, told, params.embedding.n_top),
        study.boxes,
        lambda: box_values(study.folders, study.boxes),
        resamples=params.analysis.resamples,
        permutations=params.analysis.permutations,
        seed=params.seed,
        run=lambda work: at_once(work, meanwhile=meanwhile),
    )


def _preference(study: Study, params: Params) -> Tables:
    """Which techniques, kinds of explanation and axioms people prefer."""
    from analysis.suites.preference import preference_tables
    from pasta.annotations.protocol import load_protocol
    from pasta.workers import at_once

    protocol = load_protocol(params.annotations.protocol)
    return preference_tables(
        study.votes,
        study.samples,
        study.rankings,
        directions={name: protocol.question(name).direction or 1 for name in protocol.stars},
        resamples=params.analysis.resamples,
        seed=params.seed,
        run=at_once,
    )


def _correlation(study: Study, labels: Path, params: Params) -> Tables:
    """Every metric against every question, over all and in parts; meanwhile MLflow is opened."""
    from analysis.suites.correlation import correlation_tables
    from pasta import store, tables
    from pasta.annotations.studied import everywhere
    from pasta.workers import at_once

    return correlation_tables(
        everywhere(study.folders, tables.METRIC_VALUES),
        store.read(labels, tables.LABELS),
        study.samples,
        resamples=params.analysis.resamples,
        seed=params.seed,
        run=lambda work: at_once(work, meanwhile=_get_ready),
    )


def _get_ready() -> None:
    """What takes a while and is wanted at the end; not before, as what is open is not copied."""
    import reports.correlations  # noqa: F401
    from pasta.paths import project_root
    from pasta.tracking import connect, locked_md5s

    connect("correlations")
    locked_md5s(project_root())


def _track(found: Tables, inputs: Sequence[Path], params: Params, out: Path) -> None:
    from pasta.tracking import tracked_run
    from reports.correlations import track

    with tracked_run(
        "correlations",
        "correlation",
        "metrics against people",
        inputs=inputs,
        params=params.analysis.model_dump(),
        record=out / "correlation.run.json",
    ) as run:
        track(run, found, out / "correlation")


if __name__ == "__main__":
    from pasta.stage import run_stage

    run_stage(main)
