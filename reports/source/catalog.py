"""Every report: what it reads, what it is about, and how it is built.

``reads`` are the folders below ``pipelines/data`` and ``figures`` the pictures in
``reports/figures`` that a report is made of; the stage ``report`` depends on the same.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pasta.paths import FIGURES, project_root
from pasta.registry import Registry
from reports.source.document import Document, Report
from reports.source.found import ANALYSES, APPLICATIONS, SCORE, VOTES, Found
from reports.source.pages.agreement import agreement_report
from reports.source.pages.applications import applications_report
from reports.source.pages.correlation import correlation_report
from reports.source.pages.dataset import dataset_report
from reports.source.pages.headlines import headline_numbers, previous_headlines
from reports.source.pages.overview import overview_report
from reports.source.pages.replication import replication_report
from reports.source.pages.score import score_report
from reports.source.provenance import provenance
from reports.source.typesetting import typeset

FOLDER = FIGURES.parent
REPORTS: Registry[Callable[[Found], Document | Report]] = Registry("report")


def names() -> dict[str, str]:
    """The reports and what each is about."""
    return {entry.key: entry.metadata["about"] for entry in REPORTS.entries()}


def build(name: str, root: Path | None = None, out: Path | None = None) -> Path:
    """Build one report from what the stages have left, and say where it is."""
    base = root or project_root()
    file = out or base / FOLDER / f"{name}.pdf"
    entry = REPORTS.entry(name)
    reads = entry.metadata["reads"]
    document = entry.value(Found(base, reads, entry.metadata.get("figures", ())))
    typeset(document, file, provenance(base, reads))
    return file


@REPORTS.register(
    "overview",
    about="the experiment on two pages, and what changed",
    reads=(VOTES, *ANALYSES, SCORE, *APPLICATIONS),
)
def overview(found: Found) -> Document:
    """All parts in short."""
    after = headline_numbers(found.parts)
    return overview_report(
        found.parts,
        found.applications,
        found.simulated,
        protocol=found.protocol,
        question=found.params.applications.question,
        before=previous_headlines(found.root, after),
    )


@REPORTS.register(
    "dataset",
    about="images, models, techniques, votes, and what people prefer",
    reads=(VOTES, "analyse/dataset", "analyse/preference"),
    figures=tuple(
        f"gallery/{name}.jpg"
        for name in ("datasets", "resnet50", "vit_b_16", "clip_zero_shot", "concepts")
    ),
)
def dataset(found: Found) -> Report:
    """What there is."""
    return dataset_report(found.parts, found.pictures, found.simulated, found.protocol)


@REPORTS.register(
    "agreement",
    about="how far annotators agree, and whether it matters who they are",
    reads=(VOTES, "analyse/agreement", "analyse/bias"),
)
def agreement(found: Found) -> Report:
    """Kappa and demographic bias."""
    asked = {name: found.protocol.question(name).wording for name in found.protocol.stars}
    return agreement_report(found.parts.get("agreement", {}), found.simulated, questions=asked)


@REPORTS.register(
    "correlation",
    about="whether computational metrics agree with people",
    reads=(VOTES, "analyse/correlation"),
)
def correlation(found: Found) -> Report:
    """Metrics against ratings."""
    return correlation_report(found.parts.get("correlation", {}), found.published, found.simulated)


@REPORTS.register("score", about="the PASTA-score and its ablations", reads=(VOTES, SCORE))
def score(found: Found) -> Report:
    """How well ratings are predicted."""
    return score_report(found.parts.get("score", {}), found.published, found.simulated)


@REPORTS.register(
    "applications",
    about="explanations chosen, steered and tuned by the score",
    reads=(VOTES, *APPLICATIONS),
)
def applications(found: Found) -> Report:
    """What the score is good for."""
    return applications_report(
        found.applications,
        found.pictures,
        found.simulated,
        protocol=found.protocol,
        question=found.params.applications.question,
    )


@REPORTS.register(
    "replication",
    about="every number the papers print, beside ours",
    reads=(
        VOTES,
        "analyse/dataset",
        "analyse/preference",
        "analyse/correlation",
        SCORE,
        "applications/tuning",
    ),
)
def replication(found: Found) -> Report:
    """Printed and measured."""
    return replication_report(found.replication, found.simulated)
