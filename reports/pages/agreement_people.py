"""Demographic bias: do groups of annotators rate or agree differently?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from reports.document import Block, Bullets, Column, Heading, Picture, Table, Text
from reports.pages.agreement_lookup import (
    OVERALL,
    capital,
    known,
    missing_notes,
    only,
)
from reports.pages.agreement_model import model_section
from reports.pages.parts import Tables
from reports.plots.bias import groups_figure
from reports.words import interval, listed, number, p_cell, p_value, share

MEASURES: Mapping[str, str] = {"level": "rating level", "agreement": "agreement"}
UNITS: Mapping[str, str] = {"level": "stars", "agreement": "of kappa"}
FACTORS: Mapping[str, str] = {
    "sex": "sex",
    "age": "age in years",
    "age_group": "age group",
    "country": "country",
}
PLURALS: Mapping[str, str] = {"sex": "sexes", "age_group": "age groups", "country": "countries"}
FOLLOW_UP = " - all others"


def people_section(tables: Tables) -> list[Block]:
    """Groups, tests, the model of all votes."""
    blocks: list[Block] = [Heading("Demographic bias")]
    blocks += missing_notes(tables, "sex", "age", "country", "groups", "group_tests")
    tests = main_tests(tables)
    if tests.empty:
        blocks.append(Text("There are no two groups of annotators to compare."))
        return [*blocks, *model_section(tables)]
    blocks.append(
        Text(
            "Annotators are the unit here: many votes of few people say little about people. A "
            "large p alone would not show that a group makes no difference; so each comparison is "
            "also tested for equivalence, and the smallest effect that this study would have "
            "found in four of five cases is given. (The first version of PASTA reports, from 15 "
            "annotators in India and without a test, that older ones agree slightly less.)"
        )
    )
    for measure in MEASURES:
        rows = tests[tests["measure"] == measure]
        sentences = [sentence(tables, row) for _, row in rows.iterrows()]
        if sentences:
            blocks += [Heading(capital(MEASURES[measure]), 2), Bullets(sentences)]
    blocks += [Heading("All groups, and question by question", 2), Text(_by_question(tables))]
    figure = groups_figure(tables["groups"], tables["people"])
    if figure is not None:
        caption = (
            "Agreement and rating level by sex, age and country, all questions together: mean of "
            "the group with its 95 % interval (no interval for a single annotator), single "
            "annotators in grey, their number in brackets."
        )
        blocks.append(Picture(figure, caption, "Dots for each group of annotators."))
    blocks += [_tests_table(tests), *model_section(tables)]
    return blocks


def main_tests(tables: Tables) -> pd.DataFrame:
    """One test for each measure and factor over all questions; no follow-ups of single groups."""
    tests = known(tables, "group_tests", question=OVERALL)
    tests = tests[tests["measure"].isin(MEASURES)]
    return tests[~tests["comparison"].astype(str).str.endswith(FOLLOW_UP)]


def verdicts_sentence(tables: Tables) -> str:
    """Which comparisons show a difference, which rule one out, and which do neither."""
    tests = main_tests(tables)
    named: dict[str, list[str]] = {}
    for verdict, measure, factor in zip(
        tests["verdict"], tests["measure"], tests["factor"], strict=True
    ):
        named.setdefault(str(verdict), []).append(f"{MEASURES[measure]} by {FACTORS[factor]}")
    words = {
        "different": "Shown to differ: ",
        "equivalent": "Shown not to differ by more than the margin: ",
        "undecided": "Not decided: ",
    }
    said = [start + listed(named[key]) + "." for key, start in words.items() if key in named]
    if said and "different" not in named:
        said.insert(0, "No group of annotators is shown to rate or agree differently.")
    return " ".join(said)


def sentence(tables: Tables, row: pd.Series[Any]) -> str:
    """A test as a sentence that says no more than it shows."""
    match row["effect"]:
        case "difference":
            return _two_groups(tables, row)
        case "slope":
            return _slope(row)
    spread = "the spread of rating levels" if row["measure"] == "level" else "the spread of kappas"
    plural = PLURALS[row["factor"]]
    text = (
        f"Of {spread}, {share(row['estimate'])} lies between {plural} (95 % interval "
        f"{share(row['low'])} to {share(row['high'])}; {_corrected(row)})"
    )
    if row["verdict"] == "different":
        return f"{text}: {plural} differ.{_followed(tables, row)}"
    return f"{text}: no difference is shown, and none is ruled out."


def _two_groups(tables: Tables, row: pd.Series[Any]) -> str:
    first, _, second = str(row["comparison"]).partition(" - ")
    where = {"measure": row["measure"], "question": OVERALL, "factor": row["factor"]}
    one = only(tables, "groups", group=first, **where)
    two = only(tables, "groups", group=second, **where)
    means = ""
    if one is not None and two is not None:
        means = f"{number(one['estimate'])} against {number(two['estimate'])}, "
    means += f"difference {_signed_interval(row)}"
    level = row["measure"] == "level"
    match row["verdict"]:
        case "different":
            more = (
                ("give more stars", "give fewer stars") if level else ("agree more", "agree less")
            )
            what = more[0] if row["estimate"] > 0 else more[1]
            with_mode = "" if level else " with the mode of the others"
            return (
                f"{capital(first)} annotators {what}{with_mode} than {second} ones "
                f"({means}; {_corrected(row)})."
            )
        case "equivalent":
            same = "give about as many stars as" if level else "agree about as well as"
            return f"{capital(first)} annotators {same} {second} ones ({means}); {_ruled_out(row)}."
    rate = "rate differently" if level else "agree differently with the mode of the others"
    return (
        f"Whether {first} and {second} annotators {rate} is not decided ({means}; "
        f"{_corrected(row)}); {_hidden(row)}."
    )


def _slope(row: pd.Series[Any]) -> str:
    level = row["measure"] == "level"
    unit = UNITS[row["measure"]]
    side = "more" if row["estimate"] >= 0 else "less"
    text = (
        f"Ten years of age go with {number(abs(row['estimate']))} {unit} {side} "
        f"({_bare_interval(row)}; {_corrected(row)})"
    )
    match row["verdict"]:
        case "different":
            older = "rate higher" if row["estimate"] > 0 else "rate lower"
            if not level:
                older = "agree more" if row["estimate"] > 0 else "agree less"
            return f"{text}: older annotators {older}."
        case "equivalent":
            return f"{text}; {_ruled_out(row)}."
    return f"{text}, which decides nothing; {_hidden(row)}."


def _corrected(row: pd.Series[Any]) -> str:
    return f"{p_value(row['p'])}, after Holm's correction {p_cell(row['p_holm'])}"


def _ruled_out(row: pd.Series[Any]) -> str:
    return (
        f"{number(row['margin'])} {UNITS[row['measure']]} or more can be ruled out (equivalence "
        f"test, {p_value(row['p_equivalence'])})"
    )


def _hidden(row: pd.Series[Any]) -> str:
    if pd.isna(row["smallest_effect"]):
        return "nothing can be said about the size of effects that it would have found"
    unit = UNITS[row["measure"]]
    return (
        f"the study would have found {number(row['smallest_effect'])} {unit} in four of five "
        f"cases, and cannot rule out {number(row['margin'])} {unit}"
    )


def _signed_interval(row: pd.Series[Any]) -> str:
    ends = _bare_interval(row)
    return number(row["estimate"]) + ("" if ends == "no interval" else f" {ends}")


def _bare_interval(row: pd.Series[Any]) -> str:
    if pd.isna(row["low"]):
        return "no interval"
    return interval(row["low"], row["high"])


def _followed(tables: Tables, row: pd.Series[Any]) -> str:
    """The groups that differ from all others, where the groups differ at all."""
    tests = known(
        tables,
        "group_tests",
        question=OVERALL,
        measure=row["measure"],
        factor=row["factor"],
        verdict="different",
    )
    tests = tests[tests["comparison"].astype(str).str.endswith(FOLLOW_UP)]
    said = [
        f"{str(name).removesuffix(FOLLOW_UP)} ({number(value)} {UNITS[row['measure']]})"
        for name, value in zip(tests["comparison"], tests["estimate"], strict=True)
    ]
    return f" Apart from all others: {listed(said)}." if said else ""


def _by_question(tables: Tables) -> str:
    tests = tables["group_tests"]
    tests = tests[(tests["question"] != OVERALL) & tests["measure"].isin(MEASURES)]
    tests = tests[tests["p"].notna()]
    main = tests[~tests["comparison"].astype(str).str.endswith(FOLLOW_UP)]
    sure = main[main["verdict"] == "different"]
    if main.empty:
        return "Question by question nothing can be compared."
    if sure.empty:
        return (
            f"Question by question, none of {len(main)} comparisons shows a difference after "
            f"Holm's correction; the smallest adjusted p is {p_cell(main['p_holm'].min())}."
        )
    said = [
        f"{row['question']}: {MEASURES[row['measure']]} by {FACTORS[row['factor']]} "
        f"(adjusted {p_value(row['p_holm'])})"
        for _, row in sure.iterrows()
    ]
    return (
        f"Question by question, {len(sure)} of {len(main)} comparisons show a difference after "
        f"Holm's correction: {listed(said)}."
    )


def _tests_table(tests: pd.DataFrame) -> Table:
    what = [
        f"{MEASURES[measure]}: {_compared(factor, comparison)}"
        for measure, factor, comparison in zip(
            tests["measure"], tests["factor"], tests["comparison"], strict=True
        )
    ]
    columns = [
        Column("what", "comparison"),
        Column("n", "n", "0"),
        Column("estimate", "effect", "signed"),
        Column("low", "95 % interval", "interval"),
        Column("p", "p", "p"),
        Column("p_holm", "Holm", "p"),
        Column("p_equivalence", "equivalence", "p"),
        Column("smallest_effect", "smallest effect", "0.00"),
        Column("verdict", "verdict"),
    ]
    note = (
        "n counts annotators. Effects are in stars or kappa, for more than two groups the share of "
        "spread between them (which has no test of equivalence). Equivalence: p of the claim that "
        f"the effect is smaller than {_margins(tests)}. Smallest effect: what would be found with "
        "80 % power."
    )
    return Table(tests.assign(what=what), columns, "Comparisons of groups, all questions.", note)


def _compared(factor: str, comparison: object) -> str:
    if comparison == "all groups":
        return PLURALS[factor]
    return str(comparison).replace(" - ", " − ")


def _margins(tests: pd.DataFrame) -> str:
    known_ones = tests.dropna(subset=["margin"]).drop_duplicates("measure")
    said = [
        f"{number(margin)} {UNITS[measure]}"
        for measure, margin in zip(known_ones["measure"], known_ones["margin"], strict=True)
    ]
    return listed(said, "or") or "its margin"
