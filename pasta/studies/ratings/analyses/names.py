"""Between this study and :mod:`analysis`: columns, words, and what is known of a sample."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

GENERIC = {"sample_id": "unit", "annotator_id": "rater", "question": "item"}
WORDS = {"unit": "sample", "rater": "annotator", "item": "question"}
DESCRIBED = ("method", "backbone", "kind", "image_id", "dataset")
_TEXTS = ["note", "reason", "term", "why"]
ANONYMOUS = "not known: votes are anonymous, and nobody can say which are of one person"


def empty_table(*texts: str, numbers: Sequence[str] = ()) -> pd.DataFrame:
    """A table without rows, with columns of texts and of numbers."""
    columns = dict.fromkeys(texts, object) | dict.fromkeys(numbers, float)
    return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})


NO_VOTES = empty_table("sample_id", "annotator_id", "question", numbers=["rating"])
NO_SAMPLES = empty_table("sample_id")


def generic(frame: pd.DataFrame) -> pd.DataFrame:
    """A table of the study with the column names that :mod:`analysis` uses."""
    return frame.rename(columns=GENERIC)


def named(table: pd.DataFrame) -> pd.DataFrame:
    """A table of :mod:`analysis` with the column names and the words of this study."""
    words = re.compile(rf"\b({'|'.join(WORDS)})(s?)\b")
    table = table.rename(columns={name: own for own, name in GENERIC.items()})
    for column in table.columns.intersection(_TEXTS):
        table[column] = [
            words.sub(lambda found: WORDS[found[1]] + found[2], text)
            if isinstance(text, str)
            else text
            for text in table[column]
        ]
    return table


def anonymous_raters(annotators: pd.DataFrame | None) -> set[str]:
    """Annotators that are no people: places in lists of votes, each of which may be anybody's."""
    if annotators is None or "anonymous" not in annotators:
        return set()
    marked = annotators["anonymous"].fillna(False).to_numpy(bool)
    return set(annotators.loc[marked, "annotator_id"].astype(str))


def votes_of_people(votes: pd.DataFrame, annotators: pd.DataFrame | None) -> pd.DataFrame:
    """The votes of which it is known who gave them, for whatever compares people."""
    name = "annotator_id" if "annotator_id" in votes else "rater"
    unknown = votes[name].astype(str).isin(anonymous_raters(annotators))
    return votes[~unknown].reset_index(drop=True) if unknown.any() else votes


def pool_anonymous(votes: pd.DataFrame, annotators: pd.DataFrame | None) -> pd.DataFrame:
    """The votes with one name for all anonymous ones, so that none is taken for a person."""
    unknown = votes["annotator_id"].astype(str).isin(anonymous_raters(annotators))
    return votes.assign(annotator_id=votes["annotator_id"].mask(unknown, "anonymous"))


def some_anonymous(votes: pd.DataFrame, people: pd.DataFrame) -> str:
    """Why a comparison of people lacks votes; empty if all votes are of known people."""
    if len(people) == len(votes):
        return ""
    if people.empty:
        return ANONYMOUS
    return (
        f"{len(votes) - len(people):,} of {len(votes):,} votes are anonymous and not counted here"
    )


def some_unknown(known: pd.Series, what: str) -> str:
    """What is not known of some samples (rows) and of others is; empty if of all or of none."""
    number = int(known.isna().sum())
    if not 0 < number < len(known):
        return ""
    return f"{number:,} of {len(known):,} rated samples have no known {what} and are not in it"


def describe_samples(samples: pd.DataFrame) -> pd.DataFrame:
    """A frame by sample_id with technique, method, backbone, kind and image; missing is None.

    ``technique`` is taken as it is or made of method and backbone; ``image`` is made of dataset
    and image_id, because images of two datasets may have the same number.
    """
    if "sample_id" not in samples:
        raise ValueError("the samples have no column sample_id")
    frame = samples.drop_duplicates("sample_id").set_index("sample_id")
    known = pd.DataFrame(index=frame.index)
    for name in DESCRIBED:
        known[name] = frame[name].astype(object) if name in frame else None
    if "technique" in frame:
        known["technique"] = frame["technique"].astype(object)
    else:
        known["technique"] = _joined(known["method"], known["backbone"])
    known["image"] = known["image_id"]
    if "dataset" in frame:
        known["image"] = _joined(known["dataset"], known["image_id"])
    return known


def _joined(first: pd.Series, second: pd.Series) -> pd.Series:
    there = first.notna().tolist(), second.notna().tolist()
    names: list[str | None] = []
    for one, two, has_one, has_two in zip(first, second, *there, strict=True):
        if has_one and has_two:
            names.append(f"{one}/{two}")
        else:
            names.append(str(one) if has_one else str(two) if has_two else None)
    return pd.Series(names, index=first.index, dtype=object)
