"""The suites on preferences and rankings: right tables, and honest ones where data are missing."""

from __future__ import annotations

from io import StringIO

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from analysis.preference import technique_scores
from analysis.suites.preference import (
    NO_KINDS,
    NO_RANKINGS,
    NO_RATINGS,
    NO_TECHNIQUES,
    preference_tables,
    ranking_tables,
)
from analysis.suites.tables import MISSING, Tables, said_missing
from tests.analysis.rows import one
from tests.analysis.simulated import Study, simulate

STUDY = Study(samples=90, technique=0.8)
DIRECTIONS = {"Q1": 1, "Q2": 1}
KEYS = {
    "technique_scores", "kinds", "kind_differences", "backbones", "backbone_differences",
    "top_techniques", "ranking", "critical_difference", "positions", "concordance",
    "position_differences", "missing",
}  # fmt: skip


def _rankings(people: int = 5) -> pd.DataFrame:
    """Everybody agrees on Q7; on Q8 half of the people turn the order round."""
    rows = []
    for person in range(people):
        for place, item in enumerate("abc", start=1):
            rows.append((f"a{person:02d}", "Q7", item, place))
            rows.append((f"a{person:02d}", "Q8", item, place if person % 2 else 4 - place))
    return pd.DataFrame(rows, columns=["annotator_id", "question", "item", "position"])


def _whys(tables: Tables) -> dict[str, str]:
    missing = tables[MISSING]
    return dict(zip(missing["section"], missing["why"], strict=True))


def test_planted_order_of_techniques_is_found_by_every_table() -> None:
    ratings, _, shown = simulate(STUDY, 0)
    tables = preference_tables(ratings, shown, _rankings(), directions=DIRECTIONS, resamples=99)
    assert set(tables) == KEYS
    order = [f"m{number}/resnet" for number in range(5, -1, -1)]
    assert tables["ranking"]["technique"].tolist()[0] == order[0]
    assert tables["ranking"]["technique"].tolist()[-1] == order[-1]
    assert tables["critical_difference"]["item"].tolist()[0] == order[0]
    assert_frame_equal(tables["technique_scores"], technique_scores(ratings, shown))


def test_a_question_where_fewer_is_better_turns_the_order_but_not_the_mean_modes() -> None:
    ratings, _, shown = simulate(STUDY, 0)
    straight = preference_tables(ratings, shown, directions={"Q1": 1, "Q2": 1})
    turned = preference_tables(ratings, shown, directions={"Q1": -1, "Q2": -1})
    worst = straight["ranking"]["technique"].iloc[-1]
    assert turned["ranking"]["technique"].iloc[0] == worst
    assert_frame_equal(turned["technique_scores"], straight["technique_scores"])
    assert_frame_equal(turned["kinds"], straight["kinds"])


def test_places_by_bradley_terry_are_a_permutation_beside_the_ordinal_ones() -> None:
    ratings, _, shown = simulate(STUDY, 1)
    ranking = preference_tables(ratings, shown)["ranking"]
    assert sorted(ranking["rank_bradley_terry"]) == ranking["rank"].tolist()


def test_rankings_all_alike_have_w_one_and_turned_ones_less() -> None:
    tables = ranking_tables(_rankings(6), resamples=199)
    agreed = tables["concordance"]
    assert one(agreed, question="Q7")["estimate"] == pytest.approx(1)
    assert one(agreed, question="Q8")["estimate"] == pytest.approx(0)
    assert one(tables["positions"], question="Q7", item="a")["estimate"] == 1
    assert tables[MISSING].empty


@pytest.mark.parametrize(
    "rankings", [None, _rankings().iloc[:0], _rankings().assign(position=None)]
)
def test_without_rankings_their_tables_are_empty_and_said_to_be_missing(
    rankings: pd.DataFrame | None,
) -> None:
    tables = ranking_tables(rankings)
    assert _whys(tables) == dict.fromkeys(tables.keys() - {MISSING}, NO_RANKINGS)
    assert all(tables[name].empty for name in tables if name != MISSING)


def test_no_ratings_and_no_samples_give_empty_tables_with_reasons() -> None:
    ratings, _, _ = simulate(STUDY, 0)
    tables = preference_tables(ratings.iloc[:0], None)
    assert set(tables) == KEYS and all(tables[name].empty for name in KEYS - {MISSING})
    assert _whys(tables)["ranking"] == NO_RATINGS


def test_samples_of_unknown_technique_and_kind_are_named_not_guessed() -> None:
    ratings, _, shown = simulate(STUDY, 0)
    whys = _whys(preference_tables(ratings, shown[["sample_id"]]))
    assert whys["ranking"] == NO_TECHNIQUES and whys["kinds"] == NO_KINDS


def test_one_kind_only_leaves_nothing_to_compare() -> None:
    ratings, _, shown = simulate(STUDY, 0)
    tables = preference_tables(ratings, shown.assign(kind="saliency"))
    assert tables["kinds"]["estimate"].notna().all()
    assert "only one group (saliency)" in _whys(tables)["kind_differences"]


def test_one_annotator_has_no_mean_ranks_but_an_order() -> None:
    ratings, _, shown = simulate(STUDY, 0)
    tables = preference_tables(ratings[ratings["annotator_id"] == "a00"], shown)
    assert "critical_difference" in _whys(tables)
    assert "ranking" not in _whys(tables)


def test_all_votes_the_same_star_give_reasons_and_no_order() -> None:
    ratings, _, shown = simulate(STUDY, 0)
    whys = _whys(preference_tables(ratings.assign(rating=3), shown))
    assert whys["ranking"] == "all votes are the same star: no order"


def test_empty_tables_survive_a_file() -> None:
    ratings, _, _ = simulate(STUDY, 0)
    for name, table in preference_tables(ratings.iloc[:0], None).items():
        back = pd.read_csv(StringIO(table.to_csv(index=False)))
        assert list(back.columns) == list(table.columns), name


def test_a_reason_given_before_is_kept_and_tables_without_estimates_are_not_missing() -> None:
    first = said_missing({"a": pd.DataFrame({"estimate": [None]})}, {"a": "lost"})
    counts = pd.DataFrame({"n": [1]})
    again = said_missing({**first, "b": counts, "c": pd.DataFrame({"estimate": [float("nan")]})})
    assert _whys(again) == {"a": "lost", "c": "there is nothing to estimate from"}
