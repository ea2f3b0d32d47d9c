"""The released format: generated releases, what can be wrong with one, and round trips."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.datasets.released import ACTIVATIONS, FILE, PICTURES, ForeignError
from pasta.errors import InputError
from pasta.explanations.techniques import NUMBERED, RELEASED
from pasta.json_files import Below, parse_json
from pasta.studies.checking import Known, check
from pasta.studies.ratings.rateable import published
from pasta.studies.ratings.released import Rated, View, sample_of, stem, write_released
from pasta.studies.ratings.settings import QUESTIONS
from pasta.studies.ratings.tables import ANSWERS
from pasta.studies.reading import read, read_ids
from tests.studies.ratings.format_cases import (
    SAMPLES,
    STUDY,
    assert_text_or_refused,
    json_values,
    problems,
    read_released,
    typed,
    write,
)

PATHS = (*PICTURES, *ACTIVATIONS)
ENTRY: dict[str, Any] = {
    "img": "images/coco_1323_hair_drier.png",
    "explication": "./expl/coco_1323_0_gradcam.png",
    "activations": "activations/coco_1323_0_gradcam.npy",
    "GTclass": "kitchen",
    "predictedclass": "bathroom",
    "Annotation": [{"Q1": 4, "Q2": 5}, {"Q1": 3}],
    "imgpertubated": "imgpertubated/coco_1323_0.png",
    "explicationpertubated": "explpertubated/coco_1323_0.png",
    "activationspertubated": "activationspertubated/coco_1323_0.npy",
}


def rated(sample: str) -> Rated:
    """A small picture and something to explain it."""
    concept = sample.split("/")[2] == "clip_qda"
    image = np.full((4, 4, 3), 7, np.uint8)
    values: Any = {"pointed-arch": 0.5} if concept else np.ones((4, 4), np.float32)
    view = View(image, values, picture=image)
    return Rated("flying buttress/arch", "Gothic", view, perturbed=view)


def test_a_vote_is_read_with_its_place_and_an_anonymous_person(tmp_path: Path) -> None:
    submission = read_released(write([ENTRY], tmp_path / FILE))
    votes = submission.tables["votes"]
    assert submission.format == "released" and submission.findings == ()
    assert votes.index.tolist() == ["entry 1, Annotation 1"] * 2 + ["entry 1, Annotation 2"]
    assert votes["sample_id"].unique().tolist() == [SAMPLES[0]]
    assert votes["annotator_id"].tolist() == ["anonymous-1", "anonymous-1", "anonymous-2"]
    assert votes["question"].tolist() == ["Q1", "Q2", "Q1"]
    assert votes["rating"].tolist() == ["4", "5", "3"]
    people = submission.tables["annotators"]
    assert people["annotator_id"].tolist() == ["anonymous-1", "anonymous-2"]
    assert people["age"].tolist() == ["", ""] and people["anonymous"].tolist() == ["true", "true"]


def test_who_is_named_in_a_release_is_a_person_and_a_place_in_a_list_never_is(
    tmp_path: Path,
) -> None:
    named = {**ENTRY, "Annotation": [{"Q1": 4, "annotator": "anna"}, {"Q1": 3}]}
    path = write([named], tmp_path / FILE)
    people = read(path, STUDY, {}).tables["annotators"]
    assert dict(zip(people["annotator_id"], people["anonymous"], strict=True)) == {
        "anna": "false",
        "anonymous-2": "true",
    }
    introduced = tmp_path / "people.csv"
    introduced.write_text("annotator_id,age\nanna,31\nanonymous-2,40\n")
    people = read(path, STUDY, {}, introduced).tables["annotators"]
    assert people["anonymous"].tolist() == ["false", "true"]


def test_a_generated_release_is_read_completely(tmp_path: Path) -> None:
    samples = [
        f"{dataset}/{image}/{technique}"
        for dataset, image in (("coco", "75"), ("catsdogscars", "50"))
        for technique in NUMBERED.values()
    ]
    votes = [
        {
            "sample_id": sample,
            "annotator_id": f"anonymous-{person}",
            "question": question,
            "rating": 1 + (person + place) % 5,
            "submitted_at": None,
            "simulated": False,
        }
        for place, sample in enumerate(samples)
        for person in range(1, 6)
        for question in QUESTIONS
    ]
    frames = {"votes": ANSWERS["votes"].frame(votes)}
    write_released(STUDY.frames(frames), tmp_path / "release", "p2", rated)
    entries = json.loads((tmp_path / "release" / FILE).read_text())
    for entry in entries:  # as in the release, which has none of our own keys
        del entry["sample_id"]
        for answer in entry["Annotation"]:
            del answer["annotator"]
        assert all((tmp_path / "release" / entry[key]).is_file() for key in PATHS)
    (tmp_path / "release" / "study.json").unlink()
    write(entries, tmp_path / "release" / FILE)

    submission = read_released(tmp_path / "release")
    assert submission.findings == () and submission.dropped == {}
    found = typed(submission)
    counts = found["votes"]["question"].value_counts().to_dict()
    assert counts == dict.fromkeys(QUESTIONS, 5 * len(samples))
    pd.testing.assert_frame_equal(found["votes"], _sorted_as(found["votes"], frames["votes"]))


def _sorted_as(found: pd.DataFrame, expected: pd.DataFrame) -> pd.DataFrame:
    key = list(ANSWERS["votes"].key)
    order = pd.MultiIndex.from_frame(found[key])
    return expected.set_index(key).loc[order].reset_index()


def test_a_number_of_the_release_is_never_taken_for_one_with_zeros_in_front(tmp_path: Path) -> None:
    entry = {**ENTRY, "explication": "expl/monumai_137_39.png"}  # SAMPLES[1] is monumai/0137/...
    path = write([entry], tmp_path / FILE)
    submission = read_released(path)
    assert set(submission.tables["votes"]["sample_id"]) == {"monumai/137/clip_qda/clip_qda"}
    known = {"explanations": pd.DataFrame({"sample_id": list(SAMPLES)}, dtype="str")}
    [finding] = check(submission, STUDY, Known(known, STUDY.frames({}))).findings[:1]
    assert (finding.problem, finding.place) == ("the sample is not known", "entry 1, Annotation 1")


def test_a_given_map_says_which_sample_of_ours_is_meant(tmp_path: Path) -> None:
    entry = {**ENTRY, "explication": "expl/monumai_137_39.png"}
    path = write([entry], tmp_path / FILE)
    ids = tmp_path / "ids.csv"
    ids.write_text(f"theirs;sample_id\nmonumai/137/clip_qda/clip_qda;{SAMPLES[1]}\nother;one\n")
    known = {"explanations": pd.DataFrame({"sample_id": list(SAMPLES)})}
    submission = read(path, STUDY, known, ids=read_ids(ids, STUDY))
    assert submission.findings == ()
    assert set(submission.tables["votes"]["sample_id"]) == {SAMPLES[1]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\nx,1\nx,2\n", "'x' stands in an earlier row too"),
        ("a,b\nx,1\ny,1\n", "'1' stands in an earlier row too"),
        ("a,b\nx,1\n,2\n", "there is no id"),
        ("a,b,c\nx,1,2\n", "has 3 columns"),
    ],
)
def test_a_map_that_joins_two_samples_into_one_is_refused(
    text: str, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "ids.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=words) as refusal:
        read_ids(file, STUDY)
    assert str(file) in str(refusal.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/expl/coco_1323_0.png", "coco/1323/gradcam/resnet50"),
        ("expl/coco_1323_46_bcos_7.png", "coco/1323/bcos/resnet50_bcos"),
        ("expl\\catsdogscars_50_39-x.png", "catsdogscars/50/clip_qda/clip_qda"),
        ("coco_1323_47.png", "coco/1323/bcos/vit_b_16_bcos"),
        ("coco_1323_50.png", None),
        ("coco_1323_1234.png", None),
        ("coco_1323.png", None),
        ("coco_x_1.png", None),
    ],
)
def test_names_of_the_release_are_read(path: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ForeignError):
            sample_of({"explication": path})
    else:
        assert sample_of({"explication": path}) == expected


def test_the_numbers_of_techniques_are_those_of_the_catalogue() -> None:
    assert {technique: number for number, technique in NUMBERED.items()} == RELEASED
    assert stem("coco/1/bcos/resnet50_bcos") == "coco_1_46"


def test_the_46_techniques_of_the_papers_are_rated_and_no_others() -> None:
    from pasta.explanations.catalog import techniques

    every = pd.DataFrame(
        [{"method": one.method, "backbone": one.backbone} for one in techniques(extras=True)]
    )
    rated = published(every)
    assert len(rated) == 46
    assert set(rated["method"] + "/" + rated["backbone"]) == {
        one.key for one in techniques(extras=False)
    }


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/old/place/expl/a.png", "expl/a.png"),
        ("C:\\study\\expl\\a.png", "expl/a.png"),
        ("study/expl/a.png", "expl/a.png"),
        ("expl/a.png", "expl/a.png"),
        ("/old/place/expl/b.png", "/old/place/expl/b.png"),
        ("/old/../expl/a.png", "/old/../expl/a.png"),
    ],
)
def test_paths_of_a_study_that_was_moved_are_found_by_their_end(
    tmp_path: Path, path: str, expected: str
) -> None:
    (tmp_path / "expl").mkdir()
    (tmp_path / "expl/a.png").touch()
    assert Below(tmp_path).tail(path) == expected


def changed(**values: Any) -> dict[str, Any]:
    return {**ENTRY, **values}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (5, "is no object"),
        (changed(explication=None), "does not say what it shows"),
        (changed(explication=7), "does not say what it shows"),
        (changed(explication="expl/picture.png"), "the shown explanation has a foreign name"),
        (changed(sample_id="coco/1323"), "sample_id is 'coco/1323'"),
        (changed(sample_id=["a"]), "sample_id is ['a']"),
        (
            changed(sample_id="coco/1/lime/vit"),
            "sample_id is coco/1/lime/vit and the picture another one's",
        ),
        (changed(Annotation={"Q1": 3}), "an entry has no list of votes"),
        (changed(Annotation=None), "an entry has no list of votes"),
        (changed(Annotation=[3]), "a vote is no object"),
        (changed(Annotation=[{"q1": 3}]), "a vote has an unknown key"),
        (changed(Annotation=[{"Q0.2": 3}]), "boxes cannot be read"),
    ],
)
def test_what_is_wrong_with_an_entry_is_found_and_the_rest_is_read(
    tmp_path: Path, entry: Any, problem: str
) -> None:
    submission = read_released(write([ENTRY, entry], tmp_path / FILE))
    assert problems(submission) == {problem: 1}
    assert submission.findings[0].place is not None
    assert submission.findings[0].place.startswith("entry 2")
    assert len(submission.tables["votes"]) >= 3


def test_ratings_reach_the_checking_as_they_were_written(tmp_path: Path) -> None:
    huge = "9" * 5000
    votes = (
        f'[{{"Q1": 3.5, "Q2": NaN, "Q3": null, "Q4": "five", "Q5": {huge}, "Q6": [1], "Q12": 1}}]'
    )
    text = json.dumps([changed(Annotation="HERE")]).replace('"HERE"', votes)
    (tmp_path / FILE).write_text(text)
    found = read_released(tmp_path).tables["votes"]
    assert found["rating"].tolist() == ["3.5", "NaN", "", "five", huge, "a list", "1"]
    assert found["question"].tolist()[-1] == "Q12"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"Annotation": [', "row 1: cannot be read as JSON"),
        ("", "cannot be read as JSON"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ('[{"Annotation": 1, "Annotation": 2}]', "'Annotation' stands twice"),
        ('[{"Annotation": "\\ud800"}]', "half a surrogate pair"),
        ('[{"\\u0000": 1}]', "NUL character"),
        ("[]", "holds no entries"),
        ("7", "holds no entries"),
        ('{"Annotation": []}', "holds no entries"),
        ("[1] x", "Extra data"),
    ],
)
def test_what_is_no_release_is_refused_with_a_reason(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match=words):
        read_released(tmp_path)


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    write([ENTRY], tmp_path / FILE)
    with pytest.raises(InputError, match="larger than"):
        read_released(tmp_path, limit=100)


entries: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "Annotation": json_values
        | st.lists(
            st.dictionaries(
                st.sampled_from(
                    ["Q1", "Q0.1", "Q0.2", "annotator", "submitted_at", "simulated", "x"]
                ),
                json_values,
            ),
            max_size=2,
        )
    },
    optional={
        **{
            key: json_values | st.sampled_from(["expl/coco_1_0.png", "..", "a/\x01", "x" * 300])
            for key in PATHS
        },
        "sample_id": json_values | st.just("coco/1/lime/resnet50"),
        "GTclass": json_values,
    },
)


@settings(max_examples=200, deadline=None)
@given(st.lists(entries | json_values, max_size=3), json_values)
def test_no_json_makes_the_reader_fail_in_an_undocumented_way(content: Any, study: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(content, Path(folder) / FILE)
        write({"annotators": study, "rankings": study}, Path(folder) / "study.json")
        assert_text_or_refused(lambda: read_released(Path(folder)))


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=100)
    | st.text('[]{}",:0123456789eE.-NaInfity\\ud8', max_size=60).map(str.encode)
)
def test_no_bytes_make_the_parser_fail_in_an_undocumented_way(content: bytes) -> None:
    try:
        parse_json(content, Path("given.json"))
    except InputError as error:
        assert str(error).startswith("given.json")
