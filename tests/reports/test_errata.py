"""Every erratum is computed, shown by a test that exists, or quoted from the same paper."""

from __future__ import annotations

import ast

import numpy as np
import pandas as pd
import pytest

from reports.source.pages.replication import ERRATA, replication_report
from reports.source.replication.errata import (
    COLUMNS,
    ERROR,
    WRITTEN,
    count_reversed,
    errata_table,
)
from reports.source.replication.rows import published_tables
from reports.source.replication.table import replication_table
from tests.analysis.simulated import one
from tests.conftest import ROOT
from tests.reports.studies import as_read


@pytest.fixture(name="found", scope="module")
def _found() -> pd.DataFrame:
    return errata_table(published_tables())


def test_all_five_papers_have_errata_and_each_says_how_it_is_known(found: pd.DataFrame) -> None:
    assert list(found) == COLUMNS
    assert list(dict.fromkeys(found["paper"])) == list(WRITTEN)
    assert {paper for papers in ERRATA.values() for paper in papers} == set(WRITTEN)
    assert set(found["verdict"]) == {"error", "holds", "open"}
    assert (found[["where", "printed", "corrected", "shown_by"]] != "").all(axis=None)
    assert (
        not found[["where", "printed", "released", "corrected"]]
        .apply(lambda column: column.str.contains(r"[{}]").any())
        .any()
    )
    assert not found.duplicated(["paper", "where", "printed", "released"]).any()


def test_every_test_that_is_named_exists(found: pd.DataFrame) -> None:
    named = found.loc[found["test"] != "", "test"]
    assert len(named) >= 10
    for path, _, function in named.str.partition("::").itertuples(index=False, name=None):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_numbers_in_the_errata_follow_from_the_printed_ones(found: pd.DataFrame) -> None:
    row = one(found, paper="P1", where="appendix A.3")
    assert "2\N{NARROW NO-BREAK SPACE}205" in row["corrected"]  # 15 x 147
    assert "733" in row["corrected"]  # 2,200 x 5 / 15
    row = one(found, paper="P1", where="appendix E.2")
    assert "2.25, at 0.1" in row["corrected"] and "2.18 at 0.15" in row["corrected"]
    row = one(found, paper="P2", where="dataset section, score section")
    assert "21\N{NARROW NO-BREAK SPACE}100 explanations" in row["corrected"]
    row = one(found, paper="Meta-predictor", where="section 3.1, Utility")
    assert "is 10;" in row["corrected"]
    row = one(found, paper="P2", where="Table 1, SCC")
    ratios = [0.484 / 0.25, 0.484 / 0.23, 0.213 / 0.23, 0.230 / 0.22, 0.197 / 0.17, 0.193 / 0.24,
              0.844 / 0.37, 0.839 / 0.38, 0.722 / 0.33, 0.742 / 0.33, 0.850 / 0.34,
              0.789 / 0.29]  # fmt: skip
    assert f"{np.median(ratios):.2f} times" in row["corrected"]


def test_other_numbers_make_other_errata() -> None:
    papers = published_tables()
    scores = papers["pasta_v1_table03_scorer"]
    papers["pasta_v1_table03_scorer"] = scores.assign(sd=scores["sd"] + 0.5)
    before, after = (
        one(errata_table(tables), paper="P1", where="Tables 3, 4 and 15–20")["corrected"]
        for tables in (published_tables(), papers)
    )
    assert before != after


def test_larger_correlations_with_larger_p_are_counted_one_by_one() -> None:
    table = pd.DataFrame({"pcc": [-0.3, 0.1, 0.28], "pcc_p": ["1e-5", "0.01", "0.2"],
                          "scc": [0.3, 0.28, -0.1], "scc_p": ["0.04", "1e-5", "0.02"]})  # fmt: skip
    # 0.30 (0.04) above 0.28 (1e-5); 0.28 (0.2) above 0.1 (0.01), but not above 0.1 (0.02)
    assert count_reversed(table) == 2
    assert count_reversed(table.assign(pcc_p="1e-5", scc_p="1e-5")) == 0


def test_the_pages_show_what_is_wrong_and_the_csv_all(found: pd.DataFrame) -> None:
    rows = as_read({"rows": replication_table(published_tables(), {})})["rows"]
    report = replication_report(rows, True, found)
    pages = {page["paper"]: page for page in report.content["errata"]}
    assert list(pages) == list(ERRATA)
    for title, papers in ERRATA.items():
        own = found[found["paper"].isin(papers)]
        wrong = own[own["verdict"] == ERROR]
        assert len(pages[title]["rows"]["rows"]) == len(wrong) == pages[title]["wrong"] >= 5
        released = own.loc[own["released"] != "", "released"]
        cells = " ".join(cell for row in pages[title]["rows"]["rows"] for cell in row)
        assert all(words in cells for words in released)
    assert len(report.tables["errata"]) == len(found)
    assert any(f"{(found['verdict'] == ERROR).sum()} do not hold" in one
               for one in report.content["findings"])  # fmt: skip
