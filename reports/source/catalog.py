"""Every report: what it reads, what it is about, how it is built, and from what it was made.

``reads`` are the folders below ``pipelines/data`` and ``figures`` the pictures in
``reports/figures`` that a report is made of; the stage ``report`` depends on the same. A new page
is a module of ``reports/source/pages`` that registers itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from pasta.config import load_params
from pasta.git import describe_state
from pasta.paths import DATA, FIGURES, LOCK, PARAMS, project_root
from pasta.registry import import_modules
from pasta.studies.ratings.protocol import Protocol
from reports.source import pages
from reports.source.data import (
    ANALYSES,
    APPLICATIONS,
    HEADLINES,
    REPORTS,
    SCORE,
    VOTES,
    Data,
)
from reports.source.pages.agreement import agreement_report
from reports.source.pages.applications import applications_report
from reports.source.pages.correlation import correlation_report
from reports.source.pages.dataset import dataset_report
from reports.source.pages.overview import overview_report
from reports.source.pages.replication import replication_report
from reports.source.pages.score import score_report
from reports.source.planted import describe_planted
from reports.source.typesetting import Report, typeset

FOLDER = FIGURES.parent
DOT = "\N{MIDDLE DOT}"


def names() -> dict[str, str]:
    """The reports and what each is about."""
    return {entry.key: entry.metadata["about"] for entry in REPORTS.entries()}


def build(
    name: str, root: Path | None = None, out: Path | None = None, stale: Sequence[str] = ()
) -> Path:
    """Build one report from the outputs of the stages; returns the path of the PDF.

    ``stale`` are stages whose outputs are not up to date; every page says so. An error if the
    outputs were made from different votes.
    """
    base = root or project_root()
    file = out or base / FOLDER / f"{name}.pdf"
    entry = REPORTS.entry(name)
    reads = entry.metadata["reads"]
    data = Data(base, reads, entry.metadata.get("figures", ()))
    facts = provenance(base, reads)
    inputs = pd.DataFrame(list_inputs(base, reads), columns=["path", "md5", "stage"])
    report = entry.value(data)
    if report.simulated:
        planted = describe_planted(name, data.parts)
        report = replace(report, content={**report.content, "planted": planted})
    if reads:
        facts = {"Votes": str(data.source), **facts}
        report = replace(
            report,
            drawn=data.drawn,
            random=data.random,
            questions=describe_questions(data.protocol),
        )
    if stale:
        facts = {"Not up to date": list(stale), **facts}
        report = replace(report, mark="Not up to date")
    typeset(replace(report, tables={**report.tables, "inputs": inputs}), file, facts)
    return file


def describe_questions(protocol: Protocol) -> list[dict[str, str]]:
    """What annotators were asked, in the papers' words; no two questions have the same."""
    rows = []
    for question in protocol.questions:
        if question.kind in ("stars", "ranking"):
            note = f" ({question.note})" if question.note else ""
            fewer = " Fewer stars are better." if question.direction == -1 else ""
            rows.append({"id": question.id, "words": f"{question.wording}{note}{fewer}"})
    return rows


