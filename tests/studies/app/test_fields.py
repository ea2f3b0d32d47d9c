"""Every part of an answer is checked, and comes back in one spelling."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely import Polygon, from_wkt

from pasta.studies.app.exporting import csv_text
from pasta.studies.app.fields import InvalidAnswerError, check_answer
from pasta.studies.attention.app import areas

REGIONS = {"type": "regions", "width": 100, "height": 50}
GOOD: list[tuple[dict[str, Any], Any, Any]] = [
    ({"type": "whole", "low": 1, "high": 5}, 5, 5),
    ({"type": "text"}, " e\u0301tude \r\nx\x07\x00 ", "étude \nx"),
    ({"type": "text", "optional": True}, "", ""),
    ({"type": "text", "optional": True}, None, None),
    ({"type": "choice", "options": ["a", "b"]}, "b", "b"),
    ({"type": "flag"}, False, False),
    ({"type": "boxes"}, [[0, 0, 1, 0.5]], [[0.0, 0.0, 1.0, 0.5]]),
    ({"type": "boxes"}, [], []),
    ({"type": "ranking", "items": ["a", "b"]}, ["b", "a"], ["b", "a"]),
    ({"type": "words", "count": 3}, [2, 0], [0, 2]),
    (
        REGIONS,
        [{"shape": "box", "points": [[9, 8], [1, 2]]}],
        [{"shape": "box", "points": [[1.0, 2.0], [9.0, 8.0]]}],
    ),
    (
        REGIONS,
        [{"shape": "polygon", "points": [[0, 0], [0, 0], [5, 0], [5, 5], [0, 0]]}],
        [{"shape": "polygon", "points": [[0.0, 0.0], [5.0, 0.0], [5.0, 5.0]]}],
    ),
]
BAD: list[tuple[dict[str, Any], Any]] = [
    ({"type": "whole", "low": 1, "high": 5}, 6),
    ({"type": "whole", "low": 1, "high": 5}, 3.0),
    ({"type": "whole", "low": 0, "high": 5}, True),
    ({"type": "whole", "low": 1, "high": 5}, None),
    ({"type": "text"}, " \x00 "),
    ({"type": "text", "longest": 3}, "four"),
    ({"type": "text"}, 7),
    ({"type": "choice", "options": ["a"]}, ["a"]),
    ({"type": "choice", "options": ["a"]}, "A"),
    ({"type": "flag"}, 1),
    ({"type": "boxes"}, [[0, 0, 1.01, 1]]),
    ({"type": "boxes"}, [[0.5, 0, 0.5, 1]]),
    ({"type": "boxes"}, [[0, 0, 1]]),
    ({"type": "boxes"}, [[0, 0, float("nan"), 1]]),
    ({"type": "boxes"}, [[0, 0, 10**400, 1]]),
    ({"type": "boxes"}, [[0, 0, 1, 1]] * 51),
    ({"type": "boxes"}, {"0": 1}),
    ({"type": "ranking", "items": ["a", "b"]}, ["a", "a"]),
    ({"type": "ranking", "items": ["a", "b"]}, ["a"]),
    ({"type": "ranking", "items": ["a", "b"]}, ["a", 2]),
    ({"type": "words", "count": 3}, [3]),
    ({"type": "words", "count": 3}, [1, 1]),
    ({"type": "words", "count": 3}, [True]),
    (REGIONS, [{"shape": "circle", "points": [[1, 1], [2, 2], [3, 1]]}]),
    (REGIONS, [{"shape": "polygon", "points": [[1, 1], [2, 2], [1, 1]]}]),
    (REGIONS, [{"shape": "polygon", "points": [[1, 1], [200, 2], [3, 1]]}]),
    (REGIONS, [{"shape": "box", "points": [[1, 1], [1, 5]]}]),
    (REGIONS, [{"shape": "polygon", "points": [[1, 1]] * 1001}]),
    (REGIONS, [{"shape": "polygon"}]),
    (REGIONS, ["polygon"]),
]


@pytest.mark.parametrize(("field", "value", "kept"), GOOD)
def test_good_values_come_back_in_one_spelling(field: Any, value: Any, kept: Any) -> None:
    assert check_answer({"x": field}, {"x": value}) == {"x": kept}


@pytest.mark.parametrize(("field", "value"), BAD)
def test_bad_values_are_refused_with_the_field_and_what_was_expected(
    field: Any, value: Any
) -> None:
    with pytest.raises(InvalidAnswerError, match=r"x: expected \w+") as refused:
        check_answer({"x": field}, {"x": value})
    assert refused.value.field == "x"


def test_nothing_may_be_missing_and_nothing_more_be_there() -> None:
    fields = {"x": {"type": "flag"}}
    wrong: list[object] = [{}, {"x": True, "y": 1}, [], None, "x"]
    for answer in wrong:
        with pytest.raises(InvalidAnswerError):
            check_answer(fields, answer)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(value=anything)
def test_whatever_is_sent_is_taken_or_refused_but_breaks_nothing(value: Any) -> None:
    for field, _, _ in GOOD:
        try:
            kept = check_answer({"x": field}, {"x": value})
        except InvalidAnswerError:
            continue
        assert check_answer({"x": field}, kept) == kept


def test_a_lasso_that_crosses_itself_becomes_the_areas_it_encloses() -> None:
    eight = areas("polygon", [[0, 0], [10, 10], [10, 0], [0, 10]])
    assert sorted(one.area for one in eight) == [25.0, 25.0]
    assert all(one.is_valid and from_wkt(one.wkt).equals(one) for one in eight)
    assert areas("polygon", [[0, 0], [5, 0], [9, 0]]) == []
    (square,) = areas("box", [[1, 2], [3, 5]])
    assert square.equals(Polygon([(1, 2), (3, 2), (3, 5), (1, 5)]))


def test_cells_of_an_export_are_quoted_where_they_must_be_and_never_changed() -> None:
    rows: list[dict[str, object]] = [
        {"a": 'say "x", y', "b": 0.1, "c": None},
        {"a": "two\nlines", "b": 1e-7, "c": True},
    ]
    assert csv_text(rows) == 'a,b,c\n"say ""x"", y",0.1,\n"two\nlines",1e-07,true\n'
