"""Importing: all or nothing, the same twice is nothing, and one after the other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from pasta.commands.study import study_app
from pasta.errors import InputError, PastaError
from pasta.studies.batches import (
    ledger,
    left_out,
    merged,
    stored_folders,
    write_batch,
    write_tables,
)
from pasta.studies.importing import Outcome, SubmissionError, import_file, lock_of, withdraw
from pasta.studies.ratings.released import write_released
from tests.conftest import ROOT, names
from tests.studies.ratings.format_cases import small
from tests.studies.ratings.submitted import (
    PEOPLE,
    STUDY,
    Row,
    assert_same,
    outside,
    people,
    stored,
    vote,
    votes,
    write_tidy,
)
from tests.studies.ratings.test_formats_released import rated


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


def simulated_batch(tmp_path: Path, persons: Sequence[int] = range(5)) -> Path:
    """A batch of simulated people, as the demo has it: as many votes as a sample may have."""
    rows = [{**row, "simulated": "true"} for row in votes(persons)]
    who = people(*persons, simulated="true")
    folder = tmp_path / "data" / "simulated"
    write_batch(STUDY, folder, stored(votes=rows, annotators=who), {})
    return folder


def test_simulated_votes_give_way_to_those_of_people(tmp_path: Path, root: Path) -> None:
    simulated = simulated_batch(tmp_path)
    before = merged(STUDY, stored_folders(root, simulated))
    assert before["votes"]["simulated"].all() and len(before["votes"]) == 90
    real = tables(tmp_path, "real", votes((0, 5)), annotators=people(0, 5))
    outcome = imported(real, root, simulated_folder=simulated)
    assert outcome.gives_way == 90 and outcome.counts["votes"].new == 36
    after = merged(STUDY, stored_folders(root, simulated))
    assert_same(after, stored(votes=votes((0, 5)), annotators=people(0, 5)))
    assert left_out(STUDY, stored_folders(root, simulated), after) == 90
    assert stored_folders(root, tmp_path / "none") == [root / "0001-real"]


def test_a_simulated_file_beside_people_never_counts(tmp_path: Path, root: Path) -> None:
    imported(tables(tmp_path, "real", [vote()]), root)
    robots = [{**vote(1, 6), "simulated": "true"}]
    outcome = imported(tables(tmp_path, "robots", robots), root)
    assert outcome.gives_way == 1 and outcome.batch is not None
    kept = merged(STUDY, stored_folders(root))["votes"]
    assert len(kept) == 1 and not kept["simulated"].any()


def test_votes_of_people_need_people_of_their_own(tmp_path: Path, root: Path) -> None:
    simulated = simulated_batch(tmp_path)
    real = tables(tmp_path, "real", [vote(person=1)], annotators=people(5))
    with pytest.raises(SubmissionError, match="annotator is not known"):
        imported(real, root, simulated_folder=simulated)


def test_the_limit_of_votes_counts_people_only(tmp_path: Path, root: Path) -> None:
    simulated = simulated_batch(tmp_path)
    imported(tables(tmp_path, "five", votes(range(5))), root, simulated_folder=simulated)
    with pytest.raises(SubmissionError, match="more than 5 votes for a sample and question"):
        imported(tables(tmp_path, "six", votes((5,))), root, simulated_folder=simulated)


def test_a_withdrawn_batch_counts_no_more_and_stays_in_the_ledger(
    tmp_path: Path, root: Path
) -> None:
    simulated, path = simulated_batch(tmp_path), tables(tmp_path, "real", votes((5, 6)))
    first = batch(imported(path, root, simulated_folder=simulated))
    said = withdraw("1", STUDY, root, "wrong pictures")
    assert said == "withdrew batch 0001-real; its file can be imported again"
    assert_same(merged(STUDY, stored_folders(root, simulated)), merged(STUDY, [simulated]))
    line = ledger(STUDY, root).iloc[0]
    assert line["reason"] == "wrong pictures" and pd.Timestamp(line["withdrawn_at"]).tzinfo
    before = (first / "withdrawn.json").read_bytes()
    again = withdraw("0001-real", STUDY, root, "another reason")
    assert "was withdrawn on" in again and "(wrong pictures) already: nothing changes" in again
    assert (first / "withdrawn.json").read_bytes() == before
    assert batch(imported(path, root, simulated_folder=simulated)).name == "0002-real"
    assert len(merged(STUDY, stored_folders(root, simulated))["votes"]) == 36
    assert ledger(STUDY, root)["withdrawn_at"].astype(bool).tolist() == [True, False]


def test_who_gave_other_votes_is_known_after_a_withdrawal(tmp_path: Path, root: Path) -> None:
    imported(tables(tmp_path, "first", votes((0, 1)), annotators=people(0, 1)), root)
    imported(write_votes_only(tmp_path / "second", [vote(person=1, question="Q6", rating=2)]), root,
             replace=True)  # fmt: skip
    withdraw("0001-first", STUDY, root)
    left = merged(STUDY, stored_folders(root))
    assert left["votes"]["annotator_id"].tolist() == [PEOPLE[1]]
    assert left["annotators"]["annotator_id"].tolist() == [PEOPLE[1]]
    write_tables(STUDY, left, outside(), tmp_path / "tables")  # checks what votes refer to


def test_after_a_withdrawal_what_two_files_say_can_come_from_the_other(
    tmp_path: Path, root: Path
) -> None:
    imported(tables(tmp_path, "first", votes((0,))), root)
    both = tables(tmp_path, "both", votes((0, 1)))
    imported(both, root)
    withdraw("1", STUDY, root)
    assert len(merged(STUDY, stored_folders(root))["votes"]) == 18
    assert imported(both, root).counts["votes"].new == 18
    assert len(merged(STUDY, stored_folders(root))["votes"]) == 36


def test_a_batch_that_is_not_there_cannot_be_withdrawn(tmp_path: Path, root: Path) -> None:
    with pytest.raises(PastaError, match="nothing to withdraw"):
        withdraw("1", STUDY, root)
    imported(tables(tmp_path, "first", votes()), root)
    with pytest.raises(PastaError, match=r"no batch '0001-frist'.*'0001-first'"):
        withdraw("0001-frist", STUDY, root)
    with pytest.raises(PastaError, match="no batch '2'"):
        withdraw("2", STUDY, root)


def write_votes_only(folder: Path, rows: Sequence[Row]) -> Path:
    folder.mkdir()
    pd.DataFrame(rows).to_csv(folder / "votes.csv", index=False)
    return folder


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


def test_votes_on_what_is_not_explained_yet_are_not_stored(tmp_path: Path, root: Path) -> None:
    path = tables(tmp_path, "first", votes())
    with pytest.raises(PastaError, match=r"36 rows refer to the explanations table.*dvc repro exp"):
        import_file(path, STUDY, root, {})
    assert not root.exists() or names(root) == []


def test_names_of_a_file_become_ours_by_a_given_map(tmp_path: Path, root: Path) -> None:
    theirs = [{**row, "sample_id": f"photo{row['sample_id']}"} for row in votes()]
    path = tables(tmp_path, "first", theirs)
    with pytest.raises(SubmissionError, match=r"the sample is not known.*\(36 times\)"):
        imported(path, root)
    ids = tmp_path / "ids.csv"
    pairs = {row["sample_id"]: own["sample_id"] for row, own in zip(theirs, votes(), strict=True)}
    pd.DataFrame(list(pairs.items()), columns=["theirs", "ours"]).to_csv(ids, index=False)
    imported(path, root, ids=ids)
    found = merged(STUDY, stored_folders(root))["votes"]
    pd.testing.assert_frame_equal(found, stored(votes=votes())["votes"])
    assert "already imported" in imported(path, root, ids=ids).message


def test_a_file_can_be_checked_where_nothing_is_explained_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Result:
        return CliRunner().invoke(study_app("ratings"), list(words))

    write_released(small(), tmp_path / "release", "p2", rated)
    release = run("check", str(tmp_path / "release"))
    assert release.exit_code == 0 and "everything else is in order" in release.stdout
    own = tables(tmp_path, "own", votes())
    looked = run("check", str(own / "votes.csv"), "--annotators", str(own / "annotators.csv"))
    assert looked.exit_code == 0 and "own" in looked.stdout
    words = "not checked: 36 rows refer to the explanations table, which is not there yet"
    assert words in looked.stdout and "everything else is in order" in looked.stdout
    bad = tables(tmp_path, "bad", [vote(rating=9)])
    assert "1 problems; nothing could be imported" in run("check", str(bad)).stdout
    refused = run("import", str(own), "--no-track")
    assert "`dvc repro explain` makes it" in str(refused.exception)
