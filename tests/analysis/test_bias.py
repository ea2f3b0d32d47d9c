"""Groups of annotators: values, tests, and what is said when something is missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from analysis.annotators import AGE_GROUPS, annotator_values, demographics
from analysis.bias import group_summary, group_tests
from analysis.ordinal_model import ordinal_model
from analysis.votes import long_votes, others_mean
from tests.analysis.rows import one
from tests.analysis.simulated import Study, simulate

STUDY = Study(samples=60)


def _values(ratings: pd.DataFrame, measure: str, question: str) -> pd.Series:
    values = annotator_values(ratings)
    here = values[(values["measure"] == measure) & (values["question"] == question)]
    return here.set_index("annotator_id")["estimate"]


def _smallest_mode(stars: list[int]) -> int:
    return min(set(stars), key=lambda star: (-stars.count(star), star))


@pytest.mark.parametrize("measure", ["agreement", "agreement_published"])
def test_agreement_is_scikit_learns_kappa_with_the_mode_written_out(measure: str) -> None:
    ratings, _, _ = simulate(STUDY, 0)
    own: list[int] = []
    modes: list[int] = []
    for row in ratings[
        (ratings["annotator_id"] == "a03") & (ratings["question"] == "Q2")
    ].itertuples():
        votes = ratings[(ratings["sample_id"] == row.sample_id) & (ratings["question"] == "Q2")]
        if measure == "agreement":
            votes = votes[votes["annotator_id"] != "a03"]
        own.append(int(str(row.rating)))
        modes.append(_smallest_mode(votes["rating"].tolist()))
    expected = cohen_kappa_score(own, modes, labels=[1, 2, 3, 4, 5], weights="quadratic")
    assert _values(ratings, measure, "Q2")["a03"] == pytest.approx(expected)


def test_level_is_the_least_squares_effect_of_the_annotator() -> None:
    """Oracle: dummies of all samples and annotators in one dense regression."""
    ratings, _, _ = simulate(Study(samples=25, questions=1), 1)
    dummies = [
        pd.get_dummies(ratings[name]).astype(float) for name in ("annotator_id", "sample_id")
    ]
    design = np.concatenate([frame.to_numpy() for frame in dummies], axis=1)
    effects = np.linalg.lstsq(design, ratings["rating"].to_numpy(float), rcond=None)[0]
    effects = effects[: dummies[0].shape[1]]
    found = _values(ratings, "level", "Q1").to_numpy()
    assert found - found.mean() == pytest.approx(effects - effects.mean())


def test_level_is_not_fooled_by_easy_samples() -> None:
    """Two equally strict annotators; one saw the good samples, a third saw all."""
    rows = [("good", who, 5) for who in "ac"] + [("bad", who, 1) for who in "bc"]
    frame = pd.DataFrame(rows, columns=["sample_id", "annotator_id", "rating"])
    levels = _values(frame.assign(question="Q1"), "level", "Q1")
    assert levels["a"] == pytest.approx(levels["b"]) == pytest.approx(levels["c"])


def test_without_shared_samples_levels_are_plain_means_and_say_so() -> None:
    frame = pd.DataFrame(
        {"sample_id": ["s", "s", "t"], "annotator_id": ["a", "b", "c"], "rating": [1, 2, 5]}
    ).assign(question="Q1")
    values = annotator_values(frame)
    here = values[(values["measure"] == "level") & (values["question"] == "all")]
    assert here["estimate"].tolist() == [1, 2, 5] and here["note"].str.contains("plain").all()


def test_others_mean_leaves_the_vote_itself_out() -> None:
    frame = pd.DataFrame(
        {"sample_id": ["s", "s", "s", "t"], "annotator_id": list("abca"), "rating": [1, 2, 5, 3]}
    ).assign(question="Q1")
    votes = long_votes(frame)
    found = dict(
        zip(zip(votes.annotator, votes.sample, strict=True), others_mean(votes), strict=True)
    )
    assert found[0, 0] == 3.5 and found[2, 0] == 1.5 and np.isnan(found[0, 1])


def test_a_planted_difference_is_called_different_and_none_equivalent() -> None:
    ratings, people, _ = simulate(Study(sex=2.5, leniency=0.1), 2)
    tests = group_tests(ratings, people)
    level = one(tests, question="all", factor="sex", measure="level")
    assert level["verdict"] == "different" and level["comparison"] == "female - male"
    assert level["low"] > 0.5
    ratings, people, _ = simulate(Study(annotators=20, samples=300, leniency=0.05), 2)
    tests = group_tests(ratings, people)
    level = one(tests, question="all", factor="sex", measure="level")
    assert level["verdict"] == "equivalent"


def test_summary_and_tests_tell_the_same_difference() -> None:
    ratings, people, _ = simulate(STUDY, 3)
    summary = group_summary(ratings, people).set_index(["measure", "question", "factor", "group"])
    tests = group_tests(ratings, people).set_index(["measure", "question", "factor", "comparison"])
    means = summary["estimate"]
    for measure in ("level", "agreement"):
        gap = means[measure, "Q1", "sex", "female"] - means[measure, "Q1", "sex", "male"]
        assert tests.loc[(measure, "Q1", "sex", "female - male"), "estimate"] == pytest.approx(gap)


def test_names_of_annotators_and_order_of_rows_do_not_matter() -> None:
    ratings, people, _ = simulate(STUDY, 4)
    names = dict(
        zip(people["annotator_id"], reversed(people["annotator_id"].tolist()), strict=True)
    )
    renamed = ratings.sample(frac=1, random_state=0).replace({"annotator_id": names})
    base = group_tests(ratings, people)
    other = group_tests(renamed, people.replace({"annotator_id": names}))
    exact = ["estimate", "low", "high", "p_equivalence"]
    pd.testing.assert_frame_equal(base[exact], other[exact])


@pytest.mark.parametrize(
    ("change", "factor", "says"),
    [
        ({"sex": "female"}, "sex", "only one group"),
        ({"sex": None}, "sex", "no annotator stated"),
        ({"age": "thirty"}, "age_group", "no number of years (such as 'thirty')"),
        ({"age": None}, "age", "no annotator stated age"),
        ({"country": " "}, "country", "no annotator stated country"),
    ],
)
def test_missing_demographics_are_a_row_with_a_note(
    change: dict[str, object], factor: str, says: str
) -> None:
    ratings, people, _ = simulate(STUDY, 5)
    for name, value in change.items():
        people[name] = pd.Series([value] * len(people), dtype=object)
    tests = group_tests(ratings, people)
    here = tests[tests["factor"] == factor]
    assert len(here) and here["note"].str.contains(says, regex=False).all()
    assert here["p"].isna().all() and (here["verdict"] == "").all()
    assert tests.loc[tests["factor"] == "sex", "measure"].nunique() == 3


@pytest.mark.parametrize("columns", [None, [], ["age"], ["sex", "country"]])
def test_absent_columns_or_table_are_no_crash(columns: list[str] | None) -> None:
    ratings, people, shown = simulate(STUDY, 6)
    given = None if columns is None else people[["annotator_id", *columns]]
    tests, summary = group_tests(ratings, given), group_summary(ratings, given)
    model = ordinal_model(ratings, given, shown)
    absent = {"age", "sex", "country"} - set(columns or [])
    for name in absent - {"age"}:
        assert tests.loc[tests["factor"] == name, "note"].str.contains(name).all()
        assert summary.loc[summary["factor"] == name, "n"].eq(0).all()
    assert one(model, term="kind")["p"] >= 0


def test_ages_written_as_text_are_read() -> None:
    people = pd.DataFrame({"annotator_id": list("abc"), "age": [" 24", "31.0", "n/a"]})
    found, notes = demographics(people, list("abcd"))
    assert found["age_group"].tolist() == ["under 25", "30-39", None, None]
    assert "1 of 4 without age" in notes["age"] and "'n/a'" in notes["age"]


def test_age_groups_have_no_gaps() -> None:
    ages = pd.DataFrame({"annotator_id": range(101), "age": range(101)})
    names = demographics(ages, ages["annotator_id"].tolist())[0]["age_group"].tolist()
    assert names[24] == "under 25" and names[25] == "25-29" and names[30] == "30-39"
    assert names[60] == "60 and over" and None not in names
    assert list(dict.fromkeys(names)) == list(AGE_GROUPS)


@pytest.mark.parametrize("rows", ["one annotator", "one star", "no votes", "one vote"])
def test_thin_studies_give_notes_and_no_numbers(rows: str) -> None:
    ratings, people, shown = simulate(STUDY, 7)
    if rows == "one annotator":
        ratings = ratings[ratings["annotator_id"] == "a00"]
    elif rows == "one star":
        ratings = ratings.assign(rating=3)
    else:
        ratings = ratings.head(0 if rows == "no votes" else 1)
    tests, summary = group_tests(ratings, people), group_summary(ratings, people)
    assert tests["p"].isna().all() and (tests["note"] != "").all()
    assert summary[["low", "high"]].isna().all(axis=None)
    model = ordinal_model(ratings, people, shown)
    between = model[model["term"].isin(["sex", "age"])]
    assert between["p"].isna().all() if len(between) else (model["note"] != "").all()


def test_annotators_of_unknown_id_are_ignored_and_missing_ones_counted() -> None:
    ratings, people, _ = simulate(STUDY, 8)
    people = pd.concat([people.iloc[2:], people.head(1).assign(annotator_id="stranger")])
    tests = group_tests(ratings, people)
    sex = tests[(tests["factor"] == "sex") & (tests["question"] == "all")]
    assert (sex["n"] == 12).all() and sex["note"].str.contains("2 of 14 without sex").all()
