"""`pasta analyse`: anybody's ratings in, a PDF and tables out, or a clear refusal and nothing."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pypdfium2
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pasta.commands.analyse import analyse, steps
from pasta.errors import InputError, PastaError
from pasta.studies.ratings.ratings_file import (
    KEY,
    infer_scale,
    read_annotators,
    read_ratings,
    read_samples,
)
from tests.analysis.simulated import Study
from tests.conftest import ROOT, names
from tests.studies.ratings.analysed import simulate

LIKERT = (1, 2, 3, 4, 5)
HEADER = "sample_id,annotator_id,question,rating\n"
GOOD = HEADER + "s1,ann,trust,4\ns1,bob,trust,5\ns2,ann,trust,2\ns2,bob,trust,2\n"


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer(pretty_exceptions_enable=False)
    made.command()(analyse)
    return made


def write(folder: Path, text: str | bytes, name: str = "ratings.csv") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_pdf_and_a_table_for_each_result_are_written(tmp_path: Path, app: typer.Typer) -> None:
    ratings, people, samples = simulate(Study(raters=6, samples=30), seed=0)
    files = []
    for name, frame in (("r", ratings), ("p", people), ("s", samples)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        files.append(str(tmp_path / f"{name}.csv"))
    out = tmp_path / "new" / "folder"
    options = ["--annotators", files[1], "--samples", files[2], "--out", str(out)]
    result = CliRunner().invoke(app, [files[0], *options, "--resamples", "100"])
    assert result.exit_code == 0, result.output
    assert (out / "agreement.pdf").read_bytes().startswith(b"%PDF")
    assert {"agreement.csv", "with_mode.csv", "group_tests.csv", "missing.csv"} < set(names(out))
    missing = pd.read_csv(out / "missing.csv").set_index("section")["why"]
    assert missing["country"] == "only one group (India): nothing to compare"
    summary = pd.read_csv(out / "agreement.csv")
    fair = summary[
        (summary["question"] == "all") & (summary["measure"] == "mode_kappa_leave_one_out")
    ]
    assert f"kappa of {fair['estimate'].iloc[0]:.2f}" in result.output
    assert not [name for name in names(out) if name.endswith(".tmp")]
    again = CliRunner().invoke(app, [files[0], *options, "--resamples", "100"])
    assert again.exit_code == 0, "the folder may be there already"


def test_a_scale_of_seven_steps_is_read_and_used(tmp_path: Path, app: typer.Typer) -> None:
    file = write(tmp_path, GOOD.replace(",4\n", ",7\n"))
    out = tmp_path / "out"
    options = ["--out", str(out), "--scale", "1-7", "--resamples", "100"]
    result = CliRunner().invoke(app, [str(file), *options])
    assert result.exit_code == 0, result.output
    stars = pd.read_csv(out / "stars.csv")
    assert sorted(stars["rating"].unique()) == [1, 2, 3, 4, 5, 6, 7]


def seven_points(between: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A study of other people: worker ids of 64 letters, answers from 1 to 7 or NA."""
    rng = np.random.default_rng(5)
    workers = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(24)]
    lenient, quality = rng.normal(0, 0.7, 24), rng.normal(0, 1.2, 12)
    rows = [
        (f"vignette {unit}", worker, asked, str(int(np.clip(np.rint(value), 1, 7))))
        for unit in range(12)
        for place, worker in enumerate(workers)
        if not between or place % 12 == unit
        for asked in ("fair", "clear")
        for value in [4 + quality[unit] + lenient[place] + rng.normal()]
    ]
    answers = pd.DataFrame(rows, columns=["vignette", "worker", "asked", "answer"])
    answers.loc[3, "answer"], answers.loc[5, "answer"] = "NA", "NaN"
    sexes = np.resize(np.array(["Female", "Male"], object), 24)
    sexes[:3] = ["CONSENT_REVOKED", "Prefer not to say", "NA"]
    people = pd.DataFrame({"worker": workers, "gender": sexes, "years": np.arange(20, 44)})
    return answers, people


@pytest.mark.parametrize("between", [False, True])
def test_the_study_of_anybody_else_is_told_in_its_own_names_and_neutral_words(
    between: bool, tmp_path: Path, app: typer.Typer
) -> None:
    answers, people = seven_points(between)
    answers.to_csv(tmp_path / "answers.csv", index=False)
    people.to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "out"
    options = [
        *("--item", "vignette", "--rater", "worker", "--question", "asked", "--rating", "answer"),
        *("--annotators", str(tmp_path / "people.csv"), "--sex", "gender", "--age", "years"),
        *("--out", str(out), "--resamples", "100"),
    ]
    result = CliRunner().invoke(app, [str(tmp_path / "answers.csv"), *options])
    assert result.exit_code == 0, result.output
    assert "scale: 1 to 7" in result.output and "2 rows without a rating" in result.output
    pdf = pypdfium2.PdfDocument(out / "agreement.pdf")
    pages = [pdf[number].get_textpage().get_text_range() for number in range(len(pdf))]
    text = re.sub(r"\s+", " ", re.sub("[\ufffe\x02]\\s*", "", "\n".join(pages)))
    for word in ("PASTA", "star", "papers", "explanation", "Q0", "Q1"):
        assert not re.search(rf"\b{word}s?\b", text), word
    assert "24 annotators" in text and "first letters" in text
    assert people["worker"][0] not in text.replace(" ", "")
    assert people["worker"][0][:8] + "…" in text or between
    assert "Nobody stands out" in text  # also where each person gave two answers only
    tests = pd.read_csv(out / "group_tests.csv")
    sex = tests[(tests["factor"] == "sex") & (tests["measure"] == "level")]
    assert (sex["comparison"] == "female - male").all() and sex["n"].min() >= 20
    assert "3 of 24 without sex (3 by a word" in sex["note"].iloc[0]
    remarks = text.partition("Remarks:")[2].partition(".")[0].split("; ")
    assert len(remarks) == len(set(remarks))


