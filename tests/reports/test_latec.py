"""What LATEC's text says of its printed tables: recomputed by hand here, and wrong tables found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reports.source.replication.latec import (
    COLUMNS,
    FAILS,
    HOLDS,
    MISPRINT,
    PARTLY,
    UNDECIDED,
    check_ranks,
    check_weighted_means,
    statement_table,
)
from reports.source.replication.rows import published_table


@pytest.fixture(scope="module")
def statements() -> pd.DataFrame:
    return statement_table()


def found(statements: pd.DataFrame, words: str) -> pd.Series:
    rows = statements[statements["statement"].str.contains(words, regex=False)]
    assert len(rows) == 1, words
    return rows.iloc[0]


def test_every_statement_has_a_verdict_and_what_it_rests_on(statements: pd.DataFrame) -> None:
    assert list(statements) == COLUMNS
    known = [HOLDS, PARTLY, FAILS, MISPRINT, UNDECIDED]
    assert statements["verdict"].isin(known).all()
    assert (statements["recomputed"] != "").all()
    assert (statements["where"] != "").all()
    assert not statements.duplicated(["where", "statement"]).any()
    assert (statements["verdict"] == FAILS).sum() >= 8


def test_the_printed_rankings_are_rankings_and_a_misread_one_is_found() -> None:
    ranks = published_table("latec_table02_ranks")
    assert [row["verdict"] for row in check_ranks(ranks, "x")] == [HOLDS, HOLDS]
    wrong = ranks.copy()
    wrong.loc[0, "average_rank"] = 12.0
    sums, ties = check_ranks(wrong, "x")
    assert sums["recomputed"] == ties["recomputed"] == "wrong: faithfulness image"
    assert sums["verdict"] == ties["verdict"] == FAILS


def test_table_2b_is_no_mean_over_architectures() -> None:
    """Oracle: OC on images has standard errors 1.97, 1.42 and 1.92 over 10 metrics."""
    sd = np.mean([1.97, 1.42, 1.92]) * np.sqrt(10) * np.sqrt(9 / 10)
    assert sd == pytest.approx(5.31, abs=0.005)


def test_counts_are_those_of_the_grid(statements: pd.DataFrame) -> None:
    assert found(statements, "7,560")["verdict"] == HOLDS
    row = found(statements, "2,520")
    assert row["verdict"] == FAILS
    assert row["n"] == 2880 == 3 * 20 * (17 + 17 + 14)


def test_the_extreme_of_oc_is_none(statements: pd.DataFrame) -> None:
    row = found(statements, "OC, with a deviation")
    assert row["verdict"] == FAILS
    assert row["recomputed"].startswith(
        "5.31 at 11.5: 11 of 17 methods are further from the middle"
    )
    assert "0 have a larger deviation" in row["recomputed"]


def test_attention_against_attribution_by_hand(statements: pd.DataFrame) -> None:
    ranks = published_table("latec_table02_ranks")
    part = ranks[(ranks["criterion"] == "faithfulness") & (ranks["modality"] == "image")]
    own = part[part["method"].isin(["RA", "RoA", "LA"])]["metric_sd"]
    rest = part[~part["method"].isin(["RA", "RoA", "LA"])]["metric_sd"]
    row = found(statements, "higher deviation of faithfulness (image)")
    assert row["recomputed"].startswith(f"{own.mean():.2f} against {rest.mean():.2f}")
    assert row["verdict"] == UNDECIDED
    assert row["p"] > 0.05
    for modality in ("volume", "point_cloud"):
        row = found(statements, f"higher deviation of faithfulness ({modality})")
        assert row["verdict"] == HOLDS
        assert row["p"] < 0.01


def test_relevance_filtered_attention_is_better_in_four_of_nine(statements: pd.DataFrame) -> None:
    row = found(statements, "consistently (RA)")
    assert row["verdict"] == FAILS
    assert row["recomputed"].startswith("better in 4 of 9")


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ("5.15", MISPRINT),
        ("CAM methods always", PARTLY),
        ("EG has always", PARTLY),
        ("most reliable", HOLDS),
        ("VG, which generalises", FAILS),
        ("GB, IxG, LIME and LRP is low", PARTLY),
        ("less complex", HOLDS),
        ("KS, EG and DLS metrics", HOLDS),
    ],
)
def test_statements_about_methods(statements: pd.DataFrame, words: str, verdict: str) -> None:
    assert found(statements, words)["verdict"] == verdict


def test_one_weighted_average_of_table_9_does_not_fit() -> None:
    table = published_table("latec_table09_sd")
    assert check_weighted_means(table)[0]["recomputed"] == "3DEffNetb0 2.99 for 2.97"
    fixed = table.copy()
    fixed.loc[(fixed["level"] == "3DEffNetb0") & (fixed["criterion"] == "weighted_average"),
              "metric_sd"] = 2.97  # fmt: skip
    assert check_weighted_means(fixed)[0]["verdict"] == HOLDS
