"""Label Studio: its JSON export (1.8 and later), and projects for the rating study.

Answers are matched by ``from_name``, which is the question's id with ``_`` for ``.``. The sample
stands in the task's data, and so may the version of the protocol. An annotation that was cancelled,
is empty, or was followed by a newer one of the same person on the same sample is left out and
counted. Names and e-mail addresses are not kept: a person is ``labelstudio-7`` by number, or by a
short hash if there is only an address.

Rankings stand on every page but are answered once. Label Studio writes a result for a ranker that
nobody touched, when the page is submitted: the items in their first order if the ranker has no
buckets, else all of them in the column ``_`` and the bucket empty. Our configuration has a bucket,
so the two can be told apart. Without bucket a ranking in the first order counts as untouched.

What we write is for moving ratings into a project, and shows that the reader loses nothing. What
Label Studio has no place for stands in ``completed_by`` (our name of the annotator, demographics)
and in the ``meta`` of a result (a time of its own, whether it is simulated, the number of a box).
The table of shown explanations is about files, not about answers, and is not written.

Label Studio has boxes in percent of an image, we have them in fractions. Decimal numbers keep the
conversion exact: a box of ours goes out and comes back as the same floats, which multiplying and
dividing by 100 in binary would not give.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal, InvalidOperation, Overflow, Underflow
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from pasta.errors import InputError
from pasta.json_files import Number, dump_json, is_text, shown
from pasta.store import atomic, write_json
from pasta.studies.base import Frames, Submission
from pasta.studies.ratings.protocol import BLANK, Phase, Protocol, Question
from pasta.studies.ratings.rows import FALSE, Collector, plain_rows, tuples
from pasta.studies.ratings.tables import STARS
from pasta.text_files import as_text

REST = "_"  # the column of items that were not moved into the bucket
_LIKE_OURS = re.compile(r"[Qq][0-9][0-9_.]*")
_CHECK_CONFIG = "use the labelling configuration that was made here"
_OLDEST = datetime.min.replace(tzinfo=UTC)
_NUMBER_LENGTH = 20  # of a person's number; longer ones are hashed
OVERSHOOT = 0.001  # fraction of the side by which a box may stick out, and is clipped
# Enough digits for the smallest float beside the largest; nothing is trapped but nonsense.
_EXACT = Context(prec=400, traps=[InvalidOperation])
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


# Reading


@dataclass(frozen=True)
class _Annotation:
    """What one person said on one page."""

    place: str
    sample: str | None
    person: str
    task: dict[str, Any]
    content: dict[str, Any]
    results: list[Any]

    @property
    def age(self) -> tuple[datetime, datetime]:
        """Later is newer."""
        created = _time(self.content.get("created_at"))
        return max(_time(self.content.get("updated_at")), created), created


def from_content(tasks: Any, path: Path, protocol: Protocol) -> Submission:
    """Read what a JSON export holds."""
    if not is_label_studio(tasks):
        raise InputError("holds no tasks with annotations", file=path, expected="an export as JSON")
    collected = Collector()
    kept = _newest(list(_annotations(tasks, collected)), collected)
    answers = Answers(collected, protocol)
    for one in kept:
        answers.read(one.results, one.place, one.sample, one.person, one.content, one.task)
    answers.finish()
    declared: dict[str, tuple[str, dict[str, Any]]] = {}
    for one in kept:
        declared.setdefault(one.person, (one.place, _about(one.content.get("completed_by"))))
    for person, (place, about) in declared.items():
        collected.annotator(place, person, about)
    return collected.submission(path.name, "label_studio", _protocol(tasks, collected))


def is_label_studio(content: Any) -> bool:
    """Whether parsed JSON looks like an export of tasks."""
    return isinstance(content, list) and any(
        isinstance(task, dict) and "annotations" in task and "data" in task for task in content
    )


def person_of(completed_by: Any) -> str | None:
    """The name of an annotator here; None if there is nobody."""
    if isinstance(completed_by, dict):
        own = completed_by.get("annotator_id")  # written by our own export
        if is_text(own):
            return str(own)
        return person_of(completed_by.get("id")) or person_of(completed_by.get("email"))
    is_number = isinstance(completed_by, Number) and completed_by.isdecimal()
    if is_number and len(completed_by) <= _NUMBER_LENGTH:
        return f"labelstudio-{completed_by}"
    if isinstance(completed_by, str) and completed_by.strip():
        known = completed_by.strip().lower().encode()
        return f"labelstudio-{hashlib.sha256(known).hexdigest()[:12]}"
    return None


def _annotations(tasks: list[Any], collected: Collector) -> Iterator[_Annotation]:
    for at, task in enumerate(tasks, start=1):
        number = shown(task.get("id")) if isinstance(task, dict) else ""
        place = f"task {number or at}"
        data = task.get("data") if isinstance(task, dict) else None
        if not isinstance(data, dict) or not isinstance(task.get("annotations"), list):
            fix = "export the project as JSON again"
            collected.find("a task has no data or no annotations", fix, place, found=task)
            continue
        sample = data.get("sample_id")
        if sample is not None and not is_text(sample):
            fix = "import the tasks that were made here, with their sample_id"
            collected.find("a sample id is no text", fix, place, "sample_id", sample)
            continue
        for order, content in enumerate(task["annotations"], start=1):
            one = _annotation(content, task, sample, f"{place}, annotation {order}", collected)
            if one is not None:
                yield one


def _annotation(
    content: Any, task: dict[str, Any], sample: str | None, place: str, collected: Collector
) -> _Annotation | None:
    if not isinstance(content, dict):
        collected.find("an annotation is no object", "export again as JSON", place, found=content)
        return None
    if content.get("was_cancelled") is True:
        collected.dropped["cancelled annotations"] += 1
        return None
    results = content.get("result")
    if not isinstance(results, list):
        fix = "export again as JSON"
        collected.find("an annotation has no list of results", fix, place, "result", results)
        return None
    person = person_of(content.get("completed_by"))
    if person is None:
        fix = "export with the annotators' numbers"
        found = content.get("completed_by")
        collected.find("an annotation is by nobody", fix, place, "completed_by", found)
        return None
    one = _Annotation(place, sample, person, task["data"], content, results)
    if not results and not _about(content.get("completed_by")):
        collected.dropped["empty annotations"] += 1
        return None
    return one


def _newest(found: list[_Annotation], collected: Collector) -> list[_Annotation]:
    """Of several annotations of a sample by a person the newest; the last one of equal age."""
    newest: dict[tuple[str | None, str], _Annotation] = {}
    for one in found:
        old = newest.get((one.sample, one.person))
        if old is not None:
            collected.dropped["older annotations of the same sample and annotator"] += 1
        if old is None or one.age >= old.age:
            newest[one.sample, one.person] = one
    # Oldest first: of rankings on several pages the last word counts.
    return sorted(newest.values(), key=lambda one: one.age)


def _about(completed_by: Any) -> dict[str, Any]:
    """Demographics, which only our own export has."""
    if not isinstance(completed_by, dict) or "annotator_id" not in completed_by:
        return {}
    return {"simulated": FALSE, **completed_by}


def _protocol(tasks: list[Any], collected: Collector) -> str | None:
    claimed = {
        shown(task["data"]["protocol"])
        for task in tasks
        if isinstance(task, dict)
        and isinstance(task.get("data"), dict)
        and task["data"].get("protocol") is not None
    }
    if len(claimed) > 1:
        fix = "export each project by itself"
        found = ", ".join(sorted(claimed))
        collected.find("the tasks follow several protocols", fix, "all tasks", "protocol", found)
    return min(claimed) if claimed else None


def _time(value: Any) -> datetime:
    """A time for comparison; what is none counts as oldest, and is reported with its vote."""
    try:
        found = datetime.fromisoformat(shown(value))
    except ValueError:
        return _OLDEST
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def from_name(question: str) -> str:
    """The name of a question's control; Label Studio refers to it by this name."""
    return question.replace(".", "_")


