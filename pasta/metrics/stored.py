"""Stored values of metrics: one file per technique, with a fingerprint for each metric.

``metrics/{method}.{backbone}.json`` holds, for each metric and variant, the values of all samples,
their statuses and seconds, and the fingerprint of what they depend on. A file is written whole: a
killed run loses the techniques it was working on and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from pasta import store, tables
from pasta.explanations.techniques import Technique

FOLDER, TABLE = "metrics", "metric_values.parquet"


@dataclass(frozen=True)
class Entry:
    """One metric, in one variant, of all samples of a technique."""

    metric: str
    variant: str
    direction: str
    fingerprint: str
    numbers: tuple[float | None, ...]  # nothing unless the status is ok
    statuses: tuple[str, ...]
    seconds: tuple[float, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What makes it one column of a wide table."""
        return self.metric, self.variant


def file_of(folder: Path, technique: Technique) -> Path:
    """Where the values of a technique are, below a dataset's folder."""
    return folder / FOLDER / f"{technique.method}.{technique.backbone}.json"


def read_entries(folder: Path, technique: Technique) -> dict[tuple[str, str], Entry]:
    """What earlier runs have left, by metric and variant."""
    file = file_of(folder, technique)
    if not file.is_file():
        return {}
    plain: list[dict[str, Any]] = store.read_json(file)["entries"]
    return {(one["metric"], one["variant"]): _entry(one) for one in plain}


def write_entries(
    folder: Path, technique: Technique, samples: Sequence[str], entries: Iterable[Entry]
) -> None:
    """Write the values of one technique, whole or not at all."""
    plain = [vars(entry) for entry in entries]
    store.write_json({"samples": list(samples), "entries": plain}, file_of(folder, technique))


def remove_others(folder: Path, present: Iterable[Technique]) -> None:
    """Forget techniques that are no longer among the explanations."""
    keep = {file_of(folder, one) for one in present}
    for file in (folder / FOLDER).glob("*.json"):
        if file not in keep:
            file.unlink()


def values_table(
    found: Mapping[Technique, tuple[Sequence[str], Sequence[Entry]]],
) -> pd.DataFrame:
    """One row per sample, metric and variant."""
    rows = [
        {
            "sample_id": sample,
            "metric": entry.metric,
            "variant": entry.variant,
            "value": entry.numbers[number],
            "direction": entry.direction,
            "status": entry.statuses[number],
            "seconds": entry.seconds[number],
        }
        for samples, entries in found.values()
        for entry in entries
        for number, sample in enumerate(samples)
    ]
    return tables.METRIC_VALUES.frame(rows)


def _entry(plain: Mapping[str, Any]) -> Entry:
    lists = {name: tuple(plain[name]) for name in ("numbers", "statuses", "seconds")}
    return Entry(**{**plain, **lists})
