"""Reports are typeset whole: every word is there, two builds are equal, nothing is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pypdfium2
import pytest
from matplotlib.figure import Figure
from PIL import Image

from pasta.errors import PastaError
from reports.source import format as write
from reports.source import typesetting
from reports.source.format import cells
from reports.source.typesetting import Report, compile_pdf, typeset


def figure() -> Figure:
    drawn = Figure(figsize=(4, 2))
    drawn.subplots().plot([1, 3, 2])
    return drawn


def rows(number: int) -> pd.DataFrame:
    places = np.arange(number)
    return pd.DataFrame(
        {
            "name": [f"item{place:03d}" for place in places],
            "estimate": places / 10 - 1,
            "low": places / 10 - 1.5,
            "high": np.where(places % 2, places / 10, np.nan),
            "p": np.where(places, 0.0321, 0.00001),
        }
    )


COLUMNS = "name estimate:0.00 low:interval p:p"
PROSE = """\
#import "report.typ": *
#show: report.with(title: "How people agree", subtitle: [A study], compact: data.compact)
= Agreement
A *bold* and an _emphasised_ word; #data.letters are just letters.
== In detail
- first thing
- #count(data.votes, "vote") and #count(1, "vote")
#missing[no ages were given]
#caution[be careful with #listed(data.names)]
#part(data.gone, "Ages", found => [never #found.n])
#picture(data.line, caption: [A line], alt: "a line that goes up and down")
#picture(none)
#pagebreak()
#rows(
  data.table,
  titles: (estimate: "kappa", low: "95 % interval"),
  caption: [Ninety rows],
  note: [The interval is not always known.],
)
"""


@pytest.fixture(autouse=True)
def _prose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that nobody has to read, with the look of all."""
    for shared in typesetting.SHARED:
        (tmp_path / shared).write_text((typesetting.TEMPLATES / shared).read_text())
    (tmp_path / "try.typ").write_text(PROSE)
    monkeypatch.setattr(typesetting, "TEMPLATES", tmp_path)


def report(simulated: bool = True, compact: bool = False) -> Report:
    content = {
        "compact": compact, "letters": "# $x$ @y *z*", "votes": np.int64(12345),
        "names": ["a", "b", "c"], "gone": {"missing": "nobody was asked"}, "line": figure(),
        "table": cells(rows(90), COLUMNS),
    }  # fmt: skip
    return Report("try", simulated, content)


def pages(content: bytes) -> list[str]:
    pdf = pypdfium2.PdfDocument(content)
    found = [pdf[number].get_textpage().get_text_range() for number in range(len(pdf))]
    pdf.close()
    return found


def test_every_word_is_on_a_page_and_markup_in_values_is_not_understood() -> None:
    text = "\n".join(pages(compile_pdf(report(), {"Commit": "abc", "Runs": ["one", "two"]})))
    for expected in (
        "How people agree", "A study", "Agreement", "In detail", "bold", "emphasised",
        "# $x$ @y *z* are just letters", "first thing", "12\u202f345 votes and 1 vote",
        "no ages were given", "be careful with a, b and c", "Ages: nobody was asked.", "A line",
        "Ninety rows", "item000", "item089", "not always known", "abc", "two",
    ):  # fmt: skip
        assert expected in text.replace("\r\n", " "), expected


def test_long_tables_repeat_their_header_on_each_page() -> None:
    parts = [page for page in pages(compile_pdf(report(), {})) if "item0" in page]
    assert len(parts) > 1
    assert all("95 % interval" in page.replace("\u202f", " ") for page in parts)


@pytest.mark.parametrize("compact", [False, True])
def test_every_page_of_simulated_votes_says_so(compact: bool) -> None:
    for page in pages(compile_pdf(report(compact=compact), {})):
        assert "simulated" in page
    for page in pages(compile_pdf(report(simulated=False, compact=compact), {})):
        assert "simulated" not in page


def test_two_builds_are_byte_equal_and_chapters_are_bookmarks(tmp_path: Path) -> None:
    first, second = tmp_path / "a.pdf", tmp_path / "b.pdf"
    for file in (first, second):
        typeset(report(), file, {"Commit": "abc"})
    assert first.read_bytes() == second.read_bytes()
    pdf = pypdfium2.PdfDocument(first)
    marks = [item.get_title() for item in pdf.get_toc()]
    pdf.close()
    assert marks == ["Agreement", "In detail", "From what this was made"]


