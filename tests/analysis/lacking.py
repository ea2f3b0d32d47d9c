"""Ratings in which something is missing, with what a suite must say about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from tests.analysis.simulated import Study, simulate

Frames = tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None]


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
    "no texts": Lack(_all_there, "text_bias", "no Q0.1 texts"),
    "no boxes": Lack(_all_there, "box_bias", "no Q0.2 boxes"),
    "no times": Lack(
        lambda r, p, s: (r.drop(columns="submitted_at"), p, s), "order", "submitted_at is not"
    ),
    "empty times": Lack(
        lambda r, p, s: (r.assign(submitted_at=None), p, s), "order", "no vote has a time"
    ),
    "no samples": Lack(lambda r, p, _: (r, p, None), "kinds", "kind of explanation"),
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
    "no ratings": Lack(lambda r, p, s: (r.iloc[:0], p, s), "agreement", "no ratings"),
    "one vote": Lack(lambda r, p, s: (r.iloc[:1], p, s), "agreement", "only one annotator"),
}


def lacking(name: str) -> tuple[Frames, Lack]:
    """A small study with the gap of this name."""
    ratings, people, samples = simulate(Study(annotators=8, samples=24), seed=3)
    lack = LACKS[name]
    return lack.make(ratings, people, samples), lack
