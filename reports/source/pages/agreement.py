"""agreement.pdf: how well annotators agree, and whether it matters who they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, log10
from typing import Any
from unicodedata import category, normalize

import pandas as pd
from matplotlib.figure import Figure

from pasta.studies.ratings.settings import STEADY
from reports.source.format import (
    bounded,
    cells,
    count,
    interval,
    listed,
    number,
    p_cell,
    p_value,
    share,
    signed,
    whole,
)
from reports.source.pages.parts import (
    HONEST,
    PUBLISHED,
    Tables,
    find_known,
    select_known,
    why_missing,
)
from reports.source.plots.agreement import (
    LIKENESS,
    MEAN,
    MOST_ROWS,
    OVERALL,
    SIGNIFICANT,
    WIDTH,
    groups_figure,
    kinds_figure,
    least_agreeing,
    likeness_figure,
    measures_figure,
    mode_figure,
    pairs_figure,
    profiles_figure,
)
from reports.source.typesetting import Report

Values = dict[str, Any]
_NAMES = ("annotator_id", "question", "kind", "first", "second", "group", "level", "reference")
_OWN = ("text_bias", "box_bias")  # sections that only this project's study has
LONGEST = 20  # letters of an annotator's name that fit into a table
_LETTERS = (
    (0x20, 0x24F),
    (0x370, 0x37E),
    (0x384, 0x4FF),
    (0x1E00, 0x1EF9),
    (0x2010, 0x2027),
    (0x2212, 0x2212),
)
SECTIONS: Mapping[str, str] = {
    "agreement": "agreement by question",
    "with_mode": "annotators against the mode",
    "pairs": "pairs of annotators",
    "kinds": "kinds of samples",
    "kind_differences": "comparison of kinds",
    "sex": "sex",
    "age": "age",
    "country": "country",
    "groups": "groups of annotators",
    "group_tests": "comparison of groups",
    "people": "rating levels of annotators",
    "model": "model of all votes",
    "text_bias": "likeness to own words",
    "box_bias": "likeness to own boxes",
    "order": "order and fatigue",
    "profiles": "profiles of annotators",
    "look_at": "annotators to look at",
    "study": "the study",
    "stars": "use of the scale",
}
_COLUMNS = (PUBLISHED, HONEST, "pairwise_kappa", "krippendorff_ordinal", "icc1", "icc1k", "fleiss")
FIRM, TENTATIVE = 0.8, 0.667  # Krippendorff's bars
MEASURES: Mapping[str, str] = {"level": "rating level", "agreement": "agreement"}
UNITS: Mapping[str, str] = {"level": "points", "agreement": "of kappa"}
FACTORS: Mapping[str, str] = {
    "sex": "sex",
    "age": "age in years",
    "age_group": "age group",
    "country": "country",
}
PLURALS: Mapping[str, str] = {"sex": "sexes", "age_group": "age groups", "country": "countries"}
FOLLOW_UP = " - all others"
EFFECTS: Mapping[str, str] = {
    "drift": "drift of the rating level",
    "fatigue": "distance from the others",
    "speed": "time for a sample",
    "same_answer": "same rating on all questions",
    "carry_over": "carry-over from the sample before",
}


def agreement_report(tables: Tables, simulated: bool, *, own: bool = True) -> Report:
    """Collect what ``agreement.typ`` shows.

    Parameters
    ----------
    tables
        Those of :mod:`pasta.studies.ratings.analyses.agreement` and ``bias`` together, as computed
        or as read back from CSV files.
    simulated
        Whether any of the votes are simulated.
    own
        Whether the votes are those of this project's study; the report on anybody else's ratings
        says nothing about it.
    """
    tables, shortened = name_printably(tables)
    lacking = tables["missing"]
    if not own:
        lacking = lacking[~lacking["section"].isin(_OWN)]
    numbers = read_facts(tables)
    values = {
        "own": own,
        "shortened": shortened,
        "annotators": _count_annotators(numbers),
        "study": study_sentence(tables),
        "mode": mode_sentence(tables),
        "verdicts": verdicts_sentence(tables),
        "look_at": look_at_sentence(tables),
        "lacks": [
            f"{SECTIONS.get(str(section), str(section))} ({reason})"
            for section, reason in zip(lacking["section"], lacking["why"], strict=True)
        ],
        "questions": _compare_questions(tables),
        "stars": _count_stars(tables),
        "annotator_modes": _compare_with_mode(tables),
        "pairs": _compare_pairs(tables),
        "kinds": _compare_kinds(tables),
        "groups": _compare_groups(tables),
        "model": _describe_model(tables),
        "steady": f"{STEADY[0]} to {STEADY[-1]}",
        "likeness": _describe_likeness(tables),
        "order": _describe_order(tables),
        "profiles": _describe_annotators(tables),
        "unit": "images" if pd.notna(numbers["images"]) else "samples",
        "scale": f"{numbers['scale_low']:.0f} to {numbers['scale_high']:.0f}",
    }
    return Report("agreement", simulated, values)


def _compare_questions(tables: Tables) -> Values:
    alphas = select_known(tables, "agreement", measure="krippendorff_ordinal")
    ordered = alphas.sort_values("estimate", ascending=False) if len(alphas) else alphas
    values: Values = {
        "lacks": _lacks(tables, "agreement"),
        "figure": measures_figure(tables["agreement"]),
        "table": _tabulate_measures(tables),
        "alphas": [
            {
                "question": str(row["question"]),
                "estimate": number(row["estimate"]),
                "interval": write_with_interval(row),
                "firm": row["estimate"] >= FIRM,
                "tentative": TENTATIVE <= row["estimate"] < FIRM,
            }
            for _, row in ordered.iterrows()
        ],
    }
    return values


def _tabulate_measures(tables: Tables) -> Values:
    frame = tables["agreement"]
    names = [name for name in _COLUMNS if (frame["measure"] == name).any()]
    order = list(dict.fromkeys(frame.loc[frame["measure"].isin(names), "question"]))
    rows = []
    for question in sorted(order, key=lambda name: name == OVERALL):
        row: Values = {"question": "all" if question == OVERALL else question}
        for name in names:
            found = find_known(tables, "agreement", question=question, measure=name)
            row[name] = None if found is None else found["estimate"]
        rows.append(row)
    frame = pd.DataFrame(rows, columns=["question", *names])
    return cells(frame, ["question", *(f"{name}:0.00" for name in names)])


def _count_stars(tables: Tables) -> Values | None:
    stars = tables["stars"]
    if stars.empty:
        return None
    scale = sorted(stars["rating"].unique())
    wide = stars.pivot_table(index="question", columns="rating", values="share", sort=True)
    wide.columns = [str(star) for star in scale]
    single = [str(name) for name in wide.index[wide.max(axis=1) == 1]]
    wide = wide.assign(votes=stars.groupby("question")["n"].sum()).reset_index()
    columns = ["question", "votes:0", *(f"{star}:percent" for star in scale)]
    return {"single": single, "table": cells(wide, columns)}


def _compare_with_mode(tables: Tables) -> Values:
    values: Values = {"lacks": _lacks(tables, "with_mode"), "figure": None}
    figure, question = mode_figure(tables["with_mode"]), find_whole_question(tables, "with_mode")
    if figure is None or question is None:
        return values
    honest = select_known(tables, "with_mode", question=question, label="leave_one_out")
    honest = honest[honest["annotator_id"] != MEAN].sort_values("estimate", ascending=False)
    names = least_agreeing(tables["with_mode"])
    rows = []
    for name in names:
        row: Values = {"annotator": name}
        for label in ("leave_one_out", "as_published"):
            keys = {"question": question, "annotator_id": name, "label": label}
            found = find_known(tables, "with_mode", **keys) or {}
            row |= {f"{label}_{key}": found.get(key) for key in ("n", "estimate", "low", "high")}
        rows.append(row)
    columns = "annotator leave_one_out_n:0"
    for label in ("leave_one_out", "as_published"):
        columns += f" {label}_estimate:0.00 {label}_low:interval"
    return values | {
        "figure": figure,
        "best": _name_with_interval(honest.iloc[0]),
        "worst": _name_with_interval(honest.iloc[-1]),
        "of": len(honest),
        "shown": len(names),
        "cut": len(honest) > MOST_ROWS,
        "where": "all questions together" if question == OVERALL else question,
        "table": cells(pd.DataFrame(rows, dtype=object), columns),
    }


def _name_with_interval(row: pd.Series[Any]) -> Values:
    return {"name": row["annotator_id"], "estimate": write_with_interval(row)}


def _compare_pairs(tables: Tables) -> Values:
    values: Values = {"lacks": _lacks(tables, "pairs"), "figure": None}
    figure, question = pairs_figure(tables["pairs"]), find_whole_question(tables, "pairs")
    if figure is None or question is None:
        return values
    rows = select_known(tables, "pairs", question=question)
    pairs = rows[rows["first"] != MEAN].sort_values("estimate", ascending=False)
    mean = find_known(tables, "pairs", question=question, first=MEAN)
    ends = [
        {"names": [row["first"], row["second"]], "estimate": number(row["estimate"])}
        for row in (pairs.iloc[0], pairs.iloc[-1])
    ]
    return values | {
        "figure": figure,
        "width": _measure_width(figure),
        "mean": None if mean is None else write_with_interval(mean),
        "n": len(pairs),
        "best": ends[0],
        "worst": ends[1],
    }


def _measure_width(figure: Figure) -> int:
    """Thousandths of a per cent of the text's width, so that letters keep their size."""
    return round(100_000 * min(1.0, figure.get_figwidth() / WIDTH))


