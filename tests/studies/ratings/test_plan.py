"""Plans give every sample its annotators and everyone an even share, and depend on the seed only.

The bounds: over the whole study and within each dataset, image, technique and kind, two annotators
differ by at most one rating, whatever the explanations look like.
"""

from __future__ import annotations

import re
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pasta.errors import InputError, PastaError
from pasta.studies.ratings.plan import (
    COLUMNS,
    balance,
    choose_samples,
    expected_hours,
    make_plan,
    summary,
)

LEVELS = {
    "dataset": ["dataset"],
    "image": ["dataset", "image_id"],
    "technique": ["method", "backbone"],
    "kind": ["kind"],
}
Cell = tuple[str, str, str, str]


def _table(cells: list[Cell]) -> pd.DataFrame:
    rows = [
        ("/".join(cell), *cell, "concept" if cell[2].startswith("c") else "saliency")
        for cell in cells
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _full(images: int, techniques: int, datasets: int = 2) -> pd.DataFrame:
    """Every technique on every image; image numbers start anew in each dataset."""
    methods = [f"{'c' if number % 4 == 0 else 's'}{number}" for number in range(techniques)]
    return _table(
        [
            (f"d{image % datasets}", str(image // datasets), method, f"b{place % 3}")
            for image in range(images)
            for place, method in enumerate(methods)
        ]
    )


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Any set of explanations: images and techniques in any combination."""
    cells = st.tuples(
        st.sampled_from(["coco", "monumai"]),
        st.sampled_from(["1", "2", "3", "10"]),
        st.sampled_from(["cbm", "cq", "cam", "lime", "s++"]),
        st.sampled_from(["r", "v"]),
    )
    return _table(draw(st.lists(cells, min_size=1, max_size=60, unique=True)))


@st.composite
def studies(draw: st.DrawFn) -> tuple[pd.DataFrame, int, int, int]:
    """Explanations, annotators, votes and seed for which a plan exists."""
    table = draw(tables())
    votes = draw(st.integers(1, 6))
    annotators = draw(st.integers(votes, min(votes * len(table), 25)))
    return table, annotators, votes, draw(st.integers(0, 2**40))


def _cells(found: pd.DataFrame, factor: str, *columns: str) -> list[Any]:
    (row,) = found[found["factor"] == factor].to_dict("records")
    return [row[column] for column in columns]


def _largest_differences(plan: pd.DataFrame, table: pd.DataFrame) -> dict[str, int]:
    """Literal counting: the largest difference between two annotators within one level."""
    rows = plan.merge(table, on="sample_id")
    people = sorted(set(rows["annotator_id"]))
    found = {}
    for factor, columns in LEVELS.items():
        differences = []
        for _, group in rows.groupby(columns):
            counts = [int((group["annotator_id"] == person).sum()) for person in people]
            differences.append(max(counts) - min(counts))
        found[factor] = max(differences)
    return found


@settings(deadline=None, max_examples=80)
@given(studies())
def test_every_sample_has_its_votes_and_everyone_an_even_share(
    study: tuple[pd.DataFrame, int, int, int],
) -> None:
    table, annotators, votes, seed = study
    plan = make_plan(table, annotators, votes, seed, techniques_per_image=None)
    assert not plan.duplicated(["sample_id", "annotator_id"]).any()
    assert plan.groupby("sample_id").size().to_dict() == dict.fromkeys(table["sample_id"], votes)
    loads = plan.groupby("annotator_id").size()
    assert len(loads) == annotators
    assert loads.max() - loads.min() <= 1
    assert max(_largest_differences(plan, table).values()) <= 1
    for _, positions in plan.groupby("annotator_id")["position"]:
        assert positions.tolist() == list(range(1, len(positions) + 1))


@settings(deadline=None, max_examples=40)
@given(studies(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_order_of_the_rows_and_other_columns_do_not_matter(
    study: tuple[pd.DataFrame, int, int, int], shuffle: Random, each: int
) -> None:
    table, _, votes, seed = study
    order = list(range(len(table)))
    shuffle.shuffle(order)
    other = table.iloc[order].assign(status="ok")
    for chosen in ({"samples": (len(table) + 1) // 2}, {"techniques_per_image": each}):
        arguments = (votes, votes, seed)
        pd.testing.assert_frame_equal(
            make_plan(table, *arguments, **chosen), make_plan(other, *arguments, **chosen)
        )


def test_the_same_seed_gives_the_same_plan_and_another_one_another() -> None:
    table = _full(12, 8)
    before = table.copy()
    plans = [make_plan(table, 7, 3, seed, techniques_per_image=4) for seed in (0, 0, 1)]
    pd.testing.assert_frame_equal(plans[0], plans[1])
    assert set(plans[0]["sample_id"]) != set(plans[2]["sample_id"])
    pd.testing.assert_frame_equal(table, before)  # the input is not changed


def test_annotators_work_in_orders_of_their_own() -> None:
    plan = make_plan(_full(6, 6), 2, 2, 0)
    first, second = (group["sample_id"].tolist() for _, group in plan.groupby("annotator_id"))
    assert sorted(first) == sorted(second)
    assert len({tuple(first), tuple(second), tuple(sorted(first))}) == 3


def test_p1_takes_a_random_subset_of_all() -> None:
    """2200 of 4600, five votes each by 15 people (P1, 3.5 and A.3): 733 or 734 for each."""
    table = _full(100, 46, datasets=4)
    plan = make_plan(table, 15, 5, 0, samples=2200)
    assert plan["sample_id"].nunique() == 2200
    assert set(plan.groupby("annotator_id").size()) == {733, 734}
    shares = plan.merge(table, on="sample_id").groupby("dataset").size() / len(plan)
    assert shares.between(0.22, 0.28).all()  # 0.25, over four standard deviations of chance


def test_p2_takes_21_of_46_techniques_equally_often() -> None:
    table = _full(60, 46, datasets=4)
    chosen = choose_samples(table, 0)
    assert set(chosen.groupby(LEVELS["image"]).size()) == {21}
    often = chosen.groupby(LEVELS["technique"]).size()
    assert len(often) == 46
    assert set(often) == {27, 28}  # 60 * 21 / 46 = 27.4
    here = chosen.groupby(["dataset", *LEVELS["technique"]]).size()
    assert here.max() - here.min() <= 2


def test_techniques_meet_on_images_without_a_pattern() -> None:
    """Half of six techniques on 300 images: each pair meets on about 300 * 3 / 6 * 2 / 5 = 60."""
    chosen = choose_samples(_full(300, 6), 0, techniques_per_image=3)
    image = chosen["dataset"] + chosen["image_id"]
    where = {method: set(image[rows]) for method, rows in chosen.groupby("method").groups.items()}
    met = [len(where[one] & where[other]) for one, other in combinations(where, 2)]
    assert 40 <= min(met) <= max(met) <= 80


def test_images_with_fewer_techniques_give_all_they_have() -> None:
    table = _full(4, 6)
    few = table.drop(table.index[(table["image_id"] == "0") & (table["method"] > "s1")])
    counts = choose_samples(few, 0, techniques_per_image=4).groupby(LEVELS["image"]).size()
    offered = few.groupby(LEVELS["image"]).size()
    assert (counts == np.minimum(offered, 4)).all()


def test_annotators_meet_each_other_about_equally_often() -> None:
    """10 of 45 pairs of ten people meet in each sample of five votes: 800 * 2 / 9 = 177.8."""
    plan = make_plan(_full(40, 20), 10, 5, 0, techniques_per_image=None)
    rated = [set(group) for _, group in plan.groupby("annotator_id")["sample_id"]]
    met = [len(one & other) for one, other in combinations(rated, 2)]
    assert np.mean(met) == pytest.approx(800 * 2 / 9)
    assert 140 <= min(met) <= max(met) <= 216  # about three standard deviations of chance


@settings(deadline=None, max_examples=30)
@given(studies())
def test_the_balance_counts_what_is_there(study: tuple[pd.DataFrame, int, int, int]) -> None:
    table, annotators, votes, seed = study
    plan = make_plan(table, annotators, votes, seed)
    found = balance(plan, table)
    differences = _largest_differences(plan, table)
    for factor, columns in LEVELS.items():
        counts = plan.merge(table, on="sample_id").groupby(columns).size()
        assert _cells(found, factor, "levels", "min", "max", "spread") == [
            *(len(counts), counts.min(), counts.max(), differences[factor])
        ]
        assert _cells(found, factor, "mean") == pytest.approx([counts.mean()])
    loads = plan.groupby("annotator_id").size()
    assert _cells(found, "annotator", "levels", "min", "max", "spread") == [
        *(annotators, loads.min(), loads.max(), loads.max() - loads.min())
    ]


def test_the_balance_shows_an_uneven_plan() -> None:
    table = _full(2, 2)
    rows = [(sample, "ann", 1) for sample in table["sample_id"]]
    plan = pd.DataFrame(
        [*rows, (rows[0][0], "bob", 1)], columns=["sample_id", "annotator_id", "position"]
    )
    found = balance(plan, table)
    assert _cells(found, "annotator", "min", "mean", "max", "spread") == [1, 2.5, 4, 3]
    assert _cells(found, "dataset", "min", "max", "spread") == [2, 3, 2]
    assert _cells(found, "pair", "levels", "min", "max") == [1, 1, 1]


def test_hours_follow_from_the_seconds() -> None:
    plan = make_plan(_full(4, 5), 4, 2, 0)
    assert expected_hours(plan, 36).to_dict() == pytest.approx(
        {f"annotator-{number}": 0.1 for number in range(1, 5)}
    )
    for wrong in (0, -1, float("nan")):
        with pytest.raises(PastaError, match="seconds per sample"):
            expected_hours(plan, wrong)


def test_the_summary_says_what_has_to_be_done() -> None:
    table = _full(4, 5)
    *lines, last = summary(make_plan(table, 4, 2, 0), table, 360)
    assert lines == [
        "20 samples, 40 ratings of all questions, 4 annotators",
        "about 4 hours in all, 1.0 for each annotator (assuming 360 s per sample)",
        "votes per annotator (4): 10 to 10 (mean 10.0)",
        "votes per dataset (2): 20 to 20 (mean 20.0); annotators differ by at most 0 within one",
        "votes per image (4): 10 to 10 (mean 10.0); annotators differ by at most 1 within one",
        "votes per technique (5): 8 to 8 (mean 8.0); annotators differ by at most 0 within one",
        "votes per kind (2): 16 to 24 (mean 20.0); annotators differ by at most 0 within one",
    ]
    assert re.fullmatch(r"samples in common to two annotators: \d to \d \(mean 3\.3\)", last)


def test_impossible_studies_are_refused() -> None:
    table = _full(2, 3)
    with pytest.raises(PastaError, match=r"5 different annotators .* among 4"):
        make_plan(table, 4, 5, 0)
    with pytest.raises(PastaError, match="found 0 votes"):
        make_plan(table, 4, 0, 0)
    with pytest.raises(PastaError, match=r"6 samples with 1 votes .* 7 annotators"):
        make_plan(table, 7, 1, 0)
    for samples in (0, 7):
        with pytest.raises(PastaError, match=f"cannot choose {samples} samples: there are 6"):
            make_plan(table, 5, 5, 0, samples=samples)
    with pytest.raises(PastaError, match="0 techniques per image"):
        make_plan(table, 5, 5, 0, techniques_per_image=0)


def test_explanations_that_cannot_be_planned_are_refused() -> None:
    table = _full(2, 3)
    with pytest.raises(PastaError, match="no explanations"):
        make_plan(table.iloc[:0], 5, 5, 0)
    with pytest.raises(InputError, match="column 'kind': is missing"):
        make_plan(table.drop(columns="kind"), 5, 5, 0)
    with pytest.raises(InputError, match="'d0/0/c0/b0' occurs twice"):
        make_plan(pd.concat([table, table.iloc[:1]]), 5, 5, 0)
    with pytest.raises(InputError, match="'again' occurs twice"):
        make_plan(pd.concat([table, table.iloc[:1].assign(sample_id="again")]), 5, 5, 0)
    with pytest.raises(InputError, match="technique 'c0/b0' is of two kinds"):
        make_plan(table.assign(kind=["saliency", *table["kind"][1:]]), 5, 5, 0)


def test_a_balance_needs_a_plan_of_these_explanations() -> None:
    table = _full(2, 3)
    plan = make_plan(table, 5, 5, 0)
    with pytest.raises(PastaError, match="the plan is empty"):
        balance(plan.iloc[:0], table)
    with pytest.raises(InputError, match="is not among the explanations"):
        balance(plan, table.iloc[1:])
