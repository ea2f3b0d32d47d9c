"""Texts in folders: layouts as they are distributed, and what is wrong with files."""

from __future__ import annotations

from pathlib import Path

import pytest

from pasta.errors import InputError
from pasta.texts.files import read_imdb, read_newsgroups

ALL = {"train": None, "validation": None, "test": None}


def imdb(root: Path, count: int = 30) -> Path:
    for split in ("train", "test"):
        for folder in ("neg", "pos"):
            home = root / split / folder
            home.mkdir(parents=True)
            for number in range(count):
                text = f"A {folder} film.<br /><br />Number {number} of {split}."
                (home / f"{number}_{9 if folder == 'pos' else 2}.txt").write_text(text, "utf-8")
        (root / split / "labeledBow.feat").write_text("0 1:1")
    return root


def newsgroups(root: Path, dated: bool) -> Path:
    for part in ("20news-bydate-train", "20news-bydate-test") if dated else (".",):
        for group in ("sci.electronics", "sci.med"):
            home = root / part / group
            home.mkdir(parents=True)
            for number in range(53900, 53940):
                head = f"From: a@b.c\nSubject: {number}\nLines: 2\n\n"
                (home / str(number)).write_bytes(
                    (head + f"On {group}, caf\xe9\n").encode("latin-1")
                )
    return root


def test_reviews_are_read_with_their_classes_and_places(tmp_path: Path) -> None:
    found = read_imdb(imdb(tmp_path), ALL)
    assert found.classes == ("negative", "positive") and not found.problems
    assert {name: len(own) for name, own in found.splits.items()} == {
        "train": 60 - len(found.splits["validation"]),
        "validation": len(found.splits["validation"]),
        "test": 60,
    }
    assert 1 <= len(found.splits["validation"]) <= 15
    one = next(one for one in found.splits["test"] if one.text_id == "test-7_9-pos")
    assert one.label == "positive"
    raw = (tmp_path / "test/pos/7_9.txt").read_text()
    assert len(one.text) == len(raw)
    assert [raw[word.start : word.end] for word in one.words] == [w.text for w in one.words]
    assert "<br" not in one.text


def test_a_number_of_texts_is_taken_of_each_class_and_the_seed_says_which(tmp_path: Path) -> None:
    root = imdb(tmp_path)
    counts = {"train": 10, "validation": 2, "test": 7}
    found, again = read_imdb(root, counts, 1), read_imdb(root, counts, 1)
    assert found == again != read_imdb(root, counts, 2)
    assert [one.label for one in found.splits["test"]].count("negative") == 4
    assert len(found.splits["train"]) == 10
    some = {one.text_id for one in read_imdb(root, ALL, 1).splits["validation"]}
    assert {one.text_id for one in found.splits["validation"]} <= some


@pytest.mark.parametrize("dated", [True, False])
def test_messages_are_read_without_their_headers(tmp_path: Path, dated: bool) -> None:
    found = read_newsgroups(newsgroups(tmp_path, dated), ALL)
    assert found.classes == ("sci.electronics", "sci.med")
    every = [one for own in found.splits.values() for one in own]
    assert len(every) == (160 if dated else 80)
    assert {one.text for one in every if one.label == "sci.med"} == {"On sci.med, café\n"}
    assert all(found.splits.values())


def test_a_text_that_cannot_be_used_is_named_and_another_takes_its_place(tmp_path: Path) -> None:
    root = imdb(tmp_path)
    (root / "test/pos/0_9.txt").write_bytes(b"fine \xff film")
    (root / "test/pos/1_9.txt").write_text(" \n ")
    (root / "test/pos/2_9.txt").write_bytes(b"a\0b")
    found = read_imdb(root, ALL)
    assert [(one.file, one.problem) for one in found.problems] == [
        ("test/pos/0_9.txt", "the byte 0xFF at 5 is not UTF-8"),
        ("test/pos/1_9.txt", "holds no words"),
        ("test/pos/2_9.txt", "there is a NUL character"),
    ]
    assert len(found.splits["test"]) == 57
    some = read_imdb(root, {"train": 4, "validation": 2, "test": 54})
    assert len(some.splits["test"]) == 54


def test_a_message_that_is_all_header_is_named(tmp_path: Path) -> None:
    root = newsgroups(tmp_path, True)
    (root / "20news-bydate-test/sci.med/53901").write_text("From: a\nSubject: b\n")
    (problem,) = read_newsgroups(root, ALL).problems
    assert problem.file == "20news-bydate-test/sci.med/53901"
    assert problem.problem == "holds no words"


@pytest.mark.parametrize(
    ("gone", "said"),
    [("", "there is no such folder"), ("test/neg", "there is no such folder")],
)
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, gone: str, said: str) -> None:
    root = tmp_path / "aclImdb"
    if gone:
        imdb(root)
        (root / gone).rename(root / "elsewhere")
    with pytest.raises(InputError, match=said) as caught:
        read_imdb(root, ALL)
    assert caught.value.file == root / (gone or "train/neg")
    assert "aclImdb" in str(caught.value.expected)


def test_folders_without_texts_and_single_groups_are_named(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with pytest.raises(InputError, match="holds 0 groups"):
        read_newsgroups(tmp_path / "one", ALL)
    root = newsgroups(tmp_path / "news", True)
    with pytest.raises(InputError, match="there is no such folder") as caught:
        read_newsgroups(root, ALL, classes=["sci.med", "sci.space"])
    assert caught.value.file == root / "20news-bydate-train/sci.space"
    with pytest.raises(InputError, match="there is no such folder"):
        read_newsgroups(tmp_path / "nowhere", ALL)
