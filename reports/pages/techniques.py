"""The order of techniques in the section on preferences."""

from __future__ import annotations

import pandas as pd

from reports.document import Block, Column, Heading, PageBreak, Table, Text
from reports.names import technique_name
from reports.pages.parts import ALPHA, Tables, known, missing, picture
from reports.plots.preference import critical_difference_figure, favourites_figure, ranking_figure
from reports.words import count, interval, number, p_value, share, signed

TOP = 12
DIMENSIONS = {
    "fidelity": "Fidelity",
    "complexity": "Complexity",
    "objectivity": "Objectivity",
    "robustness": "Robustness",
}


def order_blocks(tables: Tables) -> list[Block]:
    """Strengths by the model of all votes, and mean ranks with their critical difference."""
    ranked = known(tables, "ranking")
    blocks: list[Block] = [PageBreak(), Heading("The order of techniques", 2)]
    if ranked.empty:
        return [*blocks, missing(tables, "The order of techniques", "ranking")]
    blocks.append(Text(" ".join(order_in_words(ranked))))
    blocks += picture(
        ranking_figure(ranked),
        "Strength of each technique by the proportional-odds model of all votes. Bars on the right "
        "join techniques that tests of every two, corrected by Holm, did not tell apart.",
        "Dot plot of the strength of all techniques with intervals, best on top",
    )
    ranks = known(tables, "critical_difference")
    if ranks.empty:
        blocks.append(missing(tables, "Mean ranks over annotators", "critical_difference"))
        return blocks
    blocks.append(Text(mean_ranks_in_words(ranks)))
    kinds = dict(zip(ranked["technique"], ranked["kind"], strict=True))
    blocks += picture(
        critical_difference_figure(ranks, kinds),
        "Mean ranks over annotators with the critical difference; bars join techniques that are "
        "closer than that.",
        "Critical-difference picture of all techniques, best on top",
    )
    return blocks


def mean_ranks_in_words(ranks: pd.DataFrame) -> str:
    """What the annotators say as judges."""
    row = ranks.iloc[0]
    people = count(int(row["n"]), "annotator")
    differ = "Techniques differ" if row["p"] < ALPHA else "No difference between them is certain"
    return (
        f"The same with annotators as judges: {people} rank {len(ranks)} techniques by their own "
        f"mean stars. {differ} (Friedman's χ² = {number(row['chi_square'], 1)}, "
        f"{p_value(row['p'])}); two must be {number(row['critical_difference'], 1)} mean ranks "
        "apart to be told apart (Nemenyi). This speaks of these samples: all annotators saw "
        "explanations of the same images."
    )


def order_in_words(ranked: pd.DataFrame) -> list[str]:
    """Who leads, who is last, and how much of the order is certain."""
    first, last = ranked.iloc[0], ranked.iloc[-1]
    said = [
        f"**{technique_name(first['technique'])}** comes first of {len(ranked)} techniques "
        f"(strength {signed(first['estimate'])} {interval(first['low'], first['high'])}) and "
        f"**{technique_name(last['technique'])}** last "
        f"({signed(last['estimate'])} {interval(last['low'], last['high'])}). A strength is in log "
        "odds of more stars, 0 being the mean of all techniques.",
        f"The tests leave places {int(first['rank_low'])} to {int(first['rank_high'])} open for "
        f"the first and {int(last['rank_low'])} to {int(last['rank_high'])} for the last.",
    ]
    if "rank_bradley_terry" in ranked and ranked["rank_bradley_terry"].notna().all():
        moved = int((ranked["rank"] - ranked["rank_bradley_terry"]).abs().max())
        said.append(
            "A Bradley-Terry model of the same votes gives the same order."
            if moved == 0
            else "A Bradley-Terry model of the same votes moves no technique by more than "
            f"{count(moved, 'place')}."
        )
    return said


def favourite_blocks(tables: Tables) -> list[Block]:
    """How often each technique is among an annotator's best."""
    top = known(tables, "top_techniques")
    blocks: list[Block] = [Heading("Favourites", 2)]
    if top.empty:
        return [*blocks, missing(tables, "Favourites", "top_techniques")]
    blocks.append(Text(" ".join(favourites_in_words(top))))
    blocks += picture(
        favourites_figure(top),
        "How many annotators have a technique among their twelve favourites (P1, Figure 10).",
        "Bar chart of how many annotators have each technique among their favourites",
    )
    return blocks


def favourites_in_words(top: pd.DataFrame) -> list[str]:
    """Whose favourite the leader is, how many of the leaders are concepts, who is left out."""
    lead, best = top.iloc[0], top.head(TOP)
    never = int((top["count"] == 0).sum())
    said = [
        "An annotator's twelve favourites are the techniques with the best mean of the annotator's "
        "own stars; ties share the last places."
    ]
    if len(top) <= TOP:
        return [*said, f"There are no more than {len(top)} techniques: all are favourites."]
    said.append(
        f"{technique_name(lead['technique'])} is among those of {lead['count']:g} of "
        f"{count(int(lead['n']), 'annotator')} ({share(lead['estimate'])}, interval "
        f"{share(lead['low'])} to {share(lead['high'])})."
    )
    if best["kind"].notna().all():
        concepts = int((best["kind"] == "concept").sum())
        few = "none is" if not concepts else "1 is" if concepts == 1 else f"{concepts} are"
        said.append(f"Of the twelve most frequent {few} by concepts.")
    if never:
        some = "1 technique is" if never == 1 else f"{never} techniques are"
        said.append(f"{some} nobody's favourite and not drawn.")
    return said


def score_blocks(tables: Tables) -> list[Block]:
    """Mean label of each technique as a table (P1, Table 12)."""
    scores = known(tables, "technique_scores")
    blocks: list[Block] = [PageBreak(), Heading("Mean label of each technique", 2)]
    if scores.empty:
        return [*blocks, missing(tables, "Mean labels", "technique_scores")]
    wide = scores.pivot_table(index="technique", columns="dimension", values="estimate")
    half = (scores["high"] - scores["low"]) / 2
    numbers = scores.groupby("technique")["n"].max()
    there = [name for name in DIMENSIONS if name in wide]
    wide = wide.assign(n=numbers, kind=scores.groupby("technique")["kind"].first())
    wide = wide.sort_values(there[0], ascending=False, kind="stable").reset_index()
    wide = wide.assign(technique=[technique_name(key) for key in wide["technique"]])
    columns = [
        Column("technique", "Technique"),
        Column("kind", "Kind"),
        Column("n", "Samples", "0"),
    ]
    columns += [Column(name, DIMENSIONS[name], "0.00") for name in there]
    text = (
        "Fidelity is Q1, complexity Q2 and Q3, objectivity Q4, robustness Q5 and Q6. "
        f"Intervals reach {number(float(half.median()))} stars to each side at the median. "
        "Robustness averages stars as they were given, as in the paper, although much change is "
        "meant to be bad on Q5 and good on Q6."
    )
    caption = "Mean mode of each technique (P1, Table 12), by fidelity."
    return [*blocks, Text(text), Table(wide, columns, caption)]
