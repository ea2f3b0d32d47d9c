"""Annotations in the shape of a Label Studio export.

For moving ratings into a project, and for showing that the reader loses nothing. What Label Studio
has no place for stands in ``completed_by`` (our name of the annotator, demographics) and in the
``meta`` of a result (a time of its own, whether it is simulated, the number of a box). The table
of shown explanations is about files, not about answers, and is not written.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from pasta.annotations.formats import json_text
from pasta.annotations.formats.label_studio_answers import REST, from_name, items_key
from pasta.annotations.formats.label_studio_project import task_data
from pasta.annotations.formats.percent import percents
from pasta.annotations.formats.plain import plain_rows, tuples
from pasta.annotations.formats.tidy_writing import as_text
from pasta.annotations.protocol import Protocol
from pasta.annotations.records import Annotations
from pasta.store import atomic

_Answers = dict[str, dict[str, list[dict[str, Any]]]]  # results by sample and annotator
_NO_SAMPLE = ""


def write_label_studio(annotations: Annotations, out: Path, protocol: Protocol) -> None:
    """Write a file as Label Studio exports it.

    Rankings and everybody who rated nothing stand in a task of their own, without a sample.
    """
    answers = _results(annotations, protocol)
    people = _people(annotations.annotators)
    for person in people:
        answers[_NO_SAMPLE].setdefault(person, [])
    tasks = []
    for number, sample in enumerate(sorted(answers), start=1):
        found = [
            _annotation(people.get(person, {"annotator_id": person}), results)
            for person, results in sorted(answers[sample].items())
            if results or person in people
        ]
        data = task_data(sample or None, protocol)
        tasks.append({"id": number, "data": data, "annotations": found, "predictions": []})
    with atomic(out) as temporary:
        json_text.dump(tasks, temporary)


def _annotation(about: dict[str, Any], results: list[dict[str, Any]]) -> Any:
    times = [one["meta"]["submitted_at"] for one in results if "submitted_at" in one["meta"]]
    created = max(times, default="")
    for one in results:
        if "submitted_at" in one["meta"] and one["meta"]["submitted_at"] == created:
            del one["meta"]["submitted_at"]
        if not one["meta"]:
            del one["meta"]
    return {
        "completed_by": about,
        "was_cancelled": False,
        "created_at": created or None,
        "updated_at": created or None,
        "result": results,
    }


def _people(annotators: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        str(row["annotator_id"]): {"id": number, **row}
        for number, row in enumerate(plain_rows(annotators), start=1)
    }


def _results(annotations: Annotations, protocol: Protocol) -> _Answers:
    found: _Answers = defaultdict(dict)

    def add(sample: str, person: str, result: dict[str, Any], **meta: Any) -> None:
        said = {key: value for key, value in meta.items() if value is not False}
        found[sample].setdefault(person, []).append({**result, "meta": said})

    votes = annotations.votes.assign(
        submitted_at=as_text(annotations.votes["submitted_at"]).to_pylist()
    )
    for sample, person, question, rating, at, fake in tuples(votes):
        result = _result(question, "image", "rating", {"rating": rating})
        add(sample, person, result, submitted_at=at, simulated=fake)
    for sample, person, text, fake in tuples(annotations.descriptions):
        result = _result("Q0.1", "image", "textarea", {"text": [text]})
        add(sample, person, result, simulated=fake)
    for sample, person, number, *corners, fake in tuples(annotations.boxes):
        result = _result("Q0.2", "image", "rectangle", {**percents(corners), "rotation": 0})
        add(sample, person, result, box=number, simulated=fake)
    keys = ["annotator_id", "question"]
    ordered = annotations.rankings.sort_values([*keys, "position"])
    for named, rows in ordered.groupby(keys, sort=True):
        person, question = map(str, named)
        value = {"ranker": {REST: [], from_name(question): rows["item"].tolist()}}
        result = _result(question, items_key(protocol.question(question)), "ranker", value)
        add(_NO_SAMPLE, person, result, simulated=bool(rows["simulated"].iloc[0]))
    return found


def _result(question: str, to_name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"from_name": from_name(question), "to_name": to_name, "type": kind, "value": value}
