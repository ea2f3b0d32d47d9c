"""The rankings of qualities and questions in the section on preferences."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from pasta.annotations.protocol import Protocol
from reports.document import Block, Heading, Text
from reports.pages.parts import ALPHA, Tables, known, missing, picture
from reports.plots.rankings import positions_figure
from reports.words import interval, number, p_value


def ranking_blocks(tables: Tables, protocol: Protocol) -> list[Block]:
    """What matters to people: mean positions, and whether people agree on them."""
    positions = known(tables, "positions")
    blocks: list[Block] = [Heading("What matters to people (Q7 to Q9)", 2)]
    if positions.empty:
        return [*blocks, missing(tables, "Rankings of qualities and questions", "positions")]
    ends = {one.id: (one.lowest or "", one.highest or "") for one in protocol.rankings}
    agreed = known(tables, "concordance")
    blocks.append(Text(" ".join(concordance_in_words(agreed, positions, ends))))
    blocks.append(
        Text(
            "Kendall's W is 1 if all people rank alike and 0 if not at all; p is from permutations."
        )
    )
    blocks += picture(
        positions_figure(positions, ends),
        "Mean position of each item (P1, Tables 13 and 14).",
        "Dot plots of mean positions of qualities and questions in the rankings Q7 to Q9",
    )
    return blocks


def concordance_in_words(
    agreed: pd.DataFrame, positions: pd.DataFrame, ends: Mapping[str, tuple[str, str]]
) -> list[str]:
    """For each ranking: what stands at its ends, and whether people agree on the order."""
    said = []
    for _, row in agreed.iterrows():
        question = str(row["question"])
        own = positions[positions["question"] == question]
        low, high = ends.get(question, ("first", "last"))
        w = f"W = {number(row['estimate'])} {interval(row['low'], row['high'])}"
        test = f"Friedman's χ² = {number(row['friedman'], 1)}, {p_value(row['p_permutation'])}"
        if row["p_permutation"] < ALPHA:
            first, last = own.iloc[0], own.iloc[-1]
            said.append(
                f"{question}: people agree more than by chance ({w}, {test}); {first['item']} is "
                f"nearest to “{low.lower()}” (mean position {number(first['estimate'], 1)}), "
                f"{last['item']} to “{high.lower()}” ({number(last['estimate'], 1)})."
            )
        else:
            said.append(f"{question}: no common order is seen ({w}, {test}).")
    return said
