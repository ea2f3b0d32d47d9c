"""Explanations of a release, stored as if they had been computed here.

Saliency maps are arrays (height, width) of their image's size: from 0 up, signed, or ternary as
LIME's; a B-cos map (height, width, 4) is a coloured picture whose opacity says how much a pixel
matters. Concepts are JSON objects whose keys contain the concept ("a photo of a wheel"); those of
CLIP-QDA-sample have it before a bracket, and their values are distances to another decision, small
where a concept is important. As in our own version, 1 / distance is the attribution.

A release has one perturbed copy of each image at most. It is stored as the light one: people are
asked whether its explanation has changed although the prediction has not.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from pasta import store
from pasta.datasets.files.images import SUFFIXES, fit, fit_map
from pasta.datasets.released import Entry, ForeignError, Problem, Release, read_picture, refuse
from pasta.datasets.stored import StoredDataset
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import InputError, PastaError
from pasta.explanations.attribution import scaled, statuses
from pasta.explanations.catalog import METHODS
from pasta.explanations.methods.self_explaining import NEAREST
from pasta.explanations.stored import (
    STRENGTHS,
    copies_file,
    seen_folder,
    write_rows,
    write_values,
)
from pasta.explanations.techniques import (
    METHOD_TITLES,
    Kind,
    Sign,
    Stage,
    Technique,
    released_technique,
)
from pasta.json_files import load_json
from pasta.processes import map_units
from pasta.progress import bar

FACTS, LEFT_OUT = "techniques.json", "left_out.json"
DISTANCES = "clip_qda/clip_qda"  # its values are distances, its keys have brackets
PERTURBATION = "released"  # nobody says which one it was
_LITTLE = 2000  # explanations that are read in seconds
_CHANNELS = 4  # of a B-cos map: red, green, blue, opacity
_BRACKET = re.compile(r"[(\[{]")

Floats = NDArray[np.float32]


def technique_key(entry: Entry) -> str:
    """``method/backbone`` of an entry."""
    return released_technique(entry.technique, entry.number)


def sample_id(entry: Entry) -> str:
    """``dataset/image/method/backbone`` of an entry."""
    return f"{entry.dataset}/{entry.image_id}/{technique_key(entry)}"


def read_facts(root: Path) -> dict[str, dict[str, Any]]:
    """Titles and signs of techniques that are not known here, from ``techniques.json``."""
    file = root / FACTS
    if not file.is_file():
        return {}
    found = load_json(file)
    expected = 'an object such as {"mine/resnet50": {"title": "Mine", "sign": "signed"}}'
    choices = {"sign": get_args(Sign), "stage": get_args(Stage), "kind": get_args(Kind)}
    if not isinstance(found, dict) or not all(isinstance(own, dict) for own in found.values()):
        raise InputError("does not describe techniques", file=file, expected=expected)
    for key, own in found.items():
        for name, value in own.items():
            if name != "title" and value not in choices.get(name, ()):
                raise InputError(f"{key} has the {name} {value!r}", file=file, expected=expected)
    return found


# Maps and concepts


def read_map(root: Path, path: str, size: tuple[int, int]) -> Floats:
    """A map of the width and height of its image; of a B-cos map the opacity."""
    expected = "numbers as numpy.save writes them"
    try:
        values = np.load(root / path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ForeignError(f"the map cannot be read: {error}", expected, path) from error
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "bfiu":
        raise ForeignError("the map holds no numbers", expected, path)
    wanted = size[::-1]
    if values.ndim == 3 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 3 and values.shape[2] in (1, _CHANNELS):
        values = values[..., -1]
    if values.shape != wanted:
        found = " x ".join(map(str, values.shape))
        of_image = f"{wanted[0]} x {wanted[1]}, the height and width of its image"
        raise ForeignError(f"the map is {found}", of_image, path)
    return np.asarray(values, dtype=np.float32)


def is_coloured(root: Path, path: str) -> bool:
    """Whether a map is a B-cos picture, whose opacity has no sign."""
    shape = np.load(root / path, mmap_mode="r", allow_pickle=False).shape
    return len(shape) == 3 and shape[2] == _CHANNELS


def read_concepts(root: Path, path: str, key: str, names: Sequence[str]) -> dict[str, float]:
    """Attributions by concept; ``names`` are the dataset's concepts, ``key`` the technique."""
    expected = "an object with a number for each concept"
    try:
        found = load_json(root / path)
    except PastaError as error:
        problem = error.problem if isinstance(error, InputError) else str(error)
        raise ForeignError(problem, expected, path) from error
    if not isinstance(found, dict) or not found:
        raise ForeignError("holds no concepts", expected, path)
    values: dict[str, float] = {}
    for word, value in found.items():
        try:
            values[word] = float(value)
        except (TypeError, ValueError):
            raise ForeignError(f"{word!r} has the value {value!r}", expected, path) from None
    if key == DISTANCES:
        values = {word: _importance(value) for word, value in values.items()}
    meant = {word: concept_in(word, names, before_bracket=key == DISTANCES) for word in values}
    counts = list(meant.values())
    # two keys with the same concept in them stay what they are
    return {
        meant[word] if counts.count(meant[word]) == 1 else word.strip(): value
        for word, value in values.items()
    }