def _compare_kinds(tables: Tables) -> Values:
    values: Values = {
        "lacks": _lacks(tables, "kinds", "kind_differences"),
        "sides": compare_sides(tables),
        "figure": kinds_figure(tables["kinds"]),
        "table": None,
    }
    if values["figure"] is None:
        return values
    rows = select_known(tables, "kind_differences")
    rows = rows[rows["question"] != OVERALL]
    if len(rows):
        frame = rows.assign(comparison=rows["first"] + " − " + rows["second"])
        values["table"] = cells(frame, "question comparison n:0 estimate:signed low:interval")
    return values | {"width": _measure_width(values["figure"])}


def compare_sides(tables: Tables) -> list[Values]:
    """On which questions annotators agree more, or less, on one kind than on another."""
    rows = select_known(tables, "kind_differences")
    if (rows["question"] != OVERALL).any():
        rows = rows[rows["question"] != OVERALL]
    found = []
    for (first, second), mine in rows.groupby(["first", "second"], sort=False):
        own = mine.to_dict("records")
        found.append(
            {
                "first": first,
                "second": second,
                "more": [_gap(row["question"], row["estimate"], row["low"], row["high"])
                         for row in own if row["low"] > 0],
                "less": [_gap(row["question"], -row["estimate"], -row["high"], -row["low"])
                         for row in own if row["high"] < 0],
                "open": [str(row["question"]) for row in own if row["low"] <= 0 <= row["high"]],
            }
        )  # fmt: skip
    return found


