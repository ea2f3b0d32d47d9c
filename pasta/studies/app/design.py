"""The folder of a study: what is asked, in which order, and by how many people.

A *seat* is one place in the study: a list of items in order, and perhaps a condition. One person
has one seat at a time. An *item* has one step or more; it counts when one person has answered all
of them. A *step* is one page and one answer.

========================  =========================================================================
``study.yaml``            the kind of the study, its title and how it is run (:class:`Settings`)
``consent.md``            what people agree to; ``instructions.md`` and ``thanks.md`` likewise
``items.json``            the items and the seats; what stands in it twice is written once
``pictures/``             pictures by names that say nothing
``secret.key``            signs the links; ``admin.json`` has the hash of the password
``answers.sqlite``        the answers, unless another database is named
``exports/``              what was exported while people answered
========================  =========================================================================

In ``items.json`` an object ``{"use": "NAME"}`` stands for what ``shared`` has under this name. An
object with a ``file`` is a picture of the folder: it is sent with its address, width and height.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pasta.errors import InputError, PastaError
from pasta.sections import Section

SETTINGS, ITEMS, PICTURES = "study.yaml", "items.json", "pictures"
CONSENT, INSTRUCTIONS, THANKS = "consent.md", "instructions.md", "thanks.md"
SECRET, ADMIN, DATABASE, EXPORTS = "secret.key", "admin.json", "answers.sqlite", "exports"
_PICTURE_NAME = re.compile(r"[0-9a-f]{24}\.(png|jpg)")
_TRIES = 3

Json = dict[str, Any]
Kind = Literal["ratings", "prediction", "attention"]
Text = Annotated[str, Field(min_length=1)]


class Settings(Section):
    """How a study is run; people edit this."""

    kind: Text
    title: Text
    language: Text = "en"
    contact: str = ""  # whom people can ask
    protocol: str = ""  # version that answers follow
    demographics: bool = True  # ask for age, sex and country; each may be left out
    expires_hours: Annotated[float, Field(gt=0, strict=False)] = 24.0  # of a place nobody uses
    link_days: Annotated[float, Field(gt=0, strict=False)] = 30.0  # validity of personal links
    completion_code: str = ""  # shown at the end, for platforms that pay people


@dataclass(frozen=True, slots=True)
class Step:
    """One page and one answer.

    Attributes
    ----------
    id, kind
        Its name within the item, and what page it is.
    page
        What the page shows; everything here is sent to people.
    fields
        What each part of the answer must look like, see :mod:`pasta.studies.app.fields`.
    expected
        The right answer where there is one. It never leaves the server before the end.
    tries
        How often a step with an expected answer is shown until it is right.
    stop
        Whether who was wrong in all tries cannot go on.
    about
        What the export needs to know of it.
    """

    id: str
    kind: str
    page: Json = field(default_factory=dict)
    fields: Json = field(default_factory=dict)
    expected: Json | None = None
    tries: int = 1
    stop: bool = False
    about: Json = field(default_factory=dict)

    def wrong(self, answer: Mapping[str, Any]) -> int | None:
        """How many parts of an answer are not as expected; None where nothing is."""
        if self.expected is None:
            return None
        return sum(bool(answer.get(name) != right) for name, right in self.expected.items())


@dataclass(frozen=True)
class Item:
    """What is answered as a whole, by one person."""

    id: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Seat:
    """A place in the study: which items, in which order."""

    number: int
    items: tuple[str, ...]
    condition: str = ""


@dataclass(frozen=True)
class Design:
    """A study as the server knows it."""

    folder: Path
    settings: Settings
    items: Mapping[str, Item]
    seats: tuple[Seat, ...]
    shared: Json
    pictures: Mapping[str, tuple[int, int]]  # width and height by name
    check: Step | None = None  # after the instructions

    @cached_property
    def intro(self) -> tuple[Step, ...]:
        """The steps before the study proper."""
        steps = [
            Step(
                "consent",
                "consent",
                fields={"agreed": {"type": "flag"}},
                expected={"agreed": True},
                stop=True,
            )
        ]
        if self.settings.demographics:
            steps.append(Step("demographics", "demographics", fields=_DEMOGRAPHICS))
        steps.append(Step("instructions", "instructions"))
        return (*steps, self.check) if self.check is not None else tuple(steps)

    @cached_property
    def steps(self) -> Mapping[tuple[str, str], Step]:
        """Every step by its item and its id; those before the study proper have no item."""
        before = {("", step.id): step for step in self.intro}
        return before | {
            (one.id, step.id): step for one in self.items.values() for step in one.steps
        }

    @cached_property
    def wanted(self) -> Mapping[str, int]:
        """How many people each item needs."""
        counts: dict[str, int] = dict.fromkeys(self.items, 0)
        for seat in self.seats:
            for item in seat.items:
                counts[item] += 1
        return counts

    def steps_of(self, seat: Seat) -> int:
        """How many steps a seat has."""
        return sum(len(self.items[one].steps) for one in seat.items)

    def text(self, name: str) -> str:
        """A Markdown file of the folder; nothing if it is not there."""
        file = self.folder / name
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def page(self, content: Any, address: Callable[[str], str]) -> Any:
        """What a page shows, with everything shared filled in and pictures by their address."""
        if isinstance(content, list):
            return [self.page(one, address) for one in content]
        if not isinstance(content, dict):
            return content
        if set(content) == {"use"}:
            return self.page(self.shared[content["use"]], address)
        filled = {key: self.page(one, address) for key, one in content.items() if key != "file"}
        if "file" in content:
            width, height = self.pictures[content["file"]]
            filled |= {"src": address(content["file"]), "width": width, "height": height}
        return filled

    def files(self, content: Any) -> list[str]:
        """The pictures of a page by name."""
        found: dict[str, None] = {}

        def note(name: str) -> str:
            found[name] = None
            return name

        self.page(content, note)
        return list(found)


_DEMOGRAPHICS: Json = {
    "age": {"type": "whole", "low": 0, "high": 130, "optional": True},
    "sex": {"type": "text", "longest": 60, "optional": True},
    "country": {"type": "text", "longest": 60, "optional": True},
}


class Writer:
    """Collects the items, seats and pictures of a new study, in a folder that is being made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.items: dict[str, Json] = {}
        self.seats: list[Json] = []
        self.shared: Json = {}
        self.check: Json | None = None
        self._sizes: dict[str, tuple[int, int]] = {}
        (folder / PICTURES).mkdir(parents=True, exist_ok=True)

    def picture(self, pixels: Any, alt: str, **more: Any) -> Json:
        """Store an image (height, width, 3) once, and return how a page speaks of it."""
        from io import BytesIO

        from PIL import Image

        image = Image.fromarray(pixels)
        out = BytesIO()
        image.save(out, "PNG", optimize=False)
        return self.picture_file(out.getvalue(), image.size, alt, **more)

    def picture_file(
        self, data: bytes, size: tuple[int, int], alt: str, suffix: str = "png", **more: Any
    ) -> Json:
        """Store a picture that is encoded already."""
        name = f"{hashlib.sha256(data).hexdigest()[:24]}.{suffix}"
        if name not in self._sizes:
            (self.folder / PICTURES / name).write_bytes(data)
            self._sizes[name] = size
        return {"file": name, "alt": alt, **more}

    def share(self, name: str, content: Any) -> Json:
        """Write something once that stands on many pages."""
        self.shared[name] = content
        return {"use": name}

    def item(self, name: str, *steps: Step) -> str:
        """Add an item."""
        self.items[name] = {"steps": [_plain_step(one) for one in steps]}
        return name

    def seat(self, items: Sequence[str], condition: str = "") -> None:
        """Add a place in the study."""
        self.seats.append({"condition": condition, "items": list(items)})

    def write(self, settings: Settings, texts: Mapping[str, str]) -> None:
        """Leave the files behind."""
        content = {
            "items": self.items,
            "seats": self.seats,
            "shared": self.shared,
            "check": self.check,
            "pictures": {name: list(size) for name, size in sorted(self._sizes.items())},
        }
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        (self.folder / ITEMS).write_text(text + "\n", encoding="utf-8")
        for name, words in texts.items():
            (self.folder / name).write_text(words, encoding="utf-8")
        yaml = YAML()
        with (self.folder / SETTINGS).open("w", encoding="utf-8") as file:
            yaml.dump(settings.model_dump(mode="json"), file)

    def ask(self, step: Step) -> None:
        """Ask this after the instructions."""
        self.check = _plain_step(step)


