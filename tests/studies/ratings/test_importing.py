"""Importing: all or nothing, the same twice is nothing, and one after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pasta.errors import InputError, PastaError
from pasta.studies.batches import ledger, merged, stored_folders, write_batch
from pasta.studies.importing import Outcome, SubmissionError, import_file, lock_of
from tests.conftest import names
from tests.studies.ratings.submitted import (
    STUDY,
    Row,
    outside,
    people,
    stored,
    vote,
    votes,
    write_tidy,
)


def imported(path: Path, root: Path, **options: Any) -> Outcome:
    return import_file(path, STUDY, root, outside(), **options)


def batch(outcome: Outcome) -> Path:
    assert outcome.batch is not None
    return outcome.batch


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "batches"


def tables(tmp_path: Path, name: str, rows: Sequence[Row], **more: Sequence[Row]) -> Path:
    return write_tidy(tmp_path / name, votes=rows, **more)


def test_a_file_becomes_a_batch_with_its_counts_and_a_line_in_the_ledger(
    tmp_path: Path, root: Path
) -> None:
    outcome = imported(tables(tmp_path, "Février (2)", votes((0, 1))), root)
    assert names(root) == ["0001-f-vrier-2"] and outcome.message == "stored as batch 0001-f-vrier-2"
    assert outcome.questions == {f"Q{n}": 6 for n in range(1, 7)}
    assert (outcome.counts["votes"].new, outcome.counts["annotators"].new) == (36, 7)
    line = ledger(STUDY, root).iloc[0]
    assert (line["source"], line["format"], line["protocol"]) == ("Février (2)", "tidy", "p2")
    assert line["votes"] == 36 and line["replaced"] == 0 and len(line["sha256"]) == 64
    assert pd.Timestamp(line["imported_at"]).tzinfo is not None


def test_the_same_file_twice_changes_nothing(tmp_path: Path, root: Path) -> None:
    path = tables(tmp_path, "first", votes())
    imported(path, root)
    before = {file: file.read_bytes() for file in root.rglob("*") if file.is_file()}
    again = imported(path, root)
    assert again.batch is None and "already imported as batch 0001-first" in again.message
    reordered = imported(tables(tmp_path, "copy", list(reversed(votes()))), root)
    assert reordered.batch is None and reordered.counts["votes"].known == 36
    assert imported(path, root, replace=True).batch is None
    assert {file: file.read_bytes() for file in root.rglob("*") if file.is_file()} == before


def test_a_batch_holds_only_what_is_new(tmp_path: Path, root: Path) -> None:
    imported(tables(tmp_path, "first", votes((0, 1))), root)
    second = imported(tables(tmp_path, "second", votes((0, 1, 2))), root)
    assert second.counts["votes"].new == 18 and names(batch(second)) == ["batch.json", "votes.csv"]
    everything = merged(STUDY, stored_folders(root))["votes"]
    pd.testing.assert_frame_equal(everything, stored(votes=votes((0, 1, 2)))["votes"])


def test_a_refused_file_stores_nothing_and_tells_every_problem(tmp_path: Path, root: Path) -> None:
    imported(tables(tmp_path, "first", [vote(rating=3)]), root)
    bad = tables(tmp_path, "bad", [vote(rating=4), vote(1, rating=7), vote(2, question="Q11")])
    with pytest.raises(SubmissionError, match="bad: 3 problems, nothing was stored") as refusal:
        imported(bad, root)
    assert {finding.column for finding in refusal.value.findings} == {"rating", "question"}
    assert "line 3: '7'" in str(refusal.value) and "--replace" in str(refusal.value)
    assert names(root) == ["0001-first"]


def test_replace_overrules_and_is_counted(tmp_path: Path, root: Path) -> None:
    imported(tables(tmp_path, "first", [vote(rating=3), vote(1, rating=3)]), root)
    changed = tables(tmp_path, "changed", [vote(rating=4), vote(1, rating=3)])
    outcome = imported(changed, root, replace=True)
    assert outcome.counts["votes"].replaced == 1 and ledger(STUDY, root)["replaced"].tolist() == [
        0,
        1,
    ]
    assert merged(STUDY, stored_folders(root))["votes"]["rating"].tolist() == [4, 3]
    back = imported(tmp_path / "first", root, replace=True)  # the same file can be meant again
    assert back.batch is not None
    assert merged(STUDY, stored_folders(root))["votes"]["rating"].tolist() == [3, 3]


def test_simulated_votes_count_as_stored_first(tmp_path: Path, root: Path) -> None:
    simulated = tmp_path / "data" / "simulated"
    rows = [{**vote(rating=2), "simulated": "true"}]
    write_batch(STUDY, simulated, stored(votes=rows, annotators=people(0, simulated="true")), {})
    real = tables(tmp_path, "real", [vote(rating=2)], annotators=people(0))
    with pytest.raises(SubmissionError, match="contradicts what is stored"):
        imported(real, root, simulated_folder=simulated)
    other = tables(tmp_path, "other", [vote(person=1)], annotators=people(1))
    imported(other, root, simulated_folder=simulated)
    together = merged(STUDY, stored_folders(root, simulated))["votes"]
    assert together["simulated"].tolist() == [True, False]
    assert stored_folders(root, tmp_path / "none") == [root / "0001-other"]


def test_people_may_come_in_a_file_of_their_own(tmp_path: Path, root: Path) -> None:
    folder = tables(tmp_path, "both", votes())
    outcome = imported(folder / "votes.csv", root, people=folder / "annotators.csv")
    assert names(batch(outcome)) == ["annotators.csv", "batch.json", "votes.csv"]
    with pytest.raises(SubmissionError, match="annotator is not known"):
        imported(folder / "votes.csv", tmp_path / "elsewhere")


def test_what_cannot_be_read_is_an_error_that_names_it(tmp_path: Path, root: Path) -> None:
    with pytest.raises(PastaError, match=r"missing\.csv"):
        imported(tmp_path / "missing.csv", root)
    strange = tmp_path / "strange.csv"
    strange.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"strange\.csv"):
        imported(strange, root)
    assert not root.exists()


def test_a_harmed_batch_stops_the_import(tmp_path: Path, root: Path) -> None:
    first = batch(imported(tables(tmp_path, "first", votes()), root))
    (first / "votes.csv").write_text("sample_id\n")
    with pytest.raises(InputError, match="was changed after it was stored"):
        imported(tables(tmp_path, "second", votes((3,))), root)


def test_imports_at_the_same_moment_wait_for_each_other(tmp_path: Path, root: Path) -> None:
    files = [tables(tmp_path, f"by{person}", votes((person,))) for person in range(4)]
    start = threading.Barrier(len(files))
    failed: list[BaseException] = []

    def run(path: Path) -> None:
        try:
            start.wait()
            imported(path, root)
        except BaseException as error:  # shown by the test itself
            failed.append(error)

    threads = [threading.Thread(target=run, args=(path,)) for path in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [name[:4] for name in names(root)] == ["0001", "0002", "0003", "0004"]
    pd.testing.assert_frame_equal(
        merged(STUDY, stored_folders(root))["votes"], stored(votes=votes((0, 1, 2, 3)))["votes"]
    )
    assert lock_of(root).exists() and lock_of(root).parent == root.parent


def test_leftovers_of_a_killed_import_are_swept_by_the_next(tmp_path: Path, root: Path) -> None:
    leftover = root / ".0001-other.99-ab.tmp"
    leftover.mkdir(parents=True)
    (leftover / "votes.csv").write_text("half")
    imported(tables(tmp_path, "first", votes()), root)
    assert names(root) == ["0001-first"]