def _importance(distance: float) -> float:
    return float(np.copysign(1 / max(abs(distance), NEAREST), distance))


def concept_in(key: str, names: Sequence[str], before_bracket: bool = False) -> str:
    """The longest concept whose words are in a key; a key without any is a concept itself.

    >>> concept_in("a photo of an artifact wing", ["wing", "artifact wing"])
    'artifact wing'
    >>> concept_in("wheel (+)", ["wheel"], before_bracket=True)
    'wheel'
    """
    text = _BRACKET.split(key)[0] if before_bracket else key
    words = f" {_words(text)} "
    inside = [name for name in names if f" {_words(name)} " in words]
    return max(inside, key=len, default=text.strip() or key)


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


# A group


@dataclass(frozen=True)
class Reading:
    """The entries of one technique of a dataset, and what is needed to read them."""

    root: Path
    key: str
    kind: str
    entries: tuple[Entry, ...]
    sizes: Mapping[str, tuple[int, int]]  # width and height of each image
    concepts: tuple[str, ...]
    side: int  # of stored maps


@dataclass(frozen=True)
class Read:
    """What the files of a technique say: rows are originals, then perturbed copies."""

    originals: tuple[Entry, ...]
    copies: tuple[Entry, ...]
    values: NDArray[np.float16]  # maps, or rows x concepts, each row by its scale
    names: tuple[str, ...]  # of concepts
    statuses: tuple[str, ...]
    scales: NDArray[np.float64]
    coloured: bool  # B-cos pictures, whose opacity has no sign
    problems: tuple[Problem, ...]


def read_technique(unit: Reading) -> Read:
    """Read every file of a technique; an entry with a broken one is a problem."""
    originals: dict[Entry, Any] = {}
    copies: dict[Entry, Any] = {}
    problems: list[Problem] = []
    coloured = False
    for entry in unit.entries:
        try:
            original = _attribution(unit, entry.activations, unit.sizes[entry.image_id])
            if entry.picture is not None:
                read_picture(unit.root, entry.picture)
            if entry.copy is not None and entry.copy_activations is not None:
                size = read_picture(unit.root, entry.copy).size
                copies[entry] = _attribution(unit, entry.copy_activations, size)
            if unit.kind == "saliency":
                coloured |= is_coloured(unit.root, entry.activations)
        except ForeignError as error:
            problems.append(error.at(entry.place))
            continue
        originals[entry] = original
    values, names = _stack(unit, [*originals.values(), *copies.values()])
    halves, scales = scaled(values)
    told = tuple(statuses(values)) if len(values) else ()
    known = (tuple(originals), tuple(copies), halves, names, told, scales)
    return Read(*known, coloured, tuple(problems))


def _attribution(unit: Reading, path: str, size: tuple[int, int]) -> Floats | dict[str, float]:
    if unit.kind == "concept":
        return read_concepts(unit.root, path, unit.key, unit.concepts)
    return fit_map(read_map(unit.root, path, size), unit.side)