def _gap(question: object, size: float, low: float, high: float) -> str:
    return f"{question} (by {number(size)} {interval(low, high)})"


def study_sentence(tables: Tables) -> str:
    """Who rated what, and whether the votes are real."""
    numbers = read_facts(tables)
    if not numbers["votes"]:
        return "There are no ratings."
    who = _count_annotators(numbers)
    text = (
        f"{'Anonymous people' if who is None else count(who, 'annotator')} gave "
        f"{count(int(numbers['votes']), 'vote')} to {count(int(numbers['samples']), 'sample')}"
    )
    if pd.notna(numbers["images"]):
        text += f" of {count(int(numbers['images']), 'image')}"
    text += f" on {count(int(numbers['questions']), 'question')}."
    fewest, most = numbers["fewest_votes"], numbers["most_votes"]
    each = whole(fewest) if fewest == most else f"{whole(fewest)} to {whole(most)}"
    votes = "vote" if fewest == most == 1 else "votes"
    text += f" A sample has {each} {votes} on a question."
    simulated = int(numbers["simulated_votes"])
    if simulated == numbers["votes"]:
        text += " All votes are simulated."
    elif simulated:
        text += f" {count(simulated, 'vote is', 'votes are')} simulated."
    return text


def _count_annotators(numbers: Mapping[str, float]) -> int | None:
    """How many rated; None where votes are anonymous."""
    return int(numbers["annotators"]) if pd.notna(numbers["annotators"]) else None


