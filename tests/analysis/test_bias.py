"""Groups of raters: values, permutation tests, and what is said when something is missing."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.agreement import agreement_with_mode
from analysis.bias import _permute_groups, _permute_slope, group_summary, group_tests
from analysis.order_effects import _flip_signs
from analysis.raters import AGE_GROUPS, demographics, rater_values
from analysis.votes import long_votes, others_mean
from tests.analysis.simulated import Study, one, simulate

# Groups of raters: values, tests, and what is said when something is missing


STUDY = Study(samples=60)


def _values(ratings: pd.DataFrame, measure: str, question: str) -> pd.Series:
    values = rater_values(ratings)
    here = values[(values["measure"] == measure) & (values["item"] == question)]
    return here.set_index("rater")["estimate"]


@pytest.mark.parametrize("measure", ["agreement", "agreement_published"])
def test_agreement_of_a_rater_is_the_kappa_with_the_mode(measure: str) -> None:
    ratings, _, _ = simulate(STUDY, 0)
    label = "leave_one_out" if measure == "agreement" else "as_published"
    table = agreement_with_mode(ratings, resamples=1)
    for item in ("Q2", "all"):
        expected = one(table, rater="a03", item=item, label=label)["estimate"]
        assert _values(ratings, measure, item)["a03"] == pytest.approx(expected)


def test_level_is_the_least_squares_effect_of_the_rater() -> None:
    """Oracle: dummies of all samples and raters in one dense regression."""
    ratings, _, _ = simulate(Study(samples=25, questions=1), 1)
    dummies = [pd.get_dummies(ratings[name]).astype(float) for name in ("rater", "unit")]
    design = np.concatenate([frame.to_numpy() for frame in dummies], axis=1)
    effects = np.linalg.lstsq(design, ratings["rating"].to_numpy(float), rcond=None)[0]
    effects = effects[: dummies[0].shape[1]]
    found = _values(ratings, "level", "Q1").to_numpy()
    assert found - found.mean() == pytest.approx(effects - effects.mean())


def test_level_is_not_fooled_by_easy_samples() -> None:
    """Two equally strict raters; one saw the good samples, a third saw all."""
    rows = [("good", who, 5) for who in "ac"] + [("bad", who, 1) for who in "bc"]
    frame = pd.DataFrame(rows, columns=["unit", "rater", "rating"])
    levels = _values(frame.assign(item="Q1"), "level", "Q1")
    assert levels["a"] == pytest.approx(levels["b"]) == pytest.approx(levels["c"])


def test_without_shared_samples_levels_are_plain_means_and_say_so() -> None:
    frame = pd.DataFrame(
        {"unit": ["s", "s", "t"], "rater": ["a", "b", "c"], "rating": [1, 2, 5]}
    ).assign(item="Q1")
    values = rater_values(frame)
    here = values[(values["measure"] == "level") & (values["item"] == "all")]
    assert here["estimate"].tolist() == [1, 2, 5] and here["note"].str.contains("plain").all()


def test_others_mean_leaves_the_vote_itself_out() -> None:
    frame = pd.DataFrame(
        {"unit": ["s", "s", "s", "t"], "rater": list("abca"), "rating": [1, 2, 5, 3]}
    ).assign(item="Q1")
    votes = long_votes(frame)
    found = dict(zip(zip(votes.rater, votes.unit, strict=True), others_mean(votes), strict=True))
    assert found[0, 0] == 3.5 and found[2, 0] == 1.5 and np.isnan(found[0, 1])


def test_a_planted_difference_is_called_different_and_none_equivalent() -> None:
    ratings, people, _ = simulate(Study(sex=2.5, leniency=0.1), 2)
    tests = group_tests(ratings, people)
    level = one(tests, item="all", factor="sex", measure="level")
    assert level["verdict"] == "different" and level["comparison"] == "female - male"
    assert level["low"] > 0.5
    ratings, people, _ = simulate(Study(raters=20, samples=300, leniency=0.05), 2)
    tests = group_tests(ratings, people)
    level = one(tests, item="all", factor="sex", measure="level")
    assert level["verdict"] == "equivalent"


def test_summary_and_tests_tell_the_same_difference() -> None:
    ratings, people, _ = simulate(STUDY, 3)
    summary = group_summary(ratings, people).set_index(["measure", "item", "factor", "group"])
    tests = group_tests(ratings, people).set_index(["measure", "item", "factor", "comparison"])
    means = summary["estimate"]
    for measure in ("level", "agreement"):
        gap = means[measure, "Q1", "sex", "female"] - means[measure, "Q1", "sex", "male"]
        assert tests.loc[(measure, "Q1", "sex", "female - male"), "estimate"] == pytest.approx(gap)


@pytest.mark.parametrize(
    ("change", "factor", "says"),
    [
        ({"sex": "female"}, "sex", "only one group"),
        ({"sex": None}, "sex", "no rater stated"),
        ({"age": "thirty"}, "age_group", "no number of years (such as 'thirty')"),
        ({"age": None}, "age", "no rater stated age"),
        ({"country": " "}, "country", "no rater stated country"),
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


def test_ages_written_as_text_are_read() -> None:
    people = pd.DataFrame({"rater": list("abc"), "age": [" 24", "31.0", "n/a"]})
    found, notes = demographics(people, list("abcd"))
    assert found["age_group"].tolist() == ["under 25", "30-39", None, None]
    assert "2 of 4 without age (1 by a word: 'n/a')" in notes["age"]


@pytest.mark.parametrize("word", ["CONSENT_REVOKED", "Prefer not to say", "NA", "unknown",
                                  "DATA_EXPIRED", "Not-Stated", "n/a", " "])  # fmt: skip
def test_a_word_for_nothing_is_no_sex_no_country_and_no_age(word: str) -> None:
    ratings, people, _ = simulate(Study(raters=12, samples=40, sex=1.0), 0)
    people = people.astype({"sex": object, "country": object, "age": object})
    people.loc[:1, ["sex", "country", "age"]] = word
    known, notes = demographics(people, people["rater"].tolist())
    assert (
        known.loc[:1, ["sex", "country"]].isna().all(axis=None) and known["age"].isna().sum() == 2
    )
    assert all("2 of 12 without" in notes[name] for name in ("sex", "country", "age"))
    if word.strip():
        assert f"(2 by a word: {word!r})" in notes["sex"]
    tests = group_tests(ratings, people, permutations=200)
    sex = tests[(tests["factor"] == "sex") & (tests["item"] == "all")]
    assert set(sex["effect"]) == {"difference"} and sex["p_equivalence"].notna().all()


def test_age_groups_have_no_gaps() -> None:
    ages = pd.DataFrame({"rater": range(101), "age": range(101)})
    names = demographics(ages, ages["rater"].tolist())[0]["age_group"].tolist()
    assert names[24] == "under 25" and names[25] == "25-29" and names[30] == "30-39"
    assert names[60] == "60 and over" and None not in names
    assert list(dict.fromkeys(names)) == list(AGE_GROUPS)


def test_raters_of_unknown_id_are_ignored_and_missing_ones_counted() -> None:
    ratings, people, _ = simulate(STUDY, 8)
    people = pd.concat([people.iloc[2:], people.head(1).assign(rater="stranger")])
    tests = group_tests(ratings, people)
    sex = tests[(tests["factor"] == "sex") & (tests["item"] == "all")]
    assert (sex["n"] == 12).all() and sex["note"].str.contains("2 of 14 without sex").all()


# Permutation tests of raters


VALUES = np.array([3.1, 2.9, 3.6, 3.3, 2.7, 3.0, 3.4, 2.2, 2.8, 2.5])
GROUPS = np.array(["f"] * 6 + ["m"] * 4)


def test_two_groups_agree_with_all_arrangements_written_out() -> None:
    """The two-sided test of the absolute difference."""
    gaps = []
    for chosen in combinations(range(10), 6):
        inside = np.isin(np.arange(10), chosen)
        gaps.append(abs(VALUES[inside].mean() - VALUES[~inside].mean()))
    observed = abs(VALUES[GROUPS == "f"].mean() - VALUES[GROUPS == "m"].mean())
    expected = np.mean(np.array(gaps) >= observed - 1e-12)
    assert len(gaps) == 210
    assert _permute_groups(VALUES, GROUPS, permutations=99) == pytest.approx(expected)


def test_a_group_of_one_is_compared_with_every_other_choice_of_one() -> None:
    """The distances of 1, 2, 3, 10 from their mean are 3, 2, 1, 6; one of three may be single."""
    assert _permute_groups([1.0, 2, 3, 10], ["a", "a", "a", "b"]) == pytest.approx(1 / 4)
    assert _permute_groups([1.0, 2, 3, 10], ["b", "a", "a", "a"]) == pytest.approx(2 / 4)
    values, groups = [1.0, 1.1, 1.2, 5, 5.1, 5.2, 9], list("aaabbbc")
    assert _permute_groups(values, groups, permutations=2_000) < 0.05


def test_many_groups_use_random_arrangements_and_p_is_never_zero() -> None:
    values = np.repeat([1.0, 5.0, 9.0], 12) + np.linspace(0, 0.1, 36)
    found = _permute_groups(values, np.repeat(list("abc"), 12), permutations=999)
    assert found == pytest.approx(1 / 1000)


def test_slope_agrees_with_scipys_p_for_many_raters() -> None:
    rng = np.random.default_rng(4)
    age = rng.normal(30, 5, 80)
    values = 0.02 * age + rng.normal(0, 0.4, 80)
    found = _permute_slope(values, age, permutations=20_000)
    assert found == pytest.approx(stats.pearsonr(values, age).pvalue, abs=0.01)


def test_signs_agree_with_all_flips_written_out() -> None:
    values = np.array([0.5, -0.1, 0.4, 0.3])
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((-1, 1), repeat=4)
    ]
    expected = np.mean(np.array(sums) >= abs(values.sum()) - 1e-12)
    assert _flip_signs(values, permutations=9) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([], []),
        ([1.0], ["a"]),
        ([1.0, 2.0, 3.0], ["a", "a", "a"]),
        ([2.0, 2.0, 2.0], ["a", "b", "a"]),
        ([1.0, np.nan, 3.0], ["a", "b", None]),
    ],
)
def test_nothing_to_compare_gives_no_number(values: list[float], groups: list[str | None]) -> None:
    assert np.isnan(_permute_groups(values, np.array(groups, object)))
    assert np.isnan(_permute_slope(values, np.ones(len(values))))
    assert np.isnan(_flip_signs([0.5])) and np.isnan(_flip_signs([0.0, 0.0]))


def test_random_p_is_uniform_when_there_is_no_difference() -> None:
    rng = np.random.default_rng(1)
    groups = np.arange(12) % 2
    found = [_permute_groups(rng.normal(size=12), groups) for _ in range(400)]
    assert np.mean(np.array(found) <= 0.05) <= 0.08


def test_intervals_of_small_groups_end_where_the_scale_ends() -> None:
    ratings, people, _ = simulate(Study(raters=4, votes=4, samples=20, leniency=3.0), 0)
    table = group_summary(ratings, people).dropna(subset="low")
    ends = {"level": (1, 5), "agreement": (-1, 1), "agreement_published": (-1, 1)}
    for measure, own in table.groupby("measure"):
        low, high = ends[str(measure)]
        assert own["low"].min() >= low and own["high"].max() <= high
    assert (table["low"] == 1).any() or (table["high"] == 5).any()  # and some would have left it