def test_a_named_column_must_be_there_and_errors_use_the_names_of_the_file(
    tmp_path: Path, app: typer.Typer
) -> None:
    text = "picture,worker,answer\np1,ann,4\np1,bob,good\n"
    file, out = write(tmp_path, text), ["--out", str(tmp_path / "out")]
    names_given = ["--item", "picture", "--rater", "worker"]
    missing = CliRunner().invoke(app, [str(file), *names_given, "--rating", "anwser", *out])
    assert isinstance(missing.exception, InputError) and "answer" in str(missing.exception)
    wrong = CliRunner().invoke(app, [str(file), *names_given, "--rating", "answer", *out])
    assert isinstance(wrong.exception, InputError)
    assert (wrong.exception.row, wrong.exception.column) == (3, "answer")
    frame, _ = read_ratings(
        write(tmp_path, text.replace("good", "NA")),
        names={"sample_id": "picture", "annotator_id": "worker", "rating": "answer"},
    )
    assert frame["question"].tolist() == ["answer"] * 2 and frame["rating"].isna().sum() == 1


@pytest.mark.parametrize(
    ("low", "high", "scale"),
    [(2, 4, (1, 5)), (2, 6, (1, 7)), (1, 9, (1, 10)), (0, 3, (0, 10)), (-3, 3, (-3, 3))],
)
def test_a_scale_that_is_not_given_is_a_usual_one(low: int, high: int, scale: object) -> None:
    found = infer_scale(pd.Series([low, high, np.nan]))
    assert (found[0], found[-1]) == scale


@pytest.mark.parametrize("scale", ["5", "5-1", "1-1", "a-b", "0-500", "1,5", ""])
def test_no_scale_is_refused(scale: str) -> None:
    with pytest.raises(typer.BadParameter, match="no scale"):
        steps(scale)


