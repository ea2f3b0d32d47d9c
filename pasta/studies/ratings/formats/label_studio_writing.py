"""A Label Studio project for the rating study, and annotations in the shape of its export.

The export is for moving ratings into a project, and shows that the reader loses nothing. What Label
Studio has no place for stands in ``completed_by`` (our name of the annotator, demographics) and in
the ``meta`` of a result (a time of its own, whether it is simulated, the number of a box). The
table of shown explanations is about files, not about answers, and is not written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from pasta.store import atomic, write_json
from pasta.studies.ratings.formats.files import dump_json
from pasta.studies.ratings.formats.label_studio import REST, from_name, items_key
from pasta.studies.ratings.formats.rows import percents, plain_rows, tuples
from pasta.studies.ratings.protocol import BLANK, Phase, Protocol, Question
from pasta.studies.ratings.records import Annotations
from pasta.tables import STARS
from pasta.text_files import as_text

# The pictures of each phase: keys of a task's data, and what stands above them.
PICTURES: Mapping[str, Mapping[str, str]] = {
    "before": {"image": "The picture"},
    "explanation": {"explanation": "The explanation"},
    "light": {
        "light_original": "The original and its explanation",
        "light_changed": "The changed picture and its explanation",
    },
    "strong": {
        "strong_original": "The original and its explanation",
        "strong_changed": "The changed picture and its explanation",
    },
    "end": {},
}
PICTURE_KEYS = tuple(key for phase in PICTURES.values() for key in phase)


def write_tasks(
    samples: Iterable[str],
    out: Path,
    protocol: Protocol,
    predicted: Callable[[str], str],
    pictures: Callable[[str], Mapping[str, str]],
    assigned: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write the tasks of some samples, to be imported into a Label Studio project.

    ``predicted`` gives the class that a sample's explanation explains, ``pictures`` the addresses
    of its pictures by the names in :data:`PICTURE_KEYS`. ``assigned`` says who shall rate which
    sample by the plan; Label Studio shows it but does not enforce it.
    """
    write_json([_task(one, protocol, predicted, pictures, assigned) for one in samples], out)


def task_data(sample: str | None, protocol: Protocol) -> dict[str, Any]:
    """What every task has: its sample, the version of the protocol, and what is to be ranked."""
    items = {
        items_key(question): [
            {"id": item.id, "title": item.id, "body": item.text} for item in question.items
        ]
        for question in protocol.rankings
    }
    return {"sample_id": sample, "protocol": protocol.version, **items}


def write_labelling_config(protocol: Protocol, out: Path) -> None:
    """Write the labelling configuration of a project."""
    with atomic(out) as temporary:
        temporary.write_text(labelling_config(protocol), encoding="utf-8")


def labelling_config(protocol: Protocol) -> str:
    """The XML of the labelling interface: the protocol's questions, phase by phase."""
    view = ElementTree.Element("View")
    for phase in protocol.phases:
        _phase(view, phase, protocol.during(phase.id))
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def _task(
    sample: str,
    protocol: Protocol,
    predicted: Callable[[str], str],
    pictures: Callable[[str], Mapping[str, str]],
    assigned: Mapping[str, Sequence[str]] | None,
) -> dict[str, Any]:
    addresses = pictures(sample)
    data = {
        **task_data(sample, protocol),
        **{key: addresses[key] for key in PICTURE_KEYS},
        "predicted": predicted(sample),
    }
    if assigned is not None:
        data["assigned"] = ", ".join(assigned.get(sample, ()))
    return {"data": data}


def _phase(view: ElementTree.Element, phase: Phase, questions: Sequence[Question]) -> None:
    part = ElementTree.SubElement(view, "View", style="margin-bottom: 2em")
    _add(part, "Header", value=phase.title, size="3")
    _add(part, "Header", value=phase.text, size="5")
    if phase.id in ("before", "explanation"):
        _add(part, "Text", name=f"{phase.id}_predicted", value="$predicted")
    for key, title in PICTURES[phase.id].items():
        _add(part, "Header", value=title, size="5")
        _add(part, "Image", name=key, value=f"${key}")
    anchor = next(iter(PICTURES[phase.id]), "image")
    for question in questions:
        _question(part, question, anchor)


def _question(part: ElementTree.Element, question: Question, anchor: str) -> None:
    name = from_name(question.id)
    wording = question.wording.replace(BLANK, "the predicted class")
    _add(part, "Header", value=f"{question.id}: {wording}", size="4")
    _add(part, "Header", value=question.help, size="6")
    match question.kind:
        case "text":
            _add(part, "TextArea", name=name, toName=anchor, maxSubmissions="1", rows="3")
        case "boxes":
            _add(part, "Rectangle", name=name, toName=anchor, canRotate="false")
        case "stars":
            ends = f"1 star: {question.lowest}. {len(STARS)} stars: {question.highest}."
            _add(part, "Header", value=ends, size="6")
            _add(
                part, "Rating", name=name, toName=anchor, maxRating=str(len(STARS)), required="true"
            )
        case "ranking":
            title = f"From top to bottom: {question.lowest} ... {question.highest}"
            items = items_key(question)
            _add(part, "List", name=items, value=f"${items}", title="To be ranked")
            ranker = _add(part, "Ranker", name=name, toName=items)
            _add(ranker, "Bucket", name=name, title=title)


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


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
        dump_json(tasks, temporary)


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
