"""utility.pdf: the paper against its own tables, and pages of what there is and what is not."""

from __future__ import annotations

import pandas as pd

from pasta.studies.prediction.analyses import trial_tables
from reports.source.pages.utility import utility_report
from reports.source.replication.metapredictor import attainable, correlation_p, errata
from reports.source.replication.rows import published_tables
from reports.source.typesetting import compile_pdf
from tests.analysis.simulated import one
from tests.analysis.trials import EXAMPLES, draw_trials


def verdicts() -> pd.DataFrame:
    return errata(published_tables())


def verdict_on(words: str) -> str:
    found = verdicts()
    own = found[found["statement"].str.contains(words, regex=False)]
    assert len(own) == 1, own
    return str(own["verdict"].iloc[0])


def test_statements_are_held_against_the_published_tables() -> None:
    assert verdict_on("SmoothGrad is significantly better") == "does not hold"
    assert verdict_on("Integrated Gradients lies between") == "does not hold"
    assert verdict_on("Husky vs Wolf: all methods are more faithful") == "does not hold"
    assert verdict_on("ImageNet: all methods are more faithful") == "does not hold"
    assert verdict_on("Leaves: all methods are more faithful") == "holds"
    assert verdict_on("Saliency is the least faithful") == "does not hold"
    assert verdict_on("the control is the third most faithful") == "holds"
    assert verdict_on("F(7, 234) with 242 people") == "holds"
    assert verdict_on("eta squared is 0.121") == "holds"


def test_printed_rank_correlations_need_not_be_possible() -> None:
    """Six things without ties: 1 - sum / 35 for even sums."""
    assert attainable(1.0, 6) and attainable(-0.77, 6)
    assert not attainable(-0.75, 6) and attainable(-0.75, 7)
    assert not attainable(0.27, 6) and not attainable(0.27, 7)
    assert 0.08 < correlation_p(-0.75, 6) < 0.09


def test_a_report_of_anybodys_trials_is_typeset() -> None:
    trials = draw_trials({"baseline": 0.55, "map": 0.75, "other": 0.6}, 8, 1)
    found = trial_tables(trials, examples=EXAMPLES, resamples=100)
    named = {
        name: frame if name == "missing" else frame.assign(experiment="all")
        for name, frame in found.items()
    }
    report = utility_report(named, {}, published_tables(), simulated=True)
    finding = report.content["findings"][0]
    assert finding.startswith("People predict the model best after ") and "(F(2, 21)" in finding
    other = one(found["equivalence"], condition="other")
    assert other["verdict"] == "unknown"
    (said,) = report.content["undecided"]
    assert "that they are useless is not shown" in said and "There are 8 people" in said
    assert f"with {other['needed']:,.0f}" in said
    assert compile_pdf(report, {}).startswith(b"%PDF")


def test_a_report_of_nothing_says_what_is_missing() -> None:
    nothing = draw_trials({"baseline": 0.5}, 2, 0).iloc[:0]
    report = utility_report(trial_tables(nothing), {}, {}, simulated=False)
    assert report.content["findings"] == [] and report.content["lacks"]
    assert compile_pdf(report, {}).startswith(b"%PDF")
