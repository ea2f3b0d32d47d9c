"""A folder of explanations to score.

A folder holds explanations of one kind. ``saliency``: a map in ``.npy`` for each image; the image
is the ``.png`` or ``.jpg`` of the same name beside it or in a folder of images, or else the
project's own image with that number. ``concept``: ``.json`` files of ``{concept: value}``; images
beside them are not looked at. ``picture``: only images, which are explanations already drawn.

Files may be named ``{dataset}_{id}_{label}.npy|json|png|jpg``. Labels may contain underscores
(``home_or_hotel``), so such a name is read from both ends: a known dataset in front, one of its
classes behind, and what is between is the image. The release calls the classes of Cats Dogs Cars
``cats``, ``dogs`` and ``cars``; both spellings are taken. Any other name is the name of an image,
whose label is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from pasta import store
from pasta.datasets.stored import IMAGES, open_dataset
from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import InputError, PastaError
from pasta.paths import DATA, find_root

FORM = "{dataset}_{id}_{label}"
_RELEASED = {"cats": "cat", "dogs": "dog", "cars": "car"}
KNOWN: Mapping[str, Sequence[str]] = {name: words.classes for name, words in VOCABULARIES.items()}
Kind = Literal["saliency", "concept", "picture"]
_PICTURES = (".png", ".jpg", ".jpeg")
_SUFFIXES: Mapping[str, Kind] = {
    ".npy": "saliency",
    ".json": "concept",
    **dict.fromkeys(_PICTURES, "picture"),
}


class Named(NamedTuple):
    """What a file's name says."""

    dataset: str | None
    image_id: str
    label: str | None  # as it stands there; a scorer may not know it


def parse_name(file: Path | str, classes: Mapping[str, Sequence[str]] = KNOWN) -> Named:
    """Read a file's name.

    >>> parse_name("coco_0007_home_or_hotel.npy")
    Named(dataset='coco', image_id='0007', label='home_or_hotel')
    >>> parse_name("coco_0007_zoo.npy")
    Named(dataset='coco', image_id='0007', label='zoo')
    >>> parse_name("my_photo.jpg")
    Named(dataset=None, image_id='my_photo', label=None)
    """
    stem = Path(file).stem
    fitting = [name for name in classes if stem.startswith(f"{name}_")]
    if not fitting:
        return Named(None, stem, None)
    dataset = max(fitting, key=len)
    rest = stem.removeprefix(f"{dataset}_")
    spelled = {label: label for label in classes[dataset]}
    spelled |= {two: one for two, one in _RELEASED.items() if one in spelled and two not in spelled}
    ends = [label for label in spelled if rest.endswith(f"_{label}") and len(rest) > len(label) + 1]
    if not ends:
        image_id, _, label = rest.partition("_")
        return Named(dataset, image_id, label or None) if image_id else Named(None, stem, None)
    longest = max(ends, key=len)
    return Named(dataset, rest.removesuffix(f"_{longest}"), spelled[longest])


@dataclass(frozen=True)
class Listed:
    """The explanations of a folder, by name."""

    kind: Kind
    files: list[Path]
    names: list[Named]
    images: Path | None = None  # a folder of images for maps


def list_folder(
    folder: Path,
    classes: Mapping[str, Sequence[str]],
    images: Path | None = None,
    label: str | None = None,
) -> Listed:
    """Look at all names before anything is opened; ``label`` is that of names without one."""
    if not folder.is_dir():
        raise PastaError(f"{folder}: there is no such folder")
    if images is not None and not images.is_dir():
        raise PastaError(f"{images}: there is no such folder")
    found = sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] != ".")
    other = [file for file in found if file.suffix.lower() not in _SUFFIXES]
    if other:
        raise InputError(
            "is no explanation", file=other[0], expected=f"{FORM}.npy, .json, .png or .jpg"
        )
    if not found:
        raise InputError("the folder is empty", file=folder, expected=f"files like {FORM}.npy")
    kind, files = _of_one_kind(folder, found)
    names = [parse_name(file, classes) for file in files]
    labelled = [name._replace(label=name.label or label) for name in names]
    return Listed(kind, files, labelled, images)


