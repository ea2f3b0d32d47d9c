"""What was rated: the technique, kind, backbone and image of each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

DESCRIBED = ("method", "backbone", "kind", "image_id", "dataset")
WORST, BEST = 1, 5


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


def turned(ratings: pd.DataFrame, directions: Mapping[str, int] | None) -> pd.DataFrame:
    """Ratings in which more stars are always better: questions of direction -1 are mirrored."""
    backward = [name for name, sign in (directions or {}).items() if sign < 0]
    mirrored = ratings["question"].isin(backward)
    if not mirrored.any():
        return ratings
    stars = ratings["rating"].where(~mirrored, WORST + BEST - ratings["rating"])
    return ratings.assign(rating=stars)


def only(ratings: pd.DataFrame, questions: Sequence[str] | None) -> pd.DataFrame:
    """The votes on these questions, all if none are named."""
    return ratings if questions is None else ratings[ratings["question"].isin(list(questions))]


def _joined(first: pd.Series, second: pd.Series) -> pd.Series:
    there = first.notna().tolist(), second.notna().tolist()
    names: list[str | None] = []
    for one, two, has_one, has_two in zip(first, second, *there, strict=True):
        if has_one and has_two:
            names.append(f"{one}/{two}")
        else:
            names.append(str(one) if has_one else str(two) if has_two else None)
    return pd.Series(names, index=first.index, dtype=object)
