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
    pairs = zip(first, second, strict=True)
    names = [
        None
        if pd.isna(one) and pd.isna(two)
        else "/".join(str(part) for part in (one, two) if not pd.isna(part))
        for one, two in pairs
    ]
    return pd.Series(names, index=first.index, dtype=object)
