"""The report about the score: its numbers are those of the tables, what is missing is said."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.resampling import holm
from reports.source.names import LEAVE_ONE_OUT, OWN_VOTE
from reports.source.pages.score import collect_levels, score_report, title_levels
from reports.source.plots.score import ablation_figure, differences_figure
from reports.source.replication.rows import published_tables
from reports.source.typesetting import Report
from tests.reports.studies import as_read, figures, printed

SUMMARY = ["study", "level", "question", "measure", "mean", "sd", "n", "reason"]


def summary() -> pd.DataFrame:
    """Two questions; the handcrafted features win on Q2, the mean has no rho."""
    kappas = {
        "global-mean": (0.0, 0.0),
        "handcrafted": (0.05, 0.54),
        "pasta-linear": (0.12, 0.10),
        "ordinal": (0.35, 0.30),
        LEAVE_ONE_OUT: (0.73, 0.61),
        OWN_VOTE: (0.81, 0.73),
    }
    rows: list[tuple[object, ...]] = []
    for level, pair in kappas.items():
        for question, kappa in zip(("Q1", "Q2"), pair, strict=True):
            rows += [
                ("main", level, question, "qwk", kappa, 0.05, 10, ""),
                ("main", level, question, "mse", 1.5 - kappa, 0.1, 10, ""),
            ]
            lost = level == "global-mean"
            reason = "missing in 10 of 10: the predictions are constant" if lost else ""
            rho = float("nan") if lost else kappa + 0.1
            rows += [
                ("main", level, question, "spearman_of_stars", rho, 0.05, 10, reason),
                ("main", level, question, "scc_as_published", rho / 2, 0.05, 10, reason),
            ]
    for question, share in (("Q1", 0.89), ("Q2", 0.92)):
        rows.append(("main", "ordinal", question, "coverage", share, 0.04, 10, ""))
        rows.append(("main", "ordinal", question, "width", 3.4, 0.1, 10, ""))
    splits = {"none": 0.22, "image": 0.18, "image_and_technique": 0.12}
    for measure in ("qwk", "mse", "scc_as_published"):
        rows += [
            ("split", name, "Q1", measure, mean, 0.05, 10, "") for name, mean in splits.items()
        ]
    rows += [("n top", "5", "Q1", "qwk", 0.11, 0.05, 10, "")]
    found = pd.DataFrame(rows, columns=SUMMARY)
    main = found["study"] == "main"
    found.insert(2, "scorer", found["level"].where(main, "pasta-linear"))
    people = found["level"].isin([LEAVE_ONE_OUT, OWN_VOTE])
    found["scorer"] = found["scorer"].mask(people, "people")
    found.insert(3, "encoder", people.map({True: "none", False: "tiny-clip"}))
    return found


def differences() -> pd.DataFrame:
    rows = [
        ("Q1", "qwk", "ordinal", "pasta-linear", 10, 0.23, 0.15, 0.31, 1e-4),
        ("Q2", "qwk", "ordinal", "pasta-linear", 10, 0.20, 0.01, 0.39, 0.045),
        ("Q3", "qwk", "ordinal", "pasta-linear", 10, 0.10, -0.12, 0.32, 0.37),
        ("Q2", "qwk", "ordinal", "handcrafted", 10, -0.24, -0.30, -0.18, 1e-5),
    ]
    head = ["question", "measure", "scorer", "than", "n", "estimate", "low", "high", "p"]
    table = pd.DataFrame(rows, columns=head)
    return table.assign(p_holm=holm(table["p"]))


@pytest.fixture(name="document", scope="module")
def _document() -> Report:
    tables = as_read({"summary": summary(), "differences": differences()})
    return score_report(tables, published_tables(), True)


def test_the_range_the_ceiling_and_who_is_better(document: Report) -> None:
    content = document.content
    assert content["range"] == {
        "low": "0.30 (Q2)", "high": "0.35 (Q1)", "ceiling": ["0.61", "0.73"]
    }  # fmt: skip
    [linear] = content["rivals"]
    assert (linear["better"], linear["worse"]) == (["Q1"], [])  # Q2: only before Holm's correction
    assert linear["largest"].startswith("+0.23 [0.15, 0.31] on Q1")
    [leader] = content["leaders"]
    assert leader == {
        "question": "Q2",
        "scorers": ["handcrafted features (0.24 [0.18, 0.30] more)"],
    }


def test_the_main_table_has_ours_and_both_papers(document: Report) -> None:
    table = document.content["measures"]["qwk"]["table"]
    assert table["columns"] == ["who", "scorer", "Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
    rows = [row[:4] for row in table["rows"]]
    assert rows[3] == ["ours", "ordinal model (ours)", "0.35 ± 0.05", "0.30 ± 0.05"]
    assert ["P1", "CLIP", "0.48 ± 0.05", "0.44 ± 0.08"] in rows
    assert ["P2", "SIGLIP", "0.471 ± 0.055", "0.459 ± 0.056"] in rows


def test_a_missing_rho_is_a_dash_with_its_reason(document: Report) -> None:
    found = document.content["measures"]["spearman_of_stars"]
    assert found["table"]["rows"][0][:4] == ["ours", "always the mean", "–", "–"]
    assert found["constant"] == ["always the mean"]


def test_errata_stand_side_by_side(document: Report) -> None:
    scc, people = document.content["scc"], document.content["people"]
    assert scc["table"]["rows"][0] == ["Q1", "0.22", "0.11", "0.45", "0.22", "0.25", "0.48"]
    assert people["table"]["rows"][0][:3] == ["Q1", "0.81", "0.73"]
    assert people["gap"] == "0.08 to 0.12"


def test_coverage_is_told_with_its_price(document: Report) -> None:
    thin = "\N{NARROW NO-BREAK SPACE}"
    coverage = document.content["coverage"]
    assert coverage["range"] == f"89{thin}% to 92{thin}%"
    assert coverage["width"] == "3.4 to 3.4"
    assert "3.4 to 3.4 wide on average, on a scale that is 4 wide" in printed(document)


def test_ablations_have_the_papers_levels_first_and_ours_after() -> None:
    rows = collect_levels(summary(), published_tables())
    split = rows[(rows["study"] == "split") & (rows["quantity"] == "QWK")]
    assert split["level"].tolist() == ["none", "technique", "image", "image and technique"]
    assert split["paper_value"].tolist()[:3] == [0.55, 0.51, 0.48]
    assert split["ours"].isna().tolist() == [False, True, False, False]


def test_the_report_is_typeset_with_its_findings(document: Report) -> None:
    text = printed(document)
    assert "from 0.30 (Q2) to 0.35 (Q1)" in text and "that is the ceiling" in text
    assert "significantly better on Q1 (largest" in text and "votes are simulated" in text
    assert "P1's Table 4, what the test part has new" in text


def test_without_any_result_the_report_says_so() -> None:
    document = score_report({"summary": pd.DataFrame(columns=SUMMARY)}, {}, False)
    assert "No scorer has been tested" in printed(document)
    assert not figures(document.content)


def test_without_papers_differences_and_ablations_the_rest_is_there() -> None:
    main = summary()
    document = score_report({"summary": main[main["study"] == "main"]}, {}, False)
    assert document.content["measures"]["qwk"]["table"]["rows"][-1][1] == OWN_VOTE
    assert "Ablations" not in printed(document)


def test_people_come_last_and_figures_of_nothing_are_none() -> None:
    assert list(title_levels(summary()))[-2:] == [LEAVE_ONE_OUT, OWN_VOTE]
    nothing = pd.DataFrame(columns=["study", "quantity", "ours", "paper_value"])
    assert ablation_figure(nothing, {"split": "split"}) is None
    assert differences_figure(differences().head(0), {"pasta-linear": "linear"}) is None
