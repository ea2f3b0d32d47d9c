"""Do groups of annotators rate or agree differently? Levels, tests, equivalence and power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.annotator_values import AGE_EDGES, ALL, FACTORS, annotator_values, demographics
from analysis.equivalence import Contrast, contrast_row, eta_squared, one_mean, slope, welch
from analysis.kappa import LIKERT
from analysis.permutation import permute_groups, permute_slope
from analysis.resampling import holm, notes

MARGINS: Mapping[str, float] = {"level": 0.25, "agreement": 0.1, "agreement_published": 0.1}
AGE_STEP = 10.0  # a slope is given per ten years
ALPHA = 0.05
OTHERS = "all others"

_TEST_COLUMNS = [
    "measure",
    "question",
    "factor",
    "comparison",
    "effect",
    "n",
    "estimate",
    "low",
    "high",
    "p",
    "p_holm",
    "margin",
    "p_equivalence",
    "smallest_effect",
    "verdict",
    "note",
]


def group_summary(
    ratings: pd.DataFrame,
    annotators: pd.DataFrame | None,
    *,
    categories: Sequence[int] = LIKERT,
    age_edges: Sequence[int] = AGE_EDGES,
) -> pd.DataFrame:
    """Mean level and agreement of each group of annotators, annotators counting alike (Figure 12).

    Parameters
    ----------
    ratings
        Columns sample_id, annotator_id, question, rating.
    annotators
        Columns annotator_id and any of age, sex, country; or None.
    categories
        The whole scale in its order.

    Returns
    -------
    DataFrame with measure (see :func:`analysis.annotator_values.annotator_values`), question,
    factor, group, n (annotators), estimate, low, high (t interval over annotators), note. A factor
    that nobody stated has one row that says so.
    """
    values, people, missing = _prepare(ratings, annotators, categories, age_edges)
    rows: list[dict[str, object]] = []
    for (measure, question), here in values.groupby(["measure", "question"], sort=False):
        for factor in FACTORS:
            head = {"measure": measure, "question": question, "factor": factor}
            labels = people[factor].to_numpy(object)
            groups = _group_names(labels)
            if not groups:
                rows.append(head | {"group": None, "n": 0, "note": missing[factor]})
            for group in groups:
                row = contrast_row(one_mean(here["estimate"].to_numpy()[labels == group]), np.nan)
                kept = {name: row[name] for name in ("n", "estimate", "low", "high", "note")}
                rows.append(head | {"group": group} | kept)
    columns = ["measure", "question", "factor", "group", "n", "estimate", "low", "high", "note"]
    return pd.DataFrame(rows, columns=columns)


def group_tests(
    ratings: pd.DataFrame,
    annotators: pd.DataFrame | None,
    *,
    margins: Mapping[str, float] = MARGINS,
    categories: Sequence[int] = LIKERT,
    age_edges: Sequence[int] = AGE_EDGES,
    permutations: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Differences between groups of annotators, with what can and what cannot be claimed.

    Annotators are the unit. A factor with two groups gives their difference; one with more gives
    the share of spread between groups (``effect`` is eta_squared) and each group against all
    others; age also gives a slope per ten years. Intervals are Welch's t intervals, p comes from
    permuting annotators' labels, ``p_holm`` corrects it among the tests of the same measure that
    are as detailed: over all questions or per question, and one test per factor or the follow-up
    of each group against all others. ``p_equivalence`` tests that the
    difference is smaller than the margin, and ``smallest_effect`` is what would have been found
    with 80 % power. The verdict is one of

    - ``different``: p_holm below 0.05;
    - ``equivalent``: not different, and within the margin at the 5 % level: no bias of that size;
    - ``undecided``: neither; the study is too small to say.

    Parameters
    ----------
    ratings, annotators, categories
        As for :func:`group_summary`.
    margins
        The largest negligible difference of each measure: in stars, or in kappa.

    References
    ----------
    Phipson & Smyth 2010, doi:10.2202/1544-6115.1585; Schuirmann 1987, doi:10.1007/BF01068419

    Returns
    -------
    DataFrame with measure, question, factor, comparison, effect (difference, eta_squared or
    slope), n, estimate, low, high, p, p_holm, margin, p_equivalence, smallest_effect, verdict, note
    """
    values, people, missing = _prepare(ratings, annotators, categories, age_edges)
    rows: list[dict[str, object]] = []
    for (measure, question), here in values.groupby(["measure", "question"], sort=False):
        y = here["estimate"].to_numpy(np.float64)
        margin = margins.get(str(measure), np.nan)
        found = _age_rows(y, people["age"].to_numpy(), margin, missing["age"], permutations, seed)
        for factor in FACTORS:
            labels = people[factor].to_numpy(object)
            found += _factor_rows(
                y, labels, factor, margin, missing[factor], permutations=permutations, seed=seed
            )
        rows += [{"measure": measure, "question": question} | row for row in found]
    tests = pd.DataFrame(rows, columns=_TEST_COLUMNS)
    follow_up = tests["comparison"].astype(str).str.endswith(OTHERS)
    family = [tests["measure"], tests["question"] == ALL, follow_up]
    tests["p_holm"] = tests.groupby(family)["p"].transform(holm) if len(tests) else np.nan
    pairs = zip(tests["p_holm"], tests["p_equivalence"], strict=True)
    tests["verdict"] = [_verdict(*pair) for pair in pairs]
    return tests


