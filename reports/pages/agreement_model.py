"""One ordinal model of all votes, in words and numbers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.document import Block, Column, Heading, Note, Table, Text
from reports.pages.agreement_lookup import SURE, capital, known, missing_notes, only
from reports.pages.parts import Tables
from reports.words import interval, number, p_value


def model_section(tables: Tables) -> list[Block]:
    """The ordinal model as sentences and a table."""
    blocks: list[Block] = [Heading("One model of all votes", 2), *missing_notes(tables, "model")]
    rows = known(tables, "model")
    if rows.empty:
        return blocks
    effects = rows[rows["term"].isin(["kind", "sex", "age"])]
    said = [_model_sentence(row) for _, row in effects.iterrows()]
    spread = only(tables, "model", term="annotator")
    if spread is not None:
        said.append(
            "What is left between annotators has a standard deviation of "
            f"{number(spread['estimate'])} log odds."
        )
    lacking = tables["model"][tables["model"]["estimate"].isna()]
    for term, note in zip(lacking["term"], lacking["note"], strict=True):
        blocks.append(Note(f"{capital(str(term))}: {note}.", "missing"))
    if said:
        blocks.append(Text(" ".join(said)))
    table = rows.assign(what=[_term(row) for _, row in rows.iterrows()])
    columns = [
        Column("what", "term"),
        Column("n", "n", "0"),
        Column("estimate", "log odds", "signed"),
        Column("low", "95 % interval", "interval"),
        Column("odds_ratio", "odds ratio", "0.00"),
        Column("p", "p", "p"),
        Column("p_equivalence", "equivalence", "p"),
        Column("smallest_effect", "smallest effect", "0.00"),
    ]
    left_out = [note for note in dict.fromkeys(rows["note"].dropna()) if note]
    note = (
        "Rating by question, kind, sex, age and annotator (ordinal model). n counts votes, for sex "
        "and age annotators. Equivalence: p of the claim that the odds ratio lies between 1/1.68 "
        "and 1.68, a small effect. The values of p are not corrected for their number."
    )
    note += f" Remarks: {'; '.join(map(str, left_out))}." if left_out else ""
    return [*blocks, Table(table, columns, "Log odds of more stars.", note)]


def _term(row: pd.Series[Any]) -> str:
    if row["term"] == "annotator":
        return "annotators: standard deviation"
    against = "" if pd.isna(row["reference"]) or row["reference"] == "" else row["reference"]
    return f"{row['term']}: {row['level']}" + (f" rather than {against}" if against else "")


def _model_sentence(row: pd.Series[Any]) -> str:
    subject = {
        "kind": f"{row['level']} rather than {row['reference']} explanations",
        "sex": f"{row['level']} rather than {row['reference']} annotators",
        "age": "ten more years of age",
    }[row["term"]]
    odds = f"the odds of more stars by {number(row['odds_ratio'])}"
    ends = (
        ""
        if pd.isna(row["low"])
        else f", log odds {number(row['estimate'])} {interval(row['low'], row['high'])}"
    )
    text = f"{capital(subject)} multiply {odds} ({p_value(row['p'])}{ends})"
    if row["p"] < SURE:
        return f"{text}."
    if row["p_equivalence"] < SURE:
        return f"{text}, which chance may explain; a larger than small effect is ruled out."
    return f"{text}, which chance may explain; a small effect is not ruled out."
