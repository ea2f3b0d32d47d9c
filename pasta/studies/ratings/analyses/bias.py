"""Does it matter who rates? Groups of annotators, a model of all votes, own words and boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.bias import MARGINS, group_summary, group_tests
from analysis.ordinal_model import ordinal_model
from analysis.raters import demographics, rater_values
from analysis.similarity import TEXT_MEASURES, correlate_similarity, measure_texts
from analysis.tables import MISSING, Tables, add_missing, list_missing
from analysis.votes import ALL, LIKERT, read_votes
from pasta.studies.ratings.analyses.agreement import described_votes
from pasta.studies.ratings.analyses.boxes import MEASURES as BOX_MEASURES
from pasta.studies.ratings.analyses.names import (
    generic,
    named,
    some_anonymous,
    votes_of_people,
)

_OF_AGE = ("age", "age_group")


def bias_tables(
    ratings: pd.DataFrame,
    annotators: pd.DataFrame | None = None,
    samples: pd.DataFrame | None = None,
    descriptions: pd.DataFrame | None = None,
    sentences: pd.DataFrame | None = None,
    boxes: pd.DataFrame | None = None,
    box_values: pd.DataFrame | None = None,
    *,
    categories: Sequence[int] = LIKERT,
    permutations: int = 2_000,
    seed: int = 0,
) -> Tables:
    """Compute all tables about bias; what cannot be known is in ``missing``.

    Anonymous votes are left out: nobody knows who gave them.

    Parameters
    ----------
    ratings, samples, categories
        As for :func:`pasta.studies.ratings.analyses.agreement.agreement_tables`.
    annotators
        Columns annotator_id and any of age, sex, country, anonymous; or None.
    descriptions, sentences
        Q0.1: sample_id, annotator_id, text; and what the concept explanations say: sample_id,
        sentence.
    boxes, box_values
        Q0.2: the boxes; and what :func:`.boxes.box_measures` says of them: sample_id,
        annotator_id and its measures.
    permutations, seed
        Of the permutation tests. The largest difference in level that does not matter is a
        sixteenth of the scale: a quarter of a star from 1 to 5.

    Returns
    -------
    dict of DataFrames
        - ``people``: level and agreement of every annotator, with sex, age, age group and country
        - ``groups``, ``group_tests``: see :mod:`analysis.bias`
        - ``model``: see :func:`analysis.ordinal_model.ordinal_model`
        - ``text_bias``, ``box_bias``: see :mod:`analysis.similarity`
        - ``missing``: section (a table, or sex, age, country), why
    """
    everybody = described_votes(ratings, samples)
    read_votes(everybody, categories)  # refuses what is wrong before anything is computed
    votes = votes_of_people(everybody, annotators)
    anonymous = some_anonymous(everybody, votes)
    who = _generic(annotators)
    kinds = votes.drop_duplicates("unit").set_index("unit")["kind"]
    margins = {**MARGINS, "level": (max(categories) - min(categories)) / 16}
    people, notes = _people(votes, who, categories)
    tests = group_tests(
        votes, who, margins=margins, categories=categories, permutations=permutations, seed=seed
    )
    texts, no_texts = measure_texts(_generic(sentences), _generic(descriptions))
    inside, no_boxes = _box_values(boxes, box_values)
    found: Tables = {
        "people": people,
        "groups": group_summary(votes, who, categories=categories),
        "group_tests": tests,
        "model": ordinal_model(
            votes.drop(columns="kind"),
            who,
            kinds if kinds.notna().any() else None,
            categories=categories,
        ),
        "text_bias": correlate_similarity(texts, votes, TEXT_MEASURES),
        "box_bias": correlate_similarity(inside, votes, BOX_MEASURES),
    }
    tables = {name: named(table) for name, table in found.items()}
    lacks = {"text_bias": no_texts, "box_bias": no_boxes}
    if len(votes["rating"].unique()) == 1:
        lacks["model"] = "all votes are the same star"
    if anonymous:
        lacks |= dict.fromkeys(tables, anonymous)
    tables = list_missing(tables, lacks)
    of = {
        factor: anonymous or _lack(tests, factor, notes[factor])
        for factor in ("sex", "age", "country")
    }
    tables = add_missing(tables, [pair for pair in of.items() if pair[1]])
    return {**tables, MISSING: named(tables[MISSING])}


def _people(
    votes: pd.DataFrame, annotators: pd.DataFrame | None, categories: Sequence[int]
) -> tuple[pd.DataFrame, dict[str, str]]:
    values = rater_values(votes, categories)
    known, notes = demographics(annotators, values["rater"].unique().tolist())
    return values.merge(known, on="rater", how="left"), notes


def _lack(tests: pd.DataFrame, factor: str, note: str) -> str:
    """What is missing about a factor: everything, or the words of some annotators."""
    names = _OF_AGE if factor == "age" else (factor,)
    mine = tests[tests["factor"].isin(names) & (tests["measure"] == "level")]
    mine = mine[mine["item"] == ALL]
    if mine["estimate"].notna().any():
        return note
    given = [str(said) for said in mine["note"].dropna() if said]
    return note or (given[-1] if given else "there is nothing to compare")


def _generic(frame: pd.DataFrame | None) -> pd.DataFrame | None:
    """With the columns of :mod:`analysis` and names as text, as those of the votes are."""
    if frame is None:
        return None
    keys = [name for name in ("sample_id", "annotator_id") if name in frame]
    return generic(frame.astype(dict.fromkeys(keys, str)))


def _box_values(
    boxes: pd.DataFrame | None, values: pd.DataFrame | None
) -> tuple[pd.DataFrame, str]:
    columns = ["unit", "rater", *BOX_MEASURES]
    empty = pd.DataFrame(columns=columns).astype(dict.fromkeys(BOX_MEASURES, np.float64))
    if values is not None and len(values):
        known = _generic(values)
        return (empty if known is None else known), ""
    if boxes is None or not len(boxes):
        return empty, "no Q0.2 boxes"
    return empty, "no saliency maps to hold the Q0.2 boxes against"
