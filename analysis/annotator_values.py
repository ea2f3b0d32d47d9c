"""Who annotators are, how high they rate and how far they agree: one value each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from analysis.kappa import LIKERT, contingency, kappa_errors
from analysis.kappa_bootstrap import disagreement
from analysis.votes import modes, modes_without_own, read_votes

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


Vector = NDArray[np.float64]
Codes = NDArray[np.intp]
ALL = "all"
MEASURES = ("level", "agreement", "agreement_published")


class LongVotes(NamedTuple):
    """One entry for each vote; a cell is a sample and a question."""

    annotators: pd.Index
    samples: pd.Index
    questions: list[str]
    annotator: Codes
    sample: Codes
    question: Codes
    cell: Codes
    rating: Codes
    place: Codes  # of the rating on the scale, from 1
    others: Codes  # place of the mode of the other votes on the cell, 0 if there is none
    mode: Codes  # place of the mode of all votes on the cell


def long_votes(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> LongVotes:
    """Number the votes of a ratings frame; rows without a rating are left out."""
    table = read_votes(ratings, categories)
    question, annotator, sample = np.nonzero(table.codes >= 0)
    places = question, annotator, sample
    return LongVotes(
        table.annotators,
        table.samples,
        [str(name) for name in table.questions],
        annotator,
        sample,
        question,
        sample * max(len(table.questions), 1) + question,
        np.asarray(categories, np.intp)[table.codes[places]],
        table.codes[places] + 1,
        modes_without_own(table)[places] + 1,
        modes(table)[question, sample] + 1,
    )


def annotator_values(ratings: pd.DataFrame, categories: Sequence[int] = LIKERT) -> pd.DataFrame:
    r"""Level and agreement of every annotator, per question and over all questions.

    ``level`` is the annotator's mean rating, adjusted for which samples were seen: the
    least-squares effect :math:`\alpha_a` of

    .. math:: r_{ascq} = \mu_{sq} + \alpha_a + \epsilon

    plus the mean of all votes. Without shared samples that link all annotators it is the plain
    mean, and the note says so. ``agreement`` is the quadratic kappa with the mode of the *other*
    annotators' votes (the smallest star on ties), ``agreement_published`` with the mode that
    contains the annotator's own vote, as in doi:10.48550/arXiv.2411.02470.

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating.
    categories
        The whole scale in its order.

    Returns
    -------
    DataFrame with annotator_id, question (or "all"), measure, n (votes), estimate, note
    """
    votes, k = long_votes(ratings, categories), len(categories)
    frames = [_levels(votes)] + [_agreements(votes, measure, k) for measure in MEASURES[1:]]
    columns = ["annotator_id", "question", "measure", "n", "estimate", "note"]
    return pd.concat(frames, ignore_index=True)[columns]


def others_mean(votes: LongVotes) -> Vector:
    """For each vote the mean of the other votes on its cell; missing if there is none."""
    number, total = np.bincount(votes.cell), np.bincount(votes.cell, votes.rating)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Vector = (total[votes.cell] - votes.rating) / (number[votes.cell] - 1)
    return means


def adjusted_levels(cell: Codes, annotator: Codes, rating: Codes, n: int) -> tuple[Vector, str]:
    """Adjusted mean rating of each of ``n`` annotators (missing if without vote), and a note."""
    plain = np.full(n, np.nan)
    number = np.bincount(annotator, minlength=n)
    seen = number > 0
    plain[seen] = np.bincount(annotator, rating, n)[seen] / number[seen]
    cells = pd.factorize(cell)[0]
    size = np.bincount(cells)
    if not len(size):
        return plain, "no votes"
    shape = (len(size), n)
    share = 1 / np.sqrt(size[cells])  # so that the product divides by the votes of the cell
    shown = sparse.csr_array((share, (cells, annotator)), shape=shape)
    overlap = np.asarray((shown.T @ shown).todense())
    parts, labels = csgraph.connected_components(sparse.csr_array(overlap), directed=False)
    if parts > 1 and len(np.unique(labels[seen])) > 1:
        return plain, "no samples in common that link all annotators: plain means"
    means = np.bincount(cells, rating) / size
    right = np.bincount(annotator, rating - means[cells], n)
    effects = np.linalg.lstsq(np.diag(number) - overlap, right, rcond=None)[0]
    effects -= effects[seen].mean()
    levels = np.full(n, np.nan)
    # rounded, or equal annotators would differ by the last bit, and that spread be tested
    levels[seen] = np.round(effects[seen] + (rating - effects[annotator]).mean(), 12)
    return levels, ""


def _levels(votes: LongVotes) -> pd.DataFrame:
    frames = []
    for number, name in [*enumerate(votes.questions), (-1, ALL)]:
        here = (votes.question == number) | (number < 0)
        levels, note = adjusted_levels(
            votes.cell[here], votes.annotator[here], votes.rating[here], len(votes.annotators)
        )
        frame = _frame(votes, name, "level", here, levels)
        frames.append(frame.assign(note=note))
    return pd.concat(frames, ignore_index=True)


def _agreements(votes: LongVotes, measure: str, k: int) -> pd.DataFrame:
    label = votes.others if measure == "agreement" else votes.mode
    compared = votes.others > 0  # a vote that is alone agrees with nobody
    weights = disagreement("quadratic", k)
    frames = []
    for number, name in [*enumerate(votes.questions), (-1, ALL)]:
        here = compared & ((votes.question == number) | (number < 0))
        kappas = np.full(len(votes.annotators), np.nan)
        for annotator in range(len(kappas)):
            rows = here & (votes.annotator == annotator)
            table = contingency(votes.place[rows] - 1, label[rows] - 1, k)
            kappas[annotator] = kappa_errors(table, weights)[0]
        frames.append(_frame(votes, name, measure, here, kappas))
    frame = pd.concat(frames, ignore_index=True)
    why = "no other votes on the same samples, or one star only: no kappa"
    return frame.assign(note=np.where(frame["estimate"].isna(), why, ""))


def _frame(
    votes: LongVotes, question: str, measure: str, here: NDArray[np.bool_], estimate: Vector
) -> pd.DataFrame:
    columns = {
        "annotator_id": votes.annotators,
        "question": question,
        "measure": measure,
        "n": np.bincount(votes.annotator[here], minlength=len(votes.annotators)),
        "estimate": estimate,
    }
    return pd.DataFrame(columns)
