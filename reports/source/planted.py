"""Planted against found: what simulated raters carry beside what a report estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.tables import Tables
from reports.source.format import cells

# The parts whose estimates a report shows; other reports estimate nothing that is planted.
PARTS: Mapping[str, tuple[str, ...]] = {
    "agreement": ("agreement",),
    "dataset": ("preference",),
    "correlation": ("correlation",),
    "overview": ("agreement", "preference", "correlation"),
}
OWN = ("attention",)  # reports that say themselves what was planted and what is found
SHORT = ("overview",)  # reports that count only
FOUND = "planted"  # the table of each part


def describe_planted(name: str, parts: Mapping[str, Tables]) -> dict[str, Any] | None:
    """Collect what ``planted.typ`` shows at the end of a report on simulated votes.

    Parameters
    ----------
    name
        The report.
    parts
        Tables by the name of the analysis; ``planted`` is that of
        :func:`pasta.studies.ratings.analyses.planted.compare_planted`.
    """
    if name in OWN:
        return None
    tables = [parts[part][FOUND] for part in PARTS.get(name, ()) if FOUND in parts.get(part, {})]
    if not tables:
        return {"rows": None, "estimates": name in PARTS}
    frame = pd.concat(tables, ignore_index=True)
    frame = frame[frame["estimate"].notna()]
    effects = frame[frame["planted"] != 0]
    return {
        "estimates": True,
        "n": len(frame),
        "covered": int(frame["covers"].sum()),
        "effects": len(effects),
        "found": int(effects["found"].sum()),
        "rows": None if name in SHORT else _tabulate(frame),
        "short": name in SHORT,
    }


def _tabulate(frame: pd.DataFrame) -> dict[str, Any]:
    of = np.where(frame["item"] == "all", "", ", " + frame["item"])
    nothing = frame["planted"] == 0
    shown = frame.assign(
        effect=frame["about"] + of,
        parameter=frame["parameter"].where(~nothing, "none"),
        planted=frame["planted"].where(~nothing),
        covers=np.where(frame["covers"], "yes", "no"),
        found=np.where(nothing, "", np.where(frame["found"], "yes", "no")),
    )
    columns = "effect parameter planted:signed expected:0.00 estimate:0.00 low:interval"
    return cells(shown, f"{columns} covers found")
