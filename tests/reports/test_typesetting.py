"""Reports are typeset whole: every word is there, two builds are equal, nothing is computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from reports.source import words
from reports.source.document import (
    Block,
    Bullets,
    Column,
    Document,
    Heading,
    Note,
    PageBreak,
    Picture,
    Table,
    Text,
    spans,
)
from reports.source.typesetting import compiled, typeset


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


COLUMNS = [
    Column("name", "what"),
    Column("estimate", "kappa", "0.00"),
    Column("low", "95 % interval", "interval"),
    Column("p", "p", "p"),
]


def document(simulated: bool = True, compact: bool = False) -> Document:
    blocks: list[Block] = [
        Heading("Agreement"),
        Text("A plain, a **bold** and an _emphasised_ word; # $x$ @y *z* are just letters."),
        Heading("In detail", 2),
        Bullets(["first thing", "second thing"]),
        Note("no ages were given", "missing"),
        Note("be careful", "caution"),
        Picture(figure(), "A line", "a line that goes up and down"),
        PageBreak(),
        Table(rows(90), COLUMNS, "Ninety rows", note="The interval is not always known."),
    ]
    return Document("try", "How people agree", "A study", blocks, simulated, compact)


def pages(content: bytes) -> list[str]:
    pdf = pypdfium2.PdfDocument(content)
    found = [pdf[number].get_textpage().get_text_range() for number in range(len(pdf))]
    pdf.close()
    return found


def test_every_word_is_on_a_page_and_markup_of_the_typesetter_is_not_understood() -> None:
    text = "\n".join(pages(compiled(document(), {"Commit": "abc", "Runs": ["one", "two"]})))
    for expected in (
        "How people agree", "A study", "Agreement", "In detail", "bold", "emphasised",
        "# $x$ @y *z* are just letters", "first thing", "no ages were given", "be careful",
        "A line", "Ninety rows", "item000", "item089", "not always known", "abc", "two",
    ):  # fmt: skip
        assert expected in text.replace("\r\n", " "), expected


def test_long_tables_repeat_their_header_on_each_page() -> None:
    parts = [page for page in pages(compiled(document(), {})) if "item0" in page]
    assert len(parts) > 1
    assert all("95 % interval" in page.replace("\u202f", " ") for page in parts)


@pytest.mark.parametrize("compact", [False, True])
def test_every_page_of_simulated_votes_says_so(compact: bool) -> None:
    for page in pages(compiled(document(compact=compact), {})):
        assert "simulated" in page
    for page in pages(compiled(document(simulated=False, compact=compact), {})):
        assert "simulated" not in page


def test_two_builds_are_byte_equal_and_chapters_are_bookmarks(tmp_path: Path) -> None:
    first, second = tmp_path / "a.pdf", tmp_path / "b.pdf"
    for file in (first, second):
        typeset(document(), file, {"Commit": "abc"})
    assert first.read_bytes() == second.read_bytes()
    pdf = pypdfium2.PdfDocument(first)
    marks = [item.get_title() for item in pdf.get_toc()]
    pdf.close()
    assert marks == ["Agreement", "In detail"]


def test_numbers_in_tables_are_rounded_and_missing_ones_are_dashes() -> None:
    cells = Table(rows(2), COLUMNS, "Two rows").data()["rows"]
    assert cells[0] == ["item000", "−1.00", "–", "< 0.001"]
    assert cells[1] == ["item001", "−0.90", "[−1.40, 0.10]", "0.032"]


def test_as_many_widths_as_columns_are_needed() -> None:
    with pytest.raises(ValueError, match="1 widths for 4 columns"):
        Table(rows(1), COLUMNS, "One", widths=[0.5]).data()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (words.number(0.7149), "0.71"),
        (words.number(-0.004), "0.00"),
        (words.number(12345.6, 0), "12\u202f346"),
        (words.number(float("nan")), "–"),
        (words.number(float("-inf")), "−∞"),
        (words.signed(0.1), "+0.10"),
        (words.signed(-0.1), "−0.10"),
        (words.share(0.925), "92\u202f%"),
        (words.p_value(0.0004), "p < 0.001"),
        (words.p_value(0.034), "p = 0.034"),
        (words.p_value(float("nan")), "p unknown"),
        (words.interval(0.1, 0.25), "[0.10, 0.25]"),
        (words.count(1, "annotator"), "1 annotator"),
        (words.count(1200, "vote"), "1\u202f200 votes"),
        (words.listed(["a", "b", "c"]), "a, b and c"),
        (words.listed(["a"]), "a"),
    ],
)
def test_words_for_numbers(found: str, expected: str) -> None:
    assert found == expected


@given(st.text())
def test_no_letter_of_a_text_is_lost(text: str) -> None:
    plain = "".join(span["text"] for span in spans(text))
    marks = text.replace("**", "").replace("_", "")
    assert plain.replace("**", "").replace("_", "") == marks
