"""Label Studio's JSON export (1.8 and later): tasks with their annotations.

Answers are matched by ``from_name``, which is the question's id with ``_`` for ``.``. The sample
stands in the task's data, and so may the version of the protocol. An annotation that was cancelled,
is empty, or was followed by a newer one of the same person on the same sample is left out and
counted. Names and e-mail addresses are not kept: a person is ``labelstudio-7`` by number, or by a
short hash if there is only an address.

Rankings stand on every page but are answered once. Label Studio writes a result for a ranker that
nobody touched, when the page is submitted: the items in their first order if the ranker has no
buckets, else all of them in the column ``_`` and the bucket empty. Our configuration has a bucket,
so the two can be told apart. Without bucket a ranking in the first order counts as untouched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pasta.errors import InputError
from pasta.studies.ratings.formats.files import Number, load_json, shown
from pasta.studies.ratings.formats.rows import FALSE, Collector, fractions, is_text
from pasta.studies.ratings.protocol import Protocol, Question
from pasta.studies.ratings.records import Submission
from pasta.text_files import FILE_LIMIT

REST = "_"  # the column of items that were not moved into the bucket
_LIKE_OURS = re.compile(r"[Qq][0-9][0-9_.]*")
_CHECK_CONFIG = "use the labelling configuration that was made here"
_OLDEST = datetime.min.replace(tzinfo=UTC)
_NUMBER_LENGTH = 20  # of a person's number; longer ones are hashed


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


def read_label_studio(path: Path, protocol: Protocol, limit: int = FILE_LIMIT) -> Submission:
    """Read an export in the format that Label Studio calls JSON (not JSON-MIN)."""
    return from_content(load_json(path, limit), path, protocol)


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
                    self.collected.vote(place, sample, person, question.id, rating, at, fake)
            elif question.kind == "text":
                text = self._text(question, value, place)
                if text is not None:
                    self.collected.description(place, sample, person, text, fake)
            else:
                number = shown(extra.get("box", str(boxes)))
                boxes += 1
                self._box(question, value, place, (sample, person, number), fake)

    def finish(self) -> None:
        """Hand over the rankings: of each question the last one that a person gave."""
        for (person, question), (place, items, fake) in self._rankings.items():
            for position, item in enumerate(items, start=1):
                self.collected.ranking(place, person, question, item, str(position), fake)

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
        self.collected.box(place, *who, corners, fake)

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
