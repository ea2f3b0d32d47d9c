"""Masks of attention in folders: pictures, arrays, and the layout of the released benchmark.

Each file is looked at alone. What is wrong with one is told with its name, and the others are read:
a mask of another size than its image, a border of two pixels that is cut off, a mask of nothing, a
file that is no picture, a mask without an image, an image without a mask.

The released benchmark (Mohseni, Block and Ragan 2021) has grayscale masks in
``human_attention_mask``, flat or in a folder for each class, segmentations in
``object_segmentation_mask`` and images in ``original_images`` or ``org_img``; older parts of it
have blanks in the names of folders, and files that end in ``.jpg.jpg``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from pasta.errors import InputError, PastaError

Numbers = NDArray[np.float64]
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".npy")
MASKS = ("human_attention_mask", "human_attention")
SEGMENTATIONS = ("object_segmentation_mask", "segmentation_mask", "segmentation")
IMAGES = ("original_images", "org_img", "images")
BORDER = 2  # pixels on each side that some tools add
_LITTLE = 12 / 255  # brightness of noise that JPEG leaves where there is nothing


@dataclass(frozen=True)
class Trouble:
    """Something wrong with one file, what was done about it, and what can be."""

    file: str
    problem: str
    done: str  # "left out", or what was changed


@dataclass(frozen=True)
class Masks:
    """Masks by name, each from 0 to 1 with the largest value 1, and what was wrong."""

    masks: Mapping[str, Numbers]
    objects: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()


def read_masks(folder: Path, size: tuple[int, int] | None = None) -> Masks:
    """Read every mask of a folder, or of a tree in the released layout.

    Parameters
    ----------
    folder
        Pictures or arrays, one for each image; or a folder with ``human_attention_mask`` in it.
    size
        Height and width that masks must have, up to a border; None takes those of the images
        beside them, if there are any.

    Raises
    ------
    InputError
        If there is no mask at all.
    """
    if not folder.is_dir():
        raise InputError("is no folder", file=folder, expected="a folder of masks")
    own = _find(folder, MASKS)
    troubles: list[Trouble] = []
    files = dict(_files(own or folder, folder, troubles))
    if not files:
        expected = "pictures or .npy files, one for each image"
        raise InputError("holds no masks", file=folder, expected=expected)
    segmentations, images = _find(folder, SEGMENTATIONS), _find(folder, IMAGES)
    shapes = _sizes(images, folder, troubles) if images is not None else {}
    parts = dict(_files(segmentations, folder, troubles)) if segmentations is not None else {}
    masks: dict[str, Numbers] = {}
    objects: dict[str, NDArray[np.bool_]] = {}
    for name, file in files.items():
        where = str(file.relative_to(folder))
        if shapes and name not in shapes:
            troubles.append(Trouble(where, "there is no image of this name", "read all the same"))
        mask = _read(file, where, shapes.get(name, size), troubles)
        if mask is None:
            continue
        if name in parts:
            part = str(parts[name].relative_to(folder))
            inside = _read(parts[name], part, (mask.shape[0], mask.shape[1]), troubles)
            if inside is not None:
                objects[name] = inside >= 0.5
                outside = mask[~objects[name]].sum() / mask.sum()
                if outside > 0.01:
                    troubles.append(
                        Trouble(where, f"{outside:.0%} of it lies outside the object", "clipped")
                    )
                    mask = np.where(objects[name], mask, 0.0)
                if not mask.any():
                    troubles.append(Trouble(where, "nothing of it lies on the object", "left out"))
                    continue
        elif parts:
            troubles.append(Trouble(where, "there is no segmentation of this name", "not clipped"))
        masks[name] = mask / mask.max()
    troubles += [
        Trouble(name, "there is no mask of this image", "left out")
        for name in sorted(shapes)
        if name not in files
    ]
    if not masks:
        first = troubles[0] if troubles else None
        why = f": {first.file}: {first.problem}" if first is not None else ""
        raise PastaError(f"{folder}: none of {len(files)} masks can be used{why}")
    return Masks(masks, objects, tuple(troubles))


def resized(mask: Numbers, size: tuple[int, int]) -> Numbers:
    """A mask at another size, the largest value 1 again."""
    if mask.shape == size:
        return mask
    picture = Image.fromarray(mask.astype(np.float32))
    found = np.asarray(picture.resize((size[1], size[0]), Image.Resampling.BOX), np.float64)
    largest = found.max(initial=0.0)
    return found / largest if largest > 0 else found


def _find(folder: Path, names: tuple[str, ...]) -> Path | None:
    """A folder of one of these names, whatever its blanks and capitals."""
    for one in sorted(folder.iterdir()):
        if one.is_dir() and one.name.lower().replace(" ", "_").replace("-", "_") in names:
            return one
    return None


def _files(root: Path, home: Path, troubles: list[Trouble]) -> Iterator[tuple[str, Path]]:
    """Files by the name of their image: ``class/name`` where there is a folder for each class."""
    seen: dict[str, Path] = {}
    for file in sorted(root.rglob("*")):
        if not file.is_file() or file.suffix.lower() not in SUFFIXES:
            continue
        name = _name(file, root)
        if name in seen:
            where = str(file.relative_to(home))
            troubles.append(Trouble(where, f"has the name of {seen[name].name}", "left out"))
            continue
        seen[name] = file
        yield name, file


def _name(file: Path, root: Path) -> str:
    stem = file.name
    while Path(stem).suffix.lower() in SUFFIXES:
        stem = Path(stem).stem
    parent = file.parent.relative_to(root)
    return stem if parent == Path() else f"{parent.as_posix()}/{stem}"


def _sizes(root: Path, home: Path, troubles: list[Trouble]) -> dict[str, tuple[int, int]]:
    """Height and width of every image."""
    found = {}
    for name, file in _files(root, home, troubles):
        try:
            with Image.open(file) as image:
                found[name] = (image.height, image.width)
        except (OSError, UnidentifiedImageError):
            troubles.append(Trouble(str(file.relative_to(home)), "is no picture", "left out"))
    return found


def _read(
    file: Path, where: str, size: tuple[int, int] | None, troubles: list[Trouble]
) -> Numbers | None:
    """One mask from 0 to 1, or None with a trouble."""
    try:
        found = _numbers(file)
    except (OSError, UnidentifiedImageError, ValueError, Image.DecompressionBombError) as error:
        troubles.append(Trouble(where, f"cannot be read ({type(error).__name__})", "left out"))
        return None
    problem = ""
    if found.ndim != 2 or 0 in found.shape:
        problem = f"has the shape {' x '.join(map(str, found.shape))}"
    elif not np.isfinite(found).all():
        problem = "holds NaN or infinity"
    elif (found < 0).any():
        problem = "holds negative numbers"
    if problem:
        troubles.append(Trouble(where, problem, "left out"))
        return None
    if size is not None and found.shape != size:
        if found.shape == (size[0] + 2 * BORDER, size[1] + 2 * BORDER):
            found = found[BORDER:-BORDER, BORDER:-BORDER]
            troubles.append(Trouble(where, f"has a border of {BORDER} pixels", "cut off"))
        else:
            own, other = (" x ".join(map(str, one)) for one in (found.shape, size))
            troubles.append(Trouble(where, f"has {own} pixels, its image {other}", "left out"))
            return None
    if not found.max() > 0:
        troubles.append(Trouble(where, "is a mask of nothing", "left out"))
        return None
    scaled = found / found.max()
    return np.where(scaled <= _LITTLE, 0.0, scaled) if file.suffix.lower() != ".npy" else scaled


def _numbers(file: Path) -> Numbers:
    if file.suffix.lower() == ".npy":
        return np.asarray(np.load(file, allow_pickle=False), np.float64)
    with Image.open(file) as image:
        if image.mode in ("I", "F") or image.mode.startswith("I;16"):
            return np.asarray(image, np.float64)
        # Without transparency: a mask is what is bright.
        return np.asarray(image.convert("L"), np.float64) / 255
