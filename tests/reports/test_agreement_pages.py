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

from analysis.box_bias import MEASURES as BOX_MEASURES
from analysis.suites.tables import Tables
from reports.source.document import Bullets, Document, Heading, Note, Picture, Table, Text
from reports.source.pages.agreement import agreement_report, kinds_sentence
from reports.source.pages.parts import printable
from reports.source.typesetting import compiled
from reports.source.words import interval, number, p_cell, p_value
from tests.analysis.lacking import LACKS, Frames, lacking
from tests.analysis.rows import one
from tests.analysis.simulated import Study, simulate
from tests.analysis.suites import agreement_and_bias

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
    return whole_study(Study(annotators=12, samples=60, sex=2.5, leniency=0.1), seed=1)


@pytest.fixture(scope="module")
def report(tables: Tables) -> Document:
    return agreement_report(tables, simulated=False)


def words(document: Document) -> str:
    """All text of a report."""
    found: list[str] = []
    for block in document.blocks:
        match block:
            case Text(text) | Heading(text):
                found.append(text)
            case Note():
                found.append(f"{block.kind}: {block.text}")
            case Bullets(items):
                found += items
            case Table():
                data = block.data()
                found += [block.caption, block.note]
                found += [" | ".join(row) for row in data["rows"]]
            case Picture():
                found.append(block.caption)
    return "\n".join(found)


def test_sentences_and_tables_have_the_numbers_of_the_tables(
    tables: Tables, report: Document
) -> None:
    text = words(report)
    fair = one(tables["agreement"], question="all", measure="mode_kappa_leave_one_out")
    said = f"{number(fair['estimate'])} {interval(fair['low'], fair['high'])}"
    assert f"mean quadratic kappa of {said}" in text
    published = one(tables["agreement"], question="all", measure="mode_kappa_as_published")
    assert f"as the papers compare, it is {number(published['estimate'])}." in text
    for question in ("Q1", "Q2"):
        row = [
            number(one(tables["agreement"], question=question, measure=name)["estimate"])
            for name in (
                "mode_kappa_as_published",
                "mode_kappa_leave_one_out",
                "pairwise_kappa",
                "krippendorff_ordinal",
                "icc1",
                "icc1k",
                "fleiss",
            )
        ]
        assert " | ".join([question, *row]) in text
    assert "12 annotators gave 600 votes to 60 samples of 10 images on 2 questions." in text


def test_a_planted_difference_of_sexes_is_told_with_both_means(
    tables: Tables, report: Document
) -> None:
    text = words(report)
    test = one(tables["group_tests"], measure="level", question="all", factor="sex")
    assert test["verdict"] == "different"
    where = {"measure": "level", "question": "all", "factor": "sex"}
    female = one(tables["groups"], group="female", **where)["estimate"]
    male = one(tables["groups"], group="male", **where)["estimate"]
    assert female > male
    expected = (
        f"Female annotators give more stars than male ones ({number(female)} against "
        f"{number(male)}, difference {number(test['estimate'])} "
        f"{interval(test['low'], test['high'])}; {p_value(test['p'])}, after Holm's correction "
        f"{p_cell(test['p_holm'])})."
    )
    assert expected in text
    assert "Shown to differ: rating level by sex" in text


def test_no_difference_is_claimed_where_none_is_tested(tables: Tables, report: Document) -> None:
    text = words(report)
    tests = tables["group_tests"]
    main = tests[(tests["question"] == "all") & (tests["measure"] == "agreement")]
    main = main[~main["comparison"].astype(str).str.endswith("all others")]
    for _, row in main.iterrows():
        if row["verdict"] == "undecided" and row["effect"] == "difference":
            assert "agree differently with the mode of the others is not decided" in text
        if row["verdict"] == "equivalent" and row["effect"] == "slope":
            assert f"equivalence test, {p_value(row['p_equivalence'])}" in text
    assert set(main["verdict"]) <= {"undecided", "equivalent"}
    assert "annotators agree more" not in text
    assert "annotators agree less" not in text


