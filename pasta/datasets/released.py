"""A release of rated explanations: ``human_annotations.json`` beside its pictures and maps.

The released PASTA dataset (ENSTA-U2IS/PASTA) is one, and any rated explanations are as soon as
their folder holds what :data:`LAYOUT` says. The file is a list with one entry for each explanation:

- ``img``: the image; ``explication``: the picture that people saw; ``activations``: a map
  (``.npy``) or concepts (``.json``). Where this key is missing it is the path of the picture with
  ``/activations/`` for ``/expl/`` and ``.npy`` or ``.json`` for ``.png``.
- ``imgpertubated``, ``explicationpertubated``, ``activationspertubated`` (spelt so): the same of a
  perturbed copy.
- ``GTclass``, ``predictedclass``: the true class and the one that is explained; and ``Annotation``,
  the votes, which :mod:`pasta.studies.ratings.released` reads.

The picture's name ``{dataset}_{image_id}_{number of the technique}....png`` says what an entry is
about, or ``sample_id`` (``dataset/image/method/backbone``) does. All images are in the split test:
nobody trains on them. They come without parts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from pasta import store
from pasta.datasets.files import images
from pasta.datasets.records import Item, Record
from pasta.datasets.settings import ReleaseParams
from pasta.datasets.vocabulary import VOCABULARIES, Vocabulary
from pasta.errors import InputError
from pasta.json_files import Below, is_text, load_json
from pasta.registry import did_you_mean

FILE = "human_annotations.json"
PICTURES = ("img", "explication", "imgpertubated", "explicationpertubated")
ACTIVATIONS = ("activations", "activationspertubated")
KINDS = {".npy": "saliency", ".json": "concept"}
# What may be missing in the whole of a release, but not in a part of it.
OPTIONAL = ("explication", "imgpertubated", "explicationpertubated", "activationspertubated")
_NAME = re.compile(r"([^_/\s]+)_([0-9]+)_([0-9]{1,3})(?![0-9])[^/]*")
_IMAGE = re.compile(r"([^_/\s]+)_([0-9]+)_[^/]+")
_PARTS = 4  # of a sample's id
_SHOWN = 8  # problems in a message

LAYOUT = """\
ROOT/
├── human_annotations.json    one entry for each explanation that people have rated
├── img/                      {dataset}_{image_id}_{label}.png
├── expl/                     {dataset}_{image_id}_{technique}.png, the pictures that people saw
├── activations/              {dataset}_{image_id}_{technique}.npy (a map) or .json (concepts)
├── imgpertubated/ ...        optional: the same three of a perturbed copy
├── techniques.json           optional: titles and signs of techniques that are not the papers'
└── study.json                optional: who rated, and which protocol they followed"""


class Named(NamedTuple):
    """What the name of a shown explanation says."""

    dataset: str
    image_id: str  # as it was found: plain numbers in the release
    number: int


def read_name(path: str) -> Named | None:
    """Read the last part of a path, or None if it is not named as in the release.

    >>> read_name("expl/coco_328_39_sample.png")
    Named(dataset='coco', image_id='328', number=39)
    """
    match = _NAME.fullmatch(path.replace("\\", "/").rpartition("/")[2])
    return None if match is None else Named(match[1], match[2], int(match[3]))


@dataclass(frozen=True)
class Problem:
    """What is wrong with an entry."""

    entry: str  # "entry 12"
    problem: str
    expected: str
    file: str = ""  # below the root

    def __str__(self) -> str:
        where = f"{self.entry}, {self.file}" if self.file else self.entry
        return f"{where}: {self.problem} (expected {self.expected})"


class ForeignError(Exception):
    """An entry cannot be used; the arguments are problem, expected and, if it has one, a file."""

    def at(self, entry: str) -> Problem:
        """The problem of this entry."""
        return Problem(entry, *map(str, self.args))


@dataclass(frozen=True)
class Entry:
    """One rated explanation; paths are relative to the release's folder."""

    place: str
    dataset: str
    image_id: str
    technique: int | str  # the release's number, or method/backbone
    label: str  # classes by the vocabulary
    predicted: str
    image: str
    activations: str
    picture: str | None = None
    copy: str | None = None  # of the image, perturbed
    copy_activations: str | None = None
    number: int | None = None  # of the technique, as the picture's name has it

    @property
    def kind(self) -> str:
        """Whether it is a map or a list of concepts."""
        return KINDS[Path(self.activations).suffix.lower()]


