"""Heat-marked text: nothing of a text becomes markup, no letter breaks a page or a PDF."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import typst

from pasta.errors import PastaError
from pasta.texts.documents import Document
from pasta.texts.rendering import HEAT_CSS, heat_html, heat_page, is_right_to_left, word_levels
from reports.source.heat import heat_block, missing_letters, shown_text
from reports.source.typesetting import TEMPLATES, Report, compile_pdf

STRANGE = [
    "It was <b>good</b> & 'more' \"quoted\" <script>alert(1)</script> #let [x] $y$ *z* _w_ \\ @a",
    "so good 🙂👩‍👩‍👧 🇩🇪 ❤️ 📷!",
    "הסרט היה טוב מאוד ולא משעמם",
    "كان الفيلم رائعا ولم يكن مملا",
    "漢字の映画 สวัสดี नमस्ते привет",
    "e\u0301tude n\u0303 \u202eevil\u202c \ufeffmark zero\u200bwidth soft\u00adhyphen",
    "nul\x01 bell\x07 private\ue000 unassigned\u0378",
]


def weights(document: Document) -> np.ndarray:
    return np.linspace(-1, 1, len(document))


class Reader(HTMLParser):
    """Collects tags, attributes and what can be read."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", STRANGE[:5])
def test_the_text_can_be_read_again_and_nothing_of_it_is_markup(text: str) -> None:
    document = Document(text)
    reader = Reader()
    reader.feed(heat_html(document, weights(document), {0}))
    assert reader.text == text
    assert set(reader.tags) == {"p", "mark"}
    assert reader.names <= {"class", "dir", "title"}


def test_a_page_has_no_script_and_no_style_attribute() -> None:
    entries = [("<b>head</b>", Document(one), weights(Document(one))) for one in STRANGE]
    page = heat_page("A & B", entries)
    reader = Reader()
    reader.feed(page)
    assert "script" not in reader.tags and "style" not in reader.names
    assert not any(name.startswith("on") for name in reader.names)
    assert "&lt;b&gt;head&lt;/b&gt;" in page and "http" not in page
    assert page.count('<p class="heat"') == len(STRANGE) + 1
    assert all(one in HEAT_CSS for one in ("for-4", "against-4", "cue"))


def test_marks_that_turn_the_direction_are_left_out() -> None:
    document = Document("\u202eevil \u2066word")
    found = heat_html(document, [1.0, -1.0])
    assert "\u202e" not in found and "\u2066" not in found and ">evil<" in found


def test_shades_follow_weights() -> None:
    assert word_levels([4.0, -4.0, 1.0, 0.4, 0.0]).tolist() == [4, -4, 1, 0, 0]
    assert word_levels([0.0, 0.0]).tolist() == [0, 0] and word_levels([]).tolist() == []
    assert word_levels([np.nan, np.inf, 2.0]).tolist() == [0, 0, 4]
    with pytest.raises(PastaError, match="1 weights for 2 words"):
        heat_html(Document("so good"), [1.0])


def test_a_hundred_thousand_words_are_marked() -> None:
    document = Document("wörd <b> " * 50_000)
    found = heat_html(document, np.tile([1.0, -1.0], 50_000))
    assert found.count("<mark") == 100_000 and "<b>" not in found
    block = heat_block(document, np.tile([1.0, -1.0], 50_000), most=50)
    assert (len(block["runs"]), block["left_out"]) == (50, 99_950)


def test_the_direction_is_that_of_the_first_letter() -> None:
    assert [is_right_to_left(one) for one in STRANGE[:5]] == [False, False, True, True, False]
    assert heat_block(Document(STRANGE[3]), weights(Document(STRANGE[3])))["rtl"]


def test_letters_without_a_glyph_are_written_as_names_or_squares() -> None:
    missing = missing_letters(frozenset("é🙂漢סم\u202e\ufeffa✓"))
    assert missing == {"🙂", "漢", "\u202e", "\ufeff"}
    assert shown_text("é🙂漢\u202e!", missing) == "é[slightly smiling face]□!"


@pytest.mark.parametrize("size", [1, 40])
def test_any_text_is_typeset_without_a_warning(tmp_path: Path, size: int) -> None:
    """In a document that must be readable for everybody (PDF/UA)."""
    documents = [Document(" ".join([one] * size)) for one in STRANGE]
    blocks = [heat_block(one, weights(one), {0, 2}, most=60) for one in documents]
    (tmp_path / "blocks.json").write_text(json.dumps(blocks, ensure_ascii=False), "utf-8")
    shutil.copy(TEMPLATES / "heat.typ", tmp_path)
    main = tmp_path / "main.typ"
    main.write_text(
        '#import "heat.typ": heat, heat-legend\n#set document(title: "Texts")\n'
        '#set text(lang: "en", font: "Libertinus Serif")\n= Texts\n#heat-legend\n'
        '#for one in json("blocks.json") { heat(one) }\n'
    )
    pdf, warnings = typst.compile_with_warnings(
        str(main), root=str(tmp_path), ignore_system_fonts=True, pdf_standards="ua-1"
    )
    assert pdf.startswith(b"%PDF") and not warnings


def test_a_report_can_show_marked_text_and_two_builds_are_equal() -> None:
    document = Document(STRANGE[1])
    prose = (
        '#import "report.typ": *\n#import "heat.typ": heat, heat-legend\n'
        '#show: report.with(title: "Words")\n= Words\n#heat-legend\n#heat(data.words)\n'
    )
    report = Report("words", False, {"words": heat_block(document, weights(document))}, prose=prose)
    first = compile_pdf(report, {})
    assert first == compile_pdf(report, {}) and first.startswith(b"%PDF")
