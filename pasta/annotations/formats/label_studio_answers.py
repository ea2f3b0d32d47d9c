"""The results of one Label Studio annotation, by the kind of their question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pasta.annotations.formats.collecting import Collector, is_text
from pasta.annotations.formats.json_text import Number, shown
from pasta.annotations.formats.percent import fractions
from pasta.annotations.protocol import Protocol, Question

REST = "_"  # the column of items that were not moved into the bucket
_LIKE_OURS = re.compile(r"[Qq][0-9][0-9_.]*")
_CHECK_CONFIG = "use the labelling configuration that was made here"


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
