"""What the answers say so far; ``python -m pasta.studies.app.so_far FOLDER`` prints it as JSON.

Each study has a module ``app_so_far`` beside its module ``app``: how far people agree, or how often
they were right. It takes libraries that the server does without.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, cast

import pandas as pd

from analysis.reliability import krippendorff_alpha
from pasta.studies.app.database import Database, open_database
from pasta.studies.app.design import Design, load_design
from pasta.studies.app.exporting import URL, Rows, export_tables

ALPHA = "Krippendorff's alpha"


@dataclass(frozen=True)
class Measure:
    """A number with what it measures, of what, and from how many of them; None if unknown."""

    measure: str
    about: str
    value: float | None
    n: int


class Hook(Protocol):
    """The module ``app_so_far`` of a study."""

    def measure(self, tables: Mapping[str, Rows], design: Design) -> list[Measure]:
        """The study's measures; none without enough answers."""
        ...


def measures(design: Design, database: Database) -> list[Measure]:
    """What the answers that count say so far, by the measures of the study."""
    name = f"pasta.studies.{design.settings.kind}.app_so_far"
    hook = cast(Hook, importlib.import_module(name))
    return hook.measure(export_tables(design, database).tables, design)


def alpha_of_ratings(ratings: pd.DataFrame, scale: Sequence[int], about: str) -> list[Measure]:
    """Krippendorff's ordinal alpha over the samples with two ratings or more, if there are two.

    Parameters
    ----------
    ratings
        sample_id, annotator_id and rating.
    scale
        All ratings that can be given, in order.
    about
        What was rated, in words.
    """
    wide = ratings.pivot_table("rating", "sample_id", "annotator_id", aggfunc="first")
    if (wide.notna().sum(axis=1) >= 2).sum() < 2:
        return []
    # The interval, which is not shown, needs one resample at least.
    row = krippendorff_alpha(wide.to_numpy(float), list(scale), resamples=1).iloc[0]
    return [Measure(ALPHA, about, rounded(row["estimate"]), int(row["n"]))]


def rounded(value: float) -> float | None:
    """A number as it is shown; None if it is missing.

    >>> rounded(0.81539)
    0.815
    """
    return None if math.isnan(value) else round(float(value), 3)


def main() -> None:
    """Print the measures of the study whose folder is named."""
    folder = Path(sys.argv[1])
    database = open_database(folder, os.environ.get(URL))
    try:
        found = measures(load_design(folder), database)
        json.dump([asdict(one) for one in found], sys.stdout)
    finally:
        database.close()


if __name__ == "__main__":
    main()
