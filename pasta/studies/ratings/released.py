"""The released PASTA dataset: ``human_annotations.json`` beside its images and activations.

A list with one entry for each rated explanation: ``img``, ``explication``, ``activations``,
``GTclass``, ``predictedclass``, ``Annotation`` (one object for each vote, with ``Q1`` to ``Q6``; a
question may be missing) and ``imgpertubated``, ``explicationpertubated``,
``activationspertubated``. Both batches of the release have this shape. People are anonymous there:
``anonymous-3`` is the third vote on a sample, not a person, and is marked so among the annotators.

What we export has more keys, all optional: ``sample_id`` in an entry; ``annotator``,
``submitted_at``, ``simulated``, ``Q0.1`` and ``Q0.2`` in an annotation; and ``study.json`` with the
version of the protocol, the annotators and their rankings. ``submitted_at`` and ``simulated`` hold
one value, or one for each question.

``{dataset}_{image_id}_{number of the technique}....png`` is the name of a shown explanation. The
writer knows nothing of models: what a sample looks like comes from a callback.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image as Pictures

from pasta.errors import InputError, PastaError
from pasta.explanations.techniques import RELEASED
from pasta.store import write_json
from pasta.studies.base import Frames, Submission
from pasta.studies.json_files import (
    STUDY,
    Below,
    claimed_protocol,
    new_folder,
    read_study,
    shown,
)
from pasta.studies.ratings.rows import Collector, is_text, plain_rows, tuples
from pasta.tables import BOX
from pasta.text_files import as_text

FILE = "human_annotations.json"
PATHS = (
    "img",
    "explication",
    "activations",
    "imgpertubated",
    "explicationpertubated",
    "activationspertubated",
)
ENTRY_KEYS = frozenset({*PATHS, "GTclass", "predictedclass", "Annotation", "sample_id"})
KINDS = {".npy": "saliency", ".json": "concept"}
_OWN_KEYS = frozenset({"annotator", "submitted_at", "simulated"})
_SAMPLE_PARTS = 4
TECHNIQUES = {number: technique for technique, number in RELEASED.items()}
_NAME = re.compile(r"([^_/\s]+)_([0-9]+)_([0-9]{1,3})(?![0-9])[^/]*")

Image = NDArray[np.uint8]  # height x width x 3
Activations = NDArray[Any] | Mapping[str, float]  # a saliency map, or a value for each concept


# File names


@dataclass(frozen=True)
class Named:
    """What the name of a shown explanation says."""

    dataset: str
    image_id: str  # as it was found: plain numbers in the release
    number: int

    @property
    def sample_id(self) -> str | None:
        """The sample, or None for a technique that has no name here."""
        technique = TECHNIQUES.get(self.number)
        return None if technique is None else f"{self.dataset}/{self.image_id}/{technique}"


def read_name(path: str) -> Named | None:
    """Read the last part of a path, or None if it is not named as in the release."""
    match = _NAME.fullmatch(path.replace("\\", "/").rpartition("/")[2])
    return None if match is None else Named(match[1], match[2], int(match[3]))


def stem(sample_id: str) -> str:
    """The file name of a sample without suffix; techniques without number go by their name."""
    dataset, image_id, method, backbone = sample_id.split("/")
    number = RELEASED.get(f"{method}/{backbone}")
    return f"{dataset}_{image_id}_{f'{method}-{backbone}' if number is None else number}"


# Reading


def from_content(
    content: Any,
    file: Path,
    known_samples: pd.Index | None = None,
    ids: Mapping[str, str] | None = None,
) -> Submission:
    """Read what a JSON file of a release holds.

    ``known_samples`` are the explanations computed here, ``ids`` the names of samples of the
    release there. Names are never guessed: number 328 of the release is not image 000000000328 of
    COCO. A sample that is not known must come with its files and gets a row in the table of shown
    explanations.
    """
    if not is_released(content, file):
        raise InputError("holds no entries of a release", file=file, expected=f"the keys of {FILE}")
    return _Reader(file.parent, known_samples, ids or {}).read(content, file.name)


def is_released(content: Any, file: Path) -> bool:
    """Whether parsed JSON looks like a release; one without votes has people in study.json."""
    if content == [] and (file.parent / STUDY).is_file():
        return True
    return isinstance(content, list) and any(
        isinstance(entry, dict) and ("Annotation" in entry or "explication" in entry)
        for entry in content
    )


class _ForeignError(Exception):
    """An entry is about no sample: the problem, a fix, and what was found."""


def _sample(entry: Any) -> str:
    """The sample of an entry, by its own word or by the name of its picture."""
    if not isinstance(entry, dict):
        raise _ForeignError("an entry is no object", "give every entry its keys", entry)
    given, path = entry.get("sample_id"), entry.get("explication")
    named = read_name(path) if is_text(path) else None
    if given is None:
        if not is_text(path):
            fix = "give the path of the shown explanation"
            raise _ForeignError("an entry does not say what it shows", fix, path)
        if named is None or named.sample_id is None:
            fix = "name it {dataset}_{image_id}_{number of the technique}.png"
            raise _ForeignError("a shown explanation has a foreign name", fix, path)
        return named.sample_id
    if not is_text(given) or len(given.split("/")) != _SAMPLE_PARTS:
        raise _ForeignError(
            "a sample id cannot be read", "write dataset/image/method/backbone", given
        )
    if named and named.sample_id not in (None, given) and "_" not in given.split("/")[1]:
        fix = "correct the sample id or the name of the picture"
        raise _ForeignError("sample id and picture contradict each other", fix, path)
    return given


class _Reader:
    def __init__(self, folder: Path, known: pd.Index | None, ids: Mapping[str, str]) -> None:
        self.collected = Collector()
        self.below = Below(folder)
        self.known = frozenset(known if known is not None else ())
        self.ids = ids
        self.anonymous: set[str] = set()

    def read(self, entries: list[Any], source: str) -> Submission:
        folder = self.below.root
        for at, entry in enumerate(entries, start=1):
            sample = self._sample(entry, f"entry {at}")
            if sample is not None:
                self._entry(entry, self.ids.get(sample, sample), f"entry {at}")
        self._study(read_study(folder))
        return self.collected.submission(source, "released", claimed_protocol(folder))

    def _sample(self, entry: Any, place: str) -> str | None:
        """The sample of an entry, or None and a finding."""
        try:
            return _sample(entry)
        except _ForeignError as reason:
            problem, fix, found = reason.args
            self.collected.find(problem, fix, place, "explication", found)
            return None

    def _entry(self, entry: dict[str, Any], sample: str, place: str) -> None:
        unknown = len(entry.keys() - ENTRY_KEYS)
        if unknown:
            self.collected.dropped["unknown keys of entries"] += unknown
        self._paths(entry, sample, place)
        votes = entry.get("Annotation")
        if not isinstance(votes, list):
            fix = "give a list with one object for each annotator"
            self.collected.find("an entry has no list of votes", fix, place, "Annotation", votes)
            return
        for at, vote in enumerate(votes, start=1):
            self._annotation(vote, sample, at, f"{place}, Annotation {at}")

    def _paths(self, entry: dict[str, Any], sample: str, place: str) -> None:
        good = True
        found = {key: entry[key] for key in PATHS if is_text(entry.get(key))}
        entry = entry | {key: self.below.tail(path) for key, path in found.items()}
        for key in PATHS:
            path = entry.get(key)
            if path is None:
                continue
            reason = self.below.refusal(path) if is_text(path) else "is no text"
            if reason is not None:
                good = False
                self.collected.find(
                    f"a path {reason}",
                    "give paths relative to the folder of the JSON file",
                    place,
                    key,
                    path,
                    "shown",
                )
        if good and sample not in self.known:
            self._shown(entry, sample, place)

    def _shown(self, entry: dict[str, Any], sample: str, place: str) -> None:
        missing = [
            key
            for key in ("img", "activations")
            if entry.get(key) is None or not self.below.holds(entry[key])
        ]
        for key in missing:
            self.collected.find(
                "a sample is not known here and its file is missing",
                "put the files of the release beside it, or compute the explanation first",
                place,
                key,
                entry.get(key),
                "shown",
            )
        if missing:
            return
        activations = self.below.relative(entry["activations"])
        kind = KINDS.get(Path(activations).suffix.lower(), "")
        classes = {key: entry.get(key) for key in ("GTclass", "predictedclass")}
        for key, name in classes.items():
            if not is_text(name):
                fix = "give the name of the class as text"
                self.collected.find("a class has no name", fix, place, key, name, "shown")
        label, predicted = map(shown, classes.values())
        image = self.below.relative(entry["img"])
        root = str(self.below.root)
        self.collected.add("shown", place, sample, kind, label, predicted, image, activations, root)

    def _annotation(self, vote: Any, sample: str, number: int, place: str) -> None:
        if not isinstance(vote, dict):
            fix = "give an object with Q1 to Q6"
            self.collected.find("a vote is no object", fix, place, "Annotation", vote)
            return
        person = vote.get("annotator", f"anonymous-{number}")
        if not is_text(person):
            fix = "give the annotator's name as text"
            self.collected.find("an annotator has no name", fix, place, "annotator", person)
            return
        if "annotator" not in vote:
            self.anonymous.add(person)
        self.collected.people.setdefault(person, place)
        at, fake = vote.get("submitted_at"), vote.get("simulated", False)
        for key, value in vote.items():
            simulated = shown(_for(fake, key, False))
            if key == "Q0.1" and not is_text(value):
                fix = "give the annotator's words as text"
                self.collected.find(
                    "a description is no text", fix, place, key, value, "descriptions"
                )
            elif key == "Q0.1":
                self.collected.add("descriptions", place, sample, person, shown(value), simulated)
            elif key == "Q0.2":
                self._boxes(value, sample, person, place, simulated)
            elif key.startswith("Q"):
                time = shown(_for(at, key, None))
                self.collected.add(
                    "votes", place, sample, person, key, shown(value), time, simulated
                )
            elif key not in _OWN_KEYS:
                fix = "keep Q1 to Q6 and leave out what is no answer"
                self.collected.find("a vote has an unknown key", fix, place, key, value)

    def _boxes(self, boxes: Any, sample: str, person: str, place: str, fake: str) -> None:
        if not isinstance(boxes, list) or not all(isinstance(box, dict) for box in boxes):
            fix = "give a list of objects with x0, y0, x1 and y1"
            self.collected.find("boxes cannot be read", fix, place, "Q0.2", boxes, "boxes")
            return
        for at, box in enumerate(boxes):
            corners = [shown(box.get(side)) for side in BOX]
            number = shown(box.get("box", str(at)))
            self.collected.add("boxes", place, sample, person, number, *corners, fake)

    def _study(self, study: dict[str, Any]) -> None:
        if study.get("annotators") is None:
            for person, place in self.collected.people.items():
                about = {"anonymous": person in self.anonymous}
                self.collected.annotator(place, person, about)
        for at, row in self._rows(study, "annotators"):
            self.collected.annotator(at, shown(row.get("annotator_id")), row)
        for at, row in self._rows(study, "rankings"):
            person, question, item, position = (
                shown(row.get(name)) for name in ("annotator_id", "question", "item", "position")
            )
            fake = shown(row.get("simulated", False))
            self.collected.add("rankings", at, person, question, item, position, fake)

    def _rows(self, study: dict[str, Any], table: str) -> list[tuple[str, dict[str, Any]]]:
        rows = study.get(table, [])
        if rows is None:
            return []
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            fix = "give a list of objects"
            place = "study.json"
            self.collected.find("a table cannot be read", fix, place, table, rows, table)
            return []
        return [(f"study.json, {table} {at}", row) for at, row in enumerate(rows, start=1)]


def _for(value: Any, key: str, missing: Any) -> Any:
    """The value that holds for all questions, or the one for this question."""
    return value.get(key, missing) if isinstance(value, dict) else value


# Writing


@dataclass(frozen=True)
class View:
    """An image, its explanation, and the picture that people saw of it."""

    image: Image
    activations: Activations
    picture: Image | None = None


@dataclass(frozen=True)
class Rated:
    """What was rated: classes in the study's words, and the view with its perturbed twin."""

    label: str
    predicted: str
    view: View
    perturbed: View | None = None