class Answers:
    """Reads results into a collector; rankings wait until all pages are read."""

    def __init__(self, collected: Collector, protocol: Protocol) -> None:
        self.collected = collected
        self.questions = {from_name(one.id): one for one in protocol.questions}
        self._rankings: dict[tuple[str, str], tuple[str, list[str], str]] = {}

    def read(
        self,
        results: Sequence[Any],
        place: str,
        sample: str | None,
        person: str,
        annotation: dict[str, Any],
        data: dict[str, Any],
    ) -> None:
        """Read the results of an annotation; ``data`` is that of its task."""
        boxes = 0
        created = annotation.get("created_at")
        for result in results:
            question = self._question(result, place)
            if question is None:
                continue
            value, meta = result["value"], result.get("meta")
            extra = meta if isinstance(meta, dict) else {}
            fake = shown(extra.get("simulated", False))
            if question.kind == "ranking":
                self._ranking(question, value, place, person, data, fake)
            elif sample is None:
                fix = "import the tasks that were made here, with their sample_id"
                self._find("an answer belongs to no sample", fix, place, question, None)
            elif question.kind == "stars":
                at = shown(extra.get("submitted_at", created))
                rating = self._rating(question, value, place)
                if rating is not None:
                    self.collected.add(
                        "votes", place, sample, person, question.id, rating, at, fake
                    )
            elif question.kind == "text":
                text = self._text(question, value, place)
                if text is not None:
                    self.collected.add("descriptions", place, sample, person, text, fake)
            else:
                number = shown(extra.get("box", str(boxes)))
                boxes += 1
                self._box(question, value, place, (sample, person, number), fake)

    def finish(self) -> None:
        """Hand over the rankings: of each question the last one that a person gave."""
        for (person, question), (place, items, fake) in self._rankings.items():
            for position, item in enumerate(items, start=1):
                self.collected.add("rankings", place, person, question, item, str(position), fake)

    def _question(self, result: Any, place: str) -> Question | None:
        if not isinstance(result, dict):
            self.collected.find("a result is no object", "export again", place, found=result)
            return None
        name = result.get("from_name")
        question = self.questions.get(name) if is_text(name) else None
        if question is None:
            if is_text(name) and not _LIKE_OURS.fullmatch(name):
                self.collected.dropped["results of other controls"] += 1
            else:
                problem = "a result belongs to no question of the protocol"
                self.collected.find(problem, _CHECK_CONFIG, place, "from_name", name)
            return None
        if not isinstance(result.get("value"), dict):
            self._find("a result has no value", "export again", place, question, None)
            return None
        return question

    def _rating(self, question: Question, value: dict[str, Any], place: str) -> str | None:
        if "rating" not in value:
            self._find("a result is no rating", _CHECK_CONFIG, place, question, None)
            return None
        return shown(value["rating"])

    def _text(self, question: Question, value: dict[str, Any], place: str) -> str | None:
        text = value.get("text")
        parts = text if isinstance(text, list) else [text]
        texts = [part for part in parts if is_text(part)]
        if not texts or len(texts) < len(parts):
            self._find("a result is no text", _CHECK_CONFIG, place, question, text)
            return None
        return "\n".join(texts)

    def _box(
        self,
        question: Question,
        value: dict[str, Any],
        place: str,
        who: tuple[str, str, str],
        fake: str,
    ) -> None:
        sides = [value.get(name) for name in ("x", "y", "width", "height")]
        try:
            if not all(isinstance(side, Number) for side in sides):
                raise ValueError("is no rectangle in percent")
            if shown(value.get("rotation")) not in ("", "0", "0.0", "-0"):
                raise ValueError("is turned")
            corners = fractions(*map(str, sides))
        except ValueError as reason:
            fix = "draw upright rectangles within the image"
            self._find(f"a box {reason}", fix, place, question, ", ".join(map(shown, sides)))
            return
        self.collected.add("boxes", place, *who, *corners, fake)

    def _ranking(
        self,
        question: Question,
        value: dict[str, Any],
        place: str,
        person: str,
        data: dict[str, Any],
        fake: str,
    ) -> None:
        columns = value.get("ranker")
        if isinstance(columns, list):  # before 1.8
            columns = {from_name(question.id): columns}
        if not isinstance(columns, dict) or not all(map(_are_texts, columns.values())):
            self._find("a result is no ranking", _CHECK_CONFIG, place, question, columns)
            return
        rest = columns.get(REST)
        ranked = [str(item) for name, items in columns.items() if name != REST for item in items]
        first = initial_order(question, data)
        if not ranked or (rest is None and ranked == first):
            self.collected.dropped["untouched rankings"] += 1
        elif rest:
            fix = "move every item to its place, or none"
            self._find("a ranking is not finished", fix, place, question, ", ".join(ranked))
        else:
            if (person, question.id) in self._rankings:
                self.collected.dropped["older rankings of the same annotator"] += 1
            self._rankings[person, question.id] = (place, ranked, fake)

    def _find(self, problem: str, fix: str, place: str, question: Question, found: Any) -> None:
        tables = {"text": "descriptions", "boxes": "boxes", "ranking": "rankings"}
        table = tables.get(question.kind, "votes")
        self.collected.find(problem, fix, place, question.id, found, table)


