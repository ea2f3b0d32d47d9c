"""The votes stage: merged annotations, stored for all that follows, in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store
from pasta.annotations.records import PARTS, Annotations

FULL = 5  # votes on a sample and question in the published study


def write_tables(annotations: Annotations, explanations: pd.DataFrame, out: Path) -> None:
    """One Parquet file for each table; votes also as CSV, because people compare them."""
    shown = annotations.shown[["sample_id"]]
    rated = pd.concat([explanations[["sample_id"]], shown], ignore_index=True)
    parents = {"explanations": rated, "annotators": annotations.annotators}
    for name, frame in annotations.parts().items():
        store.write(frame, out / f"{name}.parquet", PARTS[name], parents)
    store.write(annotations.votes, out / "votes.csv", PARTS["votes"], parents)


def summarise(annotations: Annotations, batches: int) -> dict[str, Any]:
    """How much there is, for the metrics file."""
    votes = annotations.votes
    by_question = votes.groupby("question").size()
    return {
        "batches": batches,
        "annotators": len(annotations.annotators),
        "samples": int(votes["sample_id"].nunique()),
        "votes": len(votes),
        "simulated": int(votes["simulated"].sum()),
        "descriptions": len(annotations.descriptions),
        "boxes": len(annotations.boxes),
        "rankings": len(annotations.rankings),
        "questions": {str(name): int(number) for name, number in by_question.items()},
    }


def summarise_labels(labels: pd.DataFrame) -> dict[str, Any]:
    """How the labels of each question look, for the metrics file."""
    return {
        str(question): {
            "samples": len(own),
            "mean": round(float(own["mean"].mean()), 4),
            "mean_mode": round(float(own["mode"].mean()), 4),
            "unanimous": round(float((own["entropy"] == 0).mean()), 4),
            "entropy": round(float(own["entropy"].mean()), 4),
            "fewer_than_five_votes": int((own["n_votes"] < FULL).sum()),
        }
        for question, own in labels.groupby("question")
    }
