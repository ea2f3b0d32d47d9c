"""What the published numbers of the attention study cannot all be: each is checked by computation.

Nothing is taken over from elsewhere: a row says what is printed, what was computed from the printed
numbers, and whether both can be true.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from analysis.map_scores import score_maps
from reports.source.format import number, p_value

Rows = Mapping[str, Mapping[Any, Any]]
_SIZES = (30, 50, 100, 200)  # numbers of images for which p-values are computed
PAIRS = ("segmentation_score ~ attention_score", "rating ~ attention_score")
SEGMENTATION = "rating ~ segmentation_score"


def errata(published: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of where, what, printed, computed, holds (whether the printed thing can be right).

    Parameters
    ----------
    published
        The published table: comparison, pearson_r, p, slope, intercept.
    """
    known = {str(row["comparison"]): row for row in published.to_dict("records")}
    return [
        *[_equal_slope(known, name) for name in PAIRS],
        _above_one(known),
        _equal_intercept(known),
        _order_of_p(known),
        _disjoint(),
        _ideal_line(),
    ]


def _row(where: str, what: str, printed: str, computed: str, holds: bool) -> dict[str, Any]:
    return {"where": where, "what": what, "printed": printed, "computed": computed, "holds": holds}


def _equal_slope(known: Rows, name: str) -> dict[str, Any]:
    row = known[name]
    r, slope, intercept = (float(row[one]) for one in ("pearson_r", "slope", "intercept"))
    same = abs(r - slope) < 5e-4
    computed = (
        "a slope is r times the ratio of both spreads: equal only where these are equal, as of "
        "standardised variables, whose intercept is 0"
    )
    return _row(
        "sections 4.1 and 4.2.2",
        f"{name}: the correlation is also printed as the slope",
        f"r = {number(r, 3)}, slope {number(slope, 3)}, intercept {number(intercept, 2)}",
        computed,
        not same or intercept == 0,
    )


def _above_one(known: Rows) -> dict[str, Any]:
    row = known[PAIRS[0]]
    slope, intercept = float(row["slope"]), float(row["intercept"])
    reach = (1 - intercept) / slope
    return _row(
        "section 4.1",
        "the line of both scores within their scale",
        f"intercept {number(intercept, 2)}, slope {number(slope, 3)}",
        f"it is above 1, which no score can be, for every attention score above {number(reach, 2)}",
        reach >= 1,
    )


def _equal_intercept(known: Rows) -> dict[str, Any]:
    row = known[SEGMENTATION]
    r, intercept = float(row["pearson_r"]), float(row["intercept"])
    return _row(
        "section 4.2.2",
        f"{SEGMENTATION}: the correlation is also printed as the intercept",
        f"r = {number(r, 3)}, intercept {number(intercept, 3)}",
        "nothing makes an intercept equal a correlation: one of the two is misprinted",
        abs(r - intercept) >= 5e-4,
    )


def _order_of_p(known: Rows) -> dict[str, Any]:
    strong, weak = (float(known[one]["pearson_r"]) for one in (PAIRS[1], SEGMENTATION))
    printed = [str(known[one]["p"]) for one in (PAIRS[1], SEGMENTATION)]
    pairs = [(_p_of(strong, n), _p_of(weak, n)) for n in _SIZES]
    ordered = all(one < other for one, other in pairs)
    shown = "; ".join(
        f"n = {n}: {p_value(one)} and {p_value(other)}"
        for n, (one, other) in zip(_SIZES, pairs, strict=True)
    )
    # A larger correlation of the same rows always has the smaller p.
    return _row(
        "section 4.2.2",
        "p-values of two correlations of the same images",
        f"r = {number(strong, 3)} with p {printed[0]}, r = {number(weak, 3)} with p {printed[1]}",
        shown,
        not ordered,
    )


def _p_of(r: float, n: int) -> float:
    t = r * np.sqrt((n - 2) / (1 - r**2))
    return float(2 * stdtr(n - 2, -abs(t)))


def _disjoint() -> dict[str, Any]:
    mask = np.zeros((8, 8))
    mask[:4] = 1
    other, corner = 1 - mask, np.zeros((8, 8))
    corner[6:, 6:] = 1
    found = score_maps(np.stack([other, corner]), mask[None], which=[0, 0])["agreement"]
    whole, part = (1 - float(one) for one in found)
    return _row(
        "section 4.1",
        "a map that shares nothing with the mask has an MAE of 1",
        "MAE 1 wherever there is no overlap",
        f"{number(whole)} where both cover the image together, {number(part)} where the map is a "
        "corner of the rest",
        part == 1,
    )


def _ideal_line() -> dict[str, Any]:
    ratings = np.linspace(0.1, 1, 10)
    printed, right = -0.5 * ratings, 1 - ratings
    return _row(
        "Figure 4",
        "the ideal line of error against rating",
        "slope \N{MINUS SIGN}0.5 and intercept 0",
        f"that is an error from {number(float(printed[0]))} to {number(float(printed[-1]))}, and "
        "no error is below 0; where rating and score are the same thing the error is 1 minus the "
        f"rating, from {number(float(right[0]))} to {number(float(right[-1]))}: slope "
        "\N{MINUS SIGN}1, intercept 1",
        bool((printed >= 0).all()),
    )
