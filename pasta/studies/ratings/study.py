"""The rating study: people give explanations one to five stars on six questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pasta.config import Params
from pasta.contracts import Table
from pasta.datasets.released import FILE
from pasta.json_files import load_json
from pasta.layout import Group, explained_groups
from pasta.paths import project_root
from pasta.studies.base import (
    Finding,
    Format,
    Frames,
    Simulated,
    Study,
    Submission,
    complete_frames,
    place,
    quoted,
    rename,
)
from pasta.studies.checking import Known, check
from pasta.studies.importing import SubmissionError
from pasta.studies.ratings import label_studio, released, tables
from pasta.studies.ratings.aggregate import aggregate
from pasta.studies.ratings.protocol import Protocol, study_protocol
from pasta.studies.ratings.rateable import explained
from pasta.studies.ratings.settings import NAME
from pasta.studies.ratings.simulation.study import planned, simulated_study
from pasta.studies.registry import STUDIES

BATCHES = Path("pipelines/annotations/batches")
FULL = 5  # votes on a sample and question in the published study


@STUDIES.register(NAME)
def ratings(params: Params) -> Study:
    """The rating study as the parameters describe it."""
    study = rating_study(study_protocol(params), params.annotations.votes)
    return replace(study, settings=params.annotations.model_dump(mode="json"))


def rating_study(protocol: Protocol, votes_per_sample: int = FULL) -> Study:
    """A rating study that follows a protocol, with at most so many votes on a sample."""
    parts = dict(tables.PARTS)
    parts["votes"] = replace(parts["votes"], check=partial(too_many_votes, limit=votes_per_sample))
    complete = partial(incomplete_rankings, protocol=protocol)
    parts["rankings"] = replace(parts["rankings"], check=complete)
    return Study(
        NAME,
        "people rate explanations with stars, describe images and rank questions",
        protocol.version,
        parts,
        people="annotators",
        cells=tables.CELLS,
        references=tables.REFERENCES,
        optional=tables.OPTIONAL,
        formats=(
            Format(
                "released",
                "human_annotations.json of the released PASTA dataset",
                released.is_released,
                lambda content, file, _, ids: released.from_content(content, file, ids),
                FILE,
            ),
            Format(
                "label_studio",
                "Label Studio's export as JSON",
                lambda content, _: label_studio.is_label_studio(content),
                lambda content, file, _, ids: rename(
                    label_studio.from_content(content, file, protocol), "sample_id", ids
                ),
            ),
        ),
        outside=_explanations,
        makes_outside="dvc repro explain",
        rated="sample_id",
        plan=planned,
        simulate=first_answers,
        outcomes=outcomes,
        summarise=summarise,
        analyses=("dataset", "agreement", "bias", "preference", "correlation"),
        reports=("overview", "dataset", "agreement", "correlation", "score", "replication"),
        batches=BATCHES,
    )


def _explanations(root: Path) -> Frames:
    """The explanations that are computed; none before the first are."""
    groups = explained_groups(root)
    return {"explanations": explained(groups)[["sample_id"]]} if groups else {}


def first_answers(groups: Sequence[Group], params: Params) -> Simulated:
    """The answers that are there before anything is imported, as the parameters say."""
    match params.annotations.source:
        case "simulated":
            return simulated_study(groups, params)
        case "released":
            return released_answers(groups, params, project_root() / params.release.root)
        case "imported":
            return Simulated(complete_frames(tables.ANSWERS, {}), {})


def released_answers(groups: Sequence[Group], params: Params, folder: Path) -> Simulated:
    """The votes of a release on its explanations, checked as any other import.

    Where ``release.lenient`` is set, votes on explanations that were left out are left out too.
    """
    study = ratings(params)
    content = load_json(folder / FILE)
    submission = released.from_content(content, folder / FILE)
    samples = explained(groups)[["sample_id"]]
    if params.release.lenient:
        submission = _on_known(submission, set(samples["sample_id"]))
    known = Known({"explanations": samples}, study.frames({}))
    checked = check(submission, study, known)
    if checked.answers is None:
        raise SubmissionError(str(folder / FILE), checked.findings)
    return Simulated(checked.answers, {}, "released", submission.dropped)


def _on_known(submission: Submission, known: set[str]) -> Submission:
    """The submission without what cannot be read or is about nothing known, which is counted."""
    dropped = Counter(submission.dropped)
    for finding in submission.findings:
        dropped[f"entries: {finding.problem} ({finding.place})"] += 1
    kept: dict[str, pd.DataFrame] = {}
    for name, frame in submission.tables.items():
        kept[name] = frame[frame["sample_id"].isin(known)] if "sample_id" in frame else frame
        if len(kept[name]) < len(frame):
            dropped[f"{name} on explanations that were left out"] += len(frame) - len(kept[name])
    return replace(submission, tables=kept, findings=(), dropped=dict(dropped))


def too_many_votes(votes: pd.DataFrame, stored: pd.DataFrame, limit: int) -> list[Finding]:
    """Votes beyond the limit for a sample and question, the stored ones counted first.

    Simulated votes and those of people are counted apart.
    """
    pair = ["sample_id", "question", "simulated"]
    keys = ["sample_id", "question", "annotator_id"]
    known = pd.MultiIndex.from_frame(votes[keys]).isin(pd.MultiIndex.from_frame(stored[keys]))
    fresh = votes[~known]
    before = stored.groupby(pair).size().reindex(pd.MultiIndex.from_frame(fresh[pair])).fillna(0)
    number = fresh.groupby(pair).cumcount().to_numpy() + before.to_numpy(np.int64) + 1
    over = fresh[number > limit]
    fix = "remove votes until each sample and question has enough, or allow more votes per sample"
    return [
        Finding(
            f"more than {limit} votes for a sample and question",
            fix,
            "votes",
            place(where),
            "sample_id",
            f"vote {n} on {quoted(question)} of {quoted(sample)}",
        )
        for where, sample, question, n in zip(
            over.index, over["sample_id"], over["question"], number[number > limit], strict=True
        )
    ]


def incomplete_rankings(
    rankings: pd.DataFrame, _stored: pd.DataFrame, protocol: Protocol
) -> list[Finding]:
    """Rankings that are not the protocol's items at positions 1 to n, each once."""
    findings = []
    for (_, question), group in rankings.groupby(["annotator_id", "question"], sort=False):
        items = protocol.question(str(question)).item_ids
        where = place(group.index[0])
        if sorted(group["item"]) != sorted(items):
            problem = "a ranking does not have exactly the items of the protocol"
            fix = f"rank each once: {', '.join(items)}"
            found = ", ".join(map(quoted, group["item"]))
            findings.append(Finding(problem, fix, "rankings", where, "item", found))
        elif sorted(group["position"]) != list(range(1, len(items) + 1)):
            problem = "the positions of a ranking are not 1, 2, 3 ... each once"
            fix = "correct the positions, or remove a ranking that was left untouched"
            found = ", ".join(map(str, group["position"]))
            findings.append(Finding(problem, fix, "rankings", where, "position", found))
    return findings


