"""Does it matter who rates: groups of annotators, a model of all votes, own words, order."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Any

import pandas as pd

from reports.source.document import Block, Bullets, Column, Heading, Note, Picture, Table, Text
from reports.source.pages.parts import OVERALL, SURE, Tables, capital, known, missing_notes, only
from reports.source.plots.agreement import LIKENESS, groups_figure, likeness_figure
from reports.source.words import count, interval, listed, number, p_cell, p_value, share


def model_section(tables: Tables) -> list[Block]:
    """The ordinal model as sentences and a table."""
    blocks: list[Block] = [Heading("One model of all votes", 2), *missing_notes(tables, "model")]
    rows = known(tables, "model")
    if rows.empty:
        return blocks
    effects = rows[rows["term"].isin(["kind", "sex", "age"])]
    said = [_model_sentence(row) for _, row in effects.iterrows()]
    spread = only(tables, "model", term="annotator")
    if spread is not None:
        said.append(
            "What is left between annotators has a standard deviation of "
            f"{number(spread['estimate'])} log odds."
        )
    lacking = tables["model"][tables["model"]["estimate"].isna()]
    for term, note in zip(lacking["term"], lacking["note"], strict=True):
        blocks.append(Note(f"{capital(str(term))}: {note}.", "missing"))
    if said:
        blocks.append(Text(" ".join(said)))
    table = rows.assign(what=[_term(row) for _, row in rows.iterrows()])
    columns = [
        Column("what", "term"),
        Column("n", "n", "0"),
        Column("estimate", "log odds", "signed"),
        Column("low", "95 % interval", "interval"),
        Column("odds_ratio", "odds ratio", "0.00"),
        Column("p", "p", "p"),
        Column("p_equivalence", "equivalence", "p"),
        Column("smallest_effect", "smallest effect", "0.00"),
    ]
    left_out = [note for note in dict.fromkeys(rows["note"].dropna()) if note]
    note = (
        "Rating by question, kind, sex, age and annotator (ordinal model). n counts votes, for sex "
        "and age annotators. Equivalence: p of the claim that the odds ratio lies between 1/1.68 "
        "and 1.68, a small effect. The values of p are not corrected for their number."
    )
    note += f" Remarks: {'; '.join(map(str, left_out))}." if left_out else ""
    return [*blocks, Table(table, columns, "Log odds of more stars.", note)]


def _term(row: pd.Series[Any]) -> str:
    if row["term"] == "annotator":
        return "annotators: standard deviation"
    against = "" if pd.isna(row["reference"]) or row["reference"] == "" else row["reference"]
    return f"{row['term']}: {row['level']}" + (f" rather than {against}" if against else "")


def _model_sentence(row: pd.Series[Any]) -> str:
    subject = {
        "kind": f"{row['level']} rather than {row['reference']} explanations",
        "sex": f"{row['level']} rather than {row['reference']} annotators",
        "age": "ten more years of age",
    }[row["term"]]
    odds = f"the odds of more stars by {number(row['odds_ratio'])}"
    ends = (
        ""
        if pd.isna(row["low"])
        else f", log odds {number(row['estimate'])} {interval(row['low'], row['high'])}"
    )
    text = f"{capital(subject)} multiply {odds} ({p_value(row['p'])}{ends})"
    if row["p"] < SURE:
        return f"{text}."
    if row["p_equivalence"] < SURE:
        return f"{text}, which chance may explain; a larger than small effect is ruled out."
    return f"{text}, which chance may explain; a small effect is not ruled out."


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


_METHOD = "spearman"
_WHAT: Mapping[str, str] = {
    "text_bias": "how much a concept explanation is like what the annotator wrote (Q0.1)",
    "box_bias": "how a saliency map lies to the boxes that the annotator drew (Q0.2)",
}
_SHORT: Mapping[str, str] = {"text_bias": "own words", "box_bias": "own boxes"}
EFFECTS: Mapping[str, str] = {
    "drift": "drift of the rating level",
    "fatigue": "distance from the others",
    "speed": "time for a sample",
    "same_star": "same star on all questions",
    "carry_over": "carry-over from the sample before",
}


def likeness_section(tables: Tables) -> list[Block]:
    """Text bias and box bias (P1, Figure 11)."""
    blocks: list[Block] = [Heading("Own words and own boxes")]
    blocks += missing_notes(tables, "text_bias", "box_bias")
    figure = likeness_figure(tables["text_bias"], tables["box_bias"])
    if figure is None:
        return blocks
    blocks.append(
        Text(
            "Correlations over all votes, as published, cannot tell a bias from a good "
            "explanation: one that names the right parts is both liked and like what people "
            "wrote. So the same is asked within samples: of the annotators who saw the same "
            "explanation, does the one whose own words or boxes are closer to it give more stars? "
            "The first version of PASTA reports, over all votes, a slight correlation of ROUGE "
            "with Q1 to Q4, and of every box measure but SUM pos with Q1 to Q4 (Figure 11)."
        )
    )
    for name in _WHAT:
        if len(known(tables, name)):
            blocks.append(Text(_sentences(tables, name)))
    caption = (
        "Spearman's correlation of likeness with the stars of the same annotator, by question. "
        "Bold: p below 0.05 after Holm's correction. Left: over all votes. Right: without the "
        "means of samples and annotators; a dash where a measure is the same for all annotators "
        "of a sample. SUM all, pos and neg: sum of the map, inside and outside the boxes. Share "
        "pos: part of the map inside."
    )
    alt = "Two tables of correlations coloured by size; all numbers are in text_bias.csv and "
    return [*blocks, Picture(figure, caption, f"{alt}box_bias.csv.")]


def _sentences(tables: Tables, name: str) -> str:
    pooled = known(tables, name, scope="pooled", method=_METHOD)
    within = known(tables, name, scope="within", method=_METHOD)
    text = f"Measured is {_WHAT[name]}."
    if len(pooled):
        top = _largest(pooled)
        text += (
            f" Over all votes the largest correlation is {_told(top)}; "
            f"{_sure(pooled)} differ from 0 after Holm's correction."
        )
    if len(within):
        top = _largest(within)
        text += (
            f" Within samples the largest is {_told(top)}; {_sure(within)} differ from 0 after "
            "Holm's correction."
        )
    else:
        text += " Within samples there is nothing to compare."
    return text


def likeness_sentence(tables: Tables) -> str:
    """Whether stars follow own words and boxes within samples, in short."""
    said = []
    for name, words in _SHORT.items():
        within = known(tables, name, scope="within", method=_METHOD)
        if len(within):
            shown = "is shown" if (within["p_holm"] < SURE).any() else "is not shown"
            said.append(
                f"That annotators prefer what is like their {words} {shown}: within samples "
                f"{_sure(within)} differ from 0 after Holm's correction, the largest is "
                f"{_told(_largest(within))}."
            )
    return " ".join(said)


def _largest(rows: pd.DataFrame) -> pd.Series[Any]:
    return rows.iloc[int(rows["estimate"].abs().to_numpy().argmax())]


def _told(row: pd.Series[Any]) -> str:
    ends = "" if pd.isna(row["low"]) else f" {interval(row['low'], row['high'])}"
    return f"{number(row['estimate'])}{ends} ({LIKENESS[row['measure']]}, {row['question']})"


def _sure(rows: pd.DataFrame) -> str:
    sure = int((rows["p_holm"] < SURE).sum())
    return f"{sure} of {count(len(rows), 'correlation')}"


def order_section(tables: Tables) -> list[Block]:
    """Drift, fatigue, speed, straight-lining, carry-over."""
    blocks: list[Block] = [Heading("Order and fatigue"), *missing_notes(tables, "order")]
    rows = known(tables, "order")
    if rows.empty:
        return blocks
    blocks.append(
        Text(
            "Samples are put in the order in which an annotator submitted them, and each vote is "
            "compared with the other votes on the same sample, so that it does not matter what "
            "was shown when. " + order_sentence(tables)
        )
    )
    places = [_places(row) for _, row in rows.iterrows()]
    texts = {
        name: [number(value, digits) for value, digits in zip(rows[name], places, strict=True)]
        for name in ("estimate", "smallest_effect")
    }
    ends = [
        interval(low, high, digits)
        for low, high, digits in zip(rows["low"], rows["high"], places, strict=True)
    ]
    table = rows.assign(
        what=[EFFECTS.get(str(name), str(name)) for name in rows["effect"]], ends=ends, **texts
    )
    columns = [
        Column("what", "effect"),
        Column("unit", "unit"),
        Column("n", "n", "0"),
        Column("estimate", "estimate"),
        Column("ends", "95 % interval"),
        Column("p_holm", "Holm", "p"),
        Column("smallest_effect", "smallest effect"),
    ]
    note = "n counts annotators. Smallest effect: what would be found with 80 % power."
    widths = (0.2, 0.28, 0.0, 0.0, 0.0, 0.0, 0.1)
    return [*blocks, Table(table, columns, "Effects of the order of samples.", note, widths)]


def order_sentence(tables: Tables) -> str:
    """Which effects of order are shown."""
    rows = known(tables, "order")
    tested = rows[rows["p_holm"].notna()]
    if tested.empty:
        return "" if rows.empty else "No effect of the order could be tested."
    sure = tested[tested["p_holm"] < SURE]
    if sure.empty:
        return (
            f"None of {len(tested)} effects of the order of samples can be told from 0 (smallest "
            f"adjusted p {p_cell(tested['p_holm'].min())})."
        )
    said = [
        f"{EFFECTS[row['effect']]} ({number(row['estimate'], _places(row))} "
        f"{interval(row['low'], row['high'], _places(row))} {row['unit']}, adjusted "
        f"{p_value(row['p_holm'])})"
        for _, row in sure.iterrows()
    ]
    return f"Shown to change with the order of samples: {listed(said)}."


def _places(row: pd.Series[Any]) -> int:
    """So many decimals that the interval has two digits: slopes may be very small."""
    sizes = [abs(row[name]) for name in ("low", "high", "estimate") if pd.notna(row[name])]
    largest = max(sizes, default=0.0)
    return 2 if largest <= 0 else min(max(2, 1 - floor(log10(largest))), 8)