def mode_sentence(tables: Tables) -> str:
    """Mean kappa with the mode, fair and as published."""
    question = find_whole_question(tables, "agreement")
    questions = select_known(tables, "agreement", measure=HONEST)
    if questions.empty:
        return ""
    question = OVERALL if (questions["question"] == OVERALL).any() else question
    fair = find_known(tables, "agreement", measure=HONEST, question=question)
    published = find_known(tables, "agreement", measure=PUBLISHED, question=question)
    if fair is None:
        return ""
    text = (
        "With the mode of the others' votes annotators agree at a mean quadratic kappa of "
        f"{write_with_interval(fair)}."
    )
    if published is not None:
        text += (
            f" With the mode that contains their own vote, it is {number(published['estimate'])}."
        )
    return text


def look_at_sentence(tables: Tables) -> str:
    """Who stands out, in one sentence."""
    named = tables["look_at"]
    if not (tables["missing"]["section"] == "look_at").any() and named.empty:
        return "Nobody stands out."
    names = [str(name) for name in dict.fromkeys(named["annotator_id"])]
    if not names:
        return ""
    who = "is 1 annotator" if len(names) == 1 else f"are {len(names)} annotators"
    return f"To look at, with the reasons in that section, {who}: {bounded(names, 5)}."


def select_main_tests(tables: Tables) -> pd.DataFrame:
    """One test for each measure and factor over all questions; no follow-ups of single groups."""
    tests = select_known(tables, "group_tests", question=OVERALL)
    tests = tests[tests["measure"].isin(MEASURES)]
    return tests[~tests["comparison"].astype(str).str.endswith(FOLLOW_UP)]


def verdicts_sentence(tables: Tables) -> str:
    """Which comparisons show a difference, which rule one out, and which do neither."""
    tests = select_main_tests(tables)
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


def _describe_annotators(tables: Tables) -> Values:
    named = tables["look_at"]
    severity = select_known(tables, "profiles", measure="severity").sort_values("estimate")
    favourite = select_known(tables, "profiles", measure="favourite_share")
    favourite = favourite.sort_values("estimate", ascending=False).head(5)
    values: Values = {
        "lacks": _lacks(tables, "profiles", "look_at"),
        "known": not (tables["missing"]["section"] == "look_at").any(),
        "named": [
            {"who": who, "reason": reason}
            for who, reason in zip(named["annotator_id"], named["reason"], strict=True)
        ],
        "figure": profiles_figure(tables["profiles"], named),
        "severity": [
            {"name": row["annotator_id"], "points": _mean_points(row)}
            for _, row in severity.iterrows()
        ],
        "favourites": None,
    }
    if len(favourite):
        values["favourites"] = cells(favourite, "annotator_id n:0 estimate:percent")
    return values


def _mean_points(row: pd.Series[Any]) -> str:
    ends = "" if pd.isna(row["low"]) else f" {interval(row['low'], row['high'])}"
    return f"{signed(row['estimate'])} points{ends}"