def explain_released(
    release: Release, dataset: StoredDataset, folder: Path, lenient: bool = False
) -> tuple[Problem, ...]:
    """Store the explanations that a release has of a dataset's images.

    Parameters
    ----------
    release
        The release.
    dataset
        Its images, as they are stored.
    folder
        Where the explanations go; it is made anew.
    lenient
        Leave entries out that cannot be used. Returns what was left out.

    Raises
    ------
    InputError
        Entries cannot be used, unless it is ``lenient``. Nothing is stored then.
    """
    name = dataset.vocabulary.dataset
    frame = dataset.images
    columns = (frame["image_id"], frame["width"], frame["height"])
    sizes = {str(one): (int(wide), int(high)) for one, wide, high in zip(*columns, strict=True)}
    side = dataset.pixels.shape[1]
    units, problems = plan_readings(release.root, release.of(name), sizes, name, side)
    facts = read_facts(release.root)
    entries = sum(len(unit.entries) for unit in units)
    shelf = _Shelf(dataset, release.root)
    shutil.rmtree(folder, ignore_errors=True)
    with (
        store.atomic_folder(folder) as temporary,
        bar(f"explanations of {name}", entries, "explanations") as line,
    ):
        for place, read in map_units(read_technique, units, little=entries <= _LITTLE):
            unit = units[place]
            problems += read.problems
            if read.originals:
                shelf.add(temporary, _technique(unit, read, facts), read)
            line.advance(len(unit.entries), unit.key)
        refuse(release.file, problems, lenient)
        if not shelf.known:
            expected = f"explanations of images of {name}"
            raise InputError("has nothing that can be used", file=release.file, expected=expected)
        shelf.finish(temporary)
        store.write_json([str(problem) for problem in problems], temporary / LEFT_OUT)
    return tuple(problems)


def plan_readings(
    root: Path,
    entries: Sequence[Entry],
    sizes: Mapping[str, tuple[int, int]],
    dataset: str,
    side: int,
) -> tuple[list[Reading], list[Problem]]:
    """The entries of each technique in the order of the images, and what no reading can mend.

    ``sizes`` are width and height of each image; ``side`` is that of stored maps.
    """
    order = {name: place for place, name in enumerate(sizes)}
    problems: list[Problem] = []
    first: dict[str, Entry] = {}
    by_technique: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        try:
            sample = sample_id(entry)
            if entry.image_id not in sizes:
                expected = "an image that the stage `images` has read"
                raise ForeignError("its image was left out", expected, entry.image)
            if sample in first:
                expected = "one entry with all votes on it"
                problem = f"is about the same explanation as {first[sample].place}, {sample}"
                raise ForeignError(problem, expected, entry.activations)
            kind = _known_kind(technique_key(entry), by_technique)
            if kind not in ("", entry.kind):
                raise ForeignError(
                    f"is a file of {entry.kind} explanations, but {technique_key(entry)} gives "
                    f"{kind} ones",
                    ".npy for a map, .json for concepts",
                    entry.activations,
                )
        except ForeignError as error:
            problems.append(error.at(entry.place))
            continue
        first[sample] = entry
        by_technique[technique_key(entry)].append(entry)
    readings = [
        Reading(
            root,
            key,
            own[0].kind,
            tuple(sorted(own, key=lambda entry: order[entry.image_id])),
            {entry.image_id: sizes[entry.image_id] for entry in own},
            vocabulary(dataset).concepts,
            side,
        )
        for key, own in by_technique.items()
    ]
    return readings, problems


def _known_kind(key: str, entries: Mapping[str, Sequence[Entry]]) -> str:
    """What a technique gives: as the catalogue says, or as its first entry; or nobody knows."""
    method = key.partition("/")[0]
    if method in METHODS:
        about = METHODS.entry(method).metadata
        return "saliency" if about["attribution"] == "image" else "concept"
    return entries[key][0].kind if entries.get(key) else ""


def _technique(unit: Reading, read: Read, facts: Mapping[str, Mapping[str, Any]]) -> Technique:
    """What must be known to show its maps; the sign of a foreign technique is that of its maps."""
    method, _, backbone = unit.key.partition("/")
    own = facts.get(unit.key, {})
    about = METHODS.entry(method).metadata if method in METHODS else {}
    negative = unit.kind == "concept" or bool((read.values < 0).any())
    sign: Sign = own.get("sign") or about.get("sign") or ("signed" if negative else "positive")
    if read.coloured:
        sign = "positive"
    title = own.get("title") or about.get("title") or METHOD_TITLES.get(method, method)
    stage: Stage = own.get("stage") or about.get("stage") or "post-hoc"
    kind: Kind = "concept" if unit.kind == "concept" else "saliency"
    return Technique(method, backbone, str(title), kind, sign, stage)