def _plain_step(step: Step) -> Json:
    plain: Json = {"id": step.id, "kind": step.kind, "page": step.page, "fields": step.fields}
    if step.expected is not None:
        plain["expected"] = step.expected
    if step.tries != 1:
        plain["tries"] = step.tries
    if step.stop:
        plain["stop"] = True
    if step.about:
        plain["about"] = step.about
    return plain


def load_settings(folder: Path) -> Settings:
    """Read ``study.yaml``; an error names the file and the key."""
    file = folder / SETTINGS
    if not file.is_file():
        expected = "a folder made by `pasta study NAME new`"
        raise InputError("is no folder of a study", file=folder, expected=expected)
    try:
        return Settings.model_validate(YAML(typ="safe").load(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="YAML") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or None
        raise InputError(first["msg"], file=file, column=place) from None


def load_design(folder: Path) -> Design:
    """Read a study's folder; an error says what does not fit together."""
    settings = load_settings(folder)
    file = folder / ITEMS
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        items = {name: _item(name, one) for name, one in content["items"].items()}
        check = content.get("check")
        design = Design(
            folder,
            settings,
            items,
            tuple(
                Seat(number, tuple(one["items"]), one.get("condition") or "")
                for number, one in enumerate(content["seats"], start=1)
            ),
            content.get("shared", {}),
            {name: (int(size[0]), int(size[1])) for name, size in content["pictures"].items()},
            None if check is None else _step(check),
        )
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=file) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"holds no items: {error!r}", file=file, expected="items.json") from error
    _hold_together(design, file)
    return design