def write_released(
    annotations: Frames,
    out: Path,
    protocol: str,
    rated: Callable[[str], Rated] | None = None,
) -> None:
    """Write a new folder in the format of the release.

    ``rated`` gives what belongs to a sample id, one at a time. Without it only the JSON files are
    written, which can be imported where the samples are known. Samples of the table of shown
    explanations keep the paths of their files, so that a release goes out as it came in; their
    files are copied.
    """
    shown = {str(row["sample_id"]): row for row in plain_rows(annotations["shown"])}
    votes = _by_sample(annotations)
    with new_folder(out) as temporary:
        entries = []
        for sample in sorted({*votes, *shown}):
            if sample in shown:
                entry = _copied(shown[sample], temporary, sample)
            elif rated is not None:
                entry = _written(rated(sample), temporary, sample)
            else:
                entry = {"explication": f"expl/{stem(sample)}.png"}
            people = votes.get(sample, {})
            entry |= {"sample_id": sample, "Annotation": [people[one] for one in sorted(people)]}
            entries.append(entry)
        text = json.dumps(entries, indent=1, allow_nan=False)
        (temporary / FILE).write_text(text + "\n", encoding="utf-8")
        write_json(_study(annotations, protocol), temporary / STUDY)


def _study(annotations: Frames, protocol: str) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "annotators": plain_rows(annotations["annotators"]),
        "rankings": plain_rows(annotations["rankings"]),
    }


