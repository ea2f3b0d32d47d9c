"""The one validation: every problem is found at its place with a fix, and nothing else is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.contracts import check as check_contract
from pasta.studies.base import Finding
from pasta.studies.checking import Checked, summary
from pasta.studies.ratings.tables import ANSWERS
from tests.studies.ratings.submitted import (
    ITEMS,
    PEOPLE,
    SAMPLES,
    STUDY,
    Row,
    accepted,
    assert_same,
    check,
    known,
    people,
    ranking,
    stored,
    submission,
    vote,
    votes,
)

BOX = {"sample_id": SAMPLES[0], "annotator_id": PEOPLE[0], "box": "0"}
SIDES = {"x0": "0.1", "y0": "0.2", "x1": "0.5", "y1": "0.6"}


def found_in(checked: Checked) -> list[tuple[str | None, str | None]]:
    assert checked.answers is None and checked.new is None
    assert all(finding.problem and finding.fix for finding in checked.findings)
    return [(finding.place, finding.column) for finding in checked.findings]


def refused(**tables: Sequence[Row]) -> Finding:
    checked = check(submission(**tables), known())
    assert len(found_in(checked)) == 1, checked.findings
    return checked.findings[0]


def test_a_good_submission_becomes_tables_that_fulfil_their_contracts() -> None:
    described = {"sample_id": SAMPLES[1], "annotator_id": PEOPLE[0], "text": "ears, and fur"}
    checked = check(
        submission(
            votes=votes(),
            descriptions=[described],
            boxes=[{**BOX, **SIDES}],
            rankings=ranking(),
            annotators=people(0, 1, age="31", sex="", country="France"),
        ),
        known(),
    )
    parts = accepted(checked)
    for name, table in ANSWERS.items():
        assert len(parts[name])
        check_contract(parts[name], table, {"annotators": parts["annotators"]})
        keys = parts[name][list(table.key)]
        assert keys.sort_values(list(table.key)).index.tolist() == keys.index.tolist()
    assert checked.counts["votes"].new == 36 and not parts["votes"]["simulated"].any()


def test_categories_and_plain_text_in_any_order_say_the_same() -> None:
    plain = submission(votes=votes())
    shuffled = {name: frame.sample(frac=1, random_state=1) for name, frame in plain.tables.items()}
    coded = {name: frame.astype("category") for name, frame in shuffled.items()}
    expected = accepted(check(plain, known()))
    assert_same(accepted(check(dataclasses.replace(plain, tables=shuffled), known())), expected)
    assert_same(accepted(check(dataclasses.replace(plain, tables=coded), known())), expected)


@pytest.mark.parametrize("rating", ["0", "6", "3.5", "five", "", "NaN", "inf", "1e0", "9" * 30])
def test_a_rating_that_is_no_star_is_named_by_its_line(rating: str) -> None:
    finding = refused(votes=[vote(), vote(1, rating=rating), vote(2)])
    assert (finding.place, finding.column) == ("line 3", "rating")
    assert "1 to 5" in finding.problem
    if rating:
        assert finding.found is not None and rating in finding.found


@pytest.mark.parametrize(
    ("changes", "column", "problem", "fix"),
    [
        ({"sample_id": "coco/99/gradcam/resnet50"}, "sample_id", "not known", "--ids FILE"),
        ({"sample_id": "coco/99"}, "sample_id", "dataset/image/method/backbone", "correct"),
        ({"sample_id": ""}, "sample_id", "dataset/image/method/backbone", "correct"),
        ({"annotator_id": "nobody"}, "annotator_id", "not known", "--annotators FILE"),
        ({"annotator_id": "a/b"}, "annotator_id", "slash", "letters"),
        ({"question": "q1"}, "question", "not known", "Did you mean 'Q1'?"),
        ({"question": "Q7"}, "question", "not known", "Known: Q1, Q2"),
        ({"submitted_at": "yesterday"}, "submitted_at", "time", "Z"),
        ({"submitted_at": "2024-05-01T12:30:00"}, "submitted_at", "zone", "Z"),
        ({"simulated": "maybe"}, "simulated", "true or false", "true"),
    ],
)
def test_a_bad_cell_is_the_only_finding(changes: Row, column: str, problem: str, fix: str) -> None:
    finding = refused(votes=[{**vote(), **changes}])
    assert (finding.place, finding.column) == ("line 2", column)
    assert problem in finding.problem and fix in finding.fix


def test_two_problems_in_one_row_are_both_found() -> None:
    row = {**vote(rating="six"), "annotator_id": "nobody"}
    places = found_in(check(submission(votes=[row]), known()))
    assert places == [("line 2", "annotator_id"), ("line 2", "rating")]


def test_times_with_zones_are_one_moment_and_empty_ones_stay_missing() -> None:
    texts = ["2024-05-01T12:30:00Z", "2024-05-01T14:30:00+02:00", "2024-05-01 12:30:00.000000Z", ""]
    rows = [{**vote(person=n), "submitted_at": text} for n, text in enumerate(texts)]
    times = accepted(check(submission(votes=rows), known()))["votes"]["submitted_at"]
    assert times.dropna().tolist() == [pd.Timestamp("2024-05-01T12:30:00Z")] * 3
    assert times.isna().tolist() == [False, False, False, True]


odd = st.sampled_from(
    ["", "3", "Q1", SAMPLES[0], PEOPLE[0], "true", "NaN", "inf", "-0", "1e400", "2024-02-30", "\0"]
)


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_no_text_makes_the_check_fail(data: st.DataObject) -> None:
    cell = odd | st.text(st.characters(codec="utf-8"), max_size=8)
    tables = {
        name: data.draw(
            st.lists(
                st.fixed_dictionaries(dict.fromkeys(table.columns, cell)), min_size=1, max_size=3
            )
        )
        for name, table in ANSWERS.items()
    }
    checked = check(submission(**tables), known())
    assert (checked.answers is None) == bool(checked.findings)
    if checked.answers is not None:
        for name, frame in checked.answers.items():
            check_contract(frame, ANSWERS[name])
    assert summary(checked.findings) or not checked.findings


def test_missing_and_extra_columns_are_named() -> None:
    row = {name: text for name, text in vote().items() if name != "rating"}
    checked = check(submission(votes=[{**row, "ratings": "3"}]), known())
    assert [(one.problem, one.column) for one in checked.findings] == [
        ("a column is missing", "rating"),
        ("a column is not known", "ratings"),
    ]
    assert "Did you mean 'rating'?" in checked.findings[1].fix


def test_a_vote_twice_is_to_be_removed_and_two_that_differ_contradict() -> None:
    finding = refused(votes=[vote(), vote(1), vote()])
    assert finding.place == "line 4" and "twice" in finding.problem and "remove" in finding.fix
    finding = refused(votes=[vote(rating=3), vote(1), vote(rating=4)])
    assert (finding.place, finding.column) == ("line 4", "rating")
    assert "contradicts" in finding.problem and finding.found == "4, and at line 2 3"


def test_a_stored_vote_is_known_and_a_contradicting_one_needs_replace() -> None:
    before = stored(votes=[vote(rating=3), vote(1, rating=2)])
    again = check(submission(votes=[vote(rating=3), vote(2)]), known(before))
    assert (again.counts["votes"].known, again.counts["votes"].new) == (1, 1)
    assert again.new is not None and again.new["votes"]["sample_id"].tolist() == [SAMPLES[2]]
    changed = submission(votes=[vote(rating=4), vote(1, rating=2)])
    refused_ = check(changed, known(before))
    assert found_in(refused_) == [("line 2", "rating")]
    assert refused_.findings[0].found == "4, stored 3" and "--replace" in refused_.findings[0].fix
    allowed = check(changed, known(before), replace=True)
    assert allowed.counts["votes"].replaced == 1 and allowed.new is not None
    assert allowed.new["votes"]["rating"].tolist() == [4]


def test_a_simulated_vote_gives_way_to_a_real_one_and_never_takes_its_place() -> None:
    fake = {**vote(), "simulated": "true"}
    checked = check(submission(votes=[vote(rating=5)]), known(stored(votes=[fake])))
    assert accepted(checked)["votes"]["rating"].tolist() == [5] and checked.gives_way == 1
    after = check(submission(votes=[fake]), known(stored(votes=[vote()])))
    assert found_in(after) == [("line 2", "simulated")]


def test_a_sixth_vote_is_refused_with_the_stored_ones_counted() -> None:
    six = [vote(person=person) for person in range(6)]
    finding = refused(votes=six)
    assert finding.place == "line 7" and "more than 5 votes" in finding.problem
    before = stored(votes=six[:4])
    assert accepted(check(submission(votes=six[:5]), known(before))) is not None
    places = found_in(check(submission(votes=six[2:]), known(before)))
    assert places == [("line 5", "sample_id")]
    assert accepted(check(submission(votes=six), known(votes_per_sample=6))) is not None


@pytest.mark.parametrize(
    ("sides", "column"),
    [
        ({"x0": "-0.1"}, "x0"),
        ({"y1": "60"}, "y1"),
        ({"x1": "nan"}, "x1"),
        ({"x1": "0.1"}, "x1"),
        ({"y1": "0.1"}, "x1"),
    ],
)
def test_boxes_outside_the_image_or_without_area_are_refused(sides: Row, column: str) -> None:
    finding = refused(boxes=[{**BOX, **SIDES, **sides}])
    assert (finding.table, finding.column) == ("boxes", column)


def test_boxes_are_one_answer_that_is_overruled_as_a_whole() -> None:
    two = [{**BOX, **SIDES}, {**BOX, **SIDES, "box": "1", "x0": "0.3"}]
    before = stored(boxes=two)
    assert check(submission(boxes=two), known(before)).counts["boxes"].new == 0
    for changed in (two[:1], [*two, {**BOX, **SIDES, "box": "2"}]):
        assert check(submission(boxes=changed), known(before)).findings
        allowed = check(submission(boxes=changed), known(before), replace=True)
        assert allowed.new is not None and len(allowed.new["boxes"]) == len(changed)
        assert allowed.counts["boxes"].replaced == 2


def test_a_ranking_must_be_a_permutation_of_the_items() -> None:
    assert refused(rankings=ranking(positions=[1] * len(ITEMS))).column == "position"
    assert refused(rankings=ranking()[1:]).column == "item"
    assert refused(rankings=[{**ranking()[0], "item": "beauty"}, *ranking()[1:]]).column == "item"
    turned = ranking(positions=list(range(len(ITEMS), 0, -1)))
    assert len(accepted(check(submission(rankings=turned), known()))["rankings"]) == len(ITEMS)


@pytest.mark.parametrize("age", ["-1", "131", "old", "30.5", "9" * 25])
def test_an_impossible_age_is_refused(age: str) -> None:
    assert refused(annotators=people(0, age=age)).column == "age"


def test_what_is_missing_contradicts_no_stored_demographics() -> None:
    before = stored(annotators=people(0, age="30", sex="", country="Chile"))
    same = check(submission(annotators=people(0, age="30")), known(before))
    assert same.counts["annotators"].new == 0
    more = check(submission(annotators=people(0, age="", sex="female")), known(before))
    assert more.new is not None
    row = more.new["annotators"].iloc[0]
    assert (row["age"], row["sex"], row["country"]) == (30, "female", "Chile")
    other = check(submission(annotators=people(0, age="31")), known(before))
    assert found_in(other) == [("line 2", "age")]


def test_another_version_of_the_protocol_is_refused() -> None:
    same = dataclasses.replace(submission(votes=[vote()]), protocol="p2")
    assert len(accepted(check(same, known()))["votes"]) == 1
    checked = check(dataclasses.replace(same, protocol="p1"), known())
    assert [finding.found for finding in checked.findings] == ["p1"]


def test_an_empty_table_and_an_empty_submission_are_fine() -> None:
    empty = submission(votes=[vote()])
    tables = {"votes": empty.tables["votes"].iloc[:0]}
    nothing = accepted(check(dataclasses.replace(empty, tables=tables), known()))
    assert_same(nothing, STUDY.frames({}))


def test_the_summary_counts_what_is_alike_and_shows_the_first_places() -> None:
    rows = [vote(sample, person, rating=9) for sample in range(3) for person in range(3)]
    lines = summary(check(submission(votes=[*rows, vote(question="Q11")]), known()).findings)
    assert lines[0] == "votes, column 'question': the question is not known"
    assert lines[3] == (
        "votes, column 'rating': the rating is not a whole number from 1 to 5 (9 times)"
    )
    assert [line.strip() for line in lines[4:9]] == [f"line {n}: '9'" for n in range(2, 7)]
    assert lines[9] == "  and 4 more" and lines[10].startswith("  fix: ") and len(lines) == 11


def test_every_problem_is_told_at_once_contradictions_and_too_many_votes_among_them() -> None:
    six = [vote(2, person) for person in range(6)]
    rows = [vote(rating=3), vote(rating=4), vote(1, rating=9), *six]
    rows += [{**vote(1, 1), "annotator_id": "nobody"}, {**vote(1, 1), "sample_id": "coco/9/a/b"}]
    checked = check(submission(votes=rows), known(stored(votes=[vote(1, 2, rating=1)])))
    told = " ".join(one.problem for one in checked.findings)
    for words in (
        "contradicts another of the same file",
        "not a whole number from 1 to 5",
        "more than 5 votes",
        "the annotator is not known",
        "the sample is not known",
    ):
        assert words in told, (words, told)
    assert len(checked.findings) == 5


def test_without_the_tables_that_votes_refer_to_the_rest_is_checked() -> None:
    study, held = known()
    nothing = dataclasses.replace(held, outside={})
    checked = check(submission(votes=votes()), (study, nothing))
    assert checked.findings == () and checked.unchecked == {"explanations": 36}
    bad = check(submission(votes=[vote(rating=7), vote(1)]), (study, nothing))
    assert [one.column for one in bad.findings] == ["rating"]
    assert bad.unchecked == {"explanations": 2}
