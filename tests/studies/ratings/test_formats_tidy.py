"""CSV files as people make them: what is understood, what is refused, and that nothing is lost."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.errors import InputError, PastaError
from pasta.studies.base import Submission
from pasta.studies.checking import Known, check, find_first
from pasta.studies.reading import (
    read_in_parts,
    read_parts,
    read_table,
    read_tidy,
    write_tidy,
)
from pasta.text_files import find_rows, write_csv
from tests.conftest import ROOT
from tests.studies.ratings.format_cases import SAMPLES, STUDY, assert_same, small, typed

HEADER = "sample_id,annotator_id,question,rating"
ROW = "coco/1/gradcam/resnet50,anna,Q1,4"
ROW_2 = "coco/1/gradcam/resnet50,anna,Q2,5"


def file_of(folder: Path, content: bytes | str, name: str = "given.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def ratings(path: Path) -> list[tuple[int, str]]:
    """Line and rating of every vote."""
    frame = read_tidy(STUDY, path).tables["votes"]
    return list(zip(frame.index.tolist(), frame["rating"].astype(str), strict=True))


@pytest.mark.parametrize(
    "content",
    [
        f"{HEADER}\n{ROW}\n{ROW_2}\n".encode(),
        f"{HEADER}\n{ROW}\n{ROW_2}".encode(),
        f"{HEADER}\r\n{ROW}\r\n{ROW_2}\r\n".encode(),
        f"{HEADER}\r{ROW}\r{ROW_2}\r".encode(),
        f"\ufeff{HEADER}\n{ROW}\n{ROW_2}\n".encode(),
        f"{HEADER}\n{ROW}\n{ROW_2}\n".replace(",", ";").encode(),
        f"{HEADER}\n{ROW}\n{ROW_2}\n".replace(",", "\t").encode(),
        f"{HEADER}\n{ROW}\n{ROW_2}\n".replace("Q", '"Q')
        .replace(",4", '",4')
        .replace(",5", '",5')
        .encode(),
    ],
    ids=["plain", "no-last-line-end", "windows", "old-mac", "bom", "semicolons", "tabs", "quotes"],
)
def test_spellings_of_the_same_table_are_read_alike(tmp_path: Path, content: bytes) -> None:
    frame = read_tidy(STUDY, file_of(tmp_path, content)).tables["votes"]
    assert list(frame.columns) == HEADER.split(",")
    assert frame.astype(str).agg(",".join, axis=1).tolist() == [ROW, ROW_2]
    assert frame.index.tolist() == [2, 3] and frame.index.name == "place"


def test_places_are_lines_even_with_blank_lines_and_line_ends_in_cells(tmp_path: Path) -> None:
    head = "sample_id,annotator_id,text\n"
    body = (
        '\ncoco/1/a/b,anna,"two\nlines"\n\ncoco/1/a/b,bob,one\r\n\r\ncoco/1/a/b,cid,"x ""y"""\n\n'
    )
    frame = read_tidy(STUDY, file_of(tmp_path, head + body)).tables["descriptions"]
    assert frame.index.tolist() == [3, 6, 8]
    assert frame["text"].tolist() == ["two\nlines", "one", 'x "y"']


@pytest.mark.parametrize(
    ("columns", "table"),
    [
        ("sample_id,annotator_id,question,rating,submitted_at,simulated", "votes"),
        ("annotator_id,question,sample_id,rating,note", "votes"),
        ("sample_id,annotator_id,question", "votes"),
        ("annotator_id", "annotators"),
        ("annotator_id,age,sex", "annotators"),
        ("sample_id,annotator_id,text", "descriptions"),
        ("sample_id,annotator_id,box,x0,y0,x1,y1", "boxes"),
        ("annotator_id,question,item,position", "rankings"),
    ],
)
def test_a_table_is_known_by_its_header(tmp_path: Path, columns: str, table: str) -> None:
    row = ",".join("x" for _ in columns.split(","))
    submission = read_tidy(STUDY, file_of(tmp_path, f"{columns}\n{row}\n"))
    assert list(submission.tables) == [table]
    assert list(submission.tables[table].columns) == columns.split(",")


