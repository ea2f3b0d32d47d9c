"""Scales, and tables of answers on them: what a question allows is data.

>>> rating_scale(7).numbers
(1, 2, 3, 4, 5, 6, 7)
>>> YES_NO.values
('no', 'yes')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd
import pandera.pandas as pa

from pasta.contracts import (
    Reference,
    Rule,
    Table,
    a_flag,
    a_name,
    a_number,
    a_text,
    a_time,
    a_whole,
    one_of,
)

SIMULATED = "true for answers of simulated people"
DEMOGRAPHICS = ("age", "sex", "country")


@dataclass(frozen=True)
class Scale:
    """The answers that a question allows.

    Attributes
    ----------
    kind
        ``ordinal`` (whole numbers in order), ``binary`` (two words) or ``choice`` (words without
        an order).
    values
        Every answer that is allowed, used or not, from the lowest to the highest.
    direction
        1 if a higher answer is better, -1 if a lower one is, None if neither.
    labels
        What the lowest and the highest answer mean, or what each answer means.
    unit
        What an ordinal answer counts, such as ``stars``.
    """

    kind: Literal["ordinal", "binary", "choice"]
    values: tuple[int | str, ...]
    direction: Literal[1, -1] | None = 1
    labels: tuple[str, ...] = ()
    unit: str = ""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The values as whole numbers: themselves if ordinal, else their places from 0."""
        if self.kind == "ordinal":
            return tuple(int(value) for value in self.values)
        return tuple(range(len(self.values)))

    @property
    def expected(self) -> str:
        """What is expected of an answer, in words."""
        if self.kind != "ordinal":
            return "one of " + ", ".join(map(str, self.values))
        return f"{self.unit or 'a whole number'} from {self.numbers[0]} to {self.numbers[-1]}"

    def column(self) -> pa.Column:
        """A column of answers on this scale."""
        if self.kind == "ordinal":
            return a_whole(self.expected, self.numbers[0], self.numbers[-1])
        return one_of(tuple(map(str, self.values)))

    def refusal(self, column: str) -> tuple[str, str]:
        """Problem and fix for a cell that is not on the scale."""
        *most, last = map(str, self.values)
        problem = f"the {column} is not {self.expected}"
        if self.kind == "ordinal":
            ends = f"from {self.numbers[0]} to {self.numbers[-1]}"
            problem = f"the {column} is not a whole number {ends}"
        choices = f"{', '.join(most)} or {last}{f' {self.unit}' if self.unit else ''}"
        return problem, f"give {choices}, or remove the row"


def rating_scale(
    points: int,
    direction: Literal[1, -1] = 1,
    labels: tuple[str, ...] = (),
    unit: str = "",
) -> Scale:
    """Whole numbers from 1 to ``points``, such as five stars or a scale from 1 to 10."""
    return Scale("ordinal", tuple(range(1, points + 1)), direction, labels, unit)


def forced_choice(*options: str) -> Scale:
    """One of several options, none of which is better in itself."""
    return Scale("choice", options, None)


YES_NO = Scale("binary", ("no", "yes"))


def demographics() -> dict[str, pa.Column]:
    """Columns of what people say of themselves; each may be missing."""
    return {
        "age": a_whole("years, or empty", 0, 130, nullable=True),
        "sex": a_text("as stated, or empty", nullable=True),
        "country": a_text("as stated, or empty", nullable=True),
    }


def participants_table(name: str, about: str, **more: pa.Column) -> Table:
    """Who took part in a study; ``more`` are columns about the person."""
    columns = {
        "participant_id": a_name("a name without slash or space"),
        **more,
        "simulated": a_flag(SIMULATED),
    }
    return Table(name, about, ("participant_id",), columns)


def trials_table(
    name: str,
    about: str,
    scales: Mapping[str, Scale],
    references: tuple[Reference, ...] = (),
) -> Table:
    """Answers of participants: one row for each trial and question.

    Parameters
    ----------
    name, about
        Of the table.
    scales
        The scale of each question. The answer is a whole number if all of them are ordinal, else
        text.
    references
        Where participants and trials are described.

    Returns
    -------
    Table
        Its optional columns are those of :data:`TRIAL_OPTIONAL`: the condition and phase in which
        the trial stood, its position in the session, the seconds it took, and the right answer.
    """
    ordinal = all(scale.kind == "ordinal" for scale in scales.values())
    expected = "an answer on the scale of its question"
    answer = a_whole(expected) if ordinal else a_text(expected)
    allowed = {key: set(map(str, scale.values)) for key, scale in scales.items()}

    def on_its_scale(column: str, frame: pd.DataFrame) -> pd.Series[bool]:
        # A question that is not known is reported as such.
        fits = frame[column].isna() | ~frame["question"].isin(list(allowed))
        texts = frame[column].astype("str")
        for question, values in allowed.items():
            fits |= (frame["question"] == question) & texts.isin(values)
        return fits

    return Table(
        name,
        about,
        ("participant_id", "trial", "question"),
        {
            "participant_id": a_name("a participant"),
            "trial": a_name("what was shown or asked"),
            "question": one_of(tuple(scales)),
            "answer": answer,
            "condition": a_text("the condition of the trial, or empty", nullable=True),
            "phase": a_text("the phase of the session, or empty", nullable=True),
            "position": a_whole("place in the session from 1, or empty", 1, nullable=True),
            "seconds": a_number("how long it took, or empty", 0, nullable=True),
            "right": a_text("the right answer, or empty", nullable=True),
            "submitted_at": a_time(),
            "simulated": a_flag(SIMULATED),
        },
        references,
        (
            Rule("answer", expected, lambda frame: on_its_scale("answer", frame)),
            Rule("right", f"a right {expected[3:]}", lambda frame: on_its_scale("right", frame)),
        ),
    )


TRIAL_OPTIONAL = frozenset(
    {"condition", "phase", "position", "seconds", "right", "submitted_at", "simulated"}
)
