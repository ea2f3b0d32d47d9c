"""Does it matter who rates? Groups of annotators, a model of all votes, own words and boxes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis import box_bias, text_bias
from analysis.annotator_values import ALL, annotator_values
from analysis.bias import MARGINS, group_summary, group_tests
from analysis.demographics import demographics
from analysis.kappa import LIKERT
from analysis.likeness import likeness_correlations
from analysis.ordinal_model import ordinal_model
from analysis.spread import Work
from analysis.suites.tables import Tables

Lazy = pd.DataFrame | Callable[[], pd.DataFrame] | None  # a table, or what makes it

_OF_AGE = ("age", "age_group")


def bias_work(
    votes: pd.DataFrame,
    annotators: pd.DataFrame | None,
    descriptions: pd.DataFrame | None = None,
    sentences: Lazy = None,
    boxes: pd.DataFrame | None = None,
    box_values: Lazy = None,
    *,
    categories: Sequence[int] = LIKERT,
    permutations: int = 2_000,
    seed: int = 0,
) -> dict[str, Work]:
    """The pieces of work for the tables on bias; :func:`bias_tables` puts their results together.

    ``votes`` has a column kind, which may be empty; see
    :func:`analysis.suites.agreement.agreement_tables` for the others. The largest difference in
    level that does not matter is a sixteenth of the scale: a quarter of a star from 1 to 5.
    """
    people = _named(annotators)
    kinds = votes[["sample_id", "kind"]].drop_duplicates()
    margins = {**MARGINS, "level": (max(categories) - min(categories)) / 16}

    def told() -> tuple[pd.DataFrame, str]:
        texts, why = text_bias.text_similarity(_named(_made(sentences)), _named(descriptions))
        return likeness_correlations(texts, votes, text_bias.MEASURES), why

    def drawn() -> tuple[pd.DataFrame, str]:
        inside, why = _box_values(boxes, _made(box_values))
        return likeness_correlations(inside, votes, box_bias.MEASURES), why

    return {
        "box_bias": drawn,
        "text_bias": told,
        "group_tests": lambda: group_tests(
            votes,
            people,
            margins=margins,
            categories=categories,
            permutations=permutations,
            seed=seed,
        ),
        "model": lambda: ordinal_model(
            votes.drop(columns="kind"),
            people,
            kinds if kinds["kind"].notna().any() else None,
            categories=categories,
        ),
        "groups": lambda: group_summary(votes, people, categories=categories),
        "people": lambda: _people(votes, people, categories),
    }


def bias_tables(votes: pd.DataFrame, done: Mapping[str, Any]) -> tuple[Tables, dict[str, str]]:
    """The tables on bias, and what is missing, by table or by sex, age, country.

    ``done`` has the results of :func:`bias_work`.

    Returns
    -------
    - ``people``: level and agreement of every annotator, with sex, age, age group and country
    - ``groups``, ``group_tests``: see :mod:`analysis.bias`
    - ``model``: see :func:`analysis.ordinal_model.ordinal_model`
    - ``text_bias``, ``box_bias``: see :mod:`analysis.likeness`
    """
    people, notes = done["people"]
    tests = done["group_tests"]
    (texts, no_texts), (inside, no_boxes) = done["text_bias"], done["box_bias"]
    tables: Tables = {
        "people": people,
        "groups": done["groups"],
        "group_tests": tests,
        "model": done["model"],
        "text_bias": texts,
        "box_bias": inside,
    }
    lacks = {factor: _lack(tests, factor, notes[factor]) for factor in ("sex", "age", "country")}
    if len(votes["rating"].unique()) == 1:
        lacks["model"] = "all votes are the same star"
    for name, why in (("text_bias", no_texts), ("box_bias", no_boxes)):
        if why:
            lacks[name] = why
    return tables, lacks


def _people(
    votes: pd.DataFrame, annotators: pd.DataFrame | None, categories: Sequence[int]
) -> tuple[pd.DataFrame, dict[str, str]]:
    values = annotator_values(votes, categories)
    known, notes = demographics(annotators, values["annotator_id"].unique().tolist())
    return values.merge(known, on="annotator_id", how="left"), notes


def _lack(tests: pd.DataFrame, factor: str, note: str) -> str:
    """What is missing about a factor: everything, or the words of some annotators."""
    names = _OF_AGE if factor == "age" else (factor,)
    mine = tests[tests["factor"].isin(names) & (tests["measure"] == "level")]
    mine = mine[mine["question"] == ALL]
    if mine["estimate"].notna().any():
        return note
    given = [str(said) for said in mine["note"].dropna() if said]
    return note or (given[-1] if given else "there is nothing to compare")


def _made(table: Lazy) -> pd.DataFrame | None:
    return table() if callable(table) else table


def _named(frame: pd.DataFrame | None) -> pd.DataFrame | None:
    """Names as text, as those of the votes are."""
    if frame is None:
        return None
    keys = [name for name in ("sample_id", "annotator_id") if name in frame]
    return frame.astype(dict.fromkeys(keys, str))


def _box_values(
    boxes: pd.DataFrame | None, values: pd.DataFrame | None
) -> tuple[pd.DataFrame, str]:
    columns = ["sample_id", "annotator_id", *box_bias.MEASURES]
    empty = pd.DataFrame(columns=columns).astype(dict.fromkeys(box_bias.MEASURES, np.float64))
    if values is not None and len(values):
        named = _named(values)
        return (empty if named is None else named), ""
    if boxes is None or not len(boxes):
        return empty, "no Q0.2 boxes"
    return empty, "no saliency maps to hold the Q0.2 boxes against"