def _compare_groups(tables: Tables) -> Values:
    tests = select_main_tests(tables)
    values: Values = {
        "lacks": _lacks(tables, "sex", "age", "country", "groups", "group_tests"),
        "tests": {
            title: [_describe_test(tables, row) for _, row in own.iterrows()]
            for measure, title in MEASURES.items()
            if len(own := tests[tests["measure"] == measure])
        },
    }
    if tests.empty:
        return values
    what = [
        f"{MEASURES[measure]}: {_title_of(factor, comparison)}"
        for measure, factor, comparison in zip(
            tests["measure"], tests["factor"], tests["comparison"], strict=True
        )
    ]
    margins = tests.dropna(subset=["margin"]).drop_duplicates("measure")
    columns = (
        "comparison n:0 effect:signed low:interval p:p Holm:p equivalence:p smallest:0.00 verdict"
    )
    renamed = {"estimate": "effect", "p_holm": "Holm", "p_equivalence": "equivalence"}
    shown = tests.drop(columns="effect").rename(columns={**renamed, "smallest_effect": "smallest"})
    return values | {
        "by_question": _compare_by_question(tables),
        "figure": groups_figure(tables["groups"], tables["people"]),
        "table": cells(shown.assign(comparison=what), columns),
        "margins": [
            f"{number(margin)} {UNITS[measure]}"
            for measure, margin in zip(margins["measure"], margins["margin"], strict=True)
        ],
    }


def _describe_test(tables: Tables, row: pd.Series[Any]) -> Values:
    first, _, second = str(row["comparison"]).partition(" - ")
    where = {"measure": row["measure"], "question": OVERALL, "factor": row["factor"]}
    means = [find_known(tables, "groups", group=name, **where) for name in (first, second)]
    smallest = row["smallest_effect"]
    return {
        **{name: row[name] for name in ("effect", "verdict", "measure")},
        "unit": UNITS[row["measure"]],
        "plural": PLURALS.get(row["factor"], ""),
        "first": first,
        "second": second,
        "means": [number(mean["estimate"]) for mean in means if mean is not None],
        "estimate": number(row["estimate"]),
        "size": number(abs(row["estimate"])),
        "rises": row["estimate"] >= 0,
        "interval": "" if pd.isna(row["low"]) else interval(row["low"], row["high"]),
        "shares": [share(row[name]) for name in ("estimate", "low", "high")],
        "p": f"{p_value(row['p'])}, after Holm's correction {p_cell(row['p_holm'])}",
        "p_equivalence": p_value(row["p_equivalence"]),
        "margin": number(row["margin"]),
        "smallest": None if pd.isna(smallest) else number(smallest),
        "apart": _follow_up(tables, row),
    }


def _follow_up(tables: Tables, row: pd.Series[Any]) -> list[str]:
    """The groups that differ from all others, where the groups differ at all."""
    where = {"measure": row["measure"], "factor": row["factor"], "verdict": "different"}
    tests = select_known(tables, "group_tests", question=OVERALL, **where)
    tests = tests[tests["comparison"].astype(str).str.endswith(FOLLOW_UP)]
    return [
        f"{str(name).removesuffix(FOLLOW_UP)} ({number(value)} {UNITS[row['measure']]})"
        for name, value in zip(tests["comparison"], tests["estimate"], strict=True)
    ]


def _compare_by_question(tables: Tables) -> Values:
    tests = tables["group_tests"]
    tests = tests[(tests["question"] != OVERALL) & tests["measure"].isin(MEASURES)]
    tests = tests[tests["p"].notna()]
    main = tests[~tests["comparison"].astype(str).str.endswith(FOLLOW_UP)]
    different = main[main["verdict"] == "different"]
    return {
        "n": len(main),
        "smallest": p_cell(main["p_holm"].min()),
        "significant": [
            f"{row['question']}: {MEASURES[row['measure']]} by {FACTORS[row['factor']]} "
            f"(adjusted {p_value(row['p_holm'])})"
            for _, row in different.iterrows()
        ],
    }


def _title_of(factor: str, comparison: object) -> str:
    return PLURALS[factor] if comparison == "all groups" else str(comparison).replace(" - ", " − ")


