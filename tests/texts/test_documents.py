"""Documents: words with exact places, in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pasta.errors import PastaError
from pasta.texts.documents import (
    Document,
    as_documents,
    index_mask,
    join_indices,
    parse_indices,
    plain_word,
    split_words,
)

STRANGE = {
    "emoji": "so good 🙂👩‍👩‍👧 🇩🇪!",
    "right to left": "הסרט היה  טוב מאוד",
    "both directions": "The film כן was رائع.",
    "combining marks": "e\u0301tude n\u0303 a\u0308",
    "no blanks": "漢字の映画",
    "many kinds of blanks": "a\u00a0b\u2003c\td\r\ne\u3000f",
    "no word": " \n\t ",
    "nothing": "",
}


@pytest.mark.parametrize("name", STRANGE)
def test_each_word_is_what_stands_at_its_place(name: str) -> None:
    text = STRANGE[name]
    words = split_words(text)
    assert [text[word.start : word.end] for word in words] == [word.text for word in words]
    assert [word.text for word in words] == text.split()


@given(st.text())
def test_words_and_what_is_between_them_make_the_text_again(text: str) -> None:
    end, again = 0, ""
    for word in split_words(text):
        assert not text[end : word.start].strip()
        again += text[end : word.start] + word.text
        end = word.end
    assert again + text[end:] == text
    assert [word.text for word in split_words(text)] == text.split()


def test_a_hundred_thousand_words_are_split_and_found_again() -> None:
    text = "wörd 🙂 " * 50_000
    document = Document(text)
    assert len(document) == 100_000
    assert document.words[99_999].text == "🙂"
    assert document.word_at(document.words[77_777].start) == 77_777


def test_the_word_at_a_place_is_found_and_white_space_has_none() -> None:
    document = Document("  so  good")
    found = [document.word_at(place) for place in range(11)]
    assert found == [None, None, 0, 0, None, None, 1, 1, 1, 1, None]


def test_a_text_without_words_keeps_the_rest_as_it_is() -> None:
    document = Document(" not\tso  good ")
    assert document.without([True, True, True]) == document.text
    assert document.without([False, True, False]) == " so  "
    assert document.without([False, False, False]) == " "
    assert Document(" ").without([]) == " "
    with pytest.raises(PastaError, match="2 flags for 3 words"):
        document.without([True, True])


def test_vocabularies_know_one_spelling_of_a_word() -> None:
    composed, decomposed = "été", unicodedata.normalize("NFD", "Été")
    assert plain_word(f"({decomposed}!)") == plain_word(composed)
    assert (plain_word("STRASSE"), plain_word("straße")) == ("strasse", "strasse")
    assert [plain_word(one) for one in ("...", "🙂!", "x-ray's")] == ["...", "🙂", "x-ray's"]


def test_indices_go_through_a_cell() -> None:
    assert parse_indices(join_indices([7, 0, 3])) == (0, 3, 7)
    assert index_mask([0, 2], 3).tolist() == [True, False, True]
    with pytest.raises(PastaError, match="there is no word 3: the text has 3"):
        index_mask([3], 3)
    with pytest.raises(PastaError, match="there is no word -1"):
        index_mask([-1], 3)


def test_something_that_is_no_text_is_named() -> None:
    with pytest.raises(PastaError, match="text 1 is int, expected a text"):
        as_documents(["a", 3])  # type: ignore[list-item]
