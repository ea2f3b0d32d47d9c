"""What the analyses have left on disk, for those who need several of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from pasta import store
from reports.replication.published import published_tables
from reports.replication.table import replication_table

ANALYSES = ("dataset", "agreement", "preference", "correlation")
Tables = dict[str, pd.DataFrame]
USES = ("stored", "steering", "backbones", "tuning")
APPLICATIONS = "applications"  # their folder among the data
ANALYSIS = "analysis"  # the analyses' folder among the data


@dataclass(frozen=True)
class Found:
    """What there is to report on; each table is read when it is first used, and once."""

    data: Path  # the folder of all data

    @cached_property
    def parts(self) -> dict[str, Tables]:
        """Those of :func:`parts`."""
        return parts(self.data)

    @cached_property
    def applications(self) -> dict[str, Tables]:
        """Those of :func:`applications_parts`."""
        return applications_parts(self.data)

    @cached_property
    def published(self) -> Tables:
        """What the papers print."""
        return published_tables()

    @cached_property
    def replication(self) -> pd.DataFrame:
        """Every number that the papers print, beside ours."""
        return replication_table(self.published, ours(self.parts, self.applications))

    @cached_property
    def simulated(self) -> bool:
        """Whether there is a simulated vote among all."""
        return any_simulated(self.data)

    def read(self) -> Found:
        """Read everything now, before copies of this process are made."""
        _ = self.parts, self.applications, self.replication, self.simulated
        return self


def parts(data: Path) -> dict[str, Tables]:
    """The tables of every analysis that has run, and of the score."""
    found = {name: data / ANALYSIS / name for name in ANALYSES} | {"score": data / "score"}
    return {name: store.read_csvs(folder) for name, folder in found.items() if folder.is_dir()}


def applications_parts(data: Path) -> dict[str, Tables]:
    """The tables of every application that has run."""
    found = {name: data / APPLICATIONS / name for name in USES}
    return {name: store.read_csvs(folder) for name, folder in found.items() if folder.is_dir()}


def ours(there: dict[str, Tables], applications: dict[str, Tables]) -> Tables:
    """The tables that stand beside the papers' numbers, by the names the replication uses.

    They are among those of :func:`parts` and :func:`applications_parts`.
    """
    names = {
        "correlations": ("correlation", "correlations"),
        "values": ("correlation", "values"),
        "score": ("score", "summary"),
        "technique_scores": ("preference", "technique_scores"),
        "positions": ("preference", "positions"),
        "facts": ("dataset", "facts"),
    }
    found = {
        name: there[part][table]
        for name, (part, table) in names.items()
        if table in there.get(part, {})
    }
    tried = applications.get("tuning", {}).get("candidates")
    return found if tried is None else found | {"kernel_width": kernel_widths(tried)}


def kernel_widths(candidates: pd.DataFrame) -> pd.DataFrame:
    """Predicted stars of LIME by its kernel width, as P1's Table 23 has them."""
    own = candidates[candidates["technique"] == "lime/resnet50"]
    widths = own["candidate"].str.extract(r"^kernel_width ([0-9.]+)$")[0]
    frame = own.assign(kernel_width=pd.to_numeric(widths), estimate=own["score"])
    return frame.dropna(subset=["kernel_width"])[["kernel_width", "estimate", "low", "high"]]


def any_simulated(data: Path) -> bool:
    """Whether there is a simulated vote among all."""
    return bool(store.read_json(data / "annotations.json")["simulated"])
