"""What the papers got wrong about the score, as published and corrected."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from reports.document import Block, Column, Heading, Table, Text
from reports.names import BEST, LEAVE_ONE_OUT, OWN_VOTE, PUBLISHED
from reports.pages.parts import one, table
from reports.words import number

Frames = Mapping[str, pd.DataFrame]


def errata_blocks(main: pd.DataFrame, published: Frames) -> list[Block]:
    """SCC as half of rho, and people compared with a mode that contains their own vote."""
    blocks: list[Block] = [
        Heading("Two things the papers got wrong", 2),
        Text(
            "**SCC is half of rho.** P1 prints an SCC of, for instance, 0.25 ± 0.25. Spearman's "
            "test returns a pair, rho and its p-value; P1 averaged the pair. With p near zero the "
            "mean is half of rho, and the standard deviation of the pair is about as large. P2 "
            "prints rho itself. Both are in the next table."
        ),
    ]
    rows = []
    for question in sorted(main["question"].unique()):
        row: dict[str, object] = {"question": question}
        for level, short in (("pasta-linear", "linear"), (BEST, "ordinal")):
            for measure in ("spearman_of_stars", "scc_as_published"):
                found = one(main, level=level, question=question, measure=measure)
                row[f"{short} {measure}"] = found["mean"] if found else float("nan")
        for paper, file in PUBLISHED.items():
            line = one(table(published, file), metric="SCC", model="CLIP", question=question)
            row[paper] = line["mean"] if line else float("nan")
        rows.append(row)
    frame = pd.DataFrame(rows)
    blocks += _larger(frame)
    blocks.append(
        Table(
            frame,
            [
                Column("question", ""),
                Column("linear spearman_of_stars", "linear: rho", "0.00"),
                Column("linear scc_as_published", "mean of rho and p", "0.00"),
                Column("ordinal spearman_of_stars", "ordinal: rho", "0.00"),
                Column("ordinal scc_as_published", "mean of rho and p", "0.00"),
                Column("P1", "P1's SCC (CLIP)", "0.00"),
                Column("P2", "P2's SCC (CLIP)", "0.00"),
            ],
            "Spearman's correlation of stars, and what P1's formula makes of it.",
        )
    )
    blocks += _people(main, published)
    return blocks


def _larger(frame: pd.DataFrame) -> list[Block]:
    """Where P1's formula gives more than rho: a large p adds to it."""
    names = {"linear": "linear network", "ordinal": "ordinal model"}
    for short, name in names.items():
        rho, printed = frame[f"{short} spearman_of_stars"], frame[f"{short} scc_as_published"]
        apart = (printed - rho).to_numpy(float)
        if not (apart > 0).any():
            continue
        place = int(np.nanargmax(apart))
        return [
            Text(
                "The formula even rewards having no correlation, because p is then large: for the "
                f"{name} on {frame['question'].iloc[place]} rho is {number(rho.iloc[place])}, and "
                f"its mean with p {number(printed.iloc[place])}."
            )
        ]
    return []


def _people(main: pd.DataFrame, published: Frames) -> list[Block]:
    rows = []
    for question in sorted(main["question"].unique()):
        row: dict[str, object] = {"question": question}
        for level, short in ((OWN_VOTE, "own"), (LEAVE_ONE_OUT, "out")):
            for measure in ("qwk", "mse"):
                found = one(main, level=level, question=question, measure=measure)
                row[f"{short} {measure}"] = found["mean"] if found else float("nan")
        for paper, file in PUBLISHED.items():
            line = one(table(published, file), metric="QWK", model="human", question=question)
            row[paper] = line["mean"] if line else float("nan")
        rows.append(row)
    frame = pd.DataFrame(rows)
    gap = (frame["own qwk"] - frame["out qwk"]).dropna()
    said = f" Here it adds {number(gap.min())} to {number(gap.max())} to kappa." if len(gap) else ""
    return [
        Text(
            "**The ceiling contains the annotator's own vote.** Both papers compare an annotator "
            "with the mode of all votes, the annotator's among them. With five votes everybody "
            f"pulls the label along.{said} The honest ceiling of a score is the agreement with the "
            "mode of the others (leave one out)."
        ),
        Table(
            frame,
            [
                Column("question", ""),
                Column("own qwk", "own vote in the mode: QWK", "0.00"),
                Column("out qwk", "leave one out: QWK", "0.00"),
                Column("own mse", "own vote: MSE", "0.00"),
                Column("out mse", "leave one out: MSE", "0.00"),
                Column("P1", "P1, human: QWK", "0.00"),
                Column("P2", "P2, human: QWK", "0.00"),
            ],
            "People as if they were scorers: mean over annotators.",
        ),
    ]
