"""Who the annotators are, as groups that can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

FACTORS = ("sex", "age_group", "country")
AGE_EDGES = (25, 30, 40, 50, 60)


def age_group(age: float, edges: Sequence[int] = AGE_EDGES) -> str | None:
    """The name of an age's group: ``under 25``, ``25-29``, ..., ``60 and over``."""
    if np.isnan(age):
        return None
    above = [edge for edge in edges if age >= edge]
    if not above:
        return f"under {edges[0]}"
    if len(above) == len(edges):
        return f"{edges[-1]} and over"
    return f"{above[-1]}-{edges[len(above)] - 1}"


def demographics(
    annotators: pd.DataFrame | None,
    annotator_ids: Sequence[str] | pd.Index[str],
    *,
    age_edges: Sequence[int] = AGE_EDGES,
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Age, age group, sex and country of these annotators, and what is missing about each factor.

    Text is trimmed, and sex is compared without capitals. An age that is no number (or not from 0
    to 130) counts as not stated. Nobody is guessed.

    Returns
    -------
    A frame with annotator_id, age, age_group, sex, country, in the given order; and for each
    factor (age, age_group, sex, country) a note, empty if nothing is missing.
    """
    known = pd.DataFrame({"annotator_id": pd.Index(annotator_ids)})
    given = pd.DataFrame({"annotator_id": []}) if annotators is None else annotators
    if "annotator_id" not in given:
        given = pd.DataFrame({"annotator_id": []})
    given = given.drop_duplicates("annotator_id").set_index("annotator_id")
    given = given.reindex(pd.Index(annotator_ids))
    notes: dict[str, str] = {}
    for name in ("sex", "country"):
        known[name], notes[name] = _text(given, name)
    known["age"], notes["age"] = _ages(given)
    groups = [age_group(age, age_edges) for age in known["age"]]
    known["age_group"] = pd.Series(groups, dtype=object)  # else None becomes NaN
    notes["age_group"] = notes["age"]
    return known[["annotator_id", "age", *FACTORS]], notes


def _text(given: pd.DataFrame, name: str) -> tuple[list[str | None], str]:
    if name not in given:
        return [None] * len(given), f"{name} is not in the annotators table"
    tidy = [None if pd.isna(value) else str(value).strip() for value in given[name]]
    values = [(value.casefold() if name == "sex" else value) if value else None for value in tidy]
    return values, _missing(sum(value is None for value in values), len(values), name)


def _ages(given: pd.DataFrame) -> tuple[np.ndarray, str]:
    if "age" not in given:
        return np.full(len(given), np.nan), "age is not in the annotators table"
    numbers = pd.to_numeric(given["age"].astype(object), errors="coerce")
    ages = numbers.to_numpy(np.float64, na_value=np.nan)
    ages = np.where((ages >= 0) & (ages <= 130), ages, np.nan)
    stated = given["age"].notna().to_numpy()
    strange = stated & np.isnan(ages)
    note = _missing(int((~stated).sum()), len(ages), "age")
    if strange.any():
        example = given["age"].to_numpy(object)[strange][0]
        text = f"{strange.sum()} ages are no number of years (such as {str(example)!r})"
        note = f"{note}; {text}" if note else text
    return ages, note


def _missing(number: int, of: int, name: str) -> str:
    if not number:
        return ""
    return f"no annotator stated {name}" if number == of else f"{number} of {of} without {name}"