def test_numbers_in_tables_are_rounded_and_missing_ones_are_dashes() -> None:
    table = cells(rows(2), COLUMNS)
    assert table["columns"] == ["name", "estimate", "low", "p"]
    assert table["left"] == [True, False, False, False]
    assert table["rows"] == [
        ["item000", "−1.00", "–", "< 0.001"],
        ["item001", "−0.90", "[−1.40, 0.10]", "0.032"],
    ]
    assert cells(pd.DataFrame({"a": ["", None, "x"]}), "a")["rows"] == [["–"], ["–"], ["x"]]


def test_a_number_that_nobody_has_formatted_is_not_typeset() -> None:
    with pytest.raises(TypeError, match=r"0\.5 has to be formatted"):
        compile_pdf(Report("try", False, {"share": 0.5}), {})


def test_what_typst_does_not_understand_is_an_error_with_the_name_of_the_report() -> None:
    with pytest.raises(PastaError, match=r"'try' cannot be typeset.*compact"):
        compile_pdf(Report("try", False, {}), {})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (write.number(0.7149), "0.71"),
        (write.number(-0.004), "0.00"),
        (write.number(12345.6, 0), "12\u202f346"),
        (write.number(float("nan")), "–"),
        (write.number(float("-inf")), "−∞"),
        (write.signed(0.1), "+0.10"),
        (write.signed(-0.1), "−0.10"),
        (write.signed(-0.001), "0.00"),
        (write.signed(0.0), "0.00"),
        (write.share(0.925), "92\u202f%"),
        (write.p_value(0.0004), "p < 0.001"),
        (write.p_value(0.034), "p = 0.034"),
        (write.p_value(float("nan")), "p unknown"),
        (write.interval(0.1, 0.25), "[0.10, 0.25]"),
        (write.count(1, "annotator"), "1 annotator"),
        (write.count(1200, "vote"), "1\u202f200 votes"),
        (write.listed(["a", "b", "c"]), "a, b and c"),
        (write.listed(["a"]), "a"),
    ],
)
def test_words_for_numbers(found: str, expected: str) -> None:
    assert found == expected


def test_a_picture_taller_than_a_page_is_shown_whole_between_head_and_foot(tmp_path: Path) -> None:
    file = tmp_path / "tall.png"
    Image.new("RGB", (400, 1600), (200, 0, 0)).save(file)
    prose = (
        '#import "report.typ": *\n#show: report.with(title: "T", compact: true)\n'
        '#picture(data.tall, caption: [A tower.], alt: "a tower", placement: none)'
    )
    pdf = pypdfium2.PdfDocument(compile_pdf(Report("t", False, {"tall": file}, prose=prose), {}))
    red = []
    for page in pdf:
        shown = np.asarray(page.render(scale=1).to_pil().convert("RGB")).astype(int)
        red.append(np.argwhere((shown[..., 0] > 150) & (shown[..., 1] < 50)))
    own = next(found for found in red if len(found))
    assert sum(len(found) > 0 for found in red) == 1
    top, left = own.min(axis=0)
    bottom, right = own.max(axis=0)
    assert top > 60 and bottom < 842 - 62  # points: the margins of the page
    assert (bottom - top) / (right - left) == pytest.approx(4, rel=0.05)


def test_five_findings_at_most_open_a_report() -> None:
    said = [f"Finding {place}." for place in range(7)]
    prose = '#import "report.typ": *\n#show: report.with(title: "T")\n= Section\nText.'
    for report in (
        Report("t", False, {"findings": said}, prose=prose),
        Report("t", False, {}, prose=prose, findings=said),
    ):
        text = pypdfium2.PdfDocument(compile_pdf(report, {}))[0].get_textpage().get_text_range()
        assert [one in text for one in said] == [True] * 5 + [False] * 2
        assert text.index("What was found") < text.index("Finding 0.") < text.index("Contents")
    assert Report("t", False, {"findings": ["**Bold** words."]}).said == ["Bold words."]
