"""Who sees what: conditions and images in balance, and how large an effect such a study finds.

Participants of different conditions at the same *place* see the same images in the same order, so
that conditions differ in nothing but the explanation. Images are taken in turn from four cells (the
class that the model predicts, and whether it is right), so that whoever names the true class is
right half of the time, and each class is predicted half of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from analysis.variance import anova_power, smallest_effect
from pasta.errors import PastaError
from pasta.seeds import generator
from pasta.studies.prediction.settings import BASELINE, DesignParams

CELL = ["shown", "right"]
MEDIUM = 0.25  # Cohen's f that is called medium
COLUMNS = [
    "participant_id",
    "experiment",
    "condition",
    "session",
    "phase",
    "position",
    "image_id",
    "shown",
]


def name_participant(experiment: str, number: int) -> str:
    """The id of a seat, such as ``biased-0001``."""
    return f"{experiment}-{number:04d}"


def seats(
    experiment: str,
    conditions: Sequence[str],
    participants: int,
    kept: Mapping[str, int] | None = None,
    first: int = 1,
) -> pd.DataFrame:
    """Spread people over the conditions of an experiment.

    Parameters
    ----------
    experiment, conditions
        Names.
    participants
        How many are to be left after the screening, in all conditions together.
    kept
        By condition, how many are left of those who took part already: the others are replaced.
    first
        The number of the first new seat.

    Returns
    -------
    DataFrame
        participant_id, condition, place: the number of the person in their condition.
    """
    if not conditions:
        raise PastaError("a study needs a condition; see prediction.conditions")
    wanted = {
        name: participants // len(conditions) + (number < participants % len(conditions))
        for number, name in enumerate(conditions)
    }
    there = {name: (kept or {}).get(name, 0) for name in conditions}
    rounds = max((wanted[name] for name in conditions), default=0)
    rows: list[dict[str, object]] = []
    for place in range(rounds):
        for name in conditions:
            if there[name] <= place < wanted[name]:
                seat = name_participant(experiment, first + len(rows))
                rows.append({"participant_id": seat, "condition": name, "place": place})
    return pd.DataFrame(rows, columns=["participant_id", "condition", "place"])


def sequences(
    images: pd.DataFrame, design: DesignParams, places: int, seed: int, experiment: str
) -> list[pd.DataFrame]:
    """The trials of each place: session, phase, position, image_id, shown.

    Parameters
    ----------
    images
        Those of an experiment: image_id, phase, shown, right.
    design
        What a participant goes through.
    places
        How many different lists.
    seed, experiment
        Of the order of the images.
    """
    turns = {
        "training": _Turn(images, "training", design.training * design.sessions, seed, experiment),
        "test": _Turn(images, "test", design.test * design.sessions, seed, experiment),
    }
    lists = []
    for place in range(places):
        for turn in turns.values():
            turn.deck = []
        lists.append(_sequence(turns, design, place, seed, experiment))
    return lists


class _Turn:
    """The images of a phase, cell by cell, in turn."""

    def __init__(
        self, images: pd.DataFrame, phase: str, needed: int, seed: int, experiment: str
    ) -> None:
        own = images[images["phase"] == phase]
        self.cells: list[list[tuple[str, str]]] = []
        for cell, part in own.groupby(CELL, sort=True):
            rng = generator(seed, "prediction", "turn", experiment, phase, str(cell))
            pairs = list(zip(part["image_id"], part["shown"], strict=True))
            self.cells.append([pairs[number] for number in rng.permutation(len(pairs))])
        least = -(-needed // max(len(self.cells), 1)) + 1
        small = [cell for cell in self.cells if len(cell) < least]
        if not self.cells or small:
            sizes = ", ".join(str(len(cell)) for cell in self.cells) or "no"
            raise PastaError(
                f"{experiment}: {needed} {phase} images are needed for one participant, {least} of "
                f"each cell (class predicted, right or wrong), but there are {sizes} of them; "
                f"enlarge prediction.pool.{phase} or shorten prediction.design"
            )
        self.next = [0] * len(self.cells)
        # Which cells give one more, or one less, is drawn: else the classes of the examples would
        # tell those of the test.
        self.rng = generator(seed, "prediction", "deck", experiment, phase)
        self.deck: list[int] = []

    def take(self, number: int) -> list[tuple[str, str]]:
        """So many images, as many from each cell as possible."""
        each, more = divmod(number, len(self.cells))
        some = min(more, len(self.cells) - more)
        if len(self.deck) < some:
            self.deck = self.rng.permutation(len(self.cells)).tolist()
        drawn = {self.deck.pop() for _ in range(some)}
        lucky = drawn if some == more else set(range(len(self.cells))) - drawn
        found = []
        for place, cell in enumerate(self.cells):
            for _ in range(each + (place in lucky)):
                found.append(cell[self.next[place] % len(cell)])
                self.next[place] += 1
        return found


def _sequence(
    turns: Mapping[str, _Turn], design: DesignParams, place: int, seed: int, experiment: str
) -> pd.DataFrame:
    rng = generator(seed, "prediction", "order", experiment, place)
    rows = []
    for session in range(1, design.sessions + 1):
        asked = {"training": turns["training"].take(design.training)}
        asked["test"] = turns["test"].take(design.test)
        again = rng.choice(design.training, min(design.catch, design.training), replace=False)
        asked["catch"] = [asked["training"][number] for number in again]
        for phase, pairs in asked.items():
            order = rng.permutation(len(pairs))
            for position, number in enumerate(order, start=1):
                image, shown = pairs[int(number)]
                rows.append((session, phase, position, image, shown))
    return pd.DataFrame(rows, columns=["session", "phase", "position", "image_id", "shown"])


def make_plan(
    images: pd.DataFrame,
    people: pd.DataFrame,
    design: DesignParams,
    seed: int,
    experiment: str,
) -> pd.DataFrame:
    """Give the people of :func:`seats` their trials.

    Returns
    -------
    DataFrame
        participant_id, experiment, condition, session, phase, position, image_id, shown.
    """
    if people.empty:
        return pd.DataFrame(columns=COLUMNS)
    lists = sequences(images, design, int(people["place"].max()) + 1, seed, experiment)
    parts = [
        lists[place].assign(participant_id=person, experiment=experiment, condition=condition)
        for person, condition, place in people[["participant_id", "condition", "place"]].itertuples(
            index=False, name=None
        )
    ]
    whole: pd.DataFrame = pd.concat(parts, ignore_index=True)
    return whole[COLUMNS]


def describe_balance(plan: pd.DataFrame) -> list[str]:
    """How even conditions and images are, in words."""
    people = plan.drop_duplicates("participant_id")["condition"].value_counts()
    asked = plan[plan["phase"] == "test"]
    shown = asked.groupby(["condition", "image_id"]).size()
    least, most = people.min(), people.max()
    each = f"{least}" if least == most else f"{least} to {most}"
    return [
        f"{people.sum()} people in {len(people)} conditions, {each} in each",
        f"{asked['image_id'].nunique()} test images; in a condition each is shown "
        f"{shown.min()} to {shown.max()} times",
    ]


def describe_power(conditions: Sequence[str], participants: int) -> list[str]:
    """What a study of this size finds, recomputed."""
    groups = len(conditions)
    if groups < 2 or participants <= groups:
        return ["power: an analysis of variance needs two conditions and more people than these"]
    power = anova_power(groups, participants, MEDIUM)
    least = smallest_effect(groups, participants)
    without = "" if BASELINE in conditions else f"; there is no {BASELINE}, so no Utility"
    return [
        f"power {power:.1%} to find a medium effect (f = {MEDIUM}) with {participants} people in "
        f"{groups} conditions at the level of 5 %",
        f"smallest effect found with a power of 80 %: f = {least:.3f}, that is eta squared "
        f"{least**2 / (1 + least**2):.3f}{without}",
    ]
