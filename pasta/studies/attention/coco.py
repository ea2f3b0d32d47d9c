"""Regions as in COCO's JSON: images, and annotations with a segmentation and who drew it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pasta.json_files import Number, shown
from pasta.studies.attention.geometry import polygon, rectangle
from pasta.studies.base import Finding, Submission

_EVEN, _SHORTEST, _SIDES = 2, 6, 4


def is_coco(content: Any) -> bool:
    """Whether parsed JSON has images and annotations."""
    return isinstance(content, dict) and {"images", "annotations"} <= set(content)


def from_content(content: Any, file: Path, ids: Mapping[str, str]) -> Submission:
    """Regions and people of a file; what cannot be read is a finding with the entry's number.

    ``file_name`` of an image, without its suffix, is its id here (``dataset/image``), or what
    ``ids`` has for it. A person is ``annotator_id`` of an annotation.
    """
    names: dict[object, str] = {}
    findings: list[Finding] = []
    for number, image in enumerate(_entries(content["images"])):
        name = str(image.get("file_name", ""))
        stem = name.rpartition(".")[0] or name
        if "id" not in image or not name:
            findings.append(_finding("an image has no id or file_name", f"image {number}", image))
        names[_key(image.get("id"))] = ids.get(name, ids.get(stem, stem))
    rows: list[dict[str, str]] = []
    places: list[str] = []
    counts: dict[tuple[str, str], int] = {}
    for number, one in enumerate(_entries(content["annotations"])):
        where = f"annotation {number}"
        key = _key(one.get("image_id"))
        if key not in names:
            findings.append(_finding("an annotation is of no image", where, one.get("image_id")))
            continue
        if one.get("annotator_id") in (None, ""):
            findings.append(_finding("an annotation does not say whose it is", where, one))
            continue
        person = str(one["annotator_id"])
        texts = _regions(one)
        if texts is None:
            found = one.get("segmentation", one.get("bbox"))
            findings.append(_finding("a segmentation is no list of corners", where, found))
            continue
        for text in texts:
            at = counts.get((names[key], person), 0)
            counts[names[key], person] = at + 1
            shape = "polygon" if one.get("segmentation") else "box"
            rows.append(
                {"image_id": names[key], "annotator_id": person, "region": str(at),
                 "shape": shape, "points": text, "simulated": "false"}
            )  # fmt: skip
            places.append(where)
    people = list(dict.fromkeys(row["annotator_id"] for row in rows))
    regions = pd.DataFrame(
        rows,
        index=pd.Index(places, dtype=object),
        columns=["image_id", "annotator_id", "region", "shape", "points", "simulated"],
    )
    who = pd.DataFrame(
        {"annotator_id": people, "simulated": "false"},
        index=pd.Index([f"annotator {name}" for name in people], dtype=object),
    )
    return Submission(file.name, "coco", {"regions": regions, "people": who}, tuple(findings))


def _entries(found: Any) -> list[dict[str, Any]]:
    return (
        [one if isinstance(one, dict) else {} for one in found] if isinstance(found, list) else []
    )


def _key(value: Any) -> object:
    return value if isinstance(value, int | str) else None


def _regions(one: Mapping[str, Any]) -> list[str] | None:
    """WKT of an annotation's outlines, or of its box; None if there is none that can be read."""
    outlines, sides = one.get("segmentation"), one.get("bbox")
    if isinstance(outlines, list) and outlines:
        lists = outlines if isinstance(outlines[0], list) else [outlines]
        if not all(_is_outline(points) for points in lists):
            return None
        found = [[float(one) for one in points] for points in lists]
        return [
            polygon([points[at : at + 2] for at in range(0, len(points), 2)]) for points in found
        ]
    if isinstance(sides, list) and len(sides) == _SIDES and all(map(_is_number, sides)):
        left, top, width, height = map(float, sides)
        return [rectangle(left, top, left + width, top + height)]
    return None


def _is_outline(points: Any) -> bool:
    return (
        isinstance(points, list)
        and len(points) >= _SHORTEST
        and len(points) % _EVEN == 0
        and all(map(_is_number, points))
    )


def _is_number(value: Any) -> bool:
    if not isinstance(value, Number):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _finding(problem: str, where: str, found: object) -> Finding:
    fix = "write it as COCO does, with image_id, annotator_id and segmentation [[x, y, x, y, ...]]"
    return Finding(problem, fix, "regions", where, found=shown(found))
