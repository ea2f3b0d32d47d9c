"""From the values of a report and its Typst file to a PDF. Two builds are byte-equal."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import typst
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from pasta import store
from pasta.errors import PastaError
from reports.source.plots.style import style

_SVG_DPI = 72
TEMPLATES = Path(__file__).with_name("templates")
LOOK = "report.typ"
SHARED = (LOOK, "planted.typ", "heat.typ")  # what the Typst files of all reports are written with
TABLES = "tables"  # the folder beside the PDFs
Facts = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True)
class Report:
    """A report whose prose is in ``templates/<name>.typ``, and the values that it reads there.

    A page of a few lines may bring its ``prose`` itself, as Typst text.

    Values are texts, counts, truth values, None, tables (:func:`reports.source.format.cells`),
    figures, picture files, and lists and mappings of these; other numbers have to be formatted
    before.

    Attributes
    ----------
    name, simulated, content, prose
        As above; ``simulated`` is whether the votes are those of simulated raters.
    questions
        What annotators were asked: id and words. They stand in a box on the first page.
    drawn
        Datasets whose images are drawn by a program; None takes those of the parameters.
    random
        Networks with random weights where pretrained ones belong.
    mark
        A warning that stands on every page.
    tables
        What is too long to print: CSV files that lie beside the PDF.
    findings
        Sentences that it opens with, if ``content`` has none of its own.
    """

    name: str
    simulated: bool
    content: Mapping[str, Any]
    prose: str | None = None
    questions: Sequence[Mapping[str, str]] = ()
    drawn: Sequence[str] | None = None
    random: Sequence[str] = ()
    mark: str = ""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    findings: Sequence[str] = ()

    @property
    def said(self) -> list[str]:
        """The findings that it opens with: those in ``content``, or ``findings``."""
        own = self.content.get("findings")
        found: Sequence[str] = own if isinstance(own, list | tuple) else self.findings
        return [str(one).replace("**", "") for one in found]


def typeset(report: Report, out: Path, facts: Facts) -> None:
    """Write a report to ``out`` and its tables beside it; ``facts`` stand on the last page."""
    pdf = compile_pdf(report, facts)
    with store.atomic(out) as temporary:
        temporary.write_bytes(pdf)
    store.write_csvs(report.tables, out.parent / TABLES / report.name)


def compile_pdf(report: Report, facts: Facts) -> bytes:
    """The bytes of the PDF, tagged for those who listen to it (PDF/UA-1)."""
    with tempfile.TemporaryDirectory(prefix="pasta-report-") as name:
        folder = Path(name)
        about = [
            {"name": fact, "values": [value] if isinstance(value, str) else list(value)}
            for fact, value in facts.items()
        ]
        content = _placed(report.content, folder)
        data = {
            **content,
            "simulated": report.simulated,
            "said": report.said,
            "facts": about,
            "question_words": [dict(one) for one in report.questions],
            "drawn": list(report.drawn or ()),
            "random": list(report.random),
            "mark": report.mark,
            "tables": f"{TABLES}/{report.name}",
        }
        text = json.dumps(data, ensure_ascii=False)
        (folder / "data.json").write_text(text, encoding="utf-8")
        for shared in SHARED:
            shutil.copy(TEMPLATES / shared, folder / shared)
        main = folder / f"{report.name}.typ"
        if report.prose is None:
            shutil.copy(TEMPLATES / main.name, main)
        else:
            main.write_text(report.prose, encoding="utf-8")
        try:
            result, warnings = typst.compile_with_warnings(
                str(main),
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


def _placed(value: Any, folder: Path) -> Any:
    """A value in JSON's types; pictures are written to the folder and replaced by file names."""
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
