"""The suite of correlations equals scipy, says what is missing, and becomes a report."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pasta.studies.ratings.analyses.correlation import correlation_tables, technique_values
from reports.source.names import metric_title, metric_titles
from reports.source.pages.correlation import closest_sentence, correlation_report
from reports.source.plots.correlation import (
    forest_figure,
    metric_heatmap,
    paper_heatmap,
    parts_heatmap,
    question_heatmap,
)
from reports.source.replication.rows import plain_variants, published_tables
from tests.analysis.simulated import one
from tests.reports.studies import as_read, figures, printed, rated


def test_mean_values_of_a_technique_have_a_t_interval_and_count_what_failed() -> None:
    values, _, samples = rated()
    samples["technique"] = samples["method"] + "/" + samples["backbone"]
    row = one(
        technique_values(values, samples), technique="gradcam/resnet50", metric="faithfulness"
    )
    chosen = samples.loc[samples["method"] == "gradcam", "sample_id"]
    own = values[(values["metric"] == "faithfulness") & values["sample_id"].isin(chosen)]
    given = own["value"].dropna()
    expected = stats.t.interval(0.95, len(given) - 1, given.mean(), stats.sem(given))
    assert (row["n"], row["failed"]) == (11, 1)
    assert (row["low"], row["high"]) == pytest.approx(expected)
    assert row["sd"] == pytest.approx(given.std())


def test_questions_are_correlated_for_each_kind() -> None:
    _, labels, samples = rated()
    table = correlation_tables(None, labels, samples, resamples=20)["questions"]
    assert list(table["kind"].unique()) == ["all", "concept", "saliency"]
    row = one(table, kind="concept", first="Q1", second="Q2", method="pearson")
    chosen = samples.loc[samples["kind"] == "concept", "sample_id"]
    own = labels[labels["sample_id"].isin(chosen)]
    wide = own.pivot_table("mode", "sample_id", "question")
    assert row["estimate"] == pytest.approx(stats.pearsonr(wide["Q1"], wide["Q2"]).statistic)
    assert row["fisher_low"] < row["estimate"] < row["fisher_high"]


@pytest.mark.parametrize(
    ("lost", "section", "why"),
    [
        ("values", "correlations", "no metric was measured"),
        ("labels", "questions", "there are no ratings"),
        ("samples", "correlations", "no rated sample has a metric value"),
        ("technique", "within technique", "no rated sample has a known technique"),
        ("image", "images", "intervals take samples as independent"),
        ("one row", "correlations", "fewer than 3 samples"),
    ],
)
def test_what_is_missing_is_said_and_the_report_is_still_made(
    lost: str, section: str, why: str
) -> None:
    values, labels, samples = rated(4)
    given: list[pd.DataFrame | None] = [values, labels, samples]
    if lost == "technique":
        given[2] = samples.drop(columns=["method", "backbone"])
    elif lost == "image":
        given[2] = samples.drop(columns=["dataset", "image_id"])
    elif lost == "one row":
        given[0] = values.head(1)
    else:
        given[["values", "labels", "samples"].index(lost)] = None
    tables = correlation_tables(*given, resamples=20)
    missing = tables["missing"].set_index("section")["why"]
    assert missing[section].startswith(why) or why in missing[section]
    report = correlation_report(as_read(tables), published_tables(), True)
    assert any(why in lack for lack in report.content["lacks"])


def test_the_report_is_written_from_the_numbers() -> None:
    tables = correlation_tables(*rated(), resamples=400)
    report = correlation_report(as_read(tables), published_tables(), True)
    content = report.content
    row = one(tables["correlations"], question="Q1", metric="sparseness", scope="overall",
              method="spearman")  # fmt: skip
    assert content["overall"]["closest"].startswith("sparseness (0.")
    assert "follows Q1 more closely than" in content["overall"]["closest"]
    # The planted metric promises that lower is better, but raters like it high.
    assert content["against"]["opposed"] == 1
    assert content["against"]["metrics"].startswith("sparseness (lower is said to be better")
    listed = one(report.tables["correlations"], question="Q1", title="sparseness",
                 scope="overall", method="spearman")  # fmt: skip
    assert listed["estimate"] == pytest.approx(row["estimate"])
    assert len(report.tables["correlations"]) == len(tables["correlations"])
    paper = content["paper"]
    assert paper["known"] == paper["agrees"] + paper["differs"] + paper["undecided"] > 0
    text = printed(report)
    assert "Sparseness (0." in text and "votes are simulated" in text
    assert "1 of 1 metric with" in text and "points the other way" in text


def test_metrics_that_cannot_be_told_from_the_closest_are_a_set() -> None:
    names = [f"metric {number}" for number in range(8)]
    ranks = pd.DataFrame({"metric": names, "variant": np.nan, "question": "Q1"})
    ranks["estimate"] = -np.arange(1, 9) / 10
    ranks = ranks.assign(low=ranks["estimate"] - 0.1, high=ranks["estimate"] + 0.1)
    said = closest_sentence(ranks.assign(closest=[False] * 2 + [True] * 6), "Q1")
    assert said.startswith("6 of 8 metrics cannot be told from the one that follows Q1 most")
    assert "metric 7 (\N{MINUS SIGN}0.80 [" in said and said.endswith(" and 2 more.")
    assert "metric 3" not in said and closest_sentence(ranks.assign(closest=np.nan), "Q1") == ""
    assert closest_sentence(ranks.assign(closest=True), "Q1").startswith("none of the 8 metrics")


def test_table_1_takes_the_reading_of_the_papers_text() -> None:
    frame = pd.DataFrame({"variant": ["road text", "road published", "road", np.nan]})
    assert plain_variants(frame)["variant"].tolist() == ["road", "road", ""]
    assert metric_title("faithfulness", "road published") == "faithfulness, ROAD (published)"


def test_figures_of_nothing_are_none() -> None:
    tables = correlation_tables(None, None, None, resamples=10)
    own, titles = tables["correlations"], metric_titles(tables["correlations"])
    assert metric_heatmap(own, titles) is None
    assert parts_heatmap(own, titles, {}) is None
    assert forest_figure(own, titles) is None
    assert question_heatmap(tables["questions"], {"all": "all"}) is None
    assert paper_heatmap(pd.DataFrame(columns=["quantity"])) is None
    report = correlation_report(as_read(tables), {}, False)
    assert not figures(report.content)
    assert "Missing." in printed(report)