def _item(name: str, content: Json) -> Item:
    return Item(name, tuple(map(_step, content["steps"])))


def _step(content: Json) -> Step:
    return Step(**content)


def _hold_together(design: Design, file: Path) -> None:
    if not design.seats:
        raise InputError("has no seats: nobody could take part", file=file)
    for seat in design.seats:
        unknown = [one for one in seat.items if one not in design.items]
        if unknown or len(set(seat.items)) < len(seat.items) or not seat.items:
            problem = f"seat {seat.number} has no items, an item twice, or an unknown one"
            raise InputError(problem, file=file, expected="different items of this file")
    try:
        for one in design.items.values():
            for step in one.steps:
                design.files(step.page)
    except KeyError as error:
        expected = "only what the file has under shared and pictures"
        raise InputError(f"a page uses {error}", file=file, expected=expected) from error
    for name in design.pictures:
        place = design.folder / PICTURES / name
        if not _PICTURE_NAME.fullmatch(name) or not place.is_file():
            raise InputError("is missing or has a wrong name", file=place)


def secret_of(folder: Path) -> str:
    """The key that signs links and forms; made at the first use, readable by its owner only."""
    file = folder / SECRET
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        found = file.read_text(encoding="ascii").strip()
        if len(found) < 32:
            raise PastaError(f"{file}: is too short for a key; links cannot be trusted") from None
        return found
    made = os.urandom(32).hex()
    with os.fdopen(descriptor, "w", encoding="ascii") as opened:
        opened.write(made)
        opened.flush()
        os.fsync(opened.fileno())
    return made


def checked_step(
    name: str,
    title: str,
    questions: Sequence[Json],
    expected: Mapping[str, str],
    tries: int = _TRIES,
    stop: bool = False,
    examples: Sequence[Json] = (),
    about: Mapping[str, Any] | None = None,
) -> Step:
    """Questions with a right answer, shown again until it is given or the tries are used up."""
    return Step(
        name,
        "check",
        {"title": title, "questions": list(questions), "examples": list(examples)},
        {one["id"]: {"type": "choice", "options": one["options"]} for one in questions},
        dict(expected),
        tries,
        stop,
        dict(about or {}),
    )
