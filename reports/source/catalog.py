"""Every report: what it reads, what it is about, how it is built, and from what it was made.

``reads`` are the folders below ``pipelines/data`` and ``figures`` the pictures in
``reports/figures`` that a report is made of; the stage ``report`` depends on the same. A new page
is a module of ``reports/source/pages`` that registers itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
from ruamel.yaml import YAML

from pasta.git import describe_state
from pasta.paths import DATA, FIGURES, LOCK, project_root
from pasta.registry import import_modules
from pasta.studies.ratings.protocol import Protocol
from reports.source import pages
from reports.source.data import (
    ANALYSES,
    APPLICATIONS,
    HEADLINES,
    OTHERS,
    REPORTS,
    SCORE,
    VOTES,
    Data,
)
from reports.source.format import count
from reports.source.numbers import Parts
from reports.source.pages.agreement import agreement_report
from reports.source.pages.applications import applications_report
from reports.source.pages.attention import attention_findings
from reports.source.pages.correlation import correlation_report
from reports.source.pages.dataset import dataset_report
from reports.source.pages.latec import latec_findings
from reports.source.pages.overview import (
    agreement_findings,
    correlation_findings,
    overview_report,
    preference_findings,
    score_findings,
    study_findings,
)
from reports.source.pages.replication import replication_report
from reports.source.pages.score import score_report
from reports.source.pages.utility import utility_findings
from reports.source.planted import describe_planted
from reports.source.replication.errata import errata_table
from reports.source.setting import read_setting
from reports.source.typesetting import Report, typeset

FOLDER = FIGURES.parent
# Sentences of overview.pdf about reports that have none of their own
PART_FINDINGS: dict[str, Callable[[Parts], list[str]]] = {
    "overview": lambda parts: study_findings(parts, further_findings(parts)),
    "dataset": lambda parts: preference_findings(parts.get("preference")),
    "agreement": lambda parts: agreement_findings(parts.get("agreement")),
    "correlation": lambda parts: correlation_findings(parts.get("correlation")),
    "score": lambda parts: score_findings(parts.get("score")),
}
DOT = "\N{MIDDLE DOT}"
LISTED = 6  # inputs on the last page; of more there is only the table
FURTHER = 2  # sentences of overview.pdf about each further study


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
    others = entry.metadata.get("others", ())
    data = Data(base, reads, entry.metadata.get("figures", ()), others)
    facts = provenance(base, (*reads, *others))
    inputs = pd.DataFrame(list_inputs(base, (*reads, *others)), columns=["path", "md5", "stage"])
    report = entry.value(data)
    if report.simulated and "planted" not in report.content:
        planted = describe_planted(name, data.parts)
        report = replace(report, content={**report.content, "planted": planted})
    if reads:
        rated = VOTES in reads
        facts = {"Votes" if rated else "Answers": str(data.source), **facts}
        report = replace(
            report,
            drawn=data.setting.drawn if report.drawn is None else report.drawn,
            random=data.setting.random,
            questions=describe_questions(data.protocol) if rated else [],
        )
    if stale:
        facts = {"Not up to date": list(stale), **facts}
        report = replace(report, mark="Not up to date")
    said = find_sentences(name, report, data)
    report = replace(report, findings=said)
    told = {"findings": pd.DataFrame({"finding": said}, dtype="str")} if said else {}
    typeset(replace(report, tables={**report.tables, **told, "inputs": inputs}), file, facts)
    return file


def find_sentences(name: str, report: Report, data: Data) -> list[str]:
    """What a report has found, a sentence each, for its first page and `pasta tour`."""
    of_part = PART_FINDINGS.get(name)
    return report.said or ([] if of_part is None else of_part(data.parts))


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
    others=OTHERS,
)
def overview(data: Data) -> Report:
    """All parts in short."""
    return overview_report(
        data.parts,
        data.applications,
        data.simulated,
        protocol=data.protocol,
        question=data.setting.question,
        compared=data.compared,
        further=further_findings(data.parts),
    )


def further_findings(parts: Parts) -> dict[str, list[str]]:
    """The first findings of the studies that have no votes with stars, by their questions."""
    found = {
        "Which methods do metrics prefer?": latec_findings(parts.get("latec", {})),
        "Do explanations help people to predict the model?": utility_findings(
            parts.get("utility", {})
        ),
        "Do maps show what people look at?": attention_findings(parts.get("attention", {})),
    }
    return {title: said[:FURTHER] for title, said in found.items() if said}


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
        question=data.setting.question,
    )


@REPORTS.register(
    "replication",
    about="numbers the papers print, beside ours, and their errata",
    reads=(
        VOTES,
        "analyse/dataset",
        "analyse/preference",
        "analyse/correlation",
        "analyse/latec",
        SCORE,
        *APPLICATIONS,
    ),
    others=OTHERS,
)
def replication(data: Data) -> Report:
    """Printed and measured."""
    simulated = data.simulated or data.others_simulated
    return replication_report(data.replication, simulated, errata_table(data.published))


import_modules(pages)  # a new page registers itself


def provenance(root: Path, reads: Iterable[str]) -> dict[str, str | list[str]]:
    """The facts for a title page; ``reads`` are the folders below ``pipelines/data`` that it uses.

    Versions are those that ``dvc.lock`` has of the report's own inputs. DVC writes them when the
    stages that make the inputs end, which is before the report begins, so that they do not depend
    on what runs later. The runs of these stages are found in MLflow by their tags.
    """
    profile = read_setting(root).profile
    made = list_inputs(root, reads)
    stages = dict.fromkeys(stage for _, _, stage in made)
    versions = [f"{_short(path)} {DOT} {md5[:10]}" for path, md5, _ in made]
    named = ", ".join(stages) or "none"
    if len(versions) > LISTED:
        versions = [f"{count(len(versions), 'path')}, with md5 and stage in inputs.csv beside this"]
        named = f"{count(len(stages), 'stage')}, see inputs.csv"
    return {
        "Commit": describe_state(root),
        "Profile": profile,
        f"Data (path {DOT} md5)": versions or ["not pinned yet: `dvc repro` does it"],
        "Runs (MLflow search)": search(next(iter(stages), None), profile),
        "Stages (tags.stage)": named,
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
