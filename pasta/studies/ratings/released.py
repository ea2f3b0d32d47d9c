"""The votes of a release, and releases of our own. :mod:`pasta.datasets.released` has the format.

``Annotation`` of an entry is a list with one object for each vote, with ``Q1`` to ``Q6``; a
question may be missing. Both batches of the release have this shape. People are anonymous there:
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
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pictures

from pasta.datasets.released import ACTIVATIONS, FILE, PICTURES, ForeignError, identify
from pasta.errors import InputError
from pasta.explanations.techniques import RELEASED, released_technique
from pasta.json_files import STUDY, claimed_protocol, is_text, new_folder, read_study, shown
from pasta.store import write_json
from pasta.studies.base import Frames, Submission
from pasta.studies.ratings.rows import Collector, plain_rows, tuples
from pasta.tables import BOX
from pasta.text_files import as_text

ENTRY_KEYS = frozenset(
    {*PICTURES, *ACTIVATIONS, "GTclass", "predictedclass", "Annotation", "sample_id"}
)
_OWN_KEYS = frozenset({"annotator", "submitted_at", "simulated"})

Image = NDArray[np.uint8]  # height x width x 3
Activations = NDArray[Any] | Mapping[str, float]  # a saliency map, or a value for each concept


def stem(sample_id: str) -> str:
    """The file name of a sample without suffix; techniques without number go by their name."""
    dataset, image_id, method, backbone = sample_id.split("/")
    number = RELEASED.get(f"{method}/{backbone}")
    return f"{dataset}_{image_id}_{f'{method}-{backbone}' if number is None else number}"


# Reading


def from_content(content: Any, file: Path, ids: Mapping[str, str] | None = None) -> Submission:
    """Read the votes in a JSON file of a release.

    ``ids`` are our names of samples by those of the release. Names are never guessed: number 328 of
    the release is not image 000000000328 of COCO. Images and explanations of a release come in as
    datasets, see :mod:`pasta.datasets.released`.
    """
    if not is_released(content, file):
        raise InputError("holds no entries of a release", file=file, expected=f"the keys of {FILE}")
    return _Reader(file.parent, ids or {}).read(content, file.name)


def is_released(content: Any, file: Path) -> bool:
    """Whether parsed JSON looks like a release; one without votes has people in study.json."""
    if content == [] and (file.parent / STUDY).is_file():
        return True
    return isinstance(content, list) and any(
        isinstance(entry, dict) and ("Annotation" in entry or "explication" in entry)
        for entry in content
    )


def sample_of(entry: Any) -> str:
    """The sample that an entry is about."""
    dataset, image_id, named, number = identify(entry)
    return f"{dataset}/{image_id}/{released_technique(named, number)}"


class _Reader:
    def __init__(self, folder: Path, ids: Mapping[str, str]) -> None:
        self.collected = Collector()
        self.folder, self.ids = folder, ids
        self.anonymous: set[str] = set()

    def read(self, entries: list[Any], source: str) -> Submission:
        for at, entry in enumerate(entries, start=1):
            sample = self._sample(entry, f"entry {at}")
            if sample is not None:
                self._entry(entry, self.ids.get(sample, sample), f"entry {at}")
        self._study(read_study(self.folder))
        return self.collected.submission(source, "released", claimed_protocol(self.folder))

    def _sample(self, entry: Any, place: str) -> str | None:
        """The sample of an entry, or None and a finding."""
        try:
            return sample_of(entry)
        except ForeignError as reason:
            problem = reason.at(place)
            fix = f"expected {problem.expected}"
            self.collected.find(problem.problem, fix, place, "explication", problem.file)
            return None

    def _entry(self, entry: dict[str, Any], sample: str, place: str) -> None:
        unknown = len(entry.keys() - ENTRY_KEYS)
        if unknown:
            self.collected.dropped["unknown keys of entries"] += unknown
        votes = entry.get("Annotation")
        if not isinstance(votes, list):
            fix = "give a list with one object for each annotator"
            self.collected.find("an entry has no list of votes", fix, place, "Annotation", votes)
            return
        for at, vote in enumerate(votes, start=1):
            self._annotation(vote, sample, at, f"{place}, Annotation {at}")

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
    written, which can be imported where the samples are known.
    """
    votes = _by_sample(annotations)
    with new_folder(out) as temporary:
        entries = []
        for sample in sorted(votes):
            if rated is not None:
                entry = _written(rated(sample), temporary, sample)
            else:
                entry = {"explication": f"expl/{stem(sample)}.png"}
            people = votes[sample]
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
