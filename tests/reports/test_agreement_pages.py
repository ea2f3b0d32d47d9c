"""The report on agreement says what its tables say, and says it when they say nothing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.tables import Tables
from pasta.studies.ratings.analyses.boxes import MEASURES as BOX_MEASURES
from reports.source.format import interval, number, p_cell, p_value
from reports.source.pages.agreement import agreement_report, compare_sides, printable
from reports.source.typesetting import Report, compile_pdf
from tests.analysis.simulated import Study, one
from tests.reports.studies import figures, printed, said
from tests.studies.ratings.analysed import LACKS, Frames, agreement_and_bias, lacking, simulate

SHOWN = [name for name in LACKS if name not in ("some without age", "empty times", "one kind")]
DRAWN = ("one annotator", "one category", "nobody else rated", "one vote")


def whole_study(study: Study, seed: int) -> Tables:
    """Tables of a study in which nothing is missing."""
    ratings, people, samples = simulate(study, seed)
    people = people.assign(country=[("India", "Kenya", "Peru")[n % 3] for n in people.index])
    pairs = ratings.drop_duplicates(["sample_id", "annotator_id"])[["sample_id", "annotator_id"]]
    words = np.array(["wheel and door", "the head", "wheel", "an ear and a tail"])
    texts = pairs.assign(text=words[np.arange(len(pairs)) % 4])
    sentences = samples[["sample_id"]].assign(sentence="wheel, door, head")
    random = np.random.default_rng(0)
    inside = pairs.assign(**{name: random.random(len(pairs)) for name in BOX_MEASURES})
    return agreement_and_bias(
        ratings,
        people,
        samples,
        texts,
        sentences,
        pairs,
        inside,
    )


@pytest.fixture(scope="module")
def tables() -> Tables:
    return whole_study(Study(raters=12, samples=60, sex=2.5, leniency=0.1), seed=1)


@pytest.fixture(scope="module")
def report(tables: Tables) -> Report:
    return agreement_report(tables, simulated=False)


def test_the_report_has_the_numbers_of_the_tables(tables: Tables, report: Report) -> None:
    values = report.content
    fair = one(tables["agreement"], question="all", measure="mode_kappa_leave_one_out")
    assert f"{number(fair['estimate'])} {interval(fair['low'], fair['high'])}" in values["mode"]
    published = one(tables["agreement"], question="all", measure="mode_kappa_as_published")
    assert values["mode"].endswith(f"{number(published['estimate'])}.")
    table = values["questions"]["table"]
    for question in ("Q1", "Q2"):
        row = [
            number(one(tables["agreement"], question=question, measure=name)["estimate"])
            for name in table["columns"][1:]
        ]
        assert [question, *row] in table["rows"]
    assert {"pairwise_kappa", "krippendorff_ordinal", "icc1k"} < set(table["columns"])
    assert "12 annotators gave 600 votes to 60 samples of 10 images on 2 q" in values["study"]


def test_a_planted_difference_of_sexes_is_told_with_both_means(
    tables: Tables, report: Report
) -> None:
    test = one(tables["group_tests"], measure="level", question="all", factor="sex")
    where = {"measure": "level", "question": "all", "factor": "sex"}
    female = one(tables["groups"], group="female", **where)["estimate"]
    male = one(tables["groups"], group="male", **where)["estimate"]
    assert female > male
    tests = report.content["groups"]["tests"]["rating level"]
    [shown] = [one for one in tests if one["first"] == "female"]
    assert shown["second"] == "male"
    assert (shown["verdict"], shown["rises"]) == ("different", True)
    assert shown["means"] == [number(female), number(male)]
    assert shown["interval"] == interval(test["low"], test["high"])
    assert p_value(test["p"]) in shown["p"] and p_cell(test["p_holm"]) in shown["p"]
    assert "Shown to differ: rating level by sex" in report.content["verdicts"]
    text = printed(report)
    assert f"rate higher than male ones ({number(female)} against {number(male)}" in text


def test_no_difference_is_claimed_where_none_is_tested(tables: Tables, report: Report) -> None:
    tests = tables["group_tests"]
    main = tests[(tests["question"] == "all") & (tests["measure"] == "agreement")]
    main = main[~main["comparison"].astype(str).str.endswith("all others")]
    shown = [test["verdict"] for test in report.content["groups"]["tests"]["agreement"]]
    assert shown == main["verdict"].tolist()
    assert set(shown) <= {"undecided", "equivalent"}
    text = printed(report)
    assert "annotators agree more" not in text and "annotators agree less" not in text


def test_a_whole_study_has_every_figure_and_nothing_missing(report: Report) -> None:
    assert len(figures(report.content)) == 7
    assert "Missing." not in printed(report)


def test_a_report_from_csv_files_is_the_same(
    tables: Tables, report: Report, tmp_path: Path
) -> None:
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    again = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in tables}
    assert said(agreement_report(again, simulated=False)) == said(report)


@cache
def lacking_report(make: Callable[..., Frames]) -> Report:
    """The report of a study with a gap; some gaps are in the same study."""
    name = next(name for name, lack in LACKS.items() if lack.make is make)
    (ratings, people, samples), _ = lacking(name)
    tables = agreement_and_bias(ratings, people, samples)
    return agreement_report(tables, simulated=False)


@pytest.mark.parametrize("name", SHOWN)
def test_the_report_says_what_is_missing_and_can_be_drawn(name: str) -> None:
    lack = LACKS[name]
    report = lacking_report(lack.make)
    values = report.content
    own = [part["lacks"] for part in values.values() if isinstance(part, dict) and "lacks" in part]
    assert any(lack.words in text for text in own), "in its section"
    assert lack.words in said(values["lacks"]), "in short"
    assert not re.search(r"\b(nan|NaN|inf|None(?! of))\b", said(report))
    if name in DRAWN:
        text = printed(report)
        assert lack.words in text
        assert "Own words and boxes." not in text, "nothing is known about them"


def test_a_report_on_anonymous_votes_counts_and_names_nobody() -> None:
    report = lacking_report(LACKS["anonymous"].make)
    values = report.content
    assert values["annotators"] is None and values["study"].startswith("Anonymous people gave")
    assert values["look_at"] == "" and values["mode"] == ""
    assert not values["profiles"]["known"] and values["profiles"]["named"] == []
    assert "a00" not in repr(values)


def test_names_in_any_script_are_printed_without_a_warning() -> None:
    strange = ["张伟", "a$x$", "*b*", "_c_", "أحمد", "#set text(red)", "x" * 80, "Jürgen", "\t7\n"]
    ratings, people, samples = simulate(Study(raters=9, samples=30), seed=0)
    renamed = dict(zip(people["annotator_id"], strange, strict=True))
    tables = agreement_and_bias(
        ratings.assign(annotator_id=ratings["annotator_id"].map(renamed)),
        people.assign(annotator_id=strange, country=["中国", "$"] * 4 + ["Ελλάδα"]),
        samples.assign(kind=samples["kind"].map({"saliency": "地図", "concept": "$c$"})),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compile_pdf(agreement_report(tables, simulated=False), {}).startswith(b"%PDF")


def test_printable_keeps_names_apart() -> None:
    assert printable("Jürgen Ελλάδα Жук") == "Jürgen Ελλάδα Жук"
    assert printable("张伟") == "[5F20][4F1F]"
    assert printable("a\tb\u0000") == "a b"
    assert printable("u\u0308") == "ü"


def test_sides_of_kinds_are_told_with_an_interval_of_the_same_sign() -> None:
    rows = [
        ("Q1", "concept", "saliency", 9, -0.3, -0.42, -0.26, ""),
        ("Q2", "concept", "saliency", 9, 0.2, 0.1, 0.3, ""),
        ("Q3", "concept", "saliency", 9, 0.0, -0.1, 0.1, ""),
        ("all", "concept", "saliency", 9, 0.5, 0.4, 0.6, ""),
    ]
    columns = ["question", "first", "second", "n", "estimate", "low", "high", "note"]
    [sides] = compare_sides({"kind_differences": pd.DataFrame(rows, columns=columns)})
    assert (sides["first"], sides["second"]) == ("concept", "saliency")
    assert sides["less"] == ["Q1 (by 0.30 [0.26, 0.42])"]
    assert sides["more"] == ["Q2 (by 0.20 [0.10, 0.30])"]
    assert sides["open"] == ["Q3"]


def test_annotators_who_stand_out_are_named_with_the_reason() -> None:
    ratings, people, samples = simulate(Study(raters=8, samples=80, leniency=0.1), seed=2)
    odd = ratings["annotator_id"] == "a03"
    ratings.loc[odd, "rating"] = 1
    tables = agreement_and_bias(ratings, people, samples)
    named = tables["look_at"][tables["look_at"]["annotator_id"] == "a03"]
    assert {"severity", "spread", "favourite_share"} <= set(named["measure"])
    found = agreement_report(tables, simulated=False).content["profiles"]["named"]
    for reason in named["reason"]:
        assert {"who": "a03", "reason": reason} in found
