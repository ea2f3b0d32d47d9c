"""Explanations with their votes and predicted scores: the best, the worst, the most surprising.

P1 (doi:10.48550/arXiv.2411.02470, first version), Tables 21 and 22. Only explanations of images
that the scorer has not seen are shown, if there are any: elsewhere a good guess may be a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from pasta.applications.settings import ApplicationsParams
from pasta.errors import PastaError
from pasta.studies.ratings.tables import STARS

VOTES = tuple(f"votes_{star}" for star in STARS)
# question; group and place in it from 1; the explanation; predicted stars with their interval; the
# votes with their mode and mean; surprise: mean vote minus predicted score
COLUMNS = (
    *(
        "question",
        "group",
        "place",
        "sample_id",
        "dataset",
        "image_id",
        "technique",
        "kind",
        "predicted",
    ),
    *("score", "low", "high", *VOTES, "mode", "mean", "surprise", "held_out", "simulated"),
)


def rated(scores: pd.DataFrame, labels: pd.DataFrame, question: str) -> pd.DataFrame:
    """Explanations that have both votes on a question and a predicted score."""
    asked = labels[labels["question"] == question]
    columns = ["sample_id", *VOTES, "mode", "mean", "simulated"]
    found = scores.dropna(subset=["score"]).merge(asked[columns], on="sample_id")
    if found.empty:
        raise PastaError(f"no explanation with a predicted score has votes on {question}")
    return found.assign(question=question, surprise=found["mean"] - found["score"])


def examples(found: pd.DataFrame, count: int) -> pd.DataFrame:
    """``count`` of each group; within one no image and no technique is shown twice.

    Best and worst by predicted score; surprising where the mean vote is furthest from it, people
    kinder than predicted in one group, harsher in another.
    """
    pool = found[found["held_out"]] if found["held_out"].any() else found
    orders: dict[str, Any] = {
        "best": -pool["good"],
        "worst": pool["good"],
        "better than predicted": -pool["surprise"],
        "worse than predicted": pool["surprise"],
    }
    parts = []
    for group, order in orders.items():
        ranked = pool.assign(order=order).sort_values(["order", "sample_id"])
        if group.endswith("predicted"):
            ranked = ranked[ranked["order"] < 0]
        chosen = _varied(ranked, count)
        parts.append(chosen.assign(group=group, place=range(1, len(chosen) + 1)))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def _varied(ranked: pd.DataFrame, count: int) -> pd.DataFrame:
    """The first rows whose image and technique are new."""
    images: set[str] = set()
    techniques: set[str] = set()
    places: list[int] = []
    for place, (image, technique) in enumerate(
        zip(ranked["image"], ranked["technique"], strict=True)
    ):
        if len(places) == count:
            break
        if image not in images and technique not in techniques:
            places.append(place)
            images.add(image)
            techniques.add(technique)
    return ranked.iloc[places]


def run_examples(
    scores: Mapping[str, pd.DataFrame], labels: pd.DataFrame, settings: ApplicationsParams
) -> dict[str, pd.DataFrame]:
    """The table ``examples``, from the predicted scores of each question."""
    found = [
        examples(rated(own, labels, question), settings.examples.count)
        for question, own in scores.items()
    ]
    return {"examples": pd.concat(found, ignore_index=True)}
