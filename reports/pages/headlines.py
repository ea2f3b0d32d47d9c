"""The headline numbers of the experiment, and how they changed since the version before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from pasta.paths import HEADLINES
from pasta.tracking import committed
from reports.document import Block, Column, Heading, PageBreak, Table, Text
from reports.pages.agreement_lookup import HONEST, PUBLISHED
from reports.pages.findings import QWK, Parts
from reports.pages.parts import chosen, known, table
from reports.words import count

READS = ("analyse/dataset", "analyse/agreement", "analyse/preference", "analyse/correlation",
         "score")  # fmt: skip
MOST_ROWS = 40
SAME = 1e-9


def headline_numbers(parts: Parts) -> dict[str, float]:
    """One number for each claim of the overview, under a name that stays the same.

    The names are ``part.what.of``, such as ``agreement.kappa.Q1`` or ``score.qwk.ordinal.Q1``.
    """
    found: dict[str, float] = {}
    facts = table(parts.get("dataset"), "study")
    for what in ("votes", "samples", "annotators"):
        for value in chosen(facts, what=what)["value"] if len(facts) else []:
            found[f"study.{what}"] = float(value)
    agreement = known(parts.get("agreement"), "agreement")
    for measure, name in ((HONEST, "kappa"), (PUBLISHED, "kappa_as_published")):
        found |= _by(chosen(agreement, measure=measure), "question", f"agreement.{name}")
    preference = parts.get("preference")
    found |= _by(known(preference, "kinds"), "group", "preference.stars", "question")
    found |= _by(known(preference, "ranking"), "technique", "preference.strength")
    ranks = chosen(known(parts.get("correlation"), "correlations"), method="spearman")
    ranks = chosen(ranks, scope="overall")
    if len(ranks):
        names = ranks["metric"] + ranks["variant"].fillna("").map(lambda one: f" {one}" * bool(one))
        found |= _by(ranks.assign(name=names), "name", "correlation.rho", "question")
    kappas = chosen(table(parts.get("score"), "summary"), **QWK)
    if len(kappas):
        kappas = kappas.rename(columns={"mean": "estimate"}).dropna(subset=["estimate"])
        found |= _by(kappas, "level", "score.qwk", "question")
    return found


def _by(
    rows: pd.DataFrame, column: str, prefix: str, second: str | None = None
) -> dict[str, float]:
    names = [f"{prefix}.{row[column]}" for _, row in rows.iterrows()]
    if second is not None and len(rows):
        names = [f"{name}.{of}" for name, of in zip(names, rows[second], strict=True)]
    return dict(zip(names, rows["estimate"].astype(float), strict=True)) if len(rows) else {}


def previous_headlines(
    root: Path, now: Mapping[str, float | None]
) -> dict[str, float | None] | None:
    """The numbers of the last commit that had others than now; None if there is none.

    While an annotation update is not committed, the version before is the last commit; once it is,
    the one before that.
    """
    wanted = {name: _rounded(value) for name, value in now.items()}
    for text in committed(root, HEADLINES, most=20):
        found: dict[str, float | None] = json.loads(text)
        if {name: _rounded(value) for name, value in found.items()} != wanted:
            return found
    return None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)


def changes(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> pd.DataFrame:
    """Numbers that are not what they were, largest change first; new and lost ones last.

    Returns
    -------
    DataFrame with name, before, after, difference (missing if one of the two is)
    """
    rows = []
    for name in dict.fromkeys([*after, *before]):
        old, new = (_number(source.get(name)) for source in (before, after))
        if np.isnan(old) and np.isnan(new):
            continue
        if not abs(new - old) <= SAME:  # also true if one of them is missing
            rows.append({"name": name, "before": old, "after": new, "difference": new - old})
    frame = pd.DataFrame(rows, columns=["name", "before", "after", "difference"])
    order = frame["difference"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def changes_blocks(
    before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> list[Block]:
    """A page on what changed since the version before."""
    blocks: list[Block] = [PageBreak(), Heading("Changes since the version before")]
    found = changes(before, after)
    both = set(before) & set(after)
    if found.empty:
        return [*blocks, Text(f"None of {count(len(both), 'headline number')} changed.")]
    moved = found.dropna(subset=["difference"])
    new, gone = len(set(after) - set(before)), len(set(before) - set(after))
    said = [f"{len(moved)} of {count(len(both), 'headline number')} changed."]
    if len(moved):
        top = moved.iloc[0]
        said.append(f"The largest change is that of {top['name']}.")
    if new:
        said.append(f"{count(new, 'number is', 'numbers are')} new.")
    if gone:
        said.append(f"{count(gone, 'number is', 'numbers are')} no longer there.")
    if len(found) > MOST_ROWS:
        said.append(f"The first {MOST_ROWS} are shown.")
    blocks.append(Text(" ".join(said)))
    columns = [
        Column("name", "Number"),
        Column("before", "Before", "0.000"),
        Column("after", "After", "0.000"),
        Column("difference", "Difference", "signed"),
    ]
    caption = "Headline numbers before and after, largest change first."
    return [*blocks, Table(found.head(MOST_ROWS), columns, caption)]
