"""overview.pdf and its findings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pypdfium2
import pytest

from pasta.scoring.settings import SplitParams
from pasta.studies.ratings.analyses.preference import preference_tables
from pasta.studies.ratings.protocol import load_protocol
from reports.source.changes import compare_versions
from reports.source.numbers import collect_numbers
from reports.source.pages.overview import (
    Parts,
    bias_findings,
    correlation_findings,
    overview_report,
    preference_findings,
    score_findings,
    study_findings,
)
from reports.source.typesetting import Report, compile_pdf
from tests.analysis.simulated import Study
from tests.reports import applications_made_up as made_up
from tests.reports.studies import figures, printed
from tests.studies.ratings.analysed import agreement_and_bias, simulate

SUMMARY = pd.DataFrame(
    [
        ("ordinal", "Q1", 0.4), ("ordinal", "Q5", 0.1), ("pasta-mlp", "Q1", 0.3),
        ("people (leave one out)", "Q1", 0.7),
    ],
    columns=["level", "question", "mean"],
).assign(study="main", measure="qwk", sd=0.1, n=10)  # fmt: skip
DIFFERENCES = pd.DataFrame(
    [
        ("Q1", "qwk", "ordinal", "pasta-mlp", 0.1, 0.02, 0.2, 0.01),
        ("Q5", "qwk", "ordinal", "handcrafted", -0.4, -0.5, -0.3, 0.0001),
        ("Q5", "mse", "ordinal", "handcrafted", -0.4, -0.5, -0.3, 0.0001),
    ],
    columns=["question", "measure", "scorer", "than", "estimate", "low", "high", "p_holm"],
)
CORRELATIONS = pd.DataFrame(
    [
        ("Q1", "sparseness", np.nan, "overall", "spearman", 0.1),
        ("Q1", "faithfulness", "road", "overall", "spearman", -0.3),
        ("Q1", "faithfulness", "road", "overall", "pearson", 0.9),
        ("Q1", "sparseness", "", "within technique", "spearman", 0.05),
    ],
    columns=["question", "metric", "variant", "scope", "method", "estimate"],
).assign(low=-0.4, high=0.4, closest=[False, True, np.nan, True])


@pytest.fixture(scope="module")
def parts() -> Parts:
    """All parts of a small study."""
    ratings, people, shown = simulate(Study(samples=60, technique=0.8), 0)
    return {
        "agreement": agreement_and_bias(ratings, people, shown),
        "preference": preference_tables(ratings, shown),
        "correlation": {"correlations": CORRELATIONS},
        "score": {"summary": SUMMARY, "differences": DIFFERENCES},
    }


def report(
    parts: Parts,
    simulated: bool = False,
    applications: Parts | None = None,
    version: str = "p2",
    question: str = "Q1",
    compared: pd.DataFrame | None = None,
) -> Report:
    protocol = load_protocol(version)
    return overview_report(
        parts,
        applications or {},
        simulated,
        protocol=protocol,
        question=question,
        compared=compared,
    )


def test_all_parts_are_told_and_typeset(parts: Parts) -> None:
    uses = {"mixture": made_up.mixture(), "steering": made_up.steering()}
    document = report(parts, True, uses)
    text = printed(document)
    assert "quadratic kappa of" in text and "liked m" in text and "Spearman's rho" in text
    assert text.count("Missing.") == 0 and "**" not in text
    assert len(figures(document.content)) == 3
    pdf = pypdfium2.PdfDocument(compile_pdf(document, {}))
    first = pdf[0].get_textpage().get_text_range()
    assert [number["value"] in first for number in document.content["numbers"]] == [True] * 3
    assert len(pdf) <= 3 and "Figure 2" in first and "What was found" in first
    again = report(parts, True, uses)
    assert compile_pdf(document, {}) == compile_pdf(again, {})


def test_without_any_part_each_is_said_to_be_missing() -> None:
    document = report({})
    text = printed(document)
    assert text.count("Missing.") == 6 and "sizes of the study were not counted" in text
    assert not figures(document.content)


def test_the_overview_opens_with_a_sentence_on_each_study(parts: Parts) -> None:
    further = {"Do metrics?": ["By metrics.", "More."], "Utility?": ["By people."], "Maps?": []}
    said = study_findings(parts, further)
    assert said == [
        correlation_findings(parts["correlation"])[0],
        score_findings(parts["score"])[0].replace("**", ""),
        "By metrics.",
        "By people.",
    ]
    without = {name: own for name, own in parts.items() if name == "preference"}
    assert study_findings(without, {}) == preference_findings(parts["preference"])[:1]


def test_the_score_is_told_beside_people_and_beside_what_beats_it() -> None:
    said = " ".join(score_findings({"summary": SUMMARY, "differences": DIFFERENCES}))
    assert "**0.40** on Q1; an annotator reaches 0.70" in said
    assert "from 0.10 (Q5) to 0.40 (Q1)" in said
    assert "Against “PASTA, MLP (P2)” it is significantly better on Q1" in said
    better = "“handcrafted features, ridge” is significantly better on Q5"
    assert f"{better} (0.40 more, adjusted p < 0.001)" in said
    assert score_findings(None) == [] and score_findings({"summary": SUMMARY.iloc[:0]}) == []


def test_without_differences_the_best_scorer_is_told() -> None:
    assert "the score “ordinal model" in score_findings({"summary": SUMMARY})[0]


def test_the_closest_metrics_are_told_for_the_same_question_whatever_their_sign() -> None:
    closest, weak, _, within = correlation_findings({"correlations": CORRELATIONS})
    assert "Over all explanations, faithfulness, ROAD (\N{MINUS SIGN}0.30" in closest
    assert "follows Q1 more closely than each of the other 1 metrics" in closest
    assert "1 of 2 correlations" in weak and "1 of 1 correlations" in within


def test_tables_without_numbers_give_no_sentence(parts: Parts) -> None:
    blank = {name: table.iloc[:0] for name, table in parts["preference"].items()}
    assert preference_findings(blank) == [] and correlation_findings({}) == []
    assert bias_findings(None) == []


def test_a_version_before_adds_a_page_by_topic_and_none_does_not(parts: Parts) -> None:
    now = collect_numbers(parts, {}, "ordinal", SplitParams())
    moved = now["agreement"].assign(
        **{name: now["agreement"][name] - 0.3 for name in ("estimate", "low", "high")}
    )
    compared = compare_versions({**now, "agreement": moved}, now)
    text = printed(report(parts, compared=compared))
    assert "What changed since the version before" in text
    assert "more than the intervals allow" in text and "agreement.kappa" not in text
    changes = text[text.index("What changed since") :]
    assert "Agreement: " in changes and "Correlation: " not in changes  # nothing moved there
    same = printed(report(parts, compared=compare_versions(now, now)))
    assert "Nothing changed beyond rounding." in same
    assert "What changed since" not in printed(report(parts))
