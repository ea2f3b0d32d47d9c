"""The suite on agreement and bias: right numbers, and words where there can be none."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from analysis.agreement import agreement_by_kind, agreement_summary, agreement_with_mode
from analysis.annotators import annotator_values
from analysis.bias import group_tests
from analysis.box_bias import MEASURES as BOX_MEASURES
from analysis.suites.agreement import MOST_PAIRED, kind_agreement_differences
from tests.analysis.lacking import LACKS, lacking
from tests.analysis.rows import one
from tests.analysis.simulated import Study, simulate
from tests.analysis.suites import agreement_and_bias as suite


@pytest.fixture(scope="module")
def study() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    return simulate(Study(annotators=9, samples=48, sex=1.5), seed=1)


def test_tables_are_those_of_the_single_functions_clustered_on_images(
    study: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    ratings, people, samples = study
    tables = suite(ratings, people, samples)
    joined = ratings.merge(samples[["sample_id", "kind", "image_id"]], on="sample_id")
    boot = {"cluster": "image_id", "resamples": 60}
    expected = agreement_summary(joined, **boot)  # type: ignore[arg-type]
    pd.testing.assert_frame_equal(tables["agreement"], expected)
    expected = agreement_by_kind(joined, **boot)
    pd.testing.assert_frame_equal(tables["kinds"], expected)
    tests = group_tests(ratings, people, permutations=60)
    pd.testing.assert_frame_equal(tables["group_tests"], tests)


def test_without_images_samples_are_resampled(
    study: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    ratings, people, samples = study
    tables = suite(ratings, people, samples.drop(columns="image_id"))
    expected = agreement_with_mode(ratings, resamples=60)
    pd.testing.assert_frame_equal(tables["with_mode"], expected)
    facts = tables["study"].set_index("fact")["value"]
    assert np.isnan(facts["images"])
    assert facts[["votes", "samples", "annotators", "questions"]].tolist() == [480, 48, 9, 2]


def test_one_unknown_image_is_enough_to_resample_samples(
    study: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    ratings, people, samples = study
    tables = suite(ratings, people, samples.iloc[1:])
    expected = agreement_with_mode(ratings, resamples=60)
    pd.testing.assert_frame_equal(tables["with_mode"], expected)


def test_order_of_rows_changes_nothing(
    study: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    ratings, people, samples = study
    first = suite(ratings, people, samples)
    second = suite(ratings.sample(frac=1, random_state=3), people.iloc[::-1], samples.iloc[::-1])
    for name, table in first.items():
        pd.testing.assert_frame_equal(table, second[name], obj=name)


@pytest.mark.parametrize("shift", [-1, 10])
def test_a_scale_with_other_numbers_gives_the_same_agreement_and_shifted_levels(
    study: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame], shift: int
) -> None:
    ratings, people, samples = study
    scale = tuple(range(1 + shift, 6 + shift))
    moved = ratings.assign(rating=ratings["rating"] + shift)
    first = suite(ratings, people, samples)
    second = suite(moved, people, samples, categories=scale)
    for name in ("agreement", "with_mode", "pairs", "group_tests", "model", "order", "look_at"):
        pd.testing.assert_frame_equal(first[name], second[name], obj=name)
    level = first["people"]["measure"] == "level"
    apart = second["people"]["estimate"] - first["people"]["estimate"]
    assert np.allclose(apart[level], shift)
    assert np.allclose(apart[~level], 0, equal_nan=True)


def test_a_wider_scale_changes_kappa_as_its_weights_say() -> None:
    ratings = simulate(Study(annotators=2, samples=60, votes=2, questions=1), seed=4)[0]
    scale = (1, 2, 3, 4, 5, 6, 7)
    wide = ratings.assign(rating=ratings["rating"] + 2 * (ratings["rating"] > 3))
    tables = suite(wide, categories=scale)
    a, b = (
        wide[wide["annotator_id"] == name].set_index("sample_id")["rating"]
        for name in ("a00", "a01")
    )
    expected = cohen_kappa_score(a, b.reindex(a.index), weights="quadratic", labels=scale)
    found = one(tables["pairs"], first="a00", second="a01", question="Q1")
    assert found["estimate"] == pytest.approx(expected, abs=1e-12)
    values = annotator_values(wide, scale)
    assert values["estimate"].max() <= 7
    margin = tables["group_tests"].loc[tables["group_tests"]["measure"] == "level", "margin"]
    assert margin.dropna().unique().tolist() == [6 / 16]


def test_ratings_off_the_scale_and_votes_given_twice_are_refused() -> None:
    ratings = simulate(Study(samples=10), seed=0)[0]
    with pytest.raises(ValueError, match="is none of"):
        suite(ratings.assign(rating=9))
    with pytest.raises(ValueError, match="given twice"):
        suite(pd.concat([ratings, ratings.iloc[:1]]))
    with pytest.raises(ValueError, match="no column rating"):
        suite(ratings.drop(columns="rating"))


@pytest.mark.parametrize("name", LACKS)
def test_what_is_missing_is_said_and_the_rest_is_there(name: str) -> None:
    (ratings, people, samples), lack = lacking(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = suite(ratings, people, samples)
    found = one(tables["missing"], section=lack.section)
    assert lack.words in found["why"]
    if lack.section in tables and name != "three annotators":
        frame = tables[lack.section]
        numbers = frame.select_dtypes("number").drop(columns=["n", "margin"], errors="ignore")
        assert numbers.isna().all(axis=None), "a number from nothing"
    if len(ratings) > 1:
        assert tables["stars"]["n"].sum() == len(ratings)
        assert tables["profiles"]["estimate"].notna().any()


def test_nothing_is_said_to_be_missing_of_a_whole_study(
    study: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
) -> None:
    ratings, people, samples = study
    people = people.assign(country=np.where(people.index % 2, "India", "Kenya"))
    texts = ratings.drop_duplicates(["sample_id", "annotator_id"])[["sample_id", "annotator_id"]]
    words = np.array(["wheel and door", "the head", "wheel", "an ear and a tail"])
    described = texts.assign(text=words[np.arange(len(texts)) % 4])
    sentences = samples[["sample_id"]].assign(sentence="wheel, door, head")
    random = np.random.default_rng(0)
    inside = texts.assign(**{name: random.random(len(texts)) for name in BOX_MEASURES})
    tables = suite(ratings, people, samples, described, sentences, texts, inside)
    assert tables["missing"].empty
    assert tables["text_bias"]["estimate"].notna().any()
    assert tables["box_bias"]["estimate"].notna().all()


def test_boxes_without_maps_are_another_gap_than_no_boxes() -> None:
    ratings, people, samples = simulate(Study(annotators=5, samples=10), seed=0)
    boxes = ratings[["sample_id", "annotator_id"]].assign(x0=0.0, y0=0.0, x1=0.5, y1=0.5)
    tables = suite(ratings, people, samples, None, None, boxes, None)
    assert "no saliency maps" in one(tables["missing"], section="box_bias")["why"]


def test_names_that_are_numbers_are_names() -> None:
    ratings, people, samples = simulate(Study(annotators=6, samples=20), seed=2)
    number = {name: int(name[1:]) for name in people["annotator_id"]}
    first = suite(ratings, people, samples)
    second = suite(
        ratings.assign(annotator_id=ratings["annotator_id"].map(number)),
        people.assign(annotator_id=people["annotator_id"].map(number)),
        samples,
    )
    for name in ("group_tests", "agreement", "model"):
        pd.testing.assert_frame_equal(first[name], second[name], obj=name)


def test_too_many_annotators_are_not_paired() -> None:
    ratings = simulate(Study(annotators=MOST_PAIRED + 1, samples=60, questions=1), seed=5)[0]
    tables = suite(ratings)
    assert tables["pairs"].empty
    assert "more than 40" in one(tables["missing"], section="pairs")["why"]
    assert "pairwise_kappa" not in set(tables["agreement"]["measure"])
    assert tables["with_mode"]["estimate"].notna().any()


def test_difference_of_kinds_is_that_of_annotators_kappas() -> None:
    ratings, _, samples = simulate(Study(annotators=6, samples=60, kind=0.5), seed=6)
    joined = ratings.merge(samples[["sample_id", "kind"]], on="sample_id")
    found = kind_agreement_differences(joined, resamples=200)
    for question in ("Q1", "Q2", "all"):
        means = []
        for kind in ("concept", "saliency"):
            part = agreement_with_mode(joined[joined["kind"] == kind], resamples=10)
            part = part[(part["label"] == "leave_one_out") & (part["question"] == question)]
            means.append(part[part["annotator_id"] != "mean"]["estimate"].mean())
        row = one(found, question=question)
        assert row["estimate"] == pytest.approx(means[0] - means[1], abs=1e-12)
        assert row["low"] < row["estimate"] < row["high"]
        assert row["n"] == 6


def test_kinds_that_are_alike_differ_by_nothing() -> None:
    ratings = simulate(Study(annotators=5, samples=20), seed=6)[0]
    twin = ratings.assign(sample_id=ratings["sample_id"] + "-twin")
    both = pd.concat([ratings.assign(kind="a"), twin.assign(kind="b")])
    both["image"] = both["sample_id"].str.removesuffix("-twin")
    found = kind_agreement_differences(both, cluster="image", resamples=50)
    assert np.allclose(found[["estimate", "low", "high"]], 0)
