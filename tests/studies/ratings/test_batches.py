"""Batches: written whole, read back exactly, never believed when changed, later ones win."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta import store
from pasta.contracts import TableError, check
from pasta.errors import InputError, PastaError
from pasta.studies.base import Frames
from pasta.studies.batches import ledger, list_batches, merged, read_batch, write_batch
from pasta.studies.ratings.tables import ANNOTATORS, ANSWERS, DESCRIPTIONS, VOTES
from tests.conftest import names
from tests.studies.ratings.submitted import (
    PEOPLE,
    SAMPLES,
    STUDY,
    Row,
    assert_same,
    people,
    ranking,
    stored,
    vote,
    votes,
)

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)


def box(number: int, x0: float, sample: int = 0) -> Row:
    who = {"sample_id": SAMPLES[sample], "annotator_id": PEOPLE[0]}
    return {**who, "box": str(number), "x0": str(x0), "y0": "0.0", "x1": "1.0", "y1": "0.25"}


def write(root: Path, *contents: Frames) -> list[Path]:
    folders = [root / f"{number:04d}-part" for number in range(1, len(contents) + 1)]
    for number, (folder, content) in enumerate(zip(folders, contents, strict=True), start=1):
        write_batch(
            STUDY, folder, content, {"number": number, "source": "a.csv", "sha256": "0" * 64}
        )
    return folders


def test_a_batch_comes_back_as_it_went_in(tmp_path: Path) -> None:
    timed = [{**row, "submitted_at": "2024-05-01T10:00:00.25+02:00"} for row in votes((1,))]
    content = stored(
        votes=[*timed, {**vote(), "simulated": "true", "submitted_at": ""}],
        boxes=[box(0, 0.1), box(1, 1 / 3)],
        rankings=ranking(),
        annotators=[*people(0, age="31", sex="female"), *people(1, age="", sex="")],
    )
    write(tmp_path, content)
    assert_same(read_batch(STUDY, tmp_path / "0001-part"), content)
    assert names(tmp_path / "0001-part") == [
        "annotators.csv", "batch.json", "boxes.csv", "rankings.csv", "votes.csv",
    ]  # fmt: skip
    for name, table in ANSWERS.items():  # what we store is a table like any other
        if len(content[name]):
            again = store.read(tmp_path / "0001-part" / f"{name}.csv", table)
            pd.testing.assert_frame_equal(again, content[name])


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(words, min_size=1, max_size=4), country=words)
def test_any_text_survives(
    texts: list[str], country: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    described = DESCRIPTIONS.frame(
        {"sample_id": f"coco/{n}/lime/vit", "annotator_id": "a", "text": text, "simulated": True}
        for n, text in enumerate(texts)
    )
    person = {"annotator_id": "a", "age": None, "sex": None, "country": country, "simulated": True}
    parts = {"descriptions": described, "annotators": ANNOTATORS.frame([person])}
    content = STUDY.frames(parts)
    folder = tmp_path_factory.mktemp("batch") / "0001-a"
    write_batch(STUDY, folder, content, {})
    assert_same(read_batch(STUDY, folder), content)


def test_rows_are_sorted_on_disk_and_a_broken_contract_is_refused(tmp_path: Path) -> None:
    content = stored(votes=votes())
    shuffled = STUDY.frames({"votes": content["votes"].sample(frac=1, random_state=0)})
    write_batch(STUDY, tmp_path / "0001-a", shuffled, {})
    pd.testing.assert_frame_equal(read_batch(STUDY, tmp_path / "0001-a")["votes"], content["votes"])
    broken = STUDY.frames({"votes": content["votes"].assign(rating=6)})
    with pytest.raises(TableError, match=r"votes\.csv.*column 'rating'"):
        write_batch(STUDY, tmp_path / "0002-b", broken, {})
    assert names(tmp_path) == ["0001-a"]


def test_a_batch_is_never_overwritten(tmp_path: Path) -> None:
    (folder,) = write(tmp_path, stored(votes=votes()))
    with pytest.raises(PastaError, match="never changed"):
        write_batch(STUDY, folder, stored(votes=[vote()]), {})
    assert len(read_batch(STUDY, folder)["votes"]) == 36


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(PastaError, match=r"cannot be written: No space left"):
        write(tmp_path, stored(votes=votes()))
    assert names(tmp_path) == []


def change_a_vote(folder: Path) -> None:
    file = folder / "votes.csv"
    file.write_text(file.read_text().replace("Q1,1", "Q1,5", 1))


def forget_a_file(folder: Path) -> None:
    (folder / "votes.csv").unlink()


def add_a_file(folder: Path) -> None:
    (folder / "boxes.csv").write_text("x\n")


def tear_the_description(folder: Path) -> None:
    file = folder / "batch.json"
    file.write_text(file.read_text()[:40])


def empty_the_description(folder: Path) -> None:
    (folder / "batch.json").write_text("[]")


def lose_the_description(folder: Path) -> None:
    (folder / "batch.json").unlink()


def point_elsewhere(folder: Path) -> None:
    about = json.loads((folder / "batch.json").read_text())
    about["files"] = {"../../secret.csv": "0" * 64}
    (folder / "batch.json").write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (change_a_vote, r"votes\.csv: was changed"),
        (forget_a_file, r"votes\.csv: is missing"),
        (add_a_file, r"boxes\.csv: does not belong"),
        (tear_the_description, r"batch\.json: cannot be read"),
        (empty_the_description, r"batch\.json: does not describe"),
        (lose_the_description, r"batch\.json: cannot be read"),
        (point_elsewhere, r"batch\.json: does not describe"),
    ],
)
def test_a_harmed_batch_is_an_error_that_names_the_file(
    harm: Callable[[Path], None], named: str, tmp_path: Path
) -> None:
    folders = write(tmp_path, stored(votes=votes()))
    harm(folders[0])
    with pytest.raises(InputError, match=rf"0001-part/{named}"):
        merged(STUDY, folders)


def test_batches_are_listed_by_number_and_strangers_are_named(tmp_path: Path) -> None:
    assert list_batches(tmp_path / "nothing") == []
    for name in ("10000-late", "0002-b", "0001-z", ".0003-c.1-ab.tmp"):
        (tmp_path / name).mkdir()
    (tmp_path / ".gitignore").touch()
    assert [one.name for one in list_batches(tmp_path)] == ["0001-z", "0002-b", "10000-late"]
    (tmp_path / "0002-a").mkdir()
    with pytest.raises(PastaError, match="same number"):
        list_batches(tmp_path)
    (tmp_path / "0002-a").rename(tmp_path / "copy of 2")
    with pytest.raises(InputError, match="copy of 2: is no batch"):
        list_batches(tmp_path)


def literal_merge(batches: Sequence[Frames]) -> dict[tuple[str, ...], int]:
    ratings: dict[tuple[str, ...], int] = {}
    for batch in batches:
        for row in batch["votes"].to_dict("records"):
            ratings[row["sample_id"], row["annotator_id"], row["question"]] = row["rating"]
    return ratings


def test_later_batches_win_and_the_rest_stays(tmp_path: Path) -> None:
    batches = [
        stored(votes=votes((0, 1), 1), annotators=people(0, 1, age="20")),
        stored(votes=votes((1, 2), 3), annotators=people(1, 2, age="40")),
        stored(votes=[vote(rating=5), vote(1, 3, "Q4", 2)], annotators=people(0, 3, age="50")),
    ]
    together = merged(STUDY, write(tmp_path, *batches))
    check(together["votes"], VOTES)
    check(together["annotators"], ANNOTATORS)
    expected = literal_merge(batches)
    found = together["votes"]
    keys = zip(found["sample_id"], found["annotator_id"], found["question"], strict=True)
    assert dict(zip(keys, found["rating"], strict=True)) == expected and len(found) == len(expected)
    assert together["annotators"]["age"].tolist() == [50, 40, 40, 50]


def test_a_later_answer_with_fewer_boxes_leaves_no_old_box(tmp_path: Path) -> None:
    first = stored(boxes=[box(0, 0.1), box(1, 0.2), box(0, 0.3, sample=1)])
    second = stored(boxes=[box(0, 0.5)])
    boxes = merged(STUDY, write(tmp_path, first, second))["boxes"]
    assert boxes[["sample_id", "x0"]].to_numpy().tolist() == [[SAMPLES[0], 0.5], [SAMPLES[1], 0.3]]


def test_nothing_merged_is_empty_and_the_ledger_tells_each_batch(tmp_path: Path) -> None:
    assert_same(merged(STUDY, []), STUDY.frames({}))
    assert ledger(STUDY, tmp_path).empty
    write(tmp_path, stored(votes=votes()), stored(rankings=ranking()))
    told = ledger(STUDY, tmp_path)
    assert told["number"].tolist() == [1, 2] and told["votes"].tolist() == [36, 0]
    assert told["rankings"].tolist() == [0, len(ranking())]
    about = json.loads((tmp_path / "0001-part" / "batch.json").read_text())
    assert about["counts"]["questions"] == {f"Q{n}": 6 for n in range(1, 7)}


def test_leftovers_of_killed_writers_are_swept(tmp_path: Path) -> None:
    leftover = tmp_path / ".0001-part.77-ab.tmp"
    leftover.mkdir()
    (leftover / "votes.csv").write_text("half a line")
    (tmp_path / ".keep.tmp").mkdir()
    write(tmp_path, stored(votes=votes()))
    assert names(tmp_path) == [".keep.tmp", "0001-part"]
