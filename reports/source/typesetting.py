"""From a document to a PDF, with Typst. Two builds are byte-equal."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import typst
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from pasta import store
from pasta.errors import PastaError
from reports.source.document import Document, Picture, Report
from reports.source.plots.style import style

_SVG_DPI = 72
TEMPLATES = Path(__file__).with_name("templates")
LOOK, BLOCKS = "report.typ", "blocks.typ"
Facts = Mapping[str, str | Sequence[str]]


def typeset(report: Document | Report, out: Path, facts: Facts | None = None) -> None:
    """Write a report to ``out``; ``facts`` (commit, data, runs) stand on its title page."""
    pdf = compiled(report, facts or {})
    with store.atomic(out) as temporary:
        temporary.write_bytes(pdf)


def compiled(report: Document | Report, facts: Facts) -> bytes:
    """The bytes of the PDF, tagged for those who listen to it (PDF/UA-1)."""
    with tempfile.TemporaryDirectory(prefix="pasta-report-") as name:
        folder = Path(name)
        if isinstance(report, Report):
            template, values = f"{report.name}.typ", _placed(report.content, folder)
        else:
            template, values = BLOCKS, {"document": _content(report, folder)}
        content = {**values, "simulated": report.simulated, "facts": _about(facts)}
        for file in (LOOK, template):
            shutil.copy(TEMPLATES / file, folder / file)
        data = json.dumps(content, ensure_ascii=False)
        (folder / "data.json").write_text(data, encoding="utf-8")
        try:
            result, warnings = typst.compile_with_warnings(
                str(folder / template),
                root=name,
                format="pdf",
                ignore_system_fonts=True,
                pdf_standards="ua-1",
            )
        except typst.TypstError as error:
            raise PastaError(f"the report {report.name!r} cannot be typeset: {error}") from error
    if warnings:
        found = "; ".join(str(warning.message) for warning in warnings)
        raise PastaError(f"the report {report.name!r} was not typeset cleanly: {found}")
    return result


def _content(document: Document, folder: Path) -> dict[str, Any]:
    blocks = []
    for block in document.blocks:
        if isinstance(block, Picture):
            blocks.append(block.data(_draw(block.figure, folder)))
        else:
            blocks.append(block.data())
    own = ("title", "subtitle", "compact")
    return {**{field: getattr(document, field) for field in own}, "blocks": blocks}


def _placed(value: Any, folder: Path) -> Any:
    """A value as JSON knows it; pictures are put into the folder and become names of files."""
    match value:
        case Figure() | Path():
            return _draw(value, folder)
        case Mapping():
            return {str(name): _placed(one, folder) for name, one in value.items()}
        case list() | tuple():
            return [_placed(one, folder) for one in value]
        case np.bool_() | np.integer():
            return value.item()
        case None | bool() | int() | str():
            return value
    raise TypeError(f"{value!r} has to be formatted before it is typeset")


def _about(facts: Facts) -> list[dict[str, Any]]:
    return [
        {"name": name, "values": [value] if isinstance(value, str) else list(value)}
        for name, value in facts.items()
    ]


def _draw(figure: Figure | Path, folder: Path) -> str:
    """Put a picture where Typst can see it; letters become outlines, so no font is looked for."""
    name = f"picture{sum(1 for _ in folder.iterdir())}"
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
