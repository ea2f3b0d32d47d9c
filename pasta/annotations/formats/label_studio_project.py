"""A Label Studio project for the rating study: its tasks and its labelling configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pasta.annotations.formats.label_studio_answers import from_name, items_key
from pasta.annotations.protocol import BLANK, Phase, Protocol, Question
from pasta.store import atomic, write_json
from pasta.tables import STARS

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
