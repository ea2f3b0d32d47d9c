"""Attention that was recorded: fixations of the eyes and clicks, made masks by a Gaussian.

=============  =====================================================================================
OSIE           ``fixations.mat``: one struct for each image (``img``, ``subjects`` with ``fix_x``,
               ``fix_y`` and ``fix_duration`` for each person)
SALICON        a ``.mat`` for each image (``gaze`` with ``fixations`` of each person, rows of x and
               y from 1, ``resolution``), or one JSON with ``images`` and ``annotations`` whose
               ``fixations`` are rows of (row, column)
BubbleView     CSV of clicks: image, person, x, y (any of the usual names of columns)
=============  =====================================================================================

(Xu et al. 2014, doi:10.1167/14.1.28; Jiang et al. 2015, doi:10.1109/CVPR.2015.7298710; Kim et al.
2017, doi:10.1145/3131275)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.ndimage import gaussian_filter

from pasta.errors import InputError, PastaError
from pasta.json_files import load_json
from pasta.studies.attention.mask_files import Masks, Trouble

Numbers = NDArray[np.float64]
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "image": ("image", "image_id", "filename", "file", "img"),
    "person": ("person", "annotator_id", "worker_id", "worker", "subject", "workerid"),
    "x": ("x", "click_x", "clickx", "cx"),
    "y": ("y", "click_y", "clicky", "cy"),
}
_WIDE = 3  # standard deviations that a Gaussian reaches


@dataclass(frozen=True)
class Points:
    """Where one person looked at one image: x, y in pixels, and how long or how often."""

    image: str
    person: str
    x: Numbers
    y: Numbers
    weight: Numbers


def width_in_pixels(
    pixels: float | None = None, degrees: float | None = None, per_degree: float | None = None
) -> float:
    """The standard deviation of the Gaussian, stated in pixels or in degrees of the eye.

    >>> width_in_pixels(degrees=1, per_degree=24)
    24.0
    """
    if (pixels is None) == (degrees is None):
        raise PastaError("state the width of the Gaussian either in pixels or in degrees")
    if degrees is not None and per_degree is None:
        raise PastaError("a width in degrees needs the number of pixels in a degree")
    width = pixels if pixels is not None else float(degrees or 0) * float(per_degree or 0)
    if not (np.isfinite(width) and width > 0):
        raise PastaError(f"the width of the Gaussian is {width}, expected a number above 0")
    return float(width)


def smooth(points: Sequence[Points], size: tuple[int, int], width: float) -> Numbers:
    """A mask from the points of all people in one image, its largest value 1.

    Points outside of the image and those that are not numbers do not count.
    """
    height, breadth = size
    seen = np.zeros(size)
    for one in points:
        fine = np.isfinite(one.x) & np.isfinite(one.y) & np.isfinite(one.weight)
        columns, rows = np.floor(one.x[fine]), np.floor(one.y[fine])
        inside = (columns >= 0) & (columns < breadth) & (rows >= 0) & (rows < height)
        places = rows[inside].astype(np.intp), columns[inside].astype(np.intp)
        np.add.at(seen, places, one.weight[fine][inside])
    spread = gaussian_filter(seen, width, mode="constant", truncate=_WIDE)
    largest = spread.max(initial=0.0)
    return np.asarray(spread / largest if largest > 0 else spread, np.float64)


def masks_of(
    points: Sequence[Points],
    sizes: Mapping[str, tuple[int, int]] | tuple[int, int],
    width: float,
    troubles: Sequence[Trouble] = (),
) -> Masks:
    """Masks of all images; who looked nowhere in an image, or beyond it, is told."""
    told = list(troubles)
    masks: dict[str, Numbers] = {}
    for image in dict.fromkeys(one.image for one in points):
        own = [one for one in points if one.image == image]
        size = sizes if isinstance(sizes, tuple) else sizes.get(image)
        if size is None:
            told.append(Trouble(image, "nobody says how large the image is", "left out"))
            continue
        for one in own:
            lost = _outside(one, size)
            if lost:
                told.append(
                    Trouble(image, f"{lost} points of {one.person} lie outside", "left out")
                )
        found = smooth(own, size, width)
        if not found.any():
            told.append(Trouble(image, "nobody looked at it", "left out"))
            continue
        masks[image] = found
    if not masks:
        raise PastaError("there is no image with a point in it")
    return Masks(masks, {}, tuple(told))


def _outside(one: Points, size: tuple[int, int]) -> int:
    fine = (one.x >= 0) & (one.x < size[1]) & (one.y >= 0) & (one.y < size[0])
    return int((~fine).sum())


def read_osie(file: Path) -> tuple[list[Points], list[Trouble]]:
    """Fixations of OSIE, weighted by how long they took, in milliseconds."""
    found = _load(file).get("fixations")
    if found is None:
        raise InputError("has no fixations", file=file, expected="the variable `fixations`")
    points: list[Points] = []
    troubles: list[Trouble] = []
    for number, image in enumerate(_listed(found)):
        name, place = str(getattr(image, "img", "")), f"{file.name}, image {number}"
        subjects = _listed(getattr(image, "subjects", None))
        if not name or not subjects:
            troubles.append(Trouble(place, "has no img or no subjects", "left out"))
            continue
        for person, one in enumerate(subjects):
            x, y = (_row(getattr(one, key, None)) for key in ("fix_x", "fix_y"))
            weight = _row(getattr(one, "fix_duration", None))
            if not len(x) == len(y) == len(weight):
                where = f"{place}, subject {person}"
                sizes = f"{len(x)}, {len(y)} and {len(weight)} numbers"
                troubles.append(
                    Trouble(where, f"fix_x, fix_y and fix_duration have {sizes}", "left out")
                )
                continue
            points.append(Points(Path(name).stem, f"s{person}", x, y, weight))
    return points, troubles


def read_salicon(
    path: Path,
) -> tuple[list[Points], dict[str, tuple[int, int]], list[Trouble]]:
    """Fixations of SALICON with the sizes of the images: a JSON file, or a folder of .mat files."""
    if path.is_file() and path.suffix.lower() == ".json":
        return _salicon_json(path)
    files = sorted(path.glob("*.mat")) if path.is_dir() else [path]
    if not files:
        raise InputError("holds no .mat file", file=path, expected="one for each image")
    points: list[Points] = []
    sizes: dict[str, tuple[int, int]] = {}
    troubles: list[Trouble] = []
    for file in files:
        try:
            found = _load(file)
        except InputError as error:
            troubles.append(Trouble(file.name, str(error), "left out"))
            continue
        people, resolution = _listed(found.get("gaze")), _row(found.get("resolution"))
        if not people or len(resolution) != 2:
            troubles.append(Trouble(file.name, "has no gaze or no resolution", "left out"))
            continue
        sizes[file.stem] = (int(resolution[0]), int(resolution[1]))
        for person, one in enumerate(people):
            table = np.atleast_2d(np.asarray(getattr(one, "fixations", []), np.float64))
            if table.size == 0:
                continue
            if table.shape[1] != 2:
                place = f"{file.name}, gaze {person}"
                troubles.append(Trouble(place, "its fixations are no rows of x and y", "left out"))
                continue
            x, y = table[:, 0] - 1, table[:, 1] - 1  # from 1 there
            points.append(Points(file.stem, f"s{person}", x, y, np.ones(len(x))))
    return points, sizes, troubles


def _salicon_json(
    file: Path,
) -> tuple[list[Points], dict[str, tuple[int, int]], list[Trouble]]:
    content = load_json(file)
    if not isinstance(content, dict) or not {"images", "annotations"} <= set(content):
        raise InputError(
            "is not in the shape of SALICON", file=file, expected="images, annotations"
        )
    names: dict[Any, str] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for one in content["images"]:
        name = Path(str(one.get("file_name", one.get("id")))).stem
        names[one.get("id")] = name
        if {"height", "width"} <= set(one):
            sizes[name] = (int(one["height"]), int(one["width"]))
    points: list[Points] = []
    troubles: list[Trouble] = []
    for number, one in enumerate(content["annotations"]):
        place, known = f"{file.name}, annotation {number}", one.get("image_id") in names
        try:
            table = np.asarray(one.get("fixations", []), np.float64).reshape(-1, 2)
        except (TypeError, ValueError):
            known, table = False, np.zeros((0, 2))
        if not known:
            troubles.append(Trouble(place, "its image or fixations cannot be read", "left out"))
            continue
        person = str(one.get("worker_id", number))
        weight = np.ones(len(table))
        name = names[one["image_id"]]
        points.append(Points(name, person, table[:, 1] - 1, table[:, 0] - 1, weight))
    return points, sizes, troubles


def read_clicks(file: Path) -> tuple[list[Points], list[Trouble]]:
    """Clicks of BubbleView: each counts as one; lines that are no numbers are told."""
    try:
        table = pd.read_csv(file, dtype=str, keep_default_na=False)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="CSV of clicks") from error
    lower = {str(name).strip().lower(): str(name) for name in table.columns}
    names = {key: next((lower[one] for one in few if one in lower), None)
             for key, few in _COLUMNS.items()}  # fmt: skip
    missing = [key for key in ("image", "x", "y") if names[key] is None]
    if missing:
        expected = "; ".join(f"{key}: one of {', '.join(_COLUMNS[key])}" for key in missing)
        raise InputError("lacks columns", file=file, row=1, expected=expected)
    x = pd.to_numeric(table[names["x"]], errors="coerce").to_numpy(np.float64)
    y = pd.to_numeric(table[names["y"]], errors="coerce").to_numpy(np.float64)
    fine = np.isfinite(x) & np.isfinite(y)
    troubles = [
        Trouble(f"{file.name}, line {line + 2}", "x or y is no number", "left out")
        for line in np.flatnonzero(~fine)
    ]
    image = table[names["image"]].map(lambda one: Path(str(one)).stem)
    person = table[names["person"]] if names["person"] is not None else pd.Series("", table.index)
    named = pd.DataFrame({"image": image, "person": person})[fine]
    kept = np.flatnonzero(fine)
    points = []
    for (one, who), rows in named.groupby(["image", "person"], sort=True).indices.items():
        own = kept[rows]
        points.append(Points(str(one), str(who), x[own], y[own], np.ones(len(own))))
    return points, troubles


def _load(file: Path) -> dict[str, Any]:
    try:
        return dict(loadmat(file, squeeze_me=True, struct_as_record=False))
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        expected = "a MATLAB file up to version 7.2"
        raise InputError("cannot be read", file=file, expected=expected) from error


def _listed(value: Any) -> list[Any]:
    """A struct or an array of them as a list."""
    if value is None:
        return []
    return list(np.atleast_1d(np.asarray(value, dtype=object)).ravel())


def _row(value: Any) -> Numbers:
    if value is None:
        return np.zeros(0)
    return np.atleast_1d(np.asarray(value, np.float64)).ravel()
