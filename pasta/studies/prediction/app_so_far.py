"""How often people were right so far, for the dashboard of the study app."""

from __future__ import annotations

from collections.abc import Mapping

from pasta.studies.app.design import Design
from pasta.studies.app.exporting import Rows
from pasta.studies.app.so_far import Measure, rounded
from pasta.studies.prediction.tables import PHASES


def measure(tables: Mapping[str, Rows], design: Design) -> list[Measure]:
    """The share of right answers by phase and condition, of those who finished or were stopped."""
    conditions = {one["participant_id"]: str(one["condition"]) for one in tables["participants"]}
    answers: dict[tuple[str, str], list[bool]] = {}
    for row in tables["trials"]:
        if row["right"] is not None:
            key = str(row["phase"]), conditions[row["participant_id"]]
            answers.setdefault(key, []).append(bool(row["right"]))
    order = list(dict.fromkeys(seat.condition for seat in design.seats))
    return [
        Measure("share right", f"{phase}, {condition}", rounded(sum(own) / len(own)), len(own))
        for phase in PHASES
        for condition in order
        if (own := answers.get((phase, condition)))
    ]