def outcomes(frames: Frames, params: Params) -> Sequence[tuple[Table, pd.DataFrame]]:
    """The labels: the votes on each sample and question, aggregated."""
    return [(tables.LABELS, aggregate(frames["votes"], params.annotations.ties))]


def summarise(frames: Frames, outcomes: Frames) -> dict[str, Any]:
    """How much there is, and how the labels of each question look, for the metrics file."""
    votes = frames["votes"]
    by_question = votes.groupby("question").size()
    return {
        "annotators": None
        if frames["annotators"]["anonymous"].any()
        else len(frames["annotators"]),
        "samples": int(votes["sample_id"].nunique()),
        "votes": len(votes),
        "simulated": int(votes["simulated"].sum()),
        "descriptions": len(frames["descriptions"]),
        "boxes": len(frames["boxes"]),
        "rankings": len(frames["rankings"]),
        "questions": {str(name): int(number) for name, number in by_question.items()},
        "labels": _summarise_labels(outcomes["labels"]),
    }


def _summarise_labels(labels: pd.DataFrame) -> dict[str, Any]:
    return {
        str(question): {
            "samples": len(own),
            "mean": round(float(own["mean"].mean()), 4),
            "mean_mode": round(float(own["mode"].mean()), 4),
            "unanimous": round(float((own["entropy"] == 0).mean()), 4),
            "entropy": round(float(own["entropy"].mean()), 4),
            "fewer_than_five_votes": int((own["n_votes"] < FULL).sum()),
        }
        for question, own in labels.groupby("question")
    }
