"""Simulated rating studies with the names of this study, whole and with gaps, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.tables import Tables, joined
from analysis.votes import LIKERT
from pasta.studies.ratings.analyses.agreement import agreement_tables
from pasta.studies.ratings.analyses.bias import bias_tables
from tests.analysis import simulated
from tests.analysis.simulated import Study

Frames = tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None]
NAMES = {"unit": "sample_id", "rater": "annotator_id", "item": "question"}


def simulate(study: Study, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Ratings, annotators and samples with the columns of this study."""
    ratings, people, shown = (
        frame.rename(columns=NAMES) for frame in simulated.simulate(study, seed)
    )
    return ratings, people, shown


def agreement_and_bias(
    ratings: pd.DataFrame,
    annotators: pd.DataFrame | None = None,
    samples: pd.DataFrame | None = None,
    *own_words_and_boxes: pd.DataFrame | None,
    categories: Sequence[int] = LIKERT,
    resamples: int = 60,
    permutations: int = 60,
) -> Tables:
    """The tables on agreement and bias together, as `pasta analyse` has them, of few resamples."""
    scale = {"categories": categories, "permutations": permutations}
    return joined(
        agreement_tables(
            ratings,
            samples,
            annotators=annotators,
            resamples=resamples,
            **scale,  # type: ignore[arg-type]
        ),
        bias_tables(ratings, annotators, samples, *own_words_and_boxes, **scale),  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class Lack:
    """A study with a gap: what makes it, which section must speak, and a part of its words."""

    make: Callable[[pd.DataFrame, pd.DataFrame, pd.DataFrame], Frames]
    section: str
    words: str


def _all_there(r: pd.DataFrame, p: pd.DataFrame, s: pd.DataFrame) -> Frames:
    return r, p, s


def _one_star(r: pd.DataFrame, p: pd.DataFrame, s: pd.DataFrame) -> Frames:
    return r.assign(rating=3), p, s


LACKS = {
    "no annotators table": Lack(lambda r, _, s: (r, None, s), "sex", "not in the annotators table"),
    "nobody stated anything": Lack(
        lambda r, p, s: (r, p[["annotator_id"]].assign(age=None, sex=None, country=None), s),
        "age",
        "no annotator stated age",
    ),
    "some without age": Lack(
        lambda r, p, s: (r, p.assign(age=p["age"].where(p.index > 1)), s), "age", "2 of 8 without"
    ),
    "one annotator": Lack(
        lambda r, p, s: (r[r["annotator_id"] == "a00"], p, s), "agreement", "only one annotator"
    ),
    "one category": Lack(_one_star, "with_mode", "one and the same category"),
    "one category, model": Lack(_one_star, "model", "the same star"),
    "one sex": Lack(lambda r, p, s: (r, p.assign(sex="male"), s), "sex", "only one group (male)"),
    "one country": Lack(_all_there, "country", "only one group (India)"),
    "ages as text": Lack(lambda r, p, s: (r, p.assign(age="thirty"), s), "age", "such as 'thirty'"),
    "no texts": Lack(_all_there, "text_bias", "no texts of annotators"),
    "no boxes": Lack(_all_there, "box_bias", "no Q0.2 boxes"),
    "no times": Lack(
        lambda r, p, s: (r.drop(columns="submitted_at"), p, s), "order", "submitted_at is not"
    ),
    "empty times": Lack(
        lambda r, p, s: (r.assign(submitted_at=None), p, s), "order", "no vote has a time"
    ),
    "no samples": Lack(lambda r, p, _: (r, p, None), "kinds", "kinds of the samples"),
    "one kind": Lack(
        lambda r, p, s: (r, p, s.assign(kind="saliency")), "kind_differences", "all of one kind"
    ),
    "nobody else rated": Lack(
        lambda r, p, s: (r.drop_duplicates(["sample_id", "question"]), p, s),
        "with_mode",
        "no pair of ratings",
    ),
    "three annotators": Lack(
        lambda r, p, s: (r[r["annotator_id"].isin(["a00", "a01", "a02"])], p, s),
        "look_at",
        "three others at least",
    ),
    "anonymous": Lack(lambda r, p, s: (r, p.assign(anonymous=True), s), "look_at", "are anonymous"),
    "no ratings": Lack(lambda r, p, s: (r.iloc[:0], p, s), "agreement", "no ratings"),
    "one vote": Lack(lambda r, p, s: (r.iloc[:1], p, s), "agreement", "only one annotator"),
}


def lacking(name: str) -> tuple[Frames, Lack]:
    """A small study with the gap of this name."""
    ratings, people, samples = simulate(Study(raters=8, samples=24), seed=3)
    lack = LACKS[name]
    return lack.make(ratings, people, samples), lack
