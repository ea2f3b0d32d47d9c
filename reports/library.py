"""All reports: which there are, what each reads, and how it is built from the tables on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pasta.paths import DATA, project_root
from pasta.registry import Registry
from pasta.workers import as_finished
from reports.document import Document
from reports.facts import facts
from reports.parts import Found
from reports.typesetting import Facts, typeset

FOLDER = Path("reports")
Builder = Callable[[Found], Document]
REPORTS: Registry[Builder] = Registry("report")


def build(name: str, root: Path | None = None, out: Path | None = None) -> Path:
    """Build one report from what the stages have left, and say where it is."""
    import reports.catalog  # noqa: F401  fills the registry

    base = root or project_root()
    file = out or base / FOLDER / f"{name}.pdf"
    _build(name, Found(base / DATA), _facts(name, base), file)
    return file


def build_all(root: Path | None = None, folder: Path | None = None) -> Iterator[Path]:
    """Build every report, several at once, and say of each where it is when it is done.

    The tables are read once. Each file is the one that :func:`build` makes.
    """
    import reports.catalog  # noqa: F401

    base = root or project_root()
    found = Found(base / DATA).read()
    files = [(folder or base / FOLDER) / f"{name}.pdf" for name in names()]
    work = [_piece(file.stem, found, _facts(file.stem, base), file) for file in files]
    for place, _ in as_finished(work):
        yield files[place]


def names() -> dict[str, str]:
    """The reports and what each is about."""
    import reports.catalog  # noqa: F401

    return {entry.key: entry.metadata["about"] for entry in REPORTS.entries()}


def _piece(name: str, found: Found, about: Facts, file: Path) -> Callable[[], None]:
    return lambda: _build(name, found, about, file)


def _build(name: str, found: Found, about: Facts, file: Path) -> None:
    typeset(REPORTS.entry(name).value(found), file, about)


def _facts(name: str, base: Path) -> Facts:
    metadata = REPORTS.entry(name).metadata
    return facts(base, metadata["data"], metadata["runs"])