def items_key(question: Question) -> str:
    """Where a task's data has the items of a ranking."""
    return f"{from_name(question.id)}_items"


def initial_order(question: Question, data: dict[str, Any]) -> list[str]:
    """The order in which a ranker starts: that of the task, else that of the protocol."""
    given = data.get(items_key(question))
    if not isinstance(given, list):
        return list(question.item_ids)
    return [shown(one.get("id")) if isinstance(one, dict) else shown(one) for one in given]


def _are_texts(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, str) for item in items)


# Boxes


def fractions(x: str, y: str, width: str, height: str) -> tuple[str, ...]:
    """Corners in fractions; raises ValueError, which says why, for what is no box of the image."""
    left, top = _number(x), _number(y)
    right, bottom = _EXACT.add(left, _number(width)), _EXACT.add(top, _number(height))
    corners = [float(_EXACT.scaleb(one, -2)) for one in (left, top, right, bottom)]
    if any(corner < -OVERSHOOT or corner > 1 + OVERSHOOT for corner in corners):
        raise ValueError("sticks out of the image")
    return tuple(repr(min(max(corner, 0.0), 1.0)) for corner in corners)


def percents(corners: Sequence[float]) -> dict[str, Number]:
    """x, y, width and height in percent."""
    x0, y0, x1, y1 = (Decimal(repr(float(corner))) for corner in corners)
    return {
        "x": _percent(x0),
        "y": _percent(y0),
        "width": _percent(_EXACT.subtract(x1, x0)),
        "height": _percent(_EXACT.subtract(y1, y0)),
    }


