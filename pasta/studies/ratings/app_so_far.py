"""Agreement of the votes so far, for the dashboard of the study app."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pasta.studies.app.design import Design
from pasta.studies.app.exporting import Rows
from pasta.studies.app.so_far import Measure, alpha_of_ratings
from pasta.studies.ratings.settings import MAIN
from pasta.studies.ratings.tables import STARS


def measure(tables: Mapping[str, Rows], design: Design) -> list[Measure]:  # noqa: ARG001
    """Krippendorff's alpha of the main question over the samples with two votes or more."""
    votes = pd.DataFrame(tables["votes"])
    if votes.empty:
        return []
    main = votes[votes["question"] == MAIN]
    return alpha_of_ratings(main, STARS, f"stars of {MAIN}, ordinal, over samples")
