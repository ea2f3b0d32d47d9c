"""The protocol of the rating study: its questions, in the versions of the two papers.

The text stands in ``protocol.yaml``. Votes are stored as they were given; ``direction`` says
whether many stars are good news. P2 (doi:10.48550/arXiv.2411.02470) inverts Q5: its stars count how
much the explanation of a lightly changed image has changed, so few are better. P1 asked the same
and averaged Q5 with Q6 as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pasta.config import Params
from pasta.errors import InputError, PastaError
from pasta.registry import did_you_mean
from pasta.sections import Count, Section
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.tables import RANKINGS, SCALE
from pasta.studies.scales import Scale

FILE = Path(__file__).with_name("protocol.yaml")
BASELINE = ("Q0.1", "Q0.2")  # asked before the explanation is seen
IDS = (*BASELINE, *QUESTIONS, *RANKINGS)
BLANK = "***"  # the papers' placeholder of the predicted class

Kind = Literal["text", "boxes", "stars", "ranking"]
PhaseId = Literal["before", "explanation", "light", "strong", "end"]
Text = Annotated[str, Field(min_length=1)]

_KINDS: Mapping[str, Kind] = {
    "Q0.1": "text",
    "Q0.2": "boxes",
    **dict.fromkeys(QUESTIONS, "stars"),
    **dict.fromkeys(RANKINGS, "ranking"),
}


class Phase(Section):
    """What an annotator sees at a time, and the questions that belong to it."""

    id: PhaseId
    title: Text
    text: Text


class Lesson(Section):
    """A part of the training that every annotator has before the first sample."""

    title: Text
    text: Text


class Item(Section):
    """Something to be ranked; ``id`` is what the rankings table stores."""

    id: Text
    text: Text


class Question(Section):
    """One question. ``lowest`` and ``highest`` explain the ends of its scale.

    They are the meaning of one and of five stars, or of the first and the last position.
    """

    id: Text
    kind: Kind
    shown: PhaseId
    wording: Text
    help: Text  # ours, for the annotator
    note: Text | None = None  # what the papers print in brackets behind the question
    desideratum: Text | None = None
    direction: Literal[1, -1] | None = None  # 1: more stars are better; -1: fewer
    lowest: Text | None = None
    highest: Text | None = None
    items: Annotated[tuple[Item, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        expected = _KINDS.get(self.id)
        if expected is None:
            raise ValueError(f"no table has room for it; the questions are {', '.join(IDS)}")
        if self.kind != expected:
            raise ValueError(f"is of the kind {self.kind!r}, expected {expected!r}")
        needs = {
            "desideratum": self.kind == "stars",
            "direction": self.kind == "stars",
            "lowest": self.kind in ("stars", "ranking"),
            "highest": self.kind in ("stars", "ranking"),
            "items": self.kind == "ranking",
        }
        for name, needed in needs.items():
            if bool(getattr(self, name)) != needed:
                raise ValueError(f"{name} must {'be' if needed else 'not be'} given")
        if len({item.id for item in self.items}) < len(self.items):
            raise ValueError("an item occurs twice")
        return self

    def asked(self, predicted: str) -> str:
        """The wording with the predicted class filled in."""
        return self.wording.replace(BLANK, predicted)

    @property
    def scale(self) -> Scale | None:
        """The scale of its answers; None unless it is answered with stars."""
        if self.kind != "stars":
            return None
        ends = tuple(text for text in (self.lowest, self.highest) if text is not None)
        return replace(SCALE, direction=self.direction, labels=ends)

    @property
    def item_ids(self) -> tuple[str, ...]:
        """What is ranked; empty unless the question is a ranking."""
        return tuple(item.id for item in self.items)


class Protocol(Section):
    """One version of the study. ``revision`` grows with every change of its text."""

    version: Text
    revision: Count
    title: Text
    instructions: Annotated[tuple[Text, ...], Field(strict=False, min_length=1)]
    training: Annotated[tuple[Lesson, ...], Field(strict=False, min_length=1)]
    phases: Annotated[tuple[Phase, ...], Field(strict=False)]
    questions: Annotated[tuple[Question, ...], Field(strict=False)]

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        found = tuple(question.id for question in self.questions)
        if found != IDS:
            raise ValueError(f"the questions are {', '.join(found)}, expected {', '.join(IDS)}")
        phases = [phase.id for phase in self.phases]
        if len(set(phases)) < len(phases):
            raise ValueError("a phase occurs twice")
        missing = {question.shown for question in self.questions} - set(phases)
        if missing:
            raise ValueError(f"no phase describes {', '.join(sorted(missing))}")
        return self

    def question(self, key: str) -> Question:
        """The question called ``key``, or an error that names the nearest."""
        for question in self.questions:
            if question.id == key:
                return question
        raise PastaError(
            f"protocol {self.version} has no question {key!r}. {did_you_mean(key, list(IDS))}"
        )

    def during(self, phase: PhaseId) -> tuple[Question, ...]:
        """The questions asked in a phase, in order."""
        return tuple(question for question in self.questions if question.shown == phase)

    @property
    def stars(self) -> tuple[str, ...]:
        """Ids of the star questions, Q1 to Q6."""
        return tuple(question.id for question in self.questions if question.kind == "stars")

    @property
    def rankings(self) -> tuple[Question, ...]:
        """The rankings, Q7 to Q9."""
        return tuple(question for question in self.questions if question.kind == "ranking")


class _Document(Section):
    shared: dict[str, Any]
    versions: dict[str, dict[str, Any]]


_QUESTIONS = TypeAdapter(dict[str, dict[str, Any]])


@lru_cache(maxsize=8)  # the objects are frozen
def load_protocol(version: str, file: Path = FILE) -> Protocol:
    """Read one version of the protocol."""
    document = _document(file)
    if version not in document.versions:
        hint = did_you_mean(version, document.versions)
        raise PastaError(f"there is no version {version!r} of the protocol. {hint}")
    content = _merged(document, version, file)
    try:
        return Protocol.model_validate(content)
    except ValidationError as error:
        raise _broken(error, file, [question["id"] for question in content["questions"]]) from None


def study_protocol(params: Params) -> Protocol:
    """The protocol of the study that the parameters describe; analyses and reports use it too."""
    return load_protocol(params.annotations.protocol)


def versions(file: Path = FILE) -> tuple[str, ...]:
    """The versions that can be loaded."""
    return tuple(_document(file).versions)


@lru_cache(maxsize=2)
def _document(file: Path) -> _Document:
    try:
        content = YAML(typ="safe").load(file.read_text(encoding="utf-8"))
        return _Document.model_validate(content)
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="YAML") from error
    except ValidationError as error:
        raise _broken(error, file) from None


def _merged(document: _Document, version: str, file: Path) -> dict[str, Any]:
    """What is shared, overruled by the version; questions field by field."""
    own = document.versions[version]
    shared = _fields(document.shared.get("questions"), file)
    changed = _fields(own.get("questions", {}), file)
    ids = dict.fromkeys([*shared, *changed])
    questions = [{"id": key, **shared.get(key, {}), **changed.get(key, {})} for key in ids]
    return {**document.shared, **own, "version": version, "questions": questions}


def _fields(questions: Any, file: Path) -> dict[str, dict[str, Any]]:
    try:
        return _QUESTIONS.validate_python(questions)
    except ValidationError as error:
        raise _broken(error, file) from None


def _broken(error: ValidationError, file: Path, ids: list[str] | None = None) -> InputError:
    """Every problem on a line of its own, with the path of the key."""
    lines = ["the protocol is not valid:"]
    for detail in error.errors():
        path = [str(step) for step in detail["loc"]]
        if ids and path[:1] == ["questions"] and len(path) > 1:
            path[1] = str(ids[int(path[1])])
        lines.append(f"{'.'.join(path) or 'the whole file'}: {detail['msg']}")
    return InputError("\n  ".join(lines), file=file)