def _of_one_kind(folder: Path, found: list[Path]) -> tuple[Kind, list[Path]]:
    by_kind: dict[Kind, list[Path]] = {}
    for file in found:
        by_kind.setdefault(_SUFFIXES[file.suffix.lower()], []).append(file)
    maps, concepts = by_kind.get("saliency", []), by_kind.get("concept", [])
    if maps and concepts:
        raise InputError(
            f"there are maps ({maps[0].name}) and concepts ({concepts[0].name}) in one folder",
            file=folder,
            expected="explanations of one kind, because a mean over both compares nothing",
        )
    pictures = by_kind.get("picture", [])
    explained = {file.stem for file in (*maps, *concepts)}
    alone = [file for file in pictures if file.stem not in explained]
    if explained and alone:
        kind = "map" if maps else "concepts"
        raise InputError(
            f"has no {kind} of the same name, but other files here have one",
            file=alone[0],
            expected=f"{alone[0].stem}{'.npy' if maps else '.json'} beside it, or no such image",
        )
    if maps:
        return "saliency", maps
    return ("concept", concepts) if concepts else ("picture", pictures)


def read_batch(listed: Listed, rows: range) -> dict[str, Any]:
    """The arguments for :meth:`PastaScore.score` of some of the files."""
    files = [listed.files[row] for row in rows]
    names = [listed.names[row] for row in rows]
    given: dict[str, Any] = {
        "label": [name.label for name in names],
        "dataset": [name.dataset for name in names],
    }
    match listed.kind:
        case "concept":
            given["concepts"] = [_read_concepts(file) for file in files]
        case "picture":
            given["picture"] = [_read_image(file) for file in files]
        case "saliency":
            given["saliency"] = [_read_map(file) for file in files]
            given["image"] = [
                _image_of(file, name, listed.images)
                for file, name in zip(files, names, strict=True)
            ]
    return given


def _read_map(file: Path) -> NDArray[Any]:
    return np.asarray(store.read_array(file))


def _read_concepts(file: Path) -> dict[str, float]:
    values = store.read_json(file)
    if not isinstance(values, dict) or not values:
        raise InputError("is no list of concepts", file=file, expected='{"concept": value, ...}')
    return values


def _image_of(file: Path, name: Named, images: Path | None) -> NDArray[np.uint8]:
    folder = images or file.parent
    beside = [folder / f"{file.stem}{suffix}" for suffix in _PICTURES]
    there = [one for one in beside if one.is_file()]
    if len(there) > 1:
        raise InputError(
            f"there are {there[0].name} and {there[1].name}", file=file, expected="one"
        )
    if there:
        return _read_image(there[0])
    known = images is None and name.dataset is not None
    own = _own_image(str(name.dataset), name.image_id) if known else None
    if own is None:
        raise InputError(
            "there is no image for this map",
            file=file,
            expected=f"{beside[0].name} or .jpg in {folder}; --images names another folder",
        )
    return own


def _read_image(file: Path) -> NDArray[np.uint8]:
    try:
        with Image.open(file) as picture:
            return np.asarray(picture.convert("RGB"))
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="a picture") from error


def _own_image(dataset: str, image_id: str) -> NDArray[np.uint8] | None:
    """The project's image of that number, with or without the zeros in front."""
    images = _own_images(dataset)
    plain = image_id.lstrip("0") or "0"
    pixels: NDArray[np.uint8] | None = images.get(image_id, images.get(plain))
    return pixels


@lru_cache(maxsize=8)
def _own_images(dataset: str) -> Mapping[str, Any]:
    root = find_root()
    folder = None if root is None else root / DATA / "images" / dataset
    if folder is None or not (folder / IMAGES).is_file():
        return {}
    stored = open_dataset(folder)
    rows = zip(stored.images["image_id"].astype(str), stored.pixels, strict=True)
    by_name = dict(rows)
    return {name.lstrip("0") or "0": pixels for name, pixels in by_name.items()} | by_name
