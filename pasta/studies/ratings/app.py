"""The rating study in the study app: its tables, from what people answered on the pages.

Light to import: the server's exports need it. What makes the pages is in
:mod:`pasta.studies.ratings.app_items`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pasta.studies.app.exporting import Given, Person, Rows


def tables(people: Sequence[Person]) -> Mapping[str, Rows]:
    """The tables of the rating study as rows; ``about`` of a step has the ``sample_id``."""
    made: dict[str, Rows] = {
        name: [] for name in ("votes", "annotators", "descriptions", "boxes", "rankings")
    }
    for person in people:
        if not person.answers:
            continue
        made["annotators"].append(
            {
                "annotator_id": person.name,
                "age": person.age,
                "sex": person.sex,
                "country": person.country,
                "anonymous": False,
                "simulated": False,
            }
        )
        for given in person.answers:
            _ROWS[given.step.kind](given, made)
    return made


def _stars(given: Given, made: dict[str, Rows]) -> None:
    for question, rating in given.answer.items():
        made["votes"].append(
            {
                "sample_id": given.step.about["sample_id"],
                "annotator_id": given.person,
                "question": question,
                "rating": rating,
                "submitted_at": given.at,
                "simulated": False,
            }
        )


def _before(given: Given, made: dict[str, Rows]) -> None:
    who = {"sample_id": given.step.about["sample_id"], "annotator_id": given.person}
    made["descriptions"].append({**who, "text": given.answer["Q0.1"], "simulated": False})
    for number, (x0, y0, x1, y1) in enumerate(given.answer["Q0.2"]):
        sides = {"x0": x0, "y0": y0, "x1": x1, "y1": y1}
        made["boxes"].append({**who, "box": number, **sides, "simulated": False})


def _rankings(given: Given, made: dict[str, Rows]) -> None:
    for question, items in given.answer.items():
        for position, item in enumerate(items, start=1):
            made["rankings"].append(
                {
                    "annotator_id": given.person,
                    "question": question,
                    "item": item,
                    "position": position,
                    "simulated": False,
                }
            )


_ROWS = {"stars": _stars, "before": _before, "rankings": _rankings}