def _prepare(
    ratings: pd.DataFrame,
    annotators: pd.DataFrame | None,
    categories: Sequence[int],
    age_edges: Sequence[int],
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    values = annotator_values(ratings, categories)
    ids = values.loc[
        (values["question"] == ALL) & (values["measure"] == "level"), "annotator_id"
    ].tolist()
    people, missing = demographics(annotators, ids, age_edges=age_edges)
    return values, people, missing


def _group_names(labels: NDArray[np.object_]) -> list[str]:
    found = sorted({str(label) for label in labels if not pd.isna(label)})
    return sorted(found, key=lambda name: not name.startswith("under"))  # the youngest first


def _factor_rows(
    y: NDArray[np.float64],
    labels: NDArray[np.object_],
    factor: str,
    margin: float,
    missing: str,
    **options: int,
) -> list[dict[str, object]]:
    groups = _group_names(labels)
    stated = np.array([not pd.isna(label) for label in labels], bool)
    if len(groups) < 2:
        only = f"only one group ({groups[0]}): nothing to compare" if groups else ""
        note = notes([only, missing]) or "no annotators"
        return [{"factor": factor, "n": int(stated.sum()), "margin": margin, "note": note}]
    rows: list[dict[str, object]] = []
    row: dict[str, object]
    if len(groups) > 2:
        row = {str(name): value for name, value in eta_squared(y, labels).iloc[0].items()}
        test = permute_groups(y, labels, **options).iloc[0]
        row |= {"factor": factor, "comparison": "all groups", "effect": "eta_squared"}
        rows.append(row | {"p": test["p"], "note": notes([str(row["note"]), missing])})
        pairs = [(group, OTHERS) for group in groups]
    else:
        pairs = [(groups[0], groups[1])]
    for first, second in pairs:
        inside = labels == first
        contrast = welch(y[inside], y[stated & ~inside])
        against = np.where(stated, inside.astype(object), None)
        p = permute_groups(y, against, **options)["p"].iloc[0]
        row = {"factor": factor, "comparison": f"{first} - {second}", "effect": "difference"}
        rows.append(row | _tested(contrast, margin, p, missing))
    return rows


def _age_rows(
    y: NDArray[np.float64],
    ages: NDArray[np.float64],
    margin: float,
    missing: str,
    permutations: int,
    seed: int,
) -> list[dict[str, object]]:
    head = {"factor": "age", "comparison": "ten years older", "effect": "slope"}
    p = permute_slope(y, ages, permutations=permutations, seed=seed)["p"].iloc[0]
    return [head | _tested(slope(y, ages / AGE_STEP), margin, p, missing)]


def _tested(contrast: Contrast, margin: float, p: float, missing: str) -> dict[str, object]:
    row = contrast_row(contrast, margin)
    return row | {"p": p, "note": notes([str(row["note"]), missing])}


def _verdict(p_holm: float, p_equivalence: float) -> str:
    if np.isnan(p_holm):
        return ""
    if p_holm < ALPHA:
        return "different"
    return "equivalent" if p_equivalence < ALPHA else "undecided"
