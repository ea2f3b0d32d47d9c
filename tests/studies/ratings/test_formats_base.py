"""A file is read in the format that it is in, whatever it is called."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings

from pasta.datasets.released import FILE
from pasta.errors import InputError
from pasta.studies.base import Frames
from pasta.studies.ratings.label_studio import write_label_studio
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.released import write_released
from pasta.studies.ratings.study import rating_study
from pasta.studies.reading import read, write_tidy
from tests.studies.ratings.format_cases import (
    PROTOCOL,
    SAMPLES,
    STUDY,
    any_annotations,
    assert_same,
    small,
    typed,
    write,
)

KNOWN = {"explanations": pd.DataFrame({"sample_id": SAMPLES}, dtype="str")}


FORMATS = ("tidy", "released", "label_studio")


def exported(folder: Path, format: str, content: Frames | None = None) -> Path:
    frames, out = content or small(), folder / "out"
    if format == "tidy":
        write_tidy(STUDY, frames, out)
    elif format == "released":
        write_released(frames, out, protocol="p2")
    else:
        out.mkdir(parents=True)
        write_label_studio(frames, out / "project-1.json", PROTOCOL)
    return out


@pytest.mark.parametrize("format", FORMATS)
def test_a_folder_is_recognised_and_everything_comes_back(tmp_path: Path, format: str) -> None:
    submission = read(exported(tmp_path, format), STUDY, KNOWN)
    assert (submission.format, submission.source) == (format, "out")
    assert submission.protocol == "p2" and submission.dropped == {}
    assert_same(typed(submission), small())


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=40, deadline=None)
@given(expected=any_annotations())
def test_what_goes_out_comes_back(format: str, expected: Frames) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = exported(Path(folder), format, expected)
        if format != "tidy" or any(map(len, expected.values())):
            assert_same(typed(read(out, STUDY, KNOWN)), expected)


def test_a_file_is_recognised_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    table = exported(tmp_path / "a", "tidy") / "votes.csv"
    release = exported(tmp_path / "b", "released") / FILE
    export = exported(tmp_path / "c", "label_studio") / "project-1.json"
    for given_file, format in ((table, "tidy"), (release, "released"), (export, "label_studio")):
        renamed = given_file.rename(given_file.with_name("ratings.txt"))
        assert read(renamed, STUDY, KNOWN).format == format


def test_annotators_given_beside_take_the_place_of_anonymous_ones(tmp_path: Path) -> None:
    release = exported(tmp_path, "released")
    people = tmp_path / "people.csv"
    people.write_text("annotator_id,age\nanna,99\n")
    submission = read(release, STUDY, KNOWN, people=people)
    given = submission.tables["annotators"].astype(str)
    assert given.to_dict("records") == [
        {"annotator_id": "anna", "age": "99", "anonymous": "false", "simulated": "false"}
    ]
    votes = tmp_path / "votes.csv"
    votes.write_text("sample_id,annotator_id,question,rating\na,b,c,d\n")
    with pytest.raises(InputError, match="is the votes table"):
        read(release, STUDY, KNOWN, people=votes)


def test_what_is_in_no_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no file of answers"):
        read(tmp_path, STUDY)
    with pytest.raises(InputError, match=r"is in no known format.*Label Studio"):
        read(write({"a": 1}, tmp_path / "a.json"), STUDY)
    with pytest.raises(InputError, match="is in no known format"):
        read(write([1, 2], tmp_path / "b.json"), STUDY)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "c.json", STUDY)
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="not an ordinary file"):
        read(tmp_path / "pipe.csv", STUDY)


def test_another_version_of_the_protocol_is_said(tmp_path: Path) -> None:
    write_tidy(rating_study(load_protocol("p1")), small(), tmp_path / "out")
    assert read(tmp_path / "out", STUDY).protocol == "p1"
    write({"protocol": 2}, tmp_path / "out" / "study.json")
    with pytest.raises(InputError, match="the protocol is 2"):
        read(tmp_path / "out", STUDY)
    write_label_studio(small(), tmp_path / "export.json", load_protocol("p1"))
    assert read(tmp_path / "export.json", STUDY).protocol == "p1"