def test_rows_with_too_few_or_too_many_cells_are_findings_with_their_line(tmp_path: Path) -> None:
    text = f"{HEADER}\n{ROW}\n{ROW},6\n\n{ROW_2}\ncoco/1/gradcam/res"
    submission = read_tidy(STUDY, file_of(tmp_path, text))
    assert [(one.place, one.found) for one in submission.findings] == [
        ("line 3", "5 instead of 4"),
        ("line 6", "1 instead of 4"),
    ]
    assert submission.tables["votes"].index.tolist() == [2, 5]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"\n" + HEADER.encode(), "starts with an empty line"),
        (f"{HEADER}\n{ROW}\0\n".encode(), "row 2: there is a NUL byte"),
        (f"{HEADER}\n{ROW}\né\n".encode("latin-1"), "row 3: the byte 0xE9 is not UTF-8"),
        (f"{HEADER}\n{ROW}\n".encode("utf-16"), "UTF-16"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "expected text saved as UTF-8"),
        (b"name,colour\n1,2\n", "belongs to no table"),
        (f"{HEADER},rating\n".encode(), "column 'rating': stands twice"),
        (f'{HEADER}\n"coco/1,anna,Q1,4\n'.encode(), "never closed"),
        (f'{HEADER}\nco"co,anna,Q1,4\n{ROW}\nco"co,bob,Q1,3\n'.encode(), "cannot be told apart"),
    ],
)
def test_what_is_no_table_is_refused_with_a_reason(
    tmp_path: Path, content: bytes, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        read_tidy(STUDY, file_of(tmp_path, content))


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, f"{HEADER}\n{ROW}\n")
    assert len(ratings(path)) == 1
    with pytest.raises(InputError, match=r"larger than 5e-05 MB"):
        read_tidy(STUDY, path, limit=50)


def test_a_missing_file_and_a_folder_without_tables_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_tidy(STUDY, tmp_path / "nothing.csv")
    with pytest.raises(InputError, match="holds no CSV file"):
        read_tidy(STUDY, tmp_path)


def test_annotators_are_read_along_and_a_table_comes_only_once(tmp_path: Path) -> None:
    votes = file_of(tmp_path, f"{HEADER}\n{ROW}\n")
    people = file_of(tmp_path, "annotator_id,age\nanna,30\n", "people.csv")
    assert set(read_tidy(STUDY, votes, people).tables) == {"votes", "annotators"}
    with pytest.raises(InputError, match="a second file with the votes table"):
        read_tidy(STUDY, votes, votes)


def test_an_exported_folder_says_its_protocol(tmp_path: Path) -> None:
    write_tidy(STUDY, small(), tmp_path / "out")
    submission = read_tidy(STUDY, tmp_path / "out")
    assert submission.protocol == "p2"
    assert_same(typed(submission), small())
    with pytest.raises(PastaError, match="exists already"):
        write_tidy(STUDY, small(), tmp_path / "out")


def test_both_ways_of_writing_give_the_same_bytes(tmp_path: Path) -> None:
    plain = small()["votes"]
    write_csv(plain, tmp_path / "arrow.csv")
    quoted = plain.assign(annotator_id=['needs "quotes"', *plain["annotator_id"].iloc[1:]])
    write_csv(quoted, tmp_path / "module.csv")
    first, second = (
        (tmp_path / name).read_text().splitlines() for name in ("arrow.csv", "module.csv")
    )
    assert first[0] == ",".join(plain.columns) and first[2:] == second[2:]
    assert second[1].split(",")[1] == '"needs ""quotes"""'


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=200)
    | st.text('",;\t\r\n Qab1é\0', max_size=80).map(str.encode)
    | st.text('",\r\n 1é', max_size=60).map(lambda body: f"{HEADER}\n{body}".encode())
)
def test_no_bytes_make_the_reader_fail_in_an_undocumented_way(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = file_of(Path(folder), content)
        try:
            submission = read_tidy(STUDY, path)
        except InputError:
            return
    (frame,) = submission.tables.values()
    assert not frame.isna().to_numpy().any()
    assert frame.index.is_monotonic_increasing and frame.index.is_unique
    lines = content.count(b"\n") + content.count(b"\r") + 1
    assert all(2 <= place <= lines for place in frame.index)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.text('a",\n\r é;', max_size=5), min_size=3, max_size=3), max_size=6))
