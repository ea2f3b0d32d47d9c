"""The store: files appear whole or not at all, and come back as they went in."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta import store, tables
from pasta.contracts import TableError
from pasta.errors import InputError, PastaError
from pasta.studies.ratings import tables as rating_tables
from pasta.studies.ratings.settings import QUESTIONS
from tests.conftest import names
from tests.test_tables import images

ratings = st.lists(
    st.tuples(
        st.sampled_from(["coco/1/gradcam/vit", "coco/2/lime/vit"]),
        st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True),
        st.sampled_from(QUESTIONS),
        st.integers(1, 5),
        st.none() | st.datetimes(pd.Timestamp("2000-01-01"), pd.Timestamp("2030-01-01")),
        st.booleans(),
    ),
    max_size=12,
    unique_by=lambda vote: vote[:3],
)


@settings(max_examples=30, deadline=None)
@given(votes=ratings, suffix=st.sampled_from(["parquet", "csv"]))
def test_what_is_written_is_read_back(
    votes: list[tuple[object, ...]], suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [dict(zip(rating_tables.VOTES.columns, vote, strict=True)) for vote in votes]
    frame = rating_tables.VOTES.frame(rows)
    path = tmp_path_factory.mktemp("store") / f"votes.{suffix}"
    store.write(frame, path, rating_tables.VOTES)
    pd.testing.assert_frame_equal(store.read(path, rating_tables.VOTES), frame)


def test_a_refused_table_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "images.parquet"
    store.write(images(), path, tables.IMAGES)
    before = path.read_bytes()
    with pytest.raises(TableError, match=r"images\.parquet, row 1, column 'split'"):
        store.write(images(split="tests"), path, tables.IMAGES)
    assert path.read_bytes() == before and names(tmp_path) == ["images.parquet"]


@pytest.mark.parametrize(
    ("cell", "column"), [("x", "width"), ("", "row"), ("3.5", "height"), ("tests", "split")]
)
def test_a_bad_csv_cell_is_named_by_its_line(cell: str, column: str, tmp_path: Path) -> None:
    path = tmp_path / "images.csv"
    frame = images().astype(str)
    frame.loc[1, column] = cell
    frame.to_csv(path, index=False)
    with pytest.raises(TableError, match=rf"images\.csv, row 3, column '{column}': found '{cell}'"):
        store.read(path, tables.IMAGES)


@pytest.mark.parametrize("name", ["images.parquet", "images.csv"])
def test_a_truncated_table_is_an_input_error(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    store.write(images(), path, tables.IMAGES)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match=name):
        store.read(path, tables.IMAGES)


def test_a_truncated_array_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "maps.npy"
    store.write_array(np.arange(1000), path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"maps\.npy: cannot be read"):
        store.read_array(path)


def test_an_array_of_objects_is_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "maps.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="plain numbers"):
        store.read_array(path)


def test_an_array_of_another_shape_is_named(tmp_path: Path) -> None:
    store.write_array(np.zeros((2, 3)), tmp_path / "a.npy")
    with pytest.raises(InputError, match=r"has the shape 2 x 3 \(expected any x 4\)"):
        store.read_array(tmp_path / "a.npy", (None, 4))


def test_arrays_are_memory_mapped_and_read_only(tmp_path: Path) -> None:
    with store.new_array(tmp_path / "a.npy", (4, 2), np.float16) as array:
        array[:] = 1.5
    back = store.read_array(tmp_path / "a.npy")
    assert isinstance(back, np.memmap) and (back == 1.5).all()
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1


def test_an_exception_in_the_middle_leaves_the_old_array(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    store.write_array(np.ones(3), path)
    with pytest.raises(RuntimeError), store.new_array(path, (3,), np.float64) as array:
        array[0] = 9
        raise RuntimeError
    assert (store.read_array(path) == 1).all() and names(tmp_path) == ["a.npy"]


def test_a_full_disk_is_an_error_that_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npy"
    store.write_array(np.ones(3), path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with (
        pytest.raises(PastaError, match=r"a\.npy: cannot be written: No space left"),
        store.new_array(path, (10,), np.float64),
    ):
        pytest.fail("the block must not start without space")
    assert (store.read_array(path) == 1).all() and names(tmp_path) == ["a.npy"]


def test_a_killed_writer_leaves_the_old_file_and_is_swept_up(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    store.write_array(np.ones(3), path)
    script = (
        "import os, signal, sys, numpy as np\nfrom pathlib import Path\nfrom pasta import store\n"
        "with store.new_array(Path(sys.argv[1]), (3,), np.float64) as array:\n"
        "    array[:] = 7\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -9
    assert (store.read_array(path) == 1).all() and len(names(tmp_path)) == 2
    store.write_array(np.zeros(3), path)
    assert names(tmp_path) == ["a.npy"]


def test_a_living_writers_temporary_file_is_left_alone(tmp_path: Path) -> None:
    with store.atomic(tmp_path / "a.npy") as mine:
        mine.write_bytes(b"not yet")
        store.write_array(np.zeros(3), tmp_path / "a.npy")
        assert mine.exists()


def test_an_unwritable_place_is_a_readable_error(tmp_path: Path) -> None:
    (tmp_path / "a.npy").mkdir()
    with pytest.raises(PastaError, match=r"a\.npy: cannot be written"):
        store.write_array(np.zeros(3), tmp_path / "a.npy")
