"""DVC stage `analyse`: what the votes say, and whether computational metrics agree with them.

Each analysis is a stage of its own: dataset, agreement, bias, preference, correlation, and latec,
the ranks of explanation methods in the benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from analysis.tables import Tables, add_missing, joined, list_missing
from pasta import store, tables
from pasta.benchmark.ranks import people_tables, rank_tables
from pasta.benchmark.tables import (
    BENCHMARK_FACTS,
    BENCHMARK_VALUES,
    FACTS,
    RATED,
    STAGE,
    VALUES,
)
from pasta.config import Params, load_params
from pasta.contracts import Table
from pasta.embedding.sentences import sentence, top_concepts
from pasta.errors import InputError, PastaError
from pasta.layout import Group, groups
from pasta.paths import DATA, project_root
from pasta.registry import Registry, did_you_mean
from pasta.stage import run_stage
from pasta.studies.base import Study
from pasta.studies.ratings import tables as ratings
from pasta.studies.ratings.analyses.agreement import agreement_tables
from pasta.studies.ratings.analyses.bias import bias_tables
from pasta.studies.ratings.analyses.correlation import correlation_tables
from pasta.studies.ratings.analyses.dataset import dataset_tables
from pasta.studies.ratings.analyses.planted import compare_planted, estimate_effects
from pasta.studies.ratings.analyses.preference import preference_tables
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.rateable import box_values, concept_sentences
from pasta.studies.ratings.settings import NAME
from pasta.studies.ratings.simulation.expected import standard_properties
from pasta.studies.registry import load_study, study_names
from pasta.studies.source import read_source, write_source
from pasta.tracking import Run, tracked_run
from reports.source.names import metric_titles
from reports.source.numbers import headline_metrics
from reports.source.plots.correlation import metric_heatmap
from reports.source.replication.measured import study_facts
from reports.source.replication.rows import published_techniques

Analysis = Callable[[list[Group], Params], Tables]
ANALYSES: Registry[Analysis] = Registry("analysis")
VOTES, ACCURACY = DATA / "votes" / NAME, DATA / "accuracy" / "accuracy.csv"
PLANTED = DATA / "simulate" / NAME / "planted"


def main(name: Annotated[str, typer.Argument(help="dataset, agreement, bias, ...")]) -> None:
    """Compute the tables of the analysis NAME."""
    params, root = load_params(), project_root()
    threadpool_limits(1, "blas")  # the last digits of sums would depend on the number of cores
    study, entry = _find(name, params), ANALYSES.entry(name) if name in ANALYSES else None
    here, out = groups(params), root / DATA / "analyse" / name
    reads = study.reads(root) if study.reads is not None else []
    if entry is not None:
        reads = entry.metadata["inputs"](here)
    with tracked_run(
        "annotations" if entry is None else entry.metadata["experiment"],
        f"analyse@{name}",
        f"analysis: {name}",
        about=f"{_describe(name, study)} The tables are among the artefacts.",
        inputs=[root / study.folder, *dict.fromkeys(reads)],
        params={"analysis": params.analysis.model_dump(), "seed": params.seeds.analysing},
        tags={
            "study": study.name,
            "dataset": ", ".join(dict.fromkeys(one.dataset for one in here)),
        },
    ) as run:
        if entry is not None:
            found = entry.value(here, params)
        else:
            found = study.analyse(name, root, params) if study.analyse is not None else {}
        store.write_csvs(found, out)
        if entry is None and study.draw is not None:
            study.draw(name, root, params, out / "pictures")
        write_source(read_source(root / study.folder), out)
        _track(run, name, found, out)


def _find(name: str, params: Params) -> Study:
    """The study that an analysis is about: the rating study, or the one that has it itself."""
    if name in ANALYSES:
        return load_study(NAME, params)
    studies = [load_study(one, params) for one in study_names()]
    own = {
        analysis: study
        for study in studies
        if study.analyse is not None
        for analysis in study.analyses
    }
    if name not in own:
        hint = did_you_mean(name, [*ANALYSES, *own])
        raise PastaError(f"there is no analysis called {name!r}. {hint}")
    return own[name]


def _describe(name: str, study: Study) -> str:
    words = (ANALYSES[name].__doc__ if name in ANALYSES else study.about) or name
    return f"{words.strip().rstrip('.').capitalize()}."


@ANALYSES.register(
    "dataset",
    experiment="annotations",
    inputs=lambda here: [
        project_root() / ACCURACY,
        *(one.images for one in here),
        *_explanations(here),
    ],
)
def dataset(here: list[Group], params: Params) -> Tables:  # noqa: ARG001
    """How much there is of everything, and what the papers say of their study in words."""
    images = _all([*dict.fromkeys(one.images for one in here)], tables.IMAGES)
    perturbed = _all(_explanations(here), tables.PERTURBED)
    samples = _all(_explanations(here), tables.EXPLANATIONS)
    votes, annotators = _given(ratings.VOTES), _given(ratings.ANNOTATORS)
    models, known = pd.read_csv(project_root() / ACCURACY), published_techniques()
    found = dataset_tables(images, samples, perturbed, votes, annotators, published=known)
    shown = samples[(samples["method"] + "/" + samples["backbone"]).isin(known)]
    facts = study_facts(votes, shown, annotators, models, images=images, perturbed=perturbed)
    return {**found, "accuracy": models, "facts": facts}


def _explanations(here: list[Group]) -> list[Path]:
    return [one.explanations for one in here]


@ANALYSES.register("agreement", experiment="annotations", inputs=_explanations)
def agreement(here: list[Group], params: Params) -> Tables:
    """How far annotators agree."""
    return agreement_tables(
        _given(ratings.VOTES),
        rated_samples(here),
        annotators=_given(ratings.ANNOTATORS),
        **params.analysis.model_dump(),
        seed=params.seeds.analysing,
    )


@ANALYSES.register("bias", experiment="annotations", inputs=_explanations)
def bias(here: list[Group], params: Params) -> Tables:
    """Whether it matters who rates."""

    def describe(names: Sequence[str], values: NDArray[np.float64]) -> str:
        return sentence(top_concepts(names, values, params.embedding.n_top))

    descriptions, boxes = _given(ratings.DESCRIPTIONS), _given(ratings.BOXES)
    told = descriptions["sample_id"].unique().tolist()
    found = bias_tables(
        _given(ratings.VOTES),
        _given(ratings.ANNOTATORS),
        rated_samples(here),
        descriptions,
        concept_sentences(here, told, describe),
        boxes,
        box_values(here, boxes),
        permutations=params.analysis.permutations,
        seed=params.seeds.analysing,
    )
    return found | _planted("bias", here)


@ANALYSES.register("preference", experiment="annotations", inputs=_explanations)
def preference(here: list[Group], params: Params) -> Tables:
    """Which techniques, kinds of explanation and axioms people prefer."""
    protocol = load_protocol(params.annotations.protocol)
    found = preference_tables(
        _given(ratings.VOTES),
        rated_samples(here),
        _given(ratings.RANKED),
        annotators=_given(ratings.ANNOTATORS),
        directions={name: protocol.question(name).direction or 1 for name in protocol.stars},
        resamples=params.analysis.resamples,
        seed=params.seeds.analysing,
    )
    return found | _planted("preference", here)


@ANALYSES.register(
    "correlation",
    experiment="correlations",
    inputs=lambda here: [*_explanations(here), *(one.metrics for one in here)],
)
def correlation(here: list[Group], params: Params) -> Tables:
    """Every metric against every question, over all and in parts."""
    found = correlation_tables(
        _all([one.metrics for one in here], tables.METRIC_VALUES),
        _given(ratings.LABELS),
        rated_samples(here),
        resamples=params.analysis.resamples,
        seed=params.seeds.analysing,
    )
    return found | _planted("correlation", here)


def _benchmarks(params: Params) -> list[Path]:
    """The folders of the benchmark's datasets."""
    return [project_root() / DATA / STAGE / name for name in params.benchmark.datasets]


