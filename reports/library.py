"""All reports: which there are, what each reads, and how it is built from the tables on disk."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from pasta.paths import DATA, project_root
from pasta.registry import Registry
from pasta.workers import as_finished
from reports.document import Document
from reports.facts import facts
from reports.parts import Found
from reports.typesetting import Content, Facts, compiled_from, drawn, typeset, workplace, write

FOLDER = Path("reports")
Builder = Callable[[Found], Document]
REPORTS: Registry[Builder] = Registry("report")


def build(name: str, root: Path | None = None, out: Path | None = None) -> Path:
    """Build one report from what the stages have left, and say where it is."""
    import reports.catalog  # noqa: F401  fills the registry

    base = root or project_root()
    file = out or base / FOLDER / f"{name}.pdf"
    document = REPORTS.entry(name).value(Found(base / DATA))
    typeset(document, file, _facts(name, base))
    return file


def build_all(
    found: Found, folder: Path, meanwhile: Callable[[], None] | None = None
) -> Iterator[Path]:
    """Build every report and say of each where it is when it is done: what :func:`build` makes.

    The tables are read once. Copies of this process write the texts and draw the figures, this
    one typesets: the typesetter has threads, which a copy would wait for in vain. ``meanwhile`` is
    done once while the first reports are drawn.
    """
    import reports.catalog  # noqa: F401

    base, order = project_root(found.data), list(names())
    found.read()
    about: dict[str, Facts] = {}

    def look_up() -> None:
        about.update({name: _facts(name, base) for name in order})
        if meanwhile is not None:
            meanwhile()

    with ExitStack() as stack:
        places = [stack.enter_context(workplace()) for _ in order]
        work = [_piece(name, found, place) for name, place in zip(order, places, strict=True)]
        for number, content in as_finished(work, meanwhile=look_up):
            name = order[number]
            file = folder / f"{name}.pdf"
            write(compiled_from(content, about[name], places[number]), file)
            yield file


def names() -> dict[str, str]:
    """The reports and what each is about."""
    import reports.catalog  # noqa: F401

    return {entry.key: entry.metadata["about"] for entry in REPORTS.entries()}


def _piece(name: str, found: Found, place: Path) -> Callable[[], Content]:
    def drawn_here() -> Content:
        gc.disable()  # it would walk through all parts of all figures, again and again
        try:
            return drawn(REPORTS.entry(name).value(found), place)
        finally:
            gc.enable()

    return drawn_here


def _facts(name: str, base: Path) -> Facts:
    metadata = REPORTS.entry(name).metadata
    return facts(base, metadata["data"], metadata["runs"])