def test_rows_and_lines_agree_with_the_csv_module(table: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table)
    reader = csv.reader(io.StringIO(text.getvalue(), newline="\n"))
    starts, before = [], 1
    for _ in reader:
        starts.append(before)
        before = 1 + text.getvalue().encode().count(b"\n", 0, _bytes_read(text, len(starts), table))
    rows = find_rows(text.getvalue().encode())
    assert rows.line.tolist() == starts
    with tempfile.TemporaryDirectory() as folder:
        head = "sample_id,annotator_id,text\n"
        path = file_of(Path(folder), head + text.getvalue())
        frame = read_tidy(STUDY, path).tables["descriptions"]
    assert frame.astype(str).to_numpy().tolist() == table
    assert (frame.index - 1).tolist() == starts


def _bytes_read(text: io.StringIO, rows: int, table: list[list[str]]) -> int:
    """How many bytes the first rows take."""
    part = io.StringIO()
    csv.writer(part, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(table[:rows])
    return len(part.getvalue().encode())


ROWS = "".join(
    f"coco/{n}/lime/vit,p{n},Q1,{n % 5}{',7' if n % 7 == 6 else ''}\n" for n in range(40)
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [30, 100, 10_000])
def test_parts_of_a_file_have_the_rows_and_lines_of_the_whole(
    size: int, end: str, tmp_path: Path
) -> None:
    file = tmp_path / "votes.csv"
    text = f"\ufeffsample_id,annotator_id,question,rating\n\n{ROWS}"
    file.write_bytes(text.rstrip("\n").replace("\n", end).encode())
    whole = read_table(STUDY, file)
    parts = list(read_parts(STUDY, file, size))
    assert len(parts) > 1 or size > len(text)
    pd.testing.assert_frame_equal(pd.concat([one.frame for one in parts]), whole.frame)
    assert tuple(found for one in parts for found in one.findings) == whole.findings


def test_a_quoted_cell_ends_the_reading_in_parts(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text(
        f'sample_id,annotator_id,question,rating\n{ROWS}"coco/1/\n/lime",a,Q1,3\n{ROWS}'
    )
    assert sum(len(one.frame) for one in read_parts(STUDY, file, 200)) < 40
    assert len(read_table(STUDY, file).frame) == 71


def test_a_large_file_that_is_wrong_throughout_is_read_no_further_than_needed(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    rows = [f"{SAMPLES[0]},nobody{n},Q1,3" for n in range(5_000)]
    header = "sample_id,annotator_id,question,rating"
    (folder / "votes.csv").write_text("\n".join([header, *rows]))
    (folder / "annotators.csv").write_text("annotator_id\nanna\n")
    read: list[int] = []

    def counted() -> Iterator[Submission]:
        for part in read_in_parts(folder, STUDY, large=0, size=5_000):
            read.append(len(part.tables["votes"]))
            yield part

    known = Known({"explanations": pd.DataFrame({"sample_id": SAMPLES})}, STUDY.frames({}))
    findings = find_first(counted(), STUDY, known, most=200)
    assert len(findings) == 201 and findings[0].place == "line 2"
    assert "was not looked at" in findings[-1].problem
    assert findings[-1].place == f"line {sum(read) + 1}" and sum(read) < 500
    assert find_first(counted(), STUDY, known, most=5_000) == ()
    assert list(read_in_parts(folder, STUDY)) == []


def test_the_tables_that_the_readme_shows_are_in_order(tmp_path: Path) -> None:
    blocks: dict[str, list[str]] = {}
    for block in (ROOT / "README.md").read_text().split("\n\n"):
        lines = [line.removeprefix("    ") for line in block.splitlines()]
        if lines and lines[0].startswith(("sample_id,annotator_id", "annotator_id,age")):
            blocks[lines[0]] = lines
    assert len(blocks) == 2
    for number, lines in enumerate(blocks.values()):
        (tmp_path / f"{number}.csv").write_text("\n".join(lines))
    given = read_tidy(STUDY, tmp_path / "0.csv", tmp_path / "1.csv")
    outside = {"explanations": pd.DataFrame({"sample_id": given.tables["votes"]["sample_id"]})}
    checked = check(given, STUDY, Known(outside, STUDY.frames({})))
    assert checked.findings == () and checked.counts["votes"].new == 2