@ANALYSES.register("latec", experiment="benchmark", inputs=lambda _: _benchmarks(load_params()))
def latec(here: list[Group], params: Params) -> Tables:  # noqa: ARG001
    """Which methods metrics prefer, how far metrics agree, and whether they agree with people."""
    folders = _benchmarks(params)
    if not folders:
        lacks = [("averages", "benchmark.datasets names no dataset")]
        return add_missing(list_missing({}), lacks)
    values, facts, rated = (
        pd.concat([store.read(folder / file, table) for folder in folders], ignore_index=True)
        for file, table in (
            (VALUES, BENCHMARK_VALUES),
            (FACTS, BENCHMARK_FACTS),
            (RATED, tables.METRIC_VALUES),
        )
    )
    drawn, seed = params.analysis.resamples, params.seeds.analysing
    found = rank_tables(values, facts, params.benchmark.reading, resamples=drawn, seed=seed)
    people = people_tables(
        rated,
        _given(ratings.LABELS),
        resamples=drawn,
        permutations=params.analysis.permutations,
        seed=seed,
    )
    return joined(found, people)


def _planted(part: str, here: list[Group]) -> Tables:
    """The effects planted in simulated raters beside what is found; nothing where people rate."""
    votes, file = _given(ratings.VOTES), project_root() / PLANTED / "expected.parquet"
    if not file.is_file() or not votes["simulated"].all():
        return {}
    scores = standard_properties(pd.read_parquet(project_root() / PLANTED / "properties.parquet"))
    people, rankings = _given(ratings.ANNOTATORS), _given(ratings.RANKED)
    found = estimate_effects(votes, people, rated_samples(here), scores, rankings)
    return {"planted": compare_planted(pd.read_parquet(file), found, part)}


def rated_samples(here: list[Group]) -> pd.DataFrame:
    """What was put before people: the explanations of all groups.

    A vote on anything else is an error: nothing is left out silently.
    """
    every = _all(_explanations(here), tables.EXPLANATIONS)
    rated = _given(ratings.LABELS)["sample_id"]
    unknown = rated[~rated.isin(every["sample_id"])].unique()
    if len(unknown):
        raise InputError(
            f"{len(unknown)} rated samples are not known, the first is {unknown[0]}",
            file=project_root() / VOTES / "labels.parquet",
            column="sample_id",
            expected="a sample of the explanations table; `dvc repro explain` makes it",
        )
    return every


def _given(table: Table) -> pd.DataFrame:
    """A table of the stage `votes`."""
    return _all([project_root() / VOTES], table)


def _all(folders: list[Path], table: Table) -> pd.DataFrame:
    """A table that each of the folders has."""
    files = [folder / f"{table.name}.parquet" for folder in folders]
    return pd.concat([store.read(file, table) for file in files], ignore_index=True)


def _track(run: Run, name: str, found: Tables, folder: Path) -> None:
    """Log the numbers that versions are compared by, and all tables."""
    run.log_metrics(headline_metrics(name, found))
    if name == "correlation":
        rows = found["correlations"]
        rows = rows[(rows["scope"] == "overall") & rows["estimate"].notna()]
        figure = metric_heatmap(rows, metric_titles(rows)) if len(rows) else None
        if figure is not None:
            run.log_figure(figure, "correlations.svg")
    for table in found:
        run.log_file(folder / f"{table}.csv", "tables")


if __name__ == "__main__":
    run_stage(main)
