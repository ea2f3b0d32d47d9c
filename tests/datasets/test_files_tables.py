"""CSV errors with file, row and column; splits that depend on one image only."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.datasets.files.base import assign_split, read_split_file
from pasta.datasets.files.tables import read_table
from pasta.errors import InputError
from tests.datasets import trees


@given(st.text(alphabet=st.one_of(st.sampled_from('a,b"\n\r\x00 '), st.characters(codec="utf-8"))))
@settings(deadline=None)
def test_any_text_is_a_table_or_an_input_error(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        for content in (text, f"a,b\n{text}"):
            path.write_bytes(content.encode())
            try:
                for row in read_table(path, ("a", "b")):
                    row.number_in("a")
            except InputError as error:
                assert error.file == path


@pytest.mark.parametrize(
    ("lines", "row", "column"),
    [
        (["image_id,part"], 1, "split"),
        (["image_id,split,split"], 1, "split"),
        (["image_id,split", "one,train", "", "two,training"], 4, "split"),
        (["image_id,split", "one,train", "one,test"], 3, "image_id"),
        (["image_id,split", "one,train,test"], 2, None),
    ],
)
def test_errors_name_file_row_and_column(
    tmp_path: Path, lines: list[str], row: int, column: str | None
) -> None:
    path = trees.text(tmp_path / "split.csv", *lines)
    with pytest.raises(InputError) as caught:
        read_split_file(tmp_path)
    assert (caught.value.file, caught.value.row, caught.value.column) == (path, row, column)


def test_not_text_not_there_and_empty(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    with pytest.raises(InputError, match="no such file"):
        read_table(path, ("a",))
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_table(path, ("a",))
    path.write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        read_table(path, ("a",))


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n 1 ,2\n", encoding="utf-8-sig")
    assert [row.values for row in read_table(path, ("a",))] == [{"a": "1", "b": "2"}]


def test_shares_of_the_splits() -> None:
    names = [f"image{number}" for number in range(4000)]
    free = Counter(assign_split(3, "monumai", name, None) for name in names)
    assert free["train"] == pytest.approx(2800, abs=120)
    assert free["validation"] == pytest.approx(400, abs=80)
    assert free["test"] == pytest.approx(800, abs=100)
    given_train = Counter(assign_split(3, "coco", name, "train") for name in names)
    assert given_train["validation"] == pytest.approx(400, abs=80)
    assert given_train["test"] == 0
    assert {assign_split(3, "coco", name, "test") for name in names} == {"test"}


def test_the_seed_and_the_dataset_change_the_split() -> None:
    names = [f"image{number}" for number in range(200)]
    splits = {
        tuple(assign_split(seed, dataset, name, None) for name in names)
        for seed in (0, 1)
        for dataset in ("coco", "monumai")
    }
    assert len(splits) == 4