def test_a_whole_study_has_every_figure_and_nothing_missing(report: Document) -> None:
    assert sum(isinstance(block, Picture) for block in report.blocks) == 7
    kinds = [block.kind for block in report.blocks if isinstance(block, Note)]
    assert "missing" not in kinds


def test_a_report_from_csv_files_is_the_same(
    tables: Tables, report: Document, tmp_path: Path
) -> None:
    for name, table in tables.items():
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    again = {name: pd.read_csv(tmp_path / f"{name}.csv") for name in tables}
    assert words(agreement_report(again, simulated=False)) == words(report)


@cache
def lacking_report(make: Callable[..., Frames]) -> Document:
    """The report of a study with a gap; some gaps are in the same study."""
    name = next(name for name, lack in LACKS.items() if lack.make is make)
    (ratings, people, samples), _ = lacking(name)
    tables = agreement_and_bias(ratings, people, samples)
    return agreement_report(tables, simulated=False)


@pytest.mark.parametrize("name", SHOWN)
def test_the_report_says_what_is_missing_and_can_be_drawn(name: str) -> None:
    lack = LACKS[name]
    document = lacking_report(lack.make)
    notes = [
        block.text
        for block in document.blocks
        if isinstance(block, Note) and block.kind == "missing"
    ]
    assert sum(lack.words in note for note in notes) >= 2, "in short, and in its section"
    assert not re.search(r"\b(nan|NaN|inf|None(?! of))\b", words(document))
    if name not in DRAWN:
        return
    for block in document.blocks:
        if isinstance(block, Picture):
            assert not isinstance(block.figure, Path)
            block.figure.draw_without_rendering()


def test_the_pdf_of_a_study_without_anything_is_typeset_twice_alike() -> None:
    (ratings, people, samples), _ = lacking("one vote")
    tables = agreement_and_bias(ratings, people, samples)
    document = agreement_report(tables, simulated=False, questions={"Q1": "Do you trust it?"})
    assert "Q1 | Do you trust it?" in words(document)
    first, second = (compiled(document, {}) for _ in range(2))
    assert first == second
    assert first.startswith(b"%PDF")


def test_names_in_any_script_are_printed_without_a_warning() -> None:
    strange = ["张伟", "a$x$", "*b*", "_c_", "أحمد", "#set text(red)", "x" * 80, "Jürgen", "\t7\n"]
    ratings, people, samples = simulate(Study(annotators=9, samples=30), seed=0)
    renamed = dict(zip(people["annotator_id"], strange, strict=True))
    tables = agreement_and_bias(
        ratings.assign(annotator_id=ratings["annotator_id"].map(renamed)),
        people.assign(annotator_id=strange, country=["中国", "$"] * 4 + ["Ελλάδα"]),
        samples.assign(kind=samples["kind"].map({"saliency": "地図", "concept": "$c$"})),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(agreement_report(tables, simulated=False), {}).startswith(b"%PDF")


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
    text = kinds_sentence({"kind_differences": pd.DataFrame(rows, columns=columns)})
    assert "less on concept than on saliency explanations on Q1 (by 0.30 [0.26, 0.42])." in text
    assert "more on concept than on saliency explanations on Q2 (by 0.20 [0.10, 0.30])." in text
    assert "On Q3 the interval" in text
    assert "0.50" not in text


def test_annotators_who_stand_out_are_named_with_the_reason() -> None:
    ratings, people, samples = simulate(Study(annotators=8, samples=80, leniency=0.1), seed=2)
    odd = ratings["annotator_id"] == "a03"
    ratings.loc[odd, "rating"] = 1
    tables = agreement_and_bias(ratings, people, samples)
    named = tables["look_at"][tables["look_at"]["annotator_id"] == "a03"]
    assert {"severity", "spread", "favourite_share"} <= set(named["measure"])
    text = words(agreement_report(tables, simulated=False))
    for reason in named["reason"]:
        assert f"**a03** {reason}." in text
