"""Every printed number has a row; the verdict follows its rule; nothing is made up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pasta.explanations.techniques import RELEASED
from reports.source.pages.replication import replication_figure, replication_report
from reports.source.replication.measured import study_facts
from reports.source.replication.rows import (
    judged,
    over_runs,
    paper_rows,
    published_table,
    published_tables,
    published_techniques,
    technique_keys,
)
from reports.source.replication.table import COLUMNS, SECTIONS, replication_table
from tests.analysis.simulated import one
from tests.reports.studies import as_read, printed, rated

# Numbers with an estimate in the papers' tables, counted by hand.
PRINTED = {
    ("P1", "Table 1"): 6 * 4 * 2,
    ("P1", "Table 2"): 2 * 2,
    ("P1", "Table 3"): 3 * 4 * 6,
    ("P1", "Tables 4, 15–20"): (3 + 3 + 2 + 5 + 2 + 6 + 3) * 3,
    ("P1", "Table 9"): 6 * 2 * 2,
    ("P1", "Table 10"): 6 * 2,
    ("P1", "Table 11"): 38 * 3,
    ("P1", "Table 12"): 40 * 4,
    ("P1", "Table 13"): 5,
    ("P1", "Table 14"): 6 * 2,
    ("P1", "Table 23"): 7,
    ("P2", "Table 1"): 3 * 5 * 6,
    ("LATEC", "Table 2"): 17 * 9 - 3 * 3,  # three methods do not exist for point clouds
    ("Meta-predictor", "Table 1"): 7 * 3,
    ("Human attention", "text"): 7 * 2 + 3,
}


@pytest.fixture(name="nothing", scope="module")
def _nothing() -> pd.DataFrame:
    return replication_table(published_tables(), {})


def test_every_printed_number_has_one_row(nothing: pd.DataFrame) -> None:
    counts = nothing.groupby(["paper", "table"]).size().to_dict()
    assert {key: counts[key] for key in PRINTED} == PRINTED
    assert list(nothing.columns) == COLUMNS
    assert not nothing.duplicated(["paper", "table", "title", "item", "quantity"]).any()


def test_numbers_stand_where_the_papers_have_them(nothing: pd.DataFrame) -> None:
    row = one(nothing, paper="P1", table="Table 1", item="Q6, black patches", quantity="Pearson")
    assert (row["paper_value"], row["paper_p"]) == (-0.13, "1e-5")
    row = one(nothing, paper="P1", table="Table 3", item="Q1, CLIP", quantity="QWK")
    assert (row["paper_value"], row["paper_sd"]) == (0.48, 0.05)
    row = one(nothing, paper="P2", table="Table 1", item="Q6, BLIP", quantity="MSE")
    assert (row["paper_value"], row["places"]) == (10.71, 3)
    row = one(nothing, paper="P1", table="Table 14", item="Q5", quantity="mean position (Q9)")
    assert (row["paper_value"], row["paper_sd"]) == (1.8, 0.57)


def test_without_our_tables_nothing_agrees_and_every_row_has_a_reason(
    nothing: pd.DataFrame,
) -> None:
    assert set(nothing["verdict"]) == {"not measured", "out of reach"}
    assert (nothing["reason"] != "").all()
    assert nothing[["ours", "low", "high", "difference"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("paper", "ours", "low", "high", "design", "verdict"),
    [
        (0.50, 0.48, 0.45, 0.52, False, "agrees"),
        (0.50, 0.44, 0.41, 0.47, False, "agrees"),  # told apart, but as close as the margin wants
        (0.50, 0.45, 0.30, 0.60, False, "undecided"),
        (0.50, 0.00, -5.0, 5.0, False, "undecided"),  # a wide interval earns nothing
        (0.70, 0.45, 0.40, 0.60, False, "differs"),
        (0.61, 0.55, 0.506, 0.606, False, "agrees"),  # 0.61 may have been 0.606
        (0.61, 0.55, 0.40, 0.606, False, "undecided"),
        (0.61, 0.55, 0.40, 0.604, False, "differs"),
        (0.50, 0.50, np.nan, np.nan, False, "no interval"),
        (15, 15, np.nan, np.nan, True, "agrees"),
        (15, 16, np.nan, np.nan, True, "differs"),
    ],
)
def test_the_verdict_is_a_rule_on_numbers(
    paper: float, ours: float, low: float, high: float, design: bool, verdict: str
) -> None:
    row = {"paper_value": paper, "ours": ours, "low": low, "high": high, "design": design}
    found = judged(paper_rows([row]), 0.1).iloc[0]
    assert found["verdict"] == verdict and found["margin"] == 0.1
    assert found["difference"] == pytest.approx(ours - paper)


def test_a_mean_over_runs_has_students_interval() -> None:
    runs = np.random.default_rng(0).normal(0.4, 0.05, 10)
    summary = pd.DataFrame({"mean": [runs.mean()], "sd": [runs.std(ddof=1)], "n": [10]})
    row = over_runs(summary).iloc[0]
    expected = stats.t.interval(0.95, 9, runs.mean(), stats.sem(runs))
    assert (row["low"], row["high"]) == pytest.approx(expected)
    alone = over_runs(pd.DataFrame({"mean": [0.4], "sd": [np.nan], "n": [1]})).iloc[0]
    assert np.isnan(alone["low"])


@pytest.mark.parametrize(
    "name", ["pasta_v1_table11_metric_values", "pasta_v1_table12_mean_mode_per_technique"]
)
def test_every_printed_technique_is_one_of_ours(name: str) -> None:
    keys = technique_keys(published_table(name), published_table("released_technique_ids"))
    assert "" not in keys
    assert len(set(keys)) == len(keys)


def test_our_numbers_find_their_row() -> None:
    keys = {"scope": "overall", "part": "", "n": 100, "low": -0.1, "high": 0.1, "note": ""}
    correlations = pd.DataFrame(
        [
            {"question": "Q1", "metric": "faithfulness", "variant": "road text",
             "method": "pearson", "estimate": 0.02, **keys},
            {"question": "Q1", "metric": "faithfulness", "variant": "road published",
             "method": "pearson", "estimate": 0.9, **keys},
            {"question": "Q1", "metric": "sparseness", "variant": "", "method": "spearman",
             "estimate": 0.05, **keys},
        ]
    )  # fmt: skip
    score = pd.DataFrame(
        [
            ("main", "pasta-linear", "Q1", "scc_as_published", 0.24, 0.05, 10, ""),
            ("main", "pasta-mlp", "Q1", "spearman_of_stars", 0.30, 0.05, 10, ""),
            ("main", "people (own vote in the mode)", "Q1", "qwk", 0.8, 0.05, 15, ""),
            ("split", "technique", "Q1", "qwk", 0.2, 0.05, 10, ""),
        ],
        columns=["study", "level", "question", "measure", "mean", "sd", "n", "reason"],
    )
    scores = pd.DataFrame(
        {"technique": ["bcos/resnet50_bcos"], "dimension": ["objectivity"], "n": [9],
         "estimate": [2.8], "low": [2.0], "high": [3.0], "note": [""]}
    )  # fmt: skip
    ours = {"correlations": correlations, "score": score, "technique_scores": scores}
    found = replication_table(published_tables(), as_read(ours))
    measured = found[found["ours"].notna()].set_index(["table", "item", "quantity"])["verdict"]
    assert measured.to_dict() == {
        ("Table 1", "Q1, ROAD", "Pearson"): "undecided",
        ("Table 10", "Q1", "Spearman"): "differs",
        ("Table 3", "Q1, CLIP", "SCC"): "agrees",
        ("Table 3", "Q1, human", "QWK"): "agrees",
        ("Tables 4, 15–20", "split: xai id", "QWK"): "differs",
        ("Table 12", "BCos, ResNet50-BCos", "objectivity (Q4)"): "undecided",
        ("Table 1", "Q1, CLIP", "SCC"): "differs",  # P2's, as is the next
        ("Table 1", "Q1, human", "QWK"): "agrees",
    }


def test_facts_of_the_study_are_counted() -> None:
    _, labels, samples = rated(4)
    votes = pd.concat(
        [labels.assign(annotator_id=name, rating=labels["mode"]) for name in ("a", "b")]
    )
    annotators = pd.DataFrame({"annotator_id": ["a", "b"], "age": [20, 30], "sex": ["male", None]})
    facts = study_facts(votes, samples, annotators).set_index("fact")["estimate"]
    expected = {"images": 4, "techniques": 3, "rated_samples": 12, "votes_per_sample": 2}
    expected |= {"ratings": 144, "annotators": 2, "age_mean": 25, "male": 1, "female": 0}
    assert {name: facts[name] for name in expected} == expected
    concept = samples.loc[samples["kind"] == "concept", "sample_id"]
    own = labels[labels["sample_id"].isin(concept) & (labels["question"] == "Q1")]
    assert facts["concept_fidelity"] == pytest.approx(own["mode"].mean())
    assert "lowest_accuracy" not in facts


def test_the_report_says_what_it_is_made_of(nothing: pd.DataFrame) -> None:
    report = replication_report(as_read({"rows": nothing})["rows"], True)
    assert report.content["numbers"] == len(nothing) and report.content["known"] == 0
    assert not report.content["papers"] and report.content["counts"] is None
    lacks = report.content["lacks"]
    assert sum(lack["n"] for lack in lacks) == len(nothing) > 10 * len(lacks)
    where = {one for lack in lacks for one in lack["where"]}
    assert len(where) == len({(one.paper, one.table) for one in SECTIONS})
    assert len(report.tables["all_numbers"]) == len(nothing)
    assert "Agreement is therefore not expected" in printed(report)


def test_no_published_table_makes_an_empty_report() -> None:
    rows = replication_table({}, {})
    assert rows.empty
    assert "No table of printed numbers" in printed(replication_report(rows, False))
    assert replication_figure(rows, {("P1", "Table 1"): "P1"}) is None


def test_released_numbers_are_those_of_our_techniques() -> None:
    listed = published_table("released_technique_ids").dropna(subset="technique")
    for row in listed.to_dict("records"):
        assert RELEASED[row["technique"]] == row["xai_id"]
    assert published_techniques() == set(listed.loc[listed["in_table"], "technique"])
    assert len(published_techniques()) == 46