BAD = {
    "no column": ("sample_id,annotator_id,question,score\ns,a,q,1\n", 1, "rating", "missing"),
    "column twice": ("sample_id,annotator_id,question,rating,rating\n", 1, "rating", "twice"),
    "off the scale": (GOOD + "s3,ann,trust,6\n", 6, "rating", "whole number from 1 to 5"),
    "no number": (GOOD + "s3,ann,trust,good\n", 6, "rating", "whole number from 1 to 5"),
    "half a star": (GOOD + "s3,ann,trust,2.5\n", 6, "rating", "whole number"),
    "endless": (GOOD + "s3,ann,trust,inf\n", 6, "rating", "whole number"),
    "twice": (GOOD + "\ns1,ann,trust,4\n", 7, "annotator_id", "the vote of row 2 is given again"),
    "no sample": (GOOD + ",ann,trust,4\n", 6, "sample_id", "a name"),
    "no annotator": (GOOD + "s3, ,trust,4\n", 6, "annotator_id", "a name"),
    "reserved annotator": (GOOD + "s3,mean,trust,4\n", 6, "annotator_id", "another name"),
    "reserved question": (GOOD + "s3,ann,all,4\n", 6, "question", "another name"),
    "short row": (GOOD + "s3,ann,trust\n", 6, None, "4 cells"),
    "open quote": (GOOD + '"s3,ann,trust,4\n', 6, None, "CSV"),
    "only a header": (HEADER, None, None, "a row for each rating"),
    "nothing": ("", None, None, "columns sample_id"),
    "no rating at all": (HEADER + "s,a,q,\n", None, "rating", "whole number"),
    "bad time": (
        HEADER.replace("rating", "rating,submitted_at") + "s,a,q,1,yesterday\n",
        2,
        "submitted_at",
        "a time such as",
    ),
    "bad flag": (
        HEADER.replace("rating", "rating,simulated") + "s,a,q,1,perhaps\n",
        2,
        "simulated",
        "true or false",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_ratings_are_refused_with_their_place_and_nothing_is_written(
    case: str, tmp_path: Path, app: typer.Typer
) -> None:
    text, row, column, part = BAD[case]
    file = write(tmp_path, text)
    options = ["--out", str(tmp_path / "out"), "--scale", "1-5"]
    result = CliRunner().invoke(app, [str(file), *options])
    error = result.exception
    assert isinstance(error, InputError)
    assert (error.file, error.row, error.column) == (file, row, column)
    assert part in str(error)
    assert names(tmp_path) == ["ratings.csv"]


def test_what_is_no_text_or_no_file_is_refused(tmp_path: Path, app: typer.Typer) -> None:
    for content, words in ((b"\xff\xfea", "UTF-16"), (b"sample_id\xe9", "UTF-8"), (b"\0", "NUL")):
        file = write(tmp_path, content)
        result = CliRunner().invoke(app, [str(file), "--out", str(tmp_path / "out")])
        assert isinstance(result.exception, InputError)
        assert words in str(result.exception)
    result = CliRunner().invoke(app, [str(tmp_path / "none.csv")])
    assert isinstance(result.exception, InputError)
    occupied = ["--out", str(write(tmp_path, "x", "out"))]
    result = CliRunner().invoke(app, [str(write(tmp_path, GOOD)), *occupied])
    assert isinstance(result.exception, PastaError)
    assert (tmp_path / "out").read_text() == "x"


def test_bad_companions_are_refused(tmp_path: Path) -> None:
    people = write(tmp_path, "annotator_id,age\nann,30\nann,31\n", "p.csv")
    with pytest.raises(InputError, match=r"row 3.*earlier row") as caught:
        read_annotators(people)
    assert caught.value.column == "annotator_id"
    with pytest.raises(InputError, match="Did you mean 'sample'"):
        read_samples(write(tmp_path, "sample,kind\ns1,saliency\n", "s.csv"))


def test_ages_as_text_are_left_to_the_report(tmp_path: Path) -> None:
    file = write(tmp_path, "annotator_id;age;sex;shoe\nann;thirty;;38\nbob;31;male;44\n", "p.csv")
    frame, ignored = read_annotators(file)
    assert frame["age"].tolist() == ["thirty", "31"]
    assert frame["sex"].isna().tolist() == [True, False]
    assert ignored == ("shoe",)


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace(",", ";"),
        GOOD.replace(",", " , "),
        GOOD.replace(",4\n", ",4.0\n"),
        GOOD.replace("\n", ",x\n"),
    ],
)
def test_spreadsheets_write_the_same_table_in_many_ways(text: str, tmp_path: Path) -> None:
    frame, _ = read_ratings(write(tmp_path, text), LIKERT)
    expected, _ = read_ratings(write(tmp_path, GOOD, "good.csv"), LIKERT)
    pd.testing.assert_frame_equal(frame[[*KEY, "rating"]], expected)
    assert frame["rating"].tolist() == [4, 5, 2, 2]


def test_empty_ratings_flags_and_times_are_understood(tmp_path: Path) -> None:
    text = (
        "sample_id,annotator_id,question,rating,submitted_at,simulated\n"
        "s1,ann,q,,2024-05-01T12:30:00Z,true\ns1,bob,q,3,,\ns2,bob,q,3,2024-05-01 12:30,No\n"
    )
    frame, _ = read_ratings(write(tmp_path, text), LIKERT)
    assert frame["rating"].isna().tolist() == [True, False, False]
    assert frame["simulated"].tolist() == [True, False, False]
    assert frame["submitted_at"].isna().tolist() == [False, True, False]


NAMES = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="\u2028\u2029"), min_size=1
).filter(lambda text: text not in ("mean", "all"))
ROWS = st.lists(
    st.tuples(NAMES, NAMES, NAMES, st.integers(1, 5)),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row[:3],
)
QUIET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUIET
@given(content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
def test_any_bytes_are_read_or_refused_as_input(content: bytes, tmp_path: Path) -> None:
    for head in (b"", HEADER.encode()):
        file = write(tmp_path, head + content)
        try:
            frame, _ = read_ratings(file, LIKERT)
        except InputError as error:
            assert error.file == file
        else:
            assert frame["rating"].dropna().isin(LIKERT).all()
            assert not frame.duplicated(list(KEY)).any()


def test_neither_torch_nor_dvc_nor_mlflow_is_imported(tmp_path: Path) -> None:
    script = (
        "import sys, typer\n"
        "from pasta.commands.analyse import analyse\n"
        "heavy = {'torch', 'dvc', 'mlflow', 'sklearn', 'torchvision'}\n"
        "assert not {'pandas', 'matplotlib', *heavy} & set(sys.modules), 'the start is light'\n"
        "app = typer.Typer(); app.command()(analyse)\n"
        "app(standalone_mode=False)\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "print('light')\n"
    )
    file = write(tmp_path, GOOD)
    arguments = [str(file), "--out", str(tmp_path / "out"), "--resamples", "100"]
    result = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("light\n")
    assert (tmp_path / "out" / "agreement.pdf").is_file()


def test_help_shows_a_table_to_start_from(app: typer.Typer) -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    for word in (
        "sample_id,annotator_id,question,rating",
        "--annotators",
        "--scale",
        "submitted_at",
    ):
        assert word in text
