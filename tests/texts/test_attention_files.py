"""Human attention to words as it was released: both shapes, and what does not match the texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pasta.errors import InputError
from pasta.texts.attention_files import (
    check_indices,
    find_base,
    match_attention,
    read_attention_file,
    read_benchmark,
)
from pasta.texts.documents import Document

REVIEW = 'The plot was dull, so dull. "Simone" is fine! 🙂'
MESSAGE = "My doctor sent the X-ray scans.\nThe radiologist, a doctor too, read them."


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def numbered(words: Mapping[int, str], share: float = 0.5) -> dict[str, list[Any]]:
    return {str(number): [word, share] for number, word in words.items()}


def released(root: Path) -> Path:
    """A tree in the layout of the released benchmark, with the faults that it has."""
    film, news = root / "IMDB", root / "20news_group"
    for folder in ("neg", "pos"):
        for number in (11, 12, 13):
            text = film / "org_reviews" / f"{folder}_val" / f"{number}.txt"
            text.parent.mkdir(parents=True, exist_ok=True)
            text.write_text(REVIEW, "utf-8")
    good = numbered({4: "dull,", 6: "dull.", 7: '"Simone"'}, 0.75)
    write(film / "human_attention/neg/11.json", good)
    # words of another review under the same numbering
    other = numbered({4: "dull,", 2: "acting", 90: "comedians", 9: "Rogan"}, 0.25)
    write(film / "human_attention/neg/12.json", other)
    write(film / "human_attention/pos/11.json", good | numbered({1: "The", 5: "acting"}, 1.0))
    write(film / "human_attention/pos/99.json", good)  # there is no such review
    for name, content in ((59238, MESSAGE), (59243, MESSAGE)):
        text = news / "org_documents/sci.med" / str(name)
        text.parent.mkdir(parents=True, exist_ok=True)
        text.write_bytes(content.encode("latin-1"))
    words = [["radiologist", 1.0], ["doctor", 0.5], ["ray", 1.0], ["fetal", 0.5]]
    write(news / "human_attention/sci.med/59238.json", {"article": "59238", "words": words})
    write(news / "human_attention/sci.med/59243.json", {"article": "60000", "words": words[:2]})
    return root


def test_the_released_layout_is_read_and_its_mismatches_are_listed(tmp_path: Path) -> None:
    found = read_benchmark(released(tmp_path / "Text"))
    told = {one.text_id: (one.shape, one.base, one.matched, one.entries, one.status)
            for one in found.attention}  # fmt: skip
    assert told == {
        "20news_group/sci.med/59238": ("words", None, 3, 4, "ok"),
        "20news_group/sci.med/59243": ("words", None, 2, 3, "ok"),
        "IMDB/neg/11": ("indices", 1, 3, 3, "ok"),
        "IMDB/neg/12": ("indices", 1, 1, 4, "too little matches"),
        "IMDB/pos/11": ("indices", 1, 4, 5, "ok"),
    }
    listed = [(one.file, one.entry, one.problem, one.expected) for one in found.problems]
    nowhere = "a word of this text; it is not in it at all"
    home = "IMDB/human_attention"
    assert (
        "20news_group/human_attention/sci.med/59238.json",
        "fetal",
        "the word is not in the text",
        "a word of the text",
    ) in listed
    assert (
        f"{home}/neg/12.json",
        "90",
        "'comedians', but the text ends with word 10",
        nowhere,
    ) in listed
    assert (
        f"{home}/neg/12.json",
        "",
        "only 1 of 4 entries match the text",
        "50% or more; it is not used",
    ) in listed
    assert (
        f"{home}/pos/11.json",
        "5",
        "'acting', but this word of the text is 'so'",
        nowhere,
    ) in listed
    assert (f"{home}/pos/99.json", "", "there is no text for it", "org_*/pos") in listed
    assert any(one[1] == "article" and "'60000'" in one[2] for one in listed)
    assert len(listed) == 8


def test_shares_stand_at_the_words_that_match_and_nowhere_else(tmp_path: Path) -> None:
    found = read_benchmark(released(tmp_path / "Text"))
    frame = found.frame()
    assert set(frame["text_id"]) == {
        *("20news_group/sci.med/59238", "20news_group/sci.med/59243", "IMDB/neg/11", "IMDB/pos/11")
    }
    shares = {text: own["share"].tolist() for text, own in frame.groupby("text_id")}
    assert shares["IMDB/neg/11"] == [0, 0, 0, 0.75, 0, 0.75, 0.75, 0, 0, 0]
    assert shares["IMDB/pos/11"] == [1, 0, 0, 0.75, 0, 0.75, 0.75, 0, 0, 0]
    # each "doctor", and the "ray" of "X-ray"
    assert shares["20news_group/sci.med/59238"] == [0, 0.5, 0, 0, 1, 0, 0, 1, 0, 0.5, 0, 0, 0]


@pytest.mark.parametrize("base", [0, 1])
def test_the_index_base_is_found_from_the_words(tmp_path: Path, base: int) -> None:
    document = Document(REVIEW)
    words = {number + base: document.words[number].text for number in (1, 3, 6)}
    read = read_attention_file(write(tmp_path / "1.json", numbered(words)))
    found, problems = match_attention(read, document)
    assert (found.base, found.matched, problems) == (base, 3, [])
    assert found.shares is not None and found.shares.nonzero()[0].tolist() == [1, 3, 6]
    assert find_base([(read, document)]) == base
    wrong, problems = match_attention(read, document, base=1 - base)
    assert wrong.status == "too little matches" and len(problems) == 3
    assert problems[0].expected == f"it at {2 - base}"


def test_a_mismatch_says_where_the_word_stands(tmp_path: Path) -> None:
    read = read_attention_file(write(tmp_path / "1.json", numbered({1: "dull", 2: "plot"})))
    _, (problem,) = match_attention(read, Document(REVIEW), base=1)
    assert problem.entry == "1" and problem.expected == "it at 4, 6"
    assert problem.problem == "'dull', but this word of the text is 'The'"


SHAPES = {
    "a list": [["good", 1.0]],
    "nothing": {},
    "words by text": {"good": 0.5},
    "mixed keys": {"1": ["good", 0.5], "x": ["bad", 0.5]},
    "a number": 3,
    "negative keys": {"-1": ["good", 0.5]},
}


@pytest.mark.parametrize("name", SHAPES)
def test_json_of_another_shape_is_refused_by_file(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "7.json", SHAPES[name])
    with pytest.raises(InputError) as caught:
        read_attention_file(path)
    assert caught.value.file == path and '{"5": ["word", 0.75]' in str(caught.value.expected)


ENTRIES: dict[str, Any] = {
    "share above one": ["good", 1.5],
    "share below zero": ["good", -0.5],
    "no share": ["good"],
    "a text as share": ["good", "0.5"],
    "a number as word": [5, 0.5],
    "nothing": None,
    "too many": ["good", 0.5, 1],
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_bad_entry_is_named_and_the_others_are_used(tmp_path: Path, name: str) -> None:
    content = {**numbered({4: "dull,", 6: "dull."}), "7": ENTRIES[name]}
    read = read_attention_file(write(tmp_path / "1.json", content))
    found, (problem,) = match_attention(read, Document(REVIEW), base=1)
    assert (problem.file, problem.entry) == ("1.json", "7")
    assert (found.entries, found.matched, found.status) == (3, 2, "ok")


def test_nan_a_doubled_index_and_a_cut_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"4": ["dull,", NaN], "6": ["dull.", 1e999]}')
    read = read_attention_file(tmp_path / "a.json")
    assert [one.problem for one in read.problems] == [
        "the share of 'dull,' is NaN",
        "the share of 'dull.' is 1e999",
    ]
    for content, said in (('{"4": ["a", 1], "4": ["b", 1]}', "twice"), ('{"4": ["a"', "JSON")):
        (tmp_path / "b.json").write_text(content)
        with pytest.raises(InputError, match=said):
            read_attention_file(tmp_path / "b.json")


def test_a_broken_file_in_the_tree_does_not_stop_the_others(tmp_path: Path) -> None:
    root = released(tmp_path / "Text")
    (root / "IMDB/human_attention/pos/12.json").write_text("{")
    write(root / "IMDB/human_attention/pos/13.json", [1])
    found = read_benchmark(root)
    assert len(found.attention) == 5
    broken = [one for one in found.problems if one.file.endswith(("12.json", "13.json"))]
    assert [one.file for one in broken if "pos" in one.file] == [
        "IMDB/human_attention/pos/12.json",
        "IMDB/human_attention/pos/13.json",
    ]


def test_a_folder_without_the_layout_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no dataset"):
        read_benchmark(tmp_path)
    with pytest.raises(InputError, match="there is no such folder"):
        read_benchmark(tmp_path / "Text")


def test_words_are_found_in_long_texts_and_in_any_script(tmp_path: Path) -> None:
    words = ["wörd", "🙂", "סרט", "n\u0303o"] * 25_000
    document = Document(" ".join(words))
    chosen = {1: "wörd", 50_002: "🙂", 99_999: "סרט", 100_000: "ño", 100_001: "wörd"}
    read = read_attention_file(write(tmp_path / "1.json", numbered(chosen)))
    found, (problem,) = match_attention(read, document)
    assert (found.base, found.matched) == (1, 4)
    assert problem.problem == "'wörd', but the text ends with word 100000"
    assert found.shares is not None
    assert np.flatnonzero(found.shares).tolist() == [0, 50_001, 99_998, 99_999]


def test_indices_in_a_cell_are_checked_against_the_text() -> None:
    document = Document("so very good")
    found, problems = check_indices(
        "2 0 3 -1 1.0 ２ 2 99999999999999", document, "words.csv", "row 5"
    )
    assert found == (2, 0)
    assert [one.problem for one in problems] == [
        "there is no word 3",
        "found '-1'",
        "found '1.0'",
        "found '２'",
        "the word 2 stands twice",
        "there is no word 99999999999999",
    ]
    assert {(one.file, one.entry) for one in problems} == {("words.csv", "row 5")}
    assert problems[0].expected == "indices from 0 to 2, separated by blanks"
    assert check_indices("", document, "words.csv", "row 6") == ((), [])
