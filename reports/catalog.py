"""Every report: what it reads and what it is about."""

from __future__ import annotations

from pasta.params import load_params
from pasta.paths import FIGURES, PARAMS, project_root
from reports.document import Document
from reports.library import REPORTS
from reports.parts import ANALYSES, ANALYSIS, APPLICATIONS, USES, Found
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
def overview(found: Found) -> Document:
    """All parts in short."""
    from reports.pages.headlines import headline_numbers
    from reports.pages.overview import overview_report

    after = headline_numbers(found.parts)
    before = previous_headlines(project_root(found.data), after)
    return overview_report(
        found.parts,
        found.simulated,
        before=before,
        after=after,
        applications=found.applications,
    )


@REPORTS.register(
    "dataset",
    about="images, models, techniques, votes, and what people prefer",
    data=(*(f"{name}/images.npy" for name in DATASETS), *EXPLAINED, *VOTES),
    runs=("*/explanations.run.json", "contact_sheet.run.json", "simulate.run.json"),
)
def dataset(found: Found) -> Document:
    """What there is."""
    from reports.pages.dataset import dataset_report

    folder = project_root(found.data) / FIGURES
    pictures = {name: folder / f"{name}.jpg" for name in PICTURES}
    there = {name: file for name, file in pictures.items() if file.is_file()}
    return dataset_report(found.parts, there, found.simulated)


@REPORTS.register(
    "agreement",
    about="how far annotators agree, and whether it matters who they are",
    data=(*VOTES, f"{ANALYSIS}/agreement"),
    runs=("simulate.run.json",),
)
def agreement(found: Found) -> Document:
    """Kappa and demographic bias."""
    from pasta.annotations.protocol import load_protocol
    from reports.pages.agreement import agreement_report

    protocol = load_protocol()
    asked = {name: protocol.question(name).wording for name in protocol.stars}
    return agreement_report(found.parts.get("agreement", {}), found.simulated, questions=asked)


@REPORTS.register(
    "correlation",
    about="whether computational metrics agree with people",
    data=("labels.parquet", *(f"{name}/metric_values.parquet" for name in DATASETS)),
    runs=("analysis/correlation.run.json",),
)
def correlation(found: Found) -> Document:
    """Metrics against ratings."""
    from reports.pages.correlation import correlation_document

    return correlation_document(
        found.parts.get("correlation", {}), found.published, simulated=found.simulated
    )


@REPORTS.register(
    "score",
    about="the PASTA-score and its ablations",
    data=("labels.parquet", "score", "scorer"),
    runs=("score/*.run.json", "scorer.run.json"),
)
def score(found: Found) -> Document:
    """How well ratings are predicted."""
    from reports.pages.score import score_document

    return score_document(found.parts.get("score", {}), found.published, simulated=found.simulated)


@REPORTS.register(
    "applications",
    about="explanations chosen, steered and tuned by the score",
    data=("labels.parquet", "scorer", *(f"{APPLICATIONS}/{name}" for name in USES)),
    runs=(f"{APPLICATIONS}/*.run.json", "scorer.run.json"),
)
def applications(found: Found) -> Document:
    """What the score is good for."""
    from reports.pages.applications import applications_report

    files = (found.data / APPLICATIONS).glob("*/pictures/*.jpg")
    pictures = {file.stem: file for file in files}
    question = load_params(project_root(found.data) / PARAMS).applications.question
    return applications_report(found.applications, pictures, found.simulated, question=question)


@REPORTS.register(
    "replication",
    about="every number the papers print, beside ours",
    data=(*VOTES, *(f"{ANALYSIS}/{name}" for name in ANALYSES), "score"),
    runs=("analysis/*.run.json", "score/main.run.json"),
)
def replication(found: Found) -> Document:
    """Printed and measured."""
    from reports.pages.replication import replication_document

    return replication_document(found.replication, simulated=found.simulated)
