"""From a :class:`reports.document.Document` to a PDF, with Typst. Two builds are byte-equal."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from pasta import store
from pasta.errors import PastaError
from reports.document import Document, Picture
from reports.plots.style import style

_SVG_DPI = 72
TEMPLATE = Path(__file__).with_name("templates") / "report.typ"
Facts = Mapping[str, str | Sequence[str]]
Content = dict[str, Any]  # of a report, as the template reads it


def typeset(document: Document, out: Path, facts: Facts | None = None) -> None:
    """Write a report to ``out``; ``facts`` (commit, data, runs) stand on its title page."""
    write(compiled(document, facts or {}), out)


def write(pdf: bytes, out: Path) -> None:
    """Put a PDF where it belongs."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with store.atomic(out) as temporary:
        temporary.write_bytes(pdf)


def compiled(document: Document, facts: Facts) -> bytes:
    """The bytes of the PDF, tagged for those who listen to it (PDF/UA-1)."""
    with workplace() as folder:
        return compiled_from(drawn(document, folder), facts, folder)


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder for the pictures of one report and what the template reads."""
    with tempfile.TemporaryDirectory(prefix="pasta-report-") as name:
        yield Path(name)


def compiled_from(content: Content, facts: Facts, folder: Path) -> bytes:
    """The PDF from what :func:`drawn` has left in the folder. Works with threads of its own."""
    import typst

    name, about = content["name"], _about(facts)
    shutil.copy(TEMPLATE, folder / TEMPLATE.name)
    data = json.dumps({**content, "facts": about}, ensure_ascii=False)
    (folder / "report.json").write_text(data, encoding="utf-8")
    try:
        result, warnings = typst.compile_with_warnings(
            str(folder / TEMPLATE.name),
            root=str(folder),
            format="pdf",
            ignore_system_fonts=True,
            pdf_standards="ua-1",
        )
    except typst.TypstError as error:
        raise PastaError(f"the report {name!r} cannot be typeset: {error}") from error
    if warnings:
        found = "; ".join(str(warning.message) for warning in warnings)
        raise PastaError(f"the report {name!r} was not typeset cleanly: {found}")
    return result


def drawn(document: Document, folder: Path) -> Content:
    """What the template reads of a document; its pictures are put into the folder."""
    blocks = []
    for number, block in enumerate(document.blocks):
        if isinstance(block, Picture):
            blocks.append(block.data(_placed(block.figure, folder, f"picture{number}")))
        else:
            blocks.append(block.data())
    return {
        "name": document.name,
        "title": document.title,
        "subtitle": document.subtitle,
        "simulated": document.simulated,
        "compact": document.compact,
        "blocks": blocks,
    }


def _about(facts: Facts) -> list[dict[str, Any]]:
    return [
        {"name": name, "values": [value] if isinstance(value, str) else list(value)}
        for name, value in facts.items()
    ]


def _placed(figure: Figure | Path, folder: Path, name: str) -> str:
    """Put a picture where the template can see it; letters become outlines, so no font is
    looked for."""
    if isinstance(figure, Path):
        copy = folder / f"{name}{figure.suffix}"
        shutil.copy(figure, copy)
        return copy.name
    file = folder / f"{name}.svg"
    outlines: Any = {"svg.fonttype": "path"}
    with style(), mpl.rc_context(outlines):
        _laid_out(figure)
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.name


def _laid_out(figure: Figure) -> None:
    """Give everything in a figure its place, as on the SVG page.

    `savefig` would draw the whole figure for that, and then once more to write it.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        return
    FigureCanvasSVG(figure)
    figure.set_dpi(_SVG_DPI)
    engine.execute(figure)
    figure.set_layout_engine("none")
