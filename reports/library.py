"""All reports: which there are, what each reads, and how it is built from the tables on disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pasta.paths import DATA, project_root
from pasta.registry import Registry
from reports.document import Document
from reports.facts import facts
from reports.typesetting import typeset

FOLDER = Path("reports")
Builder = Callable[[Path], Document]  # from the folder of the data
REPORTS: Registry[Builder] = Registry("report")


def build(name: str, root: Path | None = None, out: Path | None = None) -> Path:
    """Build one report from what the stages have left, and say where it is."""
    import reports.catalog  # noqa: F401  fills the registry

    base = root or project_root()
    entry = REPORTS.entry(name)
    file = out or base / FOLDER / f"{name}.pdf"
    document = entry.value(base / DATA)
    about = facts(base, entry.metadata["data"], entry.metadata["runs"])
    typeset(document, file, about)
    return file


def names() -> dict[str, str]:
    """The reports and what each is about."""
    import reports.catalog  # noqa: F401

    return {entry.key: entry.metadata["about"] for entry in REPORTS.entries()}
