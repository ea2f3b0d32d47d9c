"""The rating study of this project: where its parts are, and its tables as analyses read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store, tables
from pasta.contracts import Table
from pasta.layout import Group
from pasta.paths import DATA
from pasta.studies.ratings.importing import stored_folders
from pasta.studies.ratings.rateable import explained
from pasta.studies.ratings.records import PARTS, Annotations

BATCHES = Path("pipelines/annotations/batches")
SIMULATED = DATA / "simulate" / "batch"
PLANTED = DATA / "simulate" / "planted"
VOTES = DATA / "votes"
FULL = 5  # votes on a sample and question in the published study


def batches_of(root: Path) -> list[Path]:
    """All stored batches of a project, the simulated one first."""
    return stored_folders(root / BATCHES, root / SIMULATED)


@dataclass(frozen=True)
class Study:
    """The votes and everything that was voted on; each table is read when it is first used."""

    folder: Path  # of the votes stage
    groups: Sequence[Group]

    @cached_property
    def votes(self) -> pd.DataFrame:
        """All votes."""
        return self._read(tables.VOTES)

    @cached_property
    def annotators(self) -> pd.DataFrame:
        """Who voted."""
        return self._read(tables.ANNOTATORS)

    @cached_property
    def descriptions(self) -> pd.DataFrame:
        """Answers to Q0.1."""
        return self._read(tables.DESCRIPTIONS)

    @cached_property
    def boxes(self) -> pd.DataFrame:
        """Answers to Q0.2."""
        return self._read(tables.BOXES)

    @cached_property
    def rankings(self) -> pd.DataFrame:
        """Answers to Q7, Q8 and Q9."""
        return self._read(tables.RANKED)

    @cached_property
    def labels(self) -> pd.DataFrame:
        """The votes on each sample and question, aggregated."""
        return self._read(tables.LABELS)

    @cached_property
    def samples(self) -> pd.DataFrame:
        """The explanations of all groups."""
        return explained(self.groups)

    def _read(self, table: Table) -> pd.DataFrame:
        return store.read(self.folder / f"{table.name}.parquet", table)


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
