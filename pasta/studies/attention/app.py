"""The attention study in the study app: its tables, from what people answered on the pages.

``about`` of a step has the ``image_id``, ``text_id`` or ``sample_id``. A lasso that crosses itself
becomes the areas that it encloses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapely import Polygon, make_valid
from shapely.geometry.base import BaseGeometry

from pasta.studies.app.exporting import Given, Person, Rows


def tables(people: Sequence[Person]) -> Mapping[str, Rows]:
    """The tables of the attention study as rows."""
    made: dict[str, Rows] = {name: [] for name in ("regions", "words", "goodness", "people")}
    for person in people:
        if not person.answers:
            continue
        about = {"age": person.age, "sex": person.sex, "country": person.country}
        made["people"].append({"annotator_id": person.name, **about, "simulated": False})
        position = 0
        for given in person.answers:
            if given.step.kind == "regions":
                made["regions"] += _regions(given)
            elif given.step.kind == "words":
                made["words"].append(_words(given))
            elif given.step.kind == "goodness":
                position += 1
                made["goodness"].append(_goodness(given, position))
    return made


def _regions(given: Given) -> Rows:
    who = {"image_id": given.step.about["image_id"], "annotator_id": given.person}
    shapes = [
        (one["shape"], area.wkt)
        for one in given.answer["regions"]
        for area in areas(one["shape"], one["points"])
    ]
    rows: Rows = [
        {**who, "region": number, "shape": shape, "points": points, "simulated": False}
        for number, (shape, points) in enumerate(shapes)
    ]
    nothing = {**who, "region": 0, "shape": "polygon", "points": None, "simulated": False}
    return rows or [nothing]


def areas(shape: str, points: Sequence[Sequence[float]]) -> list[Polygon]:
    """The polygons that a region encloses, without holes that a lasso leaves at its crossings.

    >>> [one.area for one in areas("box", [[0, 0], [2, 3]])]
    [6.0]
    """
    corners = [tuple(one) for one in points]
    if shape == "box":
        (x0, y0), (x1, y1) = corners
        corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    return [Polygon(one.exterior) for one in _polygons(make_valid(Polygon(corners)))]


def _polygons(found: BaseGeometry) -> Iterator[Polygon]:
    if isinstance(found, Polygon):
        if found.area > 0:
            yield found
        return
    for one in getattr(found, "geoms", ()):
        yield from _polygons(one)


def _words(given: Given) -> dict[str, object]:
    return {
        "text_id": given.step.about["text_id"],
        "annotator_id": given.person,
        "words": " ".join(map(str, given.answer["words"])),
        "simulated": False,
    }


def _goodness(given: Given, position: int) -> dict[str, object]:
    return {
        "sample_id": given.step.about["sample_id"],
        "annotator_id": given.person,
        "rating": given.answer["rating"],
        "position": position,
        "simulated": False,
    }