@dataclass(frozen=True)
class Release:
    """The entries of a release, and those that were left out."""

    root: Path
    entries: tuple[Entry, ...]
    left_out: tuple[Problem, ...] = ()

    @property
    def file(self) -> Path:
        """The list of entries."""
        return self.root / FILE

    def of(self, dataset: str) -> list[Entry]:
        """The entries of a dataset, in the order of the file."""
        return [entry for entry in self.entries if entry.dataset == dataset]


def read_release(root: Path, lenient: bool = False) -> Release:
    """Read the entries of a release and look for their files, which are not opened.

    Parameters
    ----------
    root
        The folder of the release.
    lenient
        Leave entries out that cannot be used, instead of refusing the whole.

    Raises
    ------
    InputError
        The file or, unless it is ``lenient``, an entry cannot be used. All problems are counted,
        the first are told with their entries.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    finder = _Finder(Below(root))
    for place, content in list_entries(root):
        try:
            entries.append(finder.entry(place, content))
        except ForeignError as error:
            problems.append(error.at(place))
    problems += finder.missing_options(entries)
    problems += list(_twice(entries))
    broken = {problem.entry for problem in problems}
    kept = tuple(entry for entry in entries if entry.place not in broken)
    refuse(root / FILE, problems, lenient)
    if not kept:
        raise InputError("holds no entry that can be used", file=root / FILE, expected="entries")
    return Release(root, kept, tuple(problems))


def open_release(settings: ReleaseParams, root: Path) -> Release:
    """The release that the parameters name, and a line for each entry that is left out.

    Parameters
    ----------
    settings
        The section ``release`` of the parameters.
    root
        Of the project; a relative folder starts there.
    """
    return read_release(root / settings.root, settings.lenient)


def refuse(file: Path, problems: Sequence[Problem], lenient: bool) -> None:
    """Raise an error that tells the first problems, unless they may be left out."""
    if lenient or not problems:
        return
    lines = [str(problem) for problem in problems[:_SHOWN]]
    if len(problems) > _SHOWN:
        lines.append(f"and {len(problems) - _SHOWN:,} more")
    number = "1 entry" if len(problems) == 1 else f"{len(problems):,} entries"
    advice = "nothing was stored; `--lenient` leaves such entries out"
    raise InputError("\n  ".join([f"{number} cannot be used, {advice}:", *lines]), file=file)


def list_entries(root: Path) -> Iterator[tuple[str, Any]]:
    """Every entry as it stands in the file, with its place."""
    file = root / FILE
    if not root.is_dir():
        raise InputError("there is no such folder", file=root, expected=f"a folder with {FILE}")
    if not file.is_file():
        near = next(iter(sorted(root.glob(f"*/{FILE}"))), None)
        hint = "" if near is None else f"; there is one in {near.parent}"
        raise InputError(f"there is no {FILE} in it{hint}", file=root, expected="a release")
    content = load_json(file)
    if not isinstance(content, list):
        raise InputError("is no list", file=file, expected="a list of entries")
    for number, entry in enumerate(content, start=1):
        yield f"entry {number}", entry


class Identity(NamedTuple):
    """What an entry is about."""

    dataset: str
    image_id: str
    technique: int | str  # the release's number, or method/backbone
    number: int | None  # of the picture's name, which must not contradict the entry's own word


def identify(entry: Any) -> Identity:
    """Dataset, image and technique of an entry, by its own word or by the picture's name."""
    if not isinstance(entry, dict):
        raise ForeignError("is no object", "an object with img, explication, Annotation ...")
    given, path = entry.get("sample_id"), entry.get("explication")
    named = read_name(path) if is_text(path) else None
    if given is None:
        if not is_text(path):
            raise ForeignError("does not say what it shows", "the path of a picture, explication")
        if named is None:
            expected = "{dataset}_{image_id}_{number of the technique}.png, or sample_id"
            raise ForeignError("the shown explanation has a foreign name", expected, path)
        return Identity(*named, named.number)
    parts = given.split("/") if is_text(given) else []
    if len(parts) != _PARTS or not all(parts):
        expected = "dataset/image/method/backbone"
        raise ForeignError(f"sample_id is {given!r}", expected)
    dataset, image_id, method, backbone = parts
    if named is None or "_" in image_id:
        return Identity(dataset, image_id, f"{method}/{backbone}", None)
    if (named.dataset, named.image_id) != (dataset, image_id):
        raise ForeignError(
            f"sample_id is {given} and the picture another one's", "one sample", str(path)
        )
    return Identity(dataset, image_id, f"{method}/{backbone}", named.number)


