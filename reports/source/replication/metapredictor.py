"""The meta-predictor paper's statements held against its own tables, by computation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy import stats

from analysis.contrasts import POWER
from analysis.variance import anova_power, eta_squared
from reports.source.format import listed, number, p_cell
from reports.source.replication.metapredictor_tables import TITLES

Frames = Mapping[str, pd.DataFrame]

FAITHFULNESS, TESTS = "metapredictor_table01_faithfulness", "metapredictor_tests"
CONTROL = "Control"
PEOPLE, GROUPS = 1150, 8  # said to have taken part; conditions
# What the text says in words, with no table to hold it against
SMOOTHGRAD_P, SMOOTHGRAD_MEANT = 0.48, 0.048
WORST, BETWEEN = (
    ("Integrated Gradients", "Saliency"),
    (
        "Integrated Gradients",
        "SmoothGrad",
        "Occlusion",
    ),
)
RIGHT, WRONG, OPEN = "holds", "does not hold", "not shown"


def errata(published: Frames) -> pd.DataFrame:
    """Every statement that can be checked, with what the tables say.

    Parameters
    ----------
    published
        The paper's tables by name.

    Returns
    -------
    DataFrame
        where, statement, computed, verdict.
    """
    scores = published[FAITHFULNESS].set_index("method")
    tests = published[TESTS].set_index("experiment")
    rows = [*_words(), *_test_rows(tests), *_faithfulness_rows(scores), *_rho_rows(tests)]
    return pd.DataFrame(rows, columns=["where", "statement", "computed", "verdict"])


def _row(where: str, statement: str, computed: str, holds: bool) -> tuple[str, str, str, str]:
    return where, statement, computed, RIGHT if holds else WRONG


def _words() -> list[tuple[str, str, str, str]]:
    twice = [name for name in BETWEEN if name in WORST]
    power = anova_power(GROUPS, 30 * GROUPS, 0.25)
    return [
        _row(
            "3.2, participants",
            f"{30 * GROUPS} people find a medium effect with a power of {POWER:.0%}",
            f"power {power:.1%} at f = 0.25",
            power >= POWER,
        ),
        _row(
            "4.1, Leaves",
            f"SmoothGrad is significantly better than the baseline (p = {SMOOTHGRAD_P})",
            f"{SMOOTHGRAD_P} is above 0.05; {SMOOTHGRAD_MEANT} would be below, and is surely meant",
            SMOOTHGRAD_P < 0.05,
        ),
        _row(
            "4.1, Husky vs Wolf",
            "Integrated Gradients lies between the best and the worst",
            f"the sentence before counts {listed(twice)} among the worst; Gradient x Input, which "
            "is in neither list, is surely meant",
            not twice,
        ),
    ]


def _test_rows(tests: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    rows = []
    for name, one in tests.iterrows():
        df1, df2, n = int(one["anova_df1"]), int(one["anova_df2"]), int(one["n_participants"])
        f, title = float(one["anova_F"]), TITLES[str(name)]
        rows.append(
            _row(
                f"4, {title}",
                f"F({df1}, {df2}) with {n} people in {GROUPS} conditions",
                f"{n} - {GROUPS} = {n - GROUPS}, {GROUPS} - 1 = {GROUPS - 1}",
                (df1, df2) == (GROUPS - 1, n - GROUPS),
            )
        )
        p = float(stats.f.sf(f, df1, df2))
        said = str(one["anova_p"])
        limit = float(said.lstrip("<>"))
        fits = {"<": p < limit, ">": p > limit}.get(said[0], abs(p - limit) < 0.0005)
        rows.append(_row(f"4, {title}", f"F = {f} has p {said}", f"p = {p_cell(p)}", bool(fits)))
        if pd.notna(one["eta_squared"]):
            eta = eta_squared(f, df1, df2)
            rows.append(
                _row(
                    f"4, {title}",
                    f"eta squared is {one['eta_squared']}",
                    f"{df1} F / ({df1} F + {df2}) = {number(eta, 3)}",
                    abs(eta - float(one["eta_squared"])) < 0.001,
                )
            )
    kept = int(tests["n_participants"].sum())
    rows.append(
        _row(
            "3.2 and 4",
            f"{PEOPLE:,} people took part, of whom 240 or more of each experiment are analysed",
            f"{kept} in the three analyses; {PEOPLE - kept} ({1 - kept / PEOPLE:.0%}) left at the "
            "screening, or are not accounted for",
            kept <= PEOPLE and bool((tests["n_participants"] >= 30 * GROUPS).all()),
        )
    )
    return rows


def _faithfulness_rows(scores: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    rows = []
    for name, title in TITLES.items():
        own = scores[name]
        below = own[(own < own[CONTROL])].sort_values()
        words = [f"{method} {value:g}" for method, value in below.items()]
        said = f"below it are {listed(words)}" if words else "no method is below it"
        rows.append(
            _row(
                "4.2",
                f"{title}: all methods are more faithful than the baseline (the control)",
                f"the control has {own[CONTROL]:g}; {said}",
                not words,
            )
        )
    leaves = scores["leaves"].drop(CONTROL).sort_values()
    rows.append(
        _row(
            "4.2, Leaves",
            "Saliency is the least faithful, just before Occlusion",
            f"the least faithful is {leaves.index[0]} ({leaves.iloc[0]:g}); Saliency has "
            f"{leaves['Saliency']:g}",
            leaves.index[0] == "Saliency",
        )
    )
    rows.append(_behind_ig(leaves))
    husky = scores["husky_vs_wolf"].drop(CONTROL).sort_values()
    rows.append(
        _row(
            "4.2, Husky vs Wolf",
            "GradCAM is the least faithful, Saliency the most",
            f"{husky.index[0]} {husky.iloc[0]:g}, {husky.index[-1]} {husky.iloc[-1]:g}",
            (husky.index[0], husky.index[-1]) == ("GradCAM", "Saliency"),
        )
    )
    place = int((scores["imagenet"] > scores.loc[CONTROL, "imagenet"]).sum()) + 1
    rows.append(
        _row(
            "4.3",
            "on ImageNet the control is the third most faithful",
            f"place {place}",
            place == 3,
        )
    )
    figure = scores["imagenet"]
    order = list(figure[["Saliency", "Occlusion", "GradCAM"]].sort_values(ascending=False).index)
    rows.append(
        _row(
            "Figure 1",
            "from the most to the least faithful: Saliency, Occlusion, GradCAM",
            ", ".join(f"{one} {figure[one]:g}" for one in order) + " on ImageNet",
            order == ["Saliency", "Occlusion", "GradCAM"],
        )
    )
    return rows


def _behind_ig(leaves: pd.Series[float]) -> tuple[str, str, str, str]:
    first, second = leaves.index[-1], leaves.index[-2]
    return _row(
        "4.2, Leaves",
        "Gradient x Input is among the most faithful, behind Integrated Gradients",
        f"{first} {leaves.iloc[-1]:g}, {second} {leaves.iloc[-2]:g}",
        (first, second) == ("IntegratedGradients", "GradInput"),
    )


def _rho_rows(tests: pd.DataFrame) -> list[tuple[str, str, str, str]]:
    rows = []
    for name, value in tests["utility_faithfulness_rho"].dropna().items():
        rho = float(value)
        possible = [n for n in (6, 7) if attainable(rho, n)]
        words = (
            f"a rank correlation of {listed([str(n) for n in possible])} things without ties"
            if possible
            else "no rank correlation of 6 methods, nor of 7 with the control, without ties"
        )
        p = correlation_p(rho, 6)
        low, high = np.tanh(np.arctanh(rho) + np.array([-1, 1]) * 1.96 / np.sqrt(3))
        rows.append(
            (
                f"4.2, {TITLES[str(name)]}",
                f"rho = {rho}: {'a strong anti-correlation' if rho < 0 else 'a weak correlation'}",
                f"{words}; with 6 methods p is about {p_cell(p)} and the interval "
                f"[{number(float(low))}, {number(float(high))}]: not told from none",
                RIGHT if p < 0.05 else OPEN,
            )
        )
    return rows


def attainable(rho: float, n: int, digits: int = 2) -> bool:
    """Whether Spearman's correlation of n things without ties can round to a printed value."""
    whole = n * (n**2 - 1) / 6
    sums = np.arange(0, 2 * whole + 1, 2)
    return bool((np.round(1 - sums / whole, digits) == round(rho, digits)).any())


def correlation_p(rho: float, n: int) -> float:
    """Two-sided p of a correlation by the t distribution."""
    t = rho * np.sqrt((n - 2) / (1 - rho**2))
    return float(2 * stats.t.sf(abs(t), n - 2))
