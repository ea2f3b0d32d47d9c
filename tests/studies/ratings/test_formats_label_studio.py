"""Label Studio's export: what is matched, dropped and refused; tasks and configuration."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.errors import InputError
from pasta.studies.base import Submission
from pasta.studies.ratings.label_studio import (
    PICTURE_KEYS,
    fractions,
    from_name,
    labelling_config,
    percents,
    task_data,
    write_labelling_config,
    write_tasks,
)
from pasta.studies.ratings.protocol import load_protocol, versions
from tests.studies.ratings.format_cases import (
    PROTOCOL,
    SAMPLES,
    assert_text_or_refused,
    json_values,
    problems,
    read_label_studio,
    typed,
    write,
)

HASHED = f"labelstudio-{hashlib.sha256(b'anna@example.org').hexdigest()[:12]}"
ITEMS = list(PROTOCOL.question("Q7").item_ids)


def result(name: str, **value: Any) -> dict[str, Any]:
    return {"id": "x", "from_name": name, "to_name": "image", "type": "any", "value": value}


def annotation(*results: Any, by: Any = 7, **more: Any) -> dict[str, Any]:
    times = {"created_at": "2024-03-09T22:16:08.728353Z", "updated_at": "2024-03-09T22:16:08.9Z"}
    content = {"id": 1, "completed_by": by, "was_cancelled": False, "lead_time": 4.2}
    return {**content, **times, "result": list(results), **more}


def read(tmp_path: Path, *annotations: Any, **data: Any) -> Submission:
    """Read an export with one task."""
    task = {"id": 41, "data": {"sample_id": SAMPLES[0], **data}, "annotations": list(annotations)}
    return read_label_studio(write([task], tmp_path / "export.json"))


def test_answers_are_matched_by_the_name_of_their_control(tmp_path: Path) -> None:
    submission = read(
        tmp_path,
        annotation(
            result("Q5", rating=2),
            result("Q1", rating=4),
            result("Q0_1", text=["ears", "fur"]),
            result("Q0_2", x=10, y=20, width=30.5, height=80, rotation=0),
            result("Q7", ranker={"_": [], "Q7": ITEMS}),
            result("comment", text=["nice"]),
        ),
        protocol="p2",
    )
    assert submission.findings == () and submission.protocol == "p2"
    assert submission.dropped == {"results of other controls": 1}
    found = typed(submission)
    assert dict(zip(found["votes"]["question"], found["votes"]["rating"], strict=True)) == {
        "Q5": 2,
        "Q1": 4,
    }
    assert found["votes"]["annotator_id"].unique().tolist() == ["labelstudio-7"]
    assert (
        submission.tables["votes"]["submitted_at"].tolist() == ["2024-03-09T22:16:08.728353Z"] * 2
    )
    assert submission.tables["votes"].index[0] == "task 41, annotation 1"
    assert found["descriptions"]["text"].tolist() == ["ears\nfur"]
    assert found["boxes"][["x0", "y0", "x1", "y1"]].to_numpy().tolist() == [[0.1, 0.2, 0.405, 1.0]]
    assert found["rankings"]["item"].tolist() == ITEMS
    assert found["annotators"]["age"].isna().all()


def test_cancelled_empty_and_older_annotations_are_dropped_and_counted(tmp_path: Path) -> None:
    submission = read(
        tmp_path,
        annotation(result("Q1", rating=1), was_cancelled=True),
        annotation(),
        annotation(result("Q1", rating=2), updated_at="2024-03-10T00:00:00Z"),
        annotation(result("Q1", rating=3), updated_at="2024-03-11T00:00:00+00:00"),
        annotation(result("Q1", rating=4), updated_at=None),
        annotation(result("Q1", rating=5), by=8),
    )
    votes = submission.tables["votes"]
    found = dict(zip(votes["annotator_id"], votes["rating"], strict=True))
    assert found == {"labelstudio-7": "3", "labelstudio-8": "5"}
    assert submission.dropped == {
        "cancelled annotations": 1,
        "empty annotations": 1,
        "older annotations of the same sample and annotator": 2,
    }


@pytest.mark.parametrize(
    ("ranker", "data", "kept"),
    [
        ({"_": ITEMS, "Q7": []}, {}, None),
        ({"Q7": ITEMS}, {}, None),
        (ITEMS, {}, None),
        ({"Q7": ITEMS[::-1]}, {"Q7_items": [{"id": one} for one in ITEMS[::-1]]}, None),
        ({"Q7": ITEMS}, {"Q7_items": [{"id": one} for one in ITEMS[::-1]]}, ITEMS),
        ({"_": [], "Q7": ITEMS}, {}, ITEMS),
        ({"Q7": ITEMS[::-1]}, {}, ITEMS[::-1]),
    ],
    ids=[
        "bucket-empty",
        "first-order",
        "old-shape",
        "task-order",
        "moved",
        "all-moved",
        "reversed",
    ],
)
def test_untouched_rankings_are_dropped(
    tmp_path: Path, ranker: Any, data: dict[str, Any], kept: list[str] | None
) -> None:
    submission = read(tmp_path, annotation(result("Q7", ranker=ranker)), **data)
    assert submission.findings == ()
    if kept is None:
        assert submission.dropped == {"untouched rankings": 1}
        assert "rankings" not in submission.tables
    else:
        frame = submission.tables["rankings"]
        assert frame["item"].tolist() == kept
        assert frame["position"].tolist() == [str(place) for place in range(1, len(kept) + 1)]


def test_of_rankings_on_several_pages_the_newest_counts(tmp_path: Path) -> None:
    tasks = [
        {
            "id": number,
            "data": {"sample_id": SAMPLES[number]},
            "annotations": [
                annotation(
                    result("Q7", ranker={"_": [], "Q7": order}),
                    created_at=f"2024-01-0{day}",
                    updated_at=None,
                )
            ],
        }
        for number, day, order in ((0, 2, ITEMS[::-1]), (1, 1, ITEMS))
    ]
    submission = read_label_studio(write(tasks, tmp_path / "export.json"))
    assert submission.tables["rankings"]["item"].tolist() == ITEMS[::-1]
    assert submission.dropped == {"older rankings of the same annotator": 1}


@pytest.mark.parametrize(
    ("by", "person"),
    [
        (7, "labelstudio-7"),
        ({"id": 7, "email": "anna@example.org"}, "labelstudio-7"),
        ({"email": "Anna@example.org"}, HASHED),
        ("anna@example.org ", HASHED),
    ],
)
def test_people_have_numbers_and_no_addresses(tmp_path: Path, by: Any, person: str) -> None:
    submission = read(tmp_path, annotation(result("Q1", rating=1), by=by))
    found = submission.tables["annotators"]["annotator_id"].tolist()
    assert found == [person]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (annotation(result("Q10", rating=1)), "a result belongs to no question of the protocol"),
        (annotation(result("q1", rating=1)), "a result belongs to no question of the protocol"),
        (annotation({"value": {}}), "a result belongs to no question of the protocol"),
        (annotation("Q1"), "a result is no object"),
        (annotation({"from_name": "Q1", "value": 3}), "a result has no value"),
        (annotation(result("Q1", text=["4"])), "a result is no rating"),
        (annotation(result("Q0_1", text=[4])), "a result is no text"),
        (annotation(result("Q0_1", text=[])), "a result is no text"),
        (annotation(result("Q0_2", x=1)), "a box is no rectangle in percent"),
        (annotation(result("Q0_2", x=1, y=1, width=5, height=5, rotation=30)), "a box is turned"),
        (
            annotation(result("Q0_2", x=1, y=1, width=100, height=5)),
            "a box sticks out of the image",
        ),
        (
            annotation(result("Q0_2", x=-1, y=1, width=10, height=5)),
            "a box sticks out of the image",
        ),
        (annotation(result("Q7", ranker=3)), "a result is no ranking"),
        (annotation(result("Q7", ranker={"Q7": 3})), "a result is no ranking"),
        (
            annotation(result("Q7", ranker={"_": ITEMS[:1], "Q7": ITEMS[1:]})),
            "a ranking is not finished",
        ),
        (annotation(result("Q1", rating=1), by=None), "an annotation is by nobody"),
        (annotation(result=None), "an annotation has no list of results"),
        (3, "an annotation is no object"),
    ],
)
def test_what_is_wrong_is_found_and_the_rest_is_read(
    tmp_path: Path, content: Any, problem: str
) -> None:
    submission = read(tmp_path, annotation(result("Q1", rating=5), by=99), content)
    assert problems(submission) == {problem: 1}
    assert (submission.findings[0].place or "").startswith("task 41, annotation 2")
    assert submission.tables["votes"]["rating"].tolist() == ["5"]


def test_votes_without_sample_and_mixed_protocols_are_found(tmp_path: Path) -> None:
    page = [annotation(result("Q1", rating=1))]
    tasks = [
        {"id": 1, "data": {"protocol": "p1"}, "annotations": page},
        {"id": 2, "data": {"protocol": "p2", "sample_id": SAMPLES[0]}, "annotations": page},
        {"id": 3, "data": {"sample_id": 5}, "annotations": page},
        {"id": 4, "data": {}},
    ]
    submission = read_label_studio(write(tasks, tmp_path / "export.json"))
    assert problems(submission) == {
        "an answer belongs to no sample": 1,
        "the tasks follow several protocols": 1,
        "a sample id is no text": 1,
        "a task has no data or no annotations": 1,
    }


def test_bad_ratings_reach_the_checking_as_they_were_written(tmp_path: Path) -> None:
    values = [0, 6, 3.5, "five", "", None, True]
    submission = read(tmp_path, annotation(*(result("Q1", rating=value) for value in values)))
    ratings = submission.tables["votes"]["rating"].tolist()
    assert ratings == ["0", "6", "3.5", "five", "", "", "true"]


def test_an_export_as_json_min_is_refused(tmp_path: Path) -> None:
    path = write([{"id": 1, "sample_id": SAMPLES[0], "Q1": 4}], tmp_path / "min.json")
    with pytest.raises(InputError, match="no tasks with annotations"):
        read_label_studio(path)


def test_small_overshoots_are_clipped_and_boxes_are_exact() -> None:
    assert fractions("-0.05", "0", "100.1", "100") == ("0.0", "0.0", "1.0", "1.0")
    with pytest.raises(ValueError, match="sticks out"):
        fractions("0", "0", "100.2", "100")
    for nonsense in ("NaN", "Infinity", "x", "1e999999999999999999999"):
        with pytest.raises(ValueError, match=r"is no number|sticks out"):
            fractions(nonsense, "0", "1", "1")


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_a_box_goes_to_percent_and_back_without_loss(corners: list[float]) -> None:
    x0, x1 = sorted(corners[:2])
    y0, y1 = sorted(corners[2:])
    sides = percents((x0, y0, x1, y1))
    back = fractions(sides["x"], sides["y"], sides["width"], sides["height"])
    assert [float(one) for one in back] == [x0, y0, x1, y1]


@pytest.mark.parametrize("version", versions())
def test_the_configuration_asks_exactly_the_questions_of_the_protocol(version: str) -> None:
    protocol = load_protocol(version)
    root = ElementTree.fromstring(labelling_config(protocol))  # noqa: S314 - our own text
    tags = {"text": "TextArea", "boxes": "Rectangle", "stars": "Rating", "ranking": "Ranker"}
    controls = [one for one in root.iter() if one.tag in tags.values()]
    assert [(one.get("name"), one.tag) for one in controls] == [
        (from_name(question.id), tags[question.kind]) for question in protocol.questions
    ]
    objects = {one.get("name") for one in root.iter() if one.tag in ("Image", "List", "Text")}
    assert all(one.get("toName") in objects for one in controls)
    names = [one.get("name") for one in root.iter() if one.get("name") and one.tag != "Bucket"]
    assert len(names) == len(set(names))
    headers = " ".join(one.get("value") or "" for one in root.iter("Header"))
    assert all(
        q.wording.replace("***", "the predicted class") in headers for q in protocol.questions
    )
    ratings = [one for one in controls if one.tag == "Rating"]
    assert {one.get("maxRating") for one in ratings} == {"5"}


def test_tasks_give_the_configuration_everything_that_it_refers_to(tmp_path: Path) -> None:
    def pictures(sample: str) -> Mapping[str, str]:
        return {key: f"/files/{key}/{sample}.png" for key in PICTURE_KEYS}

    who = {SAMPLES[0]: ["anna", "bob"]}
    write_tasks(SAMPLES, tmp_path / "tasks.json", PROTOCOL, lambda _: "cat", pictures, who)
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["sample_id"] for task in tasks] == list(SAMPLES)
    assert tasks[0]["data"]["assigned"] == "anna, bob"
    write_labelling_config(PROTOCOL, tmp_path / "config.xml")
    root = ElementTree.parse(tmp_path / "config.xml").getroot()  # noqa: S314 - our own text
    used = {one.get("value", "")[1:] for one in root.iter() if one.get("value", "").startswith("$")}
    assert used <= set(tasks[0]["data"])
    assert task_data(None, PROTOCOL)["Q7_items"][0]["id"] == ITEMS[0]


values = st.dictionaries(
    st.sampled_from(["rating", "text", "x", "y", "width", "height", "rotation", "ranker"]),
    json_values | st.dictionaries(st.sampled_from(["_", "Q7"]), st.lists(st.sampled_from(ITEMS))),
)
results = st.fixed_dictionaries(
    {
        "from_name": st.sampled_from(["Q1", "Q0_1", "Q0_2", "Q7", "Q77", "other"]) | json_values,
        "value": values | json_values,
    },
    optional={"meta": json_values},
)
pages = st.fixed_dictionaries(
    {
        "result": st.lists(results | json_values, max_size=3) | json_values,
        "completed_by": json_values,
    },
    optional={
        "created_at": json_values | st.sampled_from(["0001-01-01T00:00:00+23:00", "9999-12-31"]),
        "updated_at": json_values,
        "was_cancelled": json_values,
    },
)
tasks = st.fixed_dictionaries(
    {
        "data": st.fixed_dictionaries(
            {},
            optional={"sample_id": json_values, "protocol": json_values, "Q7_items": json_values},
        )
        | json_values,
        "annotations": st.lists(pages | json_values, max_size=3) | json_values,
    }
)


@settings(max_examples=300, deadline=None)
@given(st.lists(tasks | json_values, max_size=3))
def test_no_json_makes_the_reader_fail_in_an_undocumented_way(content: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(content, Path(folder) / "export.json")
        assert_text_or_refused(lambda: read_label_studio(path))
