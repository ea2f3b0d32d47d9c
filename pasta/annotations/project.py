"""The rating study of this project: where its parts are, and what can be rated."""

from __future__ import annotations

from pathlib import Path

from pasta.annotations.importing import stored_folders
from pasta.paths import DATA

BATCHES = Path("pipelines/annotations/batches")
SIMULATED = DATA / "simulated"


def explained_folders(root: Path) -> list[Path]:
    """The folders of the datasets that have explanations."""
    return sorted(file.parent for file in (root / DATA).glob("*/explanations.parquet"))


def batches_of(root: Path) -> list[Path]:
    """All stored batches of a project, the simulated one first."""
    return stored_folders(root / BATCHES, root / SIMULATED)