def class_named(words: Vocabulary, text: str) -> str | None:
    """The class of a dataset that a release may write in the plural, or with spaces.

    >>> class_named(VOCABULARIES["catsdogscars"], "cats")
    'cat'
    """
    plain = {_plain(name): name for name in words.classes}
    wanted = _plain(text)
    return plain.get(wanted) or plain.get(wanted.removesuffix("s"))


def _plain(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text.strip().lower())


@dataclass
class _Finder:
    """Makes entries of what stands in the file."""

    below: Below
    absent: list[tuple[str, str, str]] = field(default_factory=list)  # place, key, path

    def entry(self, place: str, given: Any) -> Entry:
        dataset, image_id, technique, number = identify(given)
        words = VOCABULARIES.get(dataset)
        if words is None:
            hint = did_you_mean(dataset, VOCABULARIES)
            raise ForeignError(f"is about the dataset {dataset!r}", f"a known dataset. {hint}")
        label, predicted = (self._class(given, key, words) for key in ("GTclass", "predictedclass"))
        found = {key: self._path(place, given, key) for key in PICTURES}
        image, picture = found["img"], found["explication"]
        if image is None:
            raise ForeignError("the image is missing", "a file", str(given.get("img", "img")))
        named = _IMAGE.fullmatch(image.rpartition("/")[2])
        if named and "sample_id" not in given and (named[1], named[2]) != (dataset, image_id):
            expected = f"{dataset}_{image_id}_{label}.png"
            raise ForeignError("the image is that of another id", expected, image)
        activations = self._activations(place, given, "activations", "explication")
        if activations is None:
            expected = "a .npy or .json file, as activations says or beside the picture"
            path = given.get("activations") or given.get("explication")
            raise ForeignError("the map or the list of concepts is missing", expected, str(path))
        changed = self._activations(place, given, "activationspertubated", "explicationpertubated")
        copy = found["imgpertubated"]
        whole = copy is not None and changed is not None
        return Entry(
            place,
            dataset,
            image_id,
            technique,
            label,
            predicted,
            image,
            activations,
            picture,
            copy if whole else None,
            changed if whole else None,
            number,
        )

    def missing_options(self, entries: Sequence[Entry]) -> Iterator[Problem]:
        """Files that other entries have; where nobody has them they belong to no such release."""
        there = {
            "explication": any(entry.picture for entry in entries),
            **dict.fromkeys(OPTIONAL[1:], any(entry.copy for entry in entries)),
        }
        for place, key, path in self.absent:
            if there[key]:
                yield Problem(place, "is missing", f"the file that {key} names", path)

    def _class(self, given: dict[str, Any], key: str, words: Vocabulary) -> str:
        text = given.get(key)
        found = class_named(words, text) if is_text(text) else None
        if found is None:
            expected = f"a class of {words.dataset}: {', '.join(words.classes)}"
            raise ForeignError(f"{key} is {text!r}", expected)
        return found

    def _path(self, place: str, given: dict[str, Any], key: str) -> str | None:
        """The file of a key, or None if it is not there."""
        path = given.get(key)
        if path is None:
            return None
        if not is_text(path):
            raise ForeignError(f"{key} is no text", "the path of a file")
        near = self.below.tail(path)
        reason = self.below.refusal(near)
        if reason is not None:
            raise ForeignError(f"the path {reason}", f"a path below the folder of {FILE}", path)
        if self.below.holds(near):
            return self.below.relative(near)
        if key in OPTIONAL:
            self.absent.append((place, key, path))
        return None

    def _activations(self, place: str, given: dict[str, Any], key: str, picture: str) -> str | None:
        """The file of a key or, where there is none, the one that belongs to the picture."""
        if given.get(key) is not None:
            found = self._path(place, given, key)
            if found is not None and Path(found).suffix.lower() not in KINDS:
                raise ForeignError("is neither map nor concepts", ".npy or .json", found)
            return found
        path = given.get(picture)
        if not is_text(path):
            return None
        folder, _, name = path.replace("\\", "/").rpartition("/")
        before, _, last = folder.rpartition("/")
        if not last.startswith("expl"):
            return None
        stem = f"{before}/activations{last.removeprefix('expl')}/{Path(name).stem}".lstrip("/")
        for suffix in KINDS:
            near = self.below.tail(stem + suffix)
            if self.below.refusal(near) is None and self.below.holds(near):
                return self.below.relative(near)
        return None


