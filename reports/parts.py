"""What the analyses have left on disk, for those who need several of them at once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pasta import store

ANALYSES = ("dataset", "agreement", "preference", "correlation")
Tables = dict[str, pd.DataFrame]
USES = ("stored", "steering", "backbones", "tuning")
APPLICATIONS = "applications"  # their folder among the data
ANALYSIS = "analysis"  # the analyses' folder among the data


def parts(data: Path) -> dict[str, Tables]:
    """The tables of every analysis that has run, and of the score."""
    found = {name: data / ANALYSIS / name for name in ANALYSES} | {"score": data / "score"}
    return {name: store.read_csvs(folder) for name, folder in found.items() if folder.is_dir()}


def applications_parts(data: Path) -> dict[str, Tables]:
    """The tables of every application that has run."""
    found = {name: data / APPLICATIONS / name for name in USES}
    return {name: store.read_csvs(folder) for name, folder in found.items() if folder.is_dir()}


def ours(data: Path) -> Tables:
    """The tables that stand beside the papers' numbers, by the names the replication uses."""
    there = parts(data)
    names = {
        "correlations": ("correlation", "correlations"),
        "values": ("correlation", "values"),
        "score": ("score", "summary"),
        "technique_scores": ("preference", "technique_scores"),
        "positions": ("preference", "positions"),
        "facts": ("dataset", "facts"),
    }
    return {
        name: there[part][table]
        for name, (part, table) in names.items()
        if table in there.get(part, {})
    }


def any_simulated(data: Path) -> bool:
    """Whether there is a simulated vote among all."""
    return bool(store.read_json(data / "annotations.json")["simulated"])
