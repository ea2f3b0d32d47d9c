"""Writing of annotations as a release: the JSON file, images and activations.

This module knows nothing of models: what a sample looks like comes from a callback.
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

from pasta.errors import PastaError
from pasta.store import write_json
from pasta.studies.ratings.formats.files import STUDY, Below, new_folder
from pasta.studies.ratings.formats.released import FILE
from pasta.studies.ratings.formats.released_ids import stem
from pasta.studies.ratings.formats.rows import plain_rows, tuples
from pasta.studies.ratings.records import Annotations
from pasta.tables import BOX
from pasta.text_files import as_text

Image = NDArray[np.uint8]  # height x width x 3
Activations = NDArray[Any] | Mapping[str, float]  # a saliency map, or a value for each concept


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
    annotations: Annotations,
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
    shown = {str(row["sample_id"]): row for row in plain_rows(annotations.shown)}
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


def _study(annotations: Annotations, protocol: str) -> dict[str, Any]:
    return {
        "protocol": protocol,
        "annotators": plain_rows(annotations.annotators),
        "rankings": plain_rows(annotations.rankings),
    }


def _by_sample(annotations: Annotations) -> dict[str, dict[str, dict[str, Any]]]:
    """One object for each sample and annotator, with all that the annotator said."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    times: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    fakes: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)

    def one(sample: str, person: str, question: str, fake: bool) -> dict[str, Any]:
        fakes[sample, person][question] = fake
        return found[sample].setdefault(person, {"annotator": person})

    votes = annotations.votes
    at = as_text(votes["submitted_at"]).to_pylist()
    cells = votes[["sample_id", "annotator_id", "question", "rating", "simulated"]]
    for (sample, person, question, rating, fake), time in zip(tuples(cells), at, strict=True):
        one(sample, person, question, fake)[question] = rating
        if time:
            times[sample, person][question] = time
    for sample, person, text, fake in tuples(annotations.descriptions):
        one(sample, person, "Q0.1", fake)["Q0.1"] = text
    for sample, person, number, *corners, fake in tuples(annotations.boxes):
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