def _describe_model(tables: Tables) -> Values:
    rows = select_known(tables, "model")
    values: Values = {"lacks": _lacks(tables, "model"), "table": None}
    if rows.empty:
        return values
    lacking = tables["model"][tables["model"]["estimate"].isna()]
    spread = find_known(tables, "model", term="annotator")
    table = rows.assign(what=[_term(row) for _, row in rows.iterrows()])
    columns = "what n:0 estimate:signed low:interval odds_ratio:0.00 p:p p_equivalence:p"
    return values | {
        "lacking": [
            f"{capital(str(term))}: {note}."
            for term, note in zip(lacking["term"], lacking["note"], strict=True)
        ],
        "effects": [
            {
                "term": row["term"],
                "level": str(row["level"]),
                "reference": "" if pd.isna(row["reference"]) else row["reference"],
                "odds": number(row["odds_ratio"]),
                "p": p_value(row["p"]),
                "estimate": None if pd.isna(row["low"]) else write_with_interval(row),
                "significant": row["p"] < SIGNIFICANT,
                "small": row["p_equivalence"] < SIGNIFICANT,
            }
            for _, row in rows[rows["term"].isin(["kind", "sex", "age"])].iterrows()
        ],
        "spread": None if spread is None else number(spread["estimate"]),
        "table": cells(table, f"{columns} smallest_effect:0.00"),
        "remarks": [str(note) for note in dict.fromkeys(rows["note"].dropna()) if note],
    }


def _term(row: pd.Series[Any]) -> str:
    if row["term"] == "annotator":
        return "annotators: standard deviation"
    against = "" if pd.isna(row["reference"]) or row["reference"] == "" else row["reference"]
    return f"{row['term']}: {row['level']}" + (f" rather than {against}" if against else "")


def _describe_likeness(tables: Tables) -> Values:
    return {
        "lacks": _lacks(tables, "text_bias", "box_bias"),
        "figure": likeness_figure(tables["text_bias"], tables["box_bias"]),
        **{
            name: {scope: _strongest(tables, name, scope) for scope in ("pooled", "within")}
            if len(select_known(tables, name))
            else None
            for name in ("text_bias", "box_bias")
        },
    }


def _strongest(tables: Tables, name: str, scope: str) -> Values | None:
    """The largest of the correlations, and how many differ from 0."""
    rows = select_known(tables, name, scope=scope, method="spearman")
    if rows.empty:
        return None
    top = rows.iloc[int(rows["estimate"].abs().to_numpy().argmax())]
    largest = f"{write_with_interval(top)} ({LIKENESS[top['measure']]}, {top['question']})"
    return {"largest": largest, "significant": (rows["p_holm"] < SIGNIFICANT).sum(), "n": len(rows)}


def _describe_order(tables: Tables) -> Values:
    rows = select_known(tables, "order")
    values: Values = {"lacks": _lacks(tables, "order"), "table": None}
    if rows.empty:
        return values
    tested = rows[rows["p_holm"].notna()]
    places = [_places(row) for _, row in rows.iterrows()]
    ends = zip(rows["low"], rows["high"], places, strict=True)
    shown = rows.assign(
        what=[EFFECTS.get(str(name), str(name)) for name in rows["effect"]],
        ends=[interval(low, high, digits) for low, high, digits in ends],
        **{
            name: [number(value, digits) for value, digits in zip(rows[name], places, strict=True)]
            for name in ("estimate", "smallest_effect")
        },
    )
    significant = shown[rows["p_holm"] < SIGNIFICANT]
    return values | {
        "tested": len(tested),
        "smallest": p_cell(tested["p_holm"].min()),
        "significant": [
            f"{row['what']} ({row['estimate']} {row['ends']} {row['unit']}, adjusted "
            f"{p_value(row['p_holm'])})"
            for _, row in significant.iterrows()
        ],
        "table": cells(shown, "what unit n:0 estimate ends p_holm:p smallest_effect"),
    }