@dataclass
class _Shelf:
    """Writes techniques one after the other, and at the end what is known of all of them."""

    dataset: StoredDataset
    root: Path  # of the release
    known: dict[Technique, Read] = field(default_factory=dict)  # without their values
    copies: dict[str, dict[str, int]] = field(default_factory=dict)  # backbone: file: row

    def add(self, folder: Path, technique: Technique, read: Read) -> None:
        """Write the attributions of a technique, and the pictures that people saw."""
        write_values(folder, technique, read.values, read.names)
        shown = [entry for entry in read.originals if entry.picture is not None]
        place = seen_folder(folder, technique)
        if shown:
            place.mkdir(parents=True)
        for entry in shown:
            picture = self.root / str(entry.picture)
            suffix = picture.suffix.lower() if picture.suffix.lower() in SUFFIXES else ".png"
            shutil.copyfile(picture, place / f"{entry.image_id}{suffix}")
        self.known[technique] = replace(read, values=np.empty(0, dtype=np.float16))

    def finish(self, folder: Path) -> None:
        """Write the tables and the perturbed images."""
        explained: list[dict[str, Any]] = []
        perturbed: list[dict[str, Any]] = []
        techniques = sorted(self.known, key=lambda one: (*one.place, one.key))
        for technique in techniques:
            read = self.known[technique]
            for row, entry in enumerate((*read.originals, *read.copies)):
                about = {
                    "sample_id": sample_id(entry),
                    "predicted": entry.predicted,
                    "status": read.statuses[row],
                    "scale": float(read.scales[row]),
                    "row": row,
                }
                if row < len(read.originals):
                    explained.append(about | _identity(entry, technique))
                else:
                    place = self._place(technique.backbone, str(entry.copy))
                    perturbed.append(about | _copied(place))
        for backbone, places in self.copies.items():
            self._write_copies(copies_file(folder, backbone), list(places))
        write_rows(folder, self.dataset.images, explained, perturbed, techniques)

    def _place(self, backbone: str, path: str) -> int:
        """The row of a perturbed image, which several techniques may explain."""
        own = self.copies.setdefault(backbone, {})
        return own.setdefault(path, len(own))

    def _write_copies(self, file: Path, paths: Sequence[str]) -> None:
        side = self.dataset.pixels.shape[1]
        with store.new_array(file, (len(paths), side, side, 3), np.uint8) as pixels:
            for row, path in enumerate(paths):
                pixels[row] = np.asarray(fit(read_picture(self.root, path), side))


def _identity(entry: Entry, technique: Technique) -> dict[str, Any]:
    return {
        "dataset": entry.dataset,
        "image_id": entry.image_id,
        "method": technique.method,
        "backbone": technique.backbone,
        "kind": technique.kind,
    }


def _copied(place: int) -> dict[str, Any]:
    return {
        "strength": STRENGTHS[0],
        "perturbation": PERTURBATION,
        "magnitude": float("nan"),
        "changed": False,
        "copy": place,
    }


def _stack(unit: Reading, every: Sequence[Any]) -> tuple[Floats, tuple[str, ...]]:
    """Maps as one array, or concepts as one, with their names; one that is not named has 0."""
    if unit.kind == "saliency":
        empty: Floats = np.empty((0, unit.side, unit.side), dtype=np.float32)
        return np.stack(every) if every else empty, ()
    found = dict.fromkeys(name for one in every for name in one)
    known = [name for name in unit.concepts if name in found]
    names = (*known, *(name for name in found if name not in unit.concepts))
    values = [[one.get(name, 0.0) for name in names] for one in every]
    return np.array(values, dtype=np.float32).reshape(len(every), len(names)), names


def find_problems(release: Release) -> list[Problem]:
    """Everything that the stages `images` and `explain` would stop at; every file is opened."""
    problems: list[Problem] = []
    with bar("files of the release", len(release.entries), "explanations") as line:
        for dataset in dict.fromkeys(entry.dataset for entry in release.entries):
            entries = release.of(dataset)
            sizes: dict[str, tuple[int, int]] = {}
            for entry in {one.image_id: one for one in reversed(entries)}.values():
                try:
                    sizes[entry.image_id] = read_picture(release.root, entry.image).size
                except ForeignError as error:
                    problems.append(error.at(entry.place))
            known = [entry for entry in entries if entry.image_id in sizes]
            units, wrong = plan_readings(release.root, known, sizes, dataset, 1)
            problems += wrong
            for _, read in map_units(read_technique, units, little=len(known) <= _LITTLE):
                problems += read.problems
                line.advance(len(read.originals) + len(read.problems))
    return problems
