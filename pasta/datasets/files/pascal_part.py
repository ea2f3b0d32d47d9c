"""PASCAL-Part: masks of objects and their parts on the images of PASCAL VOC 2010."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from pasta.datasets.files.base import FILES, FileSource, Found, Instance, Orphans, list_image_files
from pasta.datasets.files.images import PixelBox, decode_as
from pasta.datasets.records import Item
from pasta.errors import InputError
from pasta.registry import did_you_mean

IMAGES = "VOCdevkit/VOC2010/JPEGImages"
ANNOTATIONS = "Annotations_Part"

# PASCAL-Part's fine part names (its part2ind.m) and the concepts they are merged into. Left and
# right, front and back, upper and lower become one concept. Judgement calls: a paw is a foot; the
# sides and the roof of a car or bus are its bodywork; the head of a train and its sides are the
# locomotive, and a coach's sides are the coach.
_EYES = {"leye": "eye", "reye": "eye"}
_EARS = {"lear": "ear", "rear": "ear"}
_TRUNK = {name: name for name in ("head", "neck", "torso")}
_FEET = {"lfoot": "foot", "rfoot": "foot"}

_PET = {
    **_TRUNK,
    **_EYES,
    **_EARS,
    "nose": "nose",
    "tail": "tail",
    **{f"{side}leg": "leg" for side in ("lf", "rf", "lb", "rb")},
    **{f"{side}pa": "foot" for side in ("lf", "rf", "lb", "rb")},
}
_GRAZER = {
    **_TRUNK,
    **_EYES,
    **_EARS,
    "muzzle": "muzzle",
    "tail": "tail",
    **{f"{side}{half}leg": "leg" for side in ("lf", "rf", "lb", "rb") for half in "ul"},
}
_HORNED = {**_GRAZER, "lhorn": "horn", "rhorn": "horn"}
_ROAD = {
    **{f"{side}side": "bodywork" for side in ("front", "left", "right", "back", "roof")},
    "leftmirror": "mirror",
    "rightmirror": "mirror",
    "fliplate": "license_plate",
    "bliplate": "license_plate",
    **{name: name for name in ("door", "wheel", "headlight", "window")},
}
_CYCLE = {
    "fwheel": "wheel",
    "bwheel": "wheel",
    **{name: name for name in ("saddle", "handlebar", "headlight")},
}

CONCEPTS: Mapping[str, Mapping[str, str]] = {
    "aeroplane": {
        **{name: name for name in ("body", "stern", "tail", "engine", "wheel")},
        "lwing": "artifact wing",
        "rwing": "artifact wing",
    },
    "bicycle": {**_CYCLE, "chainwheel": "chain_wheel"},
    "bird": {
        **_TRUNK,
        **_EYES,
        **_FEET,
        "beak": "beak",
        "tail": "tail",
        "lwing": "animal wing",
        "rwing": "animal wing",
        "lleg": "leg",
        "rleg": "leg",
    },
    "bottle": {"cap": "cap", "body": "body"},
    "bus": _ROAD,
    "car": _ROAD,
    "cat": _PET,
    "cow": _HORNED,
    "dog": {**_PET, "muzzle": "muzzle"},
    "horse": {**_GRAZER, **{f"{side}ho": "hoof" for side in ("lf", "rf", "lb", "rb")}},
    "motorbike": _CYCLE,
    "person": {
        **_TRUNK,
        **_EYES,
        **_EARS,
        **_FEET,
        **{name: name for name in ("nose", "mouth", "hair")},
        **{f"{side}ebrow": "eyebrow" for side in "lr"},
        **{f"{side}hand": "hand" for side in "lr"},
        **{f"{side}{half}arm": "arm" for side in "lr" for half in "lu"},
        **{f"{side}{half}leg": "leg" for side in "lr" for half in "lu"},
    },
    "pottedplant": {"pot": "pot", "plant": "plant"},
    "sheep": _HORNED,
    "train": {
        "head": "locomotive",
        "coach": "coach",
        "headlight": "headlight",
        **{f"h{side}side": "locomotive" for side in ("front", "left", "right", "back", "roof")},
        **{f"c{side}side": "coach" for side in ("front", "left", "right", "back", "roof")},
    },
    "tvmonitor": {"screen": "screen"},
}


def concept(label: str, part: str) -> str | None:
    """Return the concept of a part, or None for a name that PASCAL-Part does not define.

    Examples
    --------
    >>> concept("aeroplane", "lwing"), concept("bird", "lwing"), concept("bus", "window_20")
    ('artifact wing', 'animal wing', 'window')
    """
    return CONCEPTS[label].get(re.sub(r"_\d+$", "", part))  # "window_20" is the twentieth window


class Annotated(NamedTuple):
    """One object of an annotation file with its parts by name."""

    label: str
    mask: NDArray[np.bool_]
    parts: list[tuple[str, NDArray[np.bool_]]]


@FILES.register("pascalpart")
class PascalPart(FileSource):
    """Images with one of the 16 classes that have parts, labelled by their largest object.

    The label is in the masks only, so that the first call of ``items`` opens every annotation
    file (about ten thousand, one or two minutes).
    """

    dataset = "pascalpart"

    def required_paths(self) -> Sequence[str]:
        """Return the folders of images and annotations."""
        return (IMAGES, ANNOTATIONS)

    def annotation_files(self) -> list[Path]:
        """List every annotation file."""
        files = sorted((self.root / ANNOTATIONS).glob("[!.]*.mat"))
        if not files:
            raise InputError("no .mat file", file=self.root / ANNOTATIONS)
        return files

    def find_images(self) -> Iterator[Found]:
        """List the images with an object of one of the 16 classes."""
        for file in self.annotation_files():
            objects = [one for one in read_objects(file) if one.label in CONCEPTS]
            if objects:
                largest = max(objects, key=lambda one: np.count_nonzero(one.mask))
                yield Found(file.stem, largest.label, None)

    def path(self, item: Item) -> Path:
        """Return the image file of an item."""
        return self.root / IMAGES / f"{item.image_id}.jpg"

    def read(self, item: Item) -> tuple[Image.Image, Sequence[Instance]]:
        """Read one image and the parts of all its objects."""
        file = self.root / ANNOTATIONS / f"{item.image_id}.mat"
        objects = read_objects(file)
        if not objects:
            raise InputError("the file has no object", file=file)
        height, width = objects[0].mask.shape
        image = decode_as(self.path(item), width, height, file)
        return image, list(_instances(objects, file))

    def find_orphans(self) -> Orphans:
        """Find images without an annotation file and the reverse."""
        files = {path.stem: path for path in (self.root / ANNOTATIONS).glob("[!.]*.mat")}
        pictures = {path.stem: path for path in list_image_files(self.root / IMAGES)}
        return Orphans(
            [self.relative(pictures[stem]) for stem in sorted(pictures.keys() - files.keys())],
            [self.relative(files[stem]) for stem in sorted(files.keys() - pictures.keys())],
        )


def _instances(objects: Sequence[Annotated], file: Path) -> Iterator[Instance]:
    for one in objects:
        if one.label not in CONCEPTS:
            continue  # boats, chairs, tables and sofas have no parts
        for name, mask in one.parts:
            found = concept(one.label, name)
            if found is None:
                hint = did_you_mean(name, dict(CONCEPTS[one.label]))
                raise InputError(f"{name!r} is no part of {one.label}. {hint}", file=file)
            if mask.shape != one.mask.shape:
                raise InputError(
                    f"the mask of {name!r} is {mask.shape[1]} x {mask.shape[0]} pixels",
                    file=file,
                    expected=f"{one.mask.shape[1]} x {one.mask.shape[0]}, as its object",
                )
            box = _bounds(mask)
            if box is not None:
                yield Instance(found, box, mask)


def _bounds(mask: NDArray[np.bool_]) -> PixelBox | None:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    return PixelBox(float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1))


def read_objects(file: Path) -> list[Annotated]:
    """Read the objects of one ``.mat`` file."""
    from scipy.io import loadmat

    if not file.is_file():
        raise InputError("there is no such file", file=file, expected="a PASCAL-Part annotation")
    try:
        content = loadmat(str(file), variable_names=["anno"])
        annotated = [_object(one) for one in _structs(content["anno"].ravel()[0]["objects"])]
    except Exception as error:  # scipy raises nearly anything for a damaged file
        raise InputError(
            f"not a PASCAL-Part annotation: {type(error).__name__}: {error}",
            file=file,
            expected="a struct 'anno' with 'objects' that have 'class', 'mask' and 'parts'",
        ) from None
    for one in annotated[1:]:
        if one.mask.shape != annotated[0].mask.shape:
            raise InputError("the masks of the objects differ in size", file=file)
    return annotated


def _object(struct: Any) -> Annotated:
    parts = [(_text(part["part_name"]), _mask(part["mask"])) for part in _structs(struct["parts"])]
    return Annotated(_text(struct["class"]), _mask(struct["mask"]), parts)


def _structs(array: Any) -> list[Any]:
    """List the entries of a struct array; MATLAB stores an empty one as 0 x 0 numbers."""
    return list(array.ravel()) if array.size else []


def _text(array: Any) -> str:
    return str(np.asarray(array).ravel()[0])


def _mask(array: Any) -> NDArray[np.bool_]:
    mask = np.asarray(array)
    if mask.ndim != 2 or mask.dtype.kind not in "buif":
        raise ValueError(f"a mask of shape {mask.shape} and type {mask.dtype}")
    return np.asarray(mask != 0, dtype=np.bool_)