def _places(row: pd.Series[Any]) -> int:
    """So many decimals that the interval has two digits: slopes may be very small."""
    sizes = [abs(row[name]) for name in ("low", "high", "estimate") if pd.notna(row[name])]
    largest = max(sizes, default=0.0)
    return 2 if largest <= 0 else min(max(2, 1 - floor(log10(largest))), 8)


def _lacks(tables: Tables, *sections: str) -> str:
    """Why these sections are missing, if they are; equal reasons once."""
    reasons: dict[str, list[str]] = {}
    for section in sections:
        reason = why_missing(tables, section, otherwise="")
        if reason:
            reasons.setdefault(reason, []).append(SECTIONS.get(section, section))
    return " ".join(f"{capital(listed(names))}: {why}." for why, names in reasons.items())


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def write_with_interval(row: Any) -> str:
    """ "0.69 [0.68, 0.70]", without the interval where there is none."""
    if pd.isna(row["low"]) or pd.isna(row["high"]):
        return number(row["estimate"])
    return f"{number(row['estimate'])} {interval(row['low'], row['high'])}"


def read_facts(tables: Tables) -> dict[str, float]:
    """The numbers of the study by name."""
    study = tables["study"]
    return dict(zip(study["fact"], study["value"].astype(float), strict=True))


def find_whole_question(tables: Tables, name: str) -> str | None:
    """What stands for everything: all questions together, or the only question there is."""
    questions = list(select_known(tables, name)["question"].unique())
    if OVERALL in questions:
        return OVERALL
    return str(questions[0]) if len(questions) == 1 else None


def name_printably(tables: Tables) -> tuple[Tables, bool]:
    """The tables with names and notes as text that can be printed, and whether names were cut.

    Pandas reads annotator 7 from a CSV file as a number; it is a name. Long names of annotators
    would not fit into a table: :func:`shorten` cuts them.
    """
    result: dict[str, pd.DataFrame] = {}
    for name, frame in tables.items():
        texts = {}
        for column in frame.columns:
            values = frame[column]
            if column in _NAMES or not pd.api.types.is_numeric_dtype(values):
                words = {value: printable(str(value)) for value in values.dropna().unique()}
                texts[str(column)] = values.astype(object).map(words, na_action="ignore")
        result[name] = frame.assign(**texts)
    people = [
        (name, column)
        for name, frame in result.items()
        for column in (("first", "second") if name == "pairs" else ("annotator_id",))
        if column in frame
    ]
    every = {str(one) for name, column in people for one in result[name][column].dropna()}
    cut = shorten(every)
    for name, column in people:
        shown = result[name][column].map(lambda one: cut.get(one, one), na_action="ignore")
        result[name] = result[name].assign(**{column: shown})
    return result, bool(cut)


def shorten(names: Iterable[str]) -> dict[str, str]:
    """Names that are too long for a table, cut to a beginning that no other name has.

    Examples
    --------
    >>> shorten(["ann", "5f3a9c02" + 24 * "7", "5f3a9c03" + 24 * "7"])  # doctest: +ELLIPSIS
    {'5f3a9c02777777777777777777777777': '5f3a9c02…', ...}
    """
    every = set(names)
    long = sorted(name for name in every if len(name) > LONGEST)
    length = 8
    while length < max(map(len, long), default=0):
        if len({name[:length] for name in every}) == len(every):
            break
        length += 1
    return {name: f"{name[:length]}…" for name in long if length < len(name)}


def printable(text: str) -> str:
    """The text with letters that the fonts of the reports lack as their code: "[5F20]".

    Latin, Greek and Cyrillic letters are there; without this rule any other would end the
    typesetting.
    """
    return "".join(_printable(letter) for letter in normalize("NFC", text)).strip()


def _printable(letter: str) -> str:
    if category(letter)[0] in "CZ":
        return " "
    inside = any(low <= ord(letter) <= high for low, high in _LETTERS)
    return letter if inside else f"[{ord(letter):04X}]"