def _by_sample(annotations: Frames) -> dict[str, dict[str, dict[str, Any]]]:
    """One object for each sample and annotator, with all that the annotator said."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    times: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    fakes: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)

    def one(sample: str, person: str, question: str, fake: bool) -> dict[str, Any]:
        fakes[sample, person][question] = fake
        return found[sample].setdefault(person, {"annotator": person})

    votes = annotations["votes"]
    at = as_text(votes["submitted_at"]).to_pylist()
    cells = votes[["sample_id", "annotator_id", "question", "rating", "simulated"]]
    for (sample, person, question, rating, fake), time in zip(tuples(cells), at, strict=True):
        one(sample, person, question, fake)[question] = rating
        if time:
            times[sample, person][question] = time
    for sample, person, text, fake in tuples(annotations["descriptions"]):
        one(sample, person, "Q0.1", fake)["Q0.1"] = text
    for sample, person, number, *corners, fake in tuples(annotations["boxes"]):
        box = {"box": number, **dict(zip(BOX, corners, strict=True))}
        one(sample, person, "Q0.2", fake).setdefault("Q0.2", []).append(box)
    for (sample, person), values in fakes.items():
        answer = found[sample][person]
        if any(values.values()):
            answer["simulated"] = _common(values)
        if times.get((sample, person)):
            rated = [key for key in answer if key.startswith("Q") and not key.startswith("Q0")]
            by_question = times[sample, person]
            answer["submitted_at"] = _common({key: by_question.get(key) for key in rated})
    return found


def _common(values: Mapping[str, Any]) -> Any:
    """The one value that all have, or all of them by question."""
    return next(iter(values.values())) if len(set(values.values())) == 1 else dict(values)


def _written(rated: Rated, folder: Path, sample: str) -> dict[str, Any]:
    dataset, image_id, *_ = sample.split("/")
    named = f"{dataset}_{image_id}_{rated.label}".replace("/", "_").replace(" ", "_")
    entry = _view(rated.view, folder, "", named, stem(sample))
    if rated.perturbed is not None:
        entry |= _view(rated.perturbed, folder, "pertubated", f"{stem(sample)}", stem(sample))
    return {**entry, "GTclass": rated.label, "predictedclass": rated.predicted}


def _view(view: View, folder: Path, suffix: str, image: str, name: str) -> dict[str, str]:
    """Save a view; ``suffix`` tells the perturbed one apart, in keys and folders."""
    concepts = isinstance(view.activations, Mapping)
    paths = {
        f"img{suffix}": f"img{suffix}/{image}.png",
        f"explication{suffix}": f"expl{suffix}/{name}.png",
        f"activations{suffix}": f"activations{suffix}/{name}.{'json' if concepts else 'npy'}",
    }
    for path in paths.values():
        (folder / path).parent.mkdir(exist_ok=True)
    files = [folder / path for path in paths.values()]
    _save_image(view.image, files[0])
    if view.picture is not None:
        _save_image(view.picture, files[1])
    if isinstance(view.activations, Mapping):
        values = {str(key): float(value) for key, value in view.activations.items()}
        files[2].write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    else:
        np.save(files[2], view.activations, allow_pickle=False)
    return paths


def _save_image(image: Image, path: Path) -> None:
    if not path.exists():  # many samples show the same image
        Pictures.fromarray(image).save(path)


def _copied(row: Mapping[str, Any], folder: Path, sample: str) -> dict[str, Any]:
    below = Below(Path(row["root"]))
    for path in (row["image"], row["activations"]):
        if below.refusal(path) is not None or not below.holds(path):
            raise PastaError(f"{path}: the file of {sample} is not found in {row['root']}")
        target = folder / path
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((below.root / path).read_bytes())
    return {
        "img": row["image"],
        "explication": f"expl/{stem(sample)}.png",
        "activations": row["activations"],
        "GTclass": row["label"],
        "predictedclass": row["predicted"],
    }
