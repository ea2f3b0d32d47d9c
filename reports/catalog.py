"""Every report: what it reads and what it is about."""

from __future__ import annotations

from pathlib import Path

from pasta import store
from pasta.params import load_params
from pasta.paths import FIGURES, PARAMS, project_root
from reports.document import Document
from reports.library import REPORTS
from reports.parts import (
    ANALYSIS,
    APPLICATIONS,
    USES,
    any_simulated,
    applications_parts,
    parts,
)
from reports.previous import previous_headlines

DATASETS = ("catsdogscars", "pascalpart", "monumai", "coco")
VOTES = ("annotations", "labels.parquet")
EXPLAINED = tuple(f"{name}/explanations.parquet" for name in DATASETS)
PICTURES = (
    "datasets",
    "gallery-resnet50",
    "gallery-vit_b_16",
    "gallery-clip_zero_shot",
    "gallery-concepts",
)


@REPORTS.register(
    "overview",
    about="the experiment on two pages, and what changed",
    data=(*VOTES, "score", "scorer"),
    runs=("analysis/*.run.json", "score/main.run.json", "scorer.run.json"),
)
def overview(data: Path) -> Document:
    """All parts in short."""
    from reports.pages.headlines import headline_numbers
    from reports.pages.overview import overview_report

    there = parts(data)
    after = headline_numbers(there)
    before = previous_headlines(project_root(data), after)
    return overview_report(
        there,
        any_simulated(data),
        before=before,
        after=after,
        applications=applications_parts(data),
    )


@REPORTS.register(
    "dataset",
    about="images, models, techniques, votes, and what people prefer",
    data=(*(f"{name}/images.npy" for name in DATASETS), *EXPLAINED, *VOTES),
    runs=("*/explanations.run.json", "contact_sheet.run.json", "simulate.run.json"),
)
def dataset(data: Path) -> Document:
    """What there is."""
    from reports.pages.dataset import dataset_report

    folder = project_root(data) / FIGURES
    pictures = {name: folder / f"{name}.jpg" for name in PICTURES}
    there = {name: file for name, file in pictures.items() if file.is_file()}
    return dataset_report(parts(data), there, any_simulated(data))


@REPORTS.register(
    "agreement",
    about="how far annotators agree, and whether it matters who they are",
    data=(*VOTES, f"{ANALYSIS}/agreement"),
    runs=("simulate.run.json",),
)
def agreement(data: Path) -> Document:
    """Kappa and demographic bias."""
    from pasta.annotations.protocol import load_protocol
    from reports.pages.agreement import agreement_report

    protocol = load_protocol()
    asked = {name: protocol.question(name).wording for name in protocol.stars}
    return agreement_report(parts(data).get("agreement", {}), any_simulated(data), questions=asked)


@REPORTS.register(
    "correlation",
    about="whether computational metrics agree with people",
    data=("labels.parquet", *(f"{name}/metric_values.parquet" for name in DATASETS)),
    runs=("analysis/correlation.run.json",),
)
def correlation(data: Path) -> Document:
    """Metrics against ratings."""
    from reports.pages.correlation import correlation_document
    from reports.replication.published import published_tables

    return correlation_document(
        parts(data).get("correlation", {}), published_tables(), simulated=any_simulated(data)
    )


@REPORTS.register(
    "score",
    about="the PASTA-score and its ablations",
    data=("labels.parquet", "score", "scorer"),
    runs=("score/*.run.json", "scorer.run.json"),
)
def score(data: Path) -> Document:
    """How well ratings are predicted."""
    from reports.pages.score import score_document
    from reports.replication.published import published_tables

    return score_document(
        parts(data).get("score", {}), published_tables(), simulated=any_simulated(data)
    )


@REPORTS.register(
    "applications",
    about="explanations chosen, steered and tuned by the score",
    data=("labels.parquet", "scorer", *(f"{APPLICATIONS}/{name}" for name in USES)),
    runs=(f"{APPLICATIONS}/*.run.json", "scorer.run.json"),
)
def applications(data: Path) -> Document:
    """What the score is good for."""
    from reports.pages.applications import applications_report

    files = (data / APPLICATIONS).glob("*/pictures/*.jpg")
    pictures = {file.stem: file for file in files}
    question = load_params(project_root(data) / PARAMS).applications.question
    return applications_report(
        applications_parts(data), pictures, any_simulated(data), question=question
    )


@REPORTS.register(
    "replication",
    about="every number the papers print, beside ours",
    data=(*VOTES, f"{ANALYSIS}/replication"),
    runs=("analysis/*.run.json", "score/main.run.json"),
)
def replication(data: Path) -> Document:
    """Printed and measured."""
    from reports.pages.replication import replication_document

    rows = store.read_csvs(data / ANALYSIS / "replication")["replication"]
    return replication_document(rows, simulated=any_simulated(data))