@REPORTS.register(
    "overview",
    about="the experiment in pictures, what was found, and what changed",
    reads=(VOTES, *ANALYSES, SCORE, *APPLICATIONS, HEADLINES),
)
def overview(data: Data) -> Report:
    """All parts in short."""
    return overview_report(
        data.parts,
        data.applications,
        data.simulated,
        protocol=data.protocol,
        question=data.params.applications.question,
        compared=data.compared,
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
def dataset(data: Data) -> Report:
    """What there is."""
    return dataset_report(data.parts, data.pictures, data.simulated, data.protocol)


@REPORTS.register(
    "agreement",
    about="how far annotators agree, and whether it matters who they are",
    reads=(VOTES, "analyse/agreement", "analyse/bias"),
)
def agreement(data: Data) -> Report:
    """Kappa and demographic bias."""
    return agreement_report(data.parts.get("agreement", {}), data.simulated)


@REPORTS.register(
    "correlation",
    about="whether computational metrics agree with people",
    reads=(VOTES, "analyse/correlation"),
)
def correlation(data: Data) -> Report:
    """Metrics against ratings."""
    return correlation_report(data.parts.get("correlation", {}), data.published, data.simulated)


@REPORTS.register("score", about="the PASTA-score and its ablations", reads=(VOTES, SCORE))
def score(data: Data) -> Report:
    """How well ratings are predicted."""
    return score_report(data.parts.get("score", {}), data.published, data.simulated)


@REPORTS.register(
    "applications",
    about="explanations chosen, steered and tuned by the score",
    reads=(VOTES, *APPLICATIONS),
)
def applications(data: Data) -> Report:
    """What the score is good for."""
    return applications_report(
        data.applications,
        data.pictures,
        data.simulated,
        protocol=data.protocol,
        question=data.params.applications.question,
    )


@REPORTS.register(
    "replication",
    about="numbers the papers print, beside ours",
    reads=(
        VOTES,
        "analyse/dataset",
        "analyse/preference",
        "analyse/correlation",
        SCORE,
        *APPLICATIONS,
    ),
)
def replication(data: Data) -> Report:
    """Printed and measured."""
    return replication_report(data.replication, data.simulated)


import_modules(pages)  # a new page registers itself


def provenance(root: Path, reads: Iterable[str]) -> dict[str, str | list[str]]:
    """The facts for a title page; ``reads`` are the folders below ``pipelines/data`` that it uses.

    Versions are those that ``dvc.lock`` has of the report's own inputs. DVC writes them when the
    stages that make the inputs end, which is before the report begins, so that they do not depend
    on what runs later. The runs of these stages are found in MLflow by their tags.
    """
    profile = load_params(root / PARAMS).profile
    made = list_inputs(root, reads)
    versions = [f"{_short(path)} {DOT} {md5[:10]}" for path, md5, _ in made]
    stages = dict.fromkeys(stage for _, _, stage in made)
    return {
        "Commit": describe_state(root),
        "Profile": profile,
        f"Data (path {DOT} md5)": versions or ["not pinned yet: `dvc repro` does it"],
        "Runs (MLflow search)": search(next(iter(stages), None), profile),
        "Stages (tags.stage)": ", ".join(stages) or "none",
    }


def list_inputs(root: Path, reads: Iterable[str]) -> list[tuple[str, str, str]]:
    """The outputs of stages that a report uses: path, md5, stage."""
    return [one for folder in reads for one in _outputs(root, (DATA / folder).as_posix())]


def search(stage: str | None, profile: str) -> str:
    """The expression that finds the runs of a stage in MLflow, the last one first.

    It does not ask for the commit of the report: the runs of a stage that was not repeated since
    carry the commit at which it ran.
    """
    return f"tags.stage = '{stage or 'STAGE'}' and tags.profile = '{profile}'"


def _outputs(root: Path, path: str) -> list[tuple[str, str, str]]:
    """Outputs in ``dvc.lock`` that are a folder, lie in it or hold it: (path, md5, stage)."""
    wanted = PurePosixPath(path)
    found = []
    for stage, entry in _locked_stages(root).items():
        for out in entry.get("outs", ()):
            own = PurePosixPath(out["path"])
            if "md5" in out and (own.is_relative_to(wanted) or wanted.is_relative_to(own)):
                found.append((out["path"], out["md5"], stage))
    return sorted(found)


def _locked_stages(root: Path) -> dict[str, Any]:
    file = root / LOCK
    content = YAML(typ="safe").load(file.read_text()) if file.is_file() else None
    return dict((content or {}).get("stages", {}))


def _short(path: str) -> str:
    return PurePosixPath(path).relative_to(DATA.as_posix()).as_posix()