def _percent(value: Decimal) -> Number:
    return Number(format(_EXACT.scaleb(value, 2), "f"))


def _number(text: str) -> Decimal:
    try:
        value = _EXACT.create_decimal(text)
    except (InvalidOperation, Overflow, Underflow) as error:
        raise ValueError("is no number") from error
    if not value.is_finite():
        raise ValueError("is no number")
    return value


# Writing


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


def write_label_studio(annotations: Frames, out: Path, protocol: Protocol) -> None:
    """Write a file as Label Studio exports it.

    Rankings and everybody who rated nothing stand in a task of their own, without a sample.
    """
    answers = _results(annotations, protocol)
    people = _people(annotations["annotators"])
    for person in people:
        answers[_NO_SAMPLE].setdefault(person, [])
    tasks = []
    for number, sample in enumerate(sorted(answers), start=1):
        found = [
            _completed(people.get(person, {"annotator_id": person}), results)
            for person, results in sorted(answers[sample].items())
            if results or person in people
        ]
        data = task_data(sample or None, protocol)
        tasks.append({"id": number, "data": data, "annotations": found, "predictions": []})
    with atomic(out) as temporary:
        dump_json(tasks, temporary)


def _completed(about: dict[str, Any], results: list[dict[str, Any]]) -> Any:
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


def _results(annotations: Frames, protocol: Protocol) -> _Answers:
    found: _Answers = defaultdict(dict)

    def add(sample: str, person: str, result: dict[str, Any], **meta: Any) -> None:
        said = {key: value for key, value in meta.items() if value is not False}
        found[sample].setdefault(person, []).append({**result, "meta": said})

    votes = annotations["votes"].assign(
        submitted_at=as_text(annotations["votes"]["submitted_at"]).to_pylist()
    )
    for sample, person, question, rating, at, fake in tuples(votes):
        result = _result(question, "image", "rating", {"rating": rating})
        add(sample, person, result, submitted_at=at, simulated=fake)
    for sample, person, text, fake in tuples(annotations["descriptions"]):
        result = _result("Q0.1", "image", "textarea", {"text": [text]})
        add(sample, person, result, simulated=fake)
    for sample, person, number, *corners, fake in tuples(annotations["boxes"]):
        result = _result("Q0.2", "image", "rectangle", {**percents(corners), "rotation": 0})
        add(sample, person, result, box=number, simulated=fake)
    keys = ["annotator_id", "question"]
    ordered = annotations["rankings"].sort_values([*keys, "position"])
    for named, rows in ordered.groupby(keys, sort=True):
        person, question = map(str, named)
        value = {"ranker": {REST: [], from_name(question): rows["item"].tolist()}}
        result = _result(question, items_key(protocol.question(question)), "ranker", value)
        add(_NO_SAMPLE, person, result, simulated=bool(rows["simulated"].iloc[0]))
    return found


def _result(question: str, to_name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"from_name": from_name(question), "to_name": to_name, "type": kind, "value": value}