def _twice(entries: Sequence[Entry]) -> Iterator[Problem]:
    """Entries for a sample that has one already, and ids that mean two images."""
    samples: dict[tuple[str, str, int | str], str] = {}
    known: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        sample = (entry.dataset, entry.image_id, entry.technique)
        first = known.setdefault(sample[:2], entry)
        if (first.image, first.label) != (entry.image, entry.label):
            yield Problem(
                entry.place,
                f"the id {entry.dataset} {entry.image_id} is also that of {first.image} "
                f"({first.label}), see {first.place}",
                "one image and class for each id",
                entry.image,
            )
        elif sample in samples:
            yield Problem(
                entry.place,
                f"is about the same explanation as {samples[sample]}",
                "one entry with all votes on it",
                entry.activations,
            )
        samples.setdefault(sample, entry.place)


def digest_files(release: Release, dataset: str) -> list[tuple[str, str]]:
    """The md5 of every file that the entries of a dataset need, and of what they say of themselves.

    Votes are not among it: a release with further votes on the same explanations has the same
    images and maps.

    Parameters
    ----------
    release
        As :func:`open_release` reads it.
    dataset
        The dataset of the entries.

    Returns
    -------
    Pairs of a path below the release's folder and an md5, by path; the entries themselves stand
    under :data:`FILE`.
    """
    entries = release.of(dataset)
    said = json.dumps([asdict(entry) for entry in entries], sort_keys=True)
    optional = ("picture", "copy", "copy_activations")
    named = {
        getattr(entry, key) for entry in entries for key in ("image", "activations", *optional)
    }
    beside = {file.name for file in release.root.glob("*.json")} - {FILE}
    found = [(FILE, hashlib.md5(said.encode(), usedforsecurity=False).hexdigest())]
    found += [(path, store.file_md5(release.root / path)) for path in (named | beside) - {None}]
    return sorted(found)


def read_picture(root: Path, path: str) -> Image.Image:
    """A picture of the release, or a :class:`ForeignError`."""
    try:
        return images.decode(root / path)
    except InputError as error:
        raise ForeignError(error.problem, error.expected or "a picture", path) from error


@dataclass(frozen=True)
class ReleasedSource:
    """The images of one dataset in a release."""

    root: Path
    images: Mapping[str, tuple[str, str]]  # label and file of each id
    left_out: tuple[Problem, ...] = ()

    def items(self) -> Sequence[Item]:
        """List every image, by number."""
        order = sorted(self.images, key=lambda name: (len(name), name))
        return [Item(name, "test", self.images[name][0]) for name in order]

    def load(self, item: Item, size: int) -> Record:
        """Load one image at model size; a release has no parts."""
        _, path = self.images[item.image_id]
        picture = images.decode(self.root / path)
        return Record(
            label=item.label,
            image=np.array(images.fit(picture, size), dtype=np.uint8),
            parts=np.zeros((size, size), dtype=np.uint8),
            regions=(),
            source=path,
            width=picture.width,
            height=picture.height,
        )


def released_source(release: Release, dataset: str, lenient: bool = False) -> ReleasedSource:
    """The images of a dataset; one that is no picture is an error, or left out."""
    found: dict[str, tuple[str, str]] = {}
    problems: list[Problem] = []
    for entry in release.of(dataset):
        if entry.image_id in found:
            continue
        found[entry.image_id] = (entry.label, entry.image)
        try:
            read_picture(release.root, entry.image)
        except ForeignError as error:
            problems.append(error.at(entry.place))
    refuse(release.file, problems, lenient)
    broken = {problem.file for problem in problems}
    kept = {name: own for name, own in found.items() if own[1] not in broken}
    if not kept:
        expected = f"entries about images of {dataset}"
        raise InputError(f"has no image of {dataset}", file=release.file, expected=expected)
    return ReleasedSource(release.root, kept, tuple(problems))
