"""What people prefer: kinds, backbones, techniques, and what they rank highest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from pasta.annotations.protocol import Protocol
from reports.source.document import Block, Column, Heading, PageBreak, Table, Text
from reports.source.names import model_name, technique_name
from reports.source.pages.parts import ALPHA, Tables, known, missing, picture, table
from reports.source.plots.preference import (
    KIND_COLOURS,
    critical_difference_figure,
    favourites_figure,
    groups_figure,
    positions_figure,
    ranking_figure,
)
from reports.source.words import count, interval, listed, number, p_value, share, signed

KINDS = {"concept": "concept explanations", "saliency": "saliency maps"}


def preference_blocks(tables: Tables, protocol: Protocol) -> list[Block]:
    """The whole section, each part with its sentences; what is missing is said."""
    better = {name: protocol.question(name).direction or 1 for name in protocol.stars}
    return [
        Heading("What people prefer"),
        Text(_about(tables, better)),
        *_kinds(tables, better),
        *_backbones(tables, better),
        *order_blocks(tables),
        *favourite_blocks(tables),
        *ranking_blocks(tables, protocol),
        *score_blocks(tables),
    ]


def _about(tables: Tables, better: Mapping[str, int]) -> str:
    said = [
        "A sample's label is the mode of its votes, the smallest star if there are several.",
        "Intervals hold 95 %. Where kinds or backbones are compared, the question is whether a "
        "further technique of that kind would do as well, so intervals allow for samples that "
        "share a technique (for backbones: a method) or an image.",
    ]
    gaps = known(tables, "kind_differences")
    if len(gaps):
        said.append(
            "In tables of differences, a small p (equal) says that the two do not differ by more "
            f"than {number(float(gaps['margin'].iloc[0]))} stars, and _detectable_ is the smallest "
            "difference that a test finds with a chance of 80 %."
        )
    fewer = [name for name, sign in better.items() if sign < 0]
    if fewer:
        said.append(
            f"On {listed(fewer)} fewer stars are better: those stars are turned round where "
            "techniques are put in order, and left as they were given everywhere else."
        )
    said.append(
        "P1 and P2 are the first and the published version of the PASTA paper (arXiv 2411.02470)."
    )
    return " ".join(said)


def differences_in_words(
    differences: pd.DataFrame, name: Callable[[str], str], what: str
) -> list[str]:
    """Sentences on which comparisons are certain, which are equal in practice, and which open."""
    tested = differences.dropna(subset=["p"]) if len(differences) else differences
    if tested.empty:
        return []
    sure = tested[tested["p_holm"] < ALPHA]
    equal = tested[(tested["p_equivalence"] < ALPHA) & ~tested.index.isin(sure.index)]
    said = []
    if len(sure):
        found = [_difference(row, name) for _, row in sure.iterrows()]
        said.append(f"{what} differ clearly: {'; '.join(found)}.")
    else:
        said.append(
            f"No difference between {what[0].lower()}{what[1:]} is clear once "
            f"{count(len(tested), 'comparison')} are corrected for (Holm)."
        )
    if len(equal):
        margin = number(float(equal["margin"].iloc[0]))
        pairs = listed([f"{row['question']} ({_pair(row, name)})" for _, row in equal.iterrows()])
        said.append(f"Equal within {margin} stars: {pairs}.")
    rest = len(tested) - len(sure) - len(equal)
    if rest:
        least = float(tested["smallest_effect"].median())
        said.append(
            f"The other {count(rest, 'comparison')} {'is' if rest == 1 else 'are'} open: the study "
            f"could typically have seen a difference of {number(least)} stars or more."
        )
    return said


def _pair(row: pd.Series, name: Callable[[str], str]) -> str:
    first, _, second = str(row["comparison"]).partition(" - ")
    return f"{name(first)} and {name(second)}"


def _difference(row: pd.Series, name: Callable[[str], str]) -> str:
    first, _, second = str(row["comparison"]).partition(" - ")
    more = "more" if row["estimate"] > 0 else "fewer"
    return (
        f"on {row['question']} {name(first)} have {number(abs(row['estimate']))} stars {more} than "
        f"{name(second)} ({interval(row['low'], row['high'])}, {p_value(row['p_holm'])})"
    )


def _kinds(tables: Tables, better: Mapping[str, int]) -> list[Block]:
    means = known(tables, "kinds")
    blocks: list[Block] = [Heading("Saliency maps and concepts", 2)]
    if means.empty:
        return [*blocks, missing(tables, "Kinds of explanation", "kinds")]
    gaps = known(tables, "kind_differences")
    numbers = _technique_numbers(tables)
    said = differences_in_words(gaps, lambda kind: KINDS.get(kind, kind), "Kinds of explanation")
    if len(numbers) > 1:
        parts = [f"{count(n, 'technique')} of the kind {kind}" for kind, n in numbers.items()]
        said.append(f"The study has {listed(parts)}: the fewer there are, the wider the interval.")
    blocks.append(Text(" ".join(said)) if said else missing(tables, "Tests", "kind_differences"))
    blocks += picture(
        groups_figure(means, colours=KIND_COLOURS, better=better),
        "Mean label of each kind of explanation (P1, Figure 3a; P2, Figure 4).",
        "Dot plot of mean stars of concept explanations and saliency maps for each question",
        0.88,
    )
    if len(gaps):
        blocks.append(_difference_table(gaps, str, "Differences between kinds of explanation."))
    return blocks


def _technique_numbers(tables: Tables) -> dict[str, int]:
    ranked = table(tables, "ranking")
    if "kind" not in ranked:
        return {}
    return {str(kind): int(n) for kind, n in ranked["kind"].value_counts().items()}


def _backbones(tables: Tables, better: Mapping[str, int]) -> list[Block]:
    means = known(tables, "backbones")
    blocks: list[Block] = [Heading("Backbones of saliency methods", 2)]
    if means.empty:
        return [*blocks, missing(tables, "Backbones", "backbones")]
    gaps = known(tables, "backbone_differences")
    tested = gaps.dropna(subset=["p"]) if len(gaps) else gaps
    said = differences_in_words(
        gaps, lambda backbone: f"maps of {model_name(backbone)}", "Saliency maps of backbones"
    )
    if len(gaps) > len(tested):
        said.append(
            "A backbone with a single method cannot be compared: its maps say nothing about "
            "another method on it, and its interval is about images only."
        )
    if said:
        blocks.append(Text(" ".join(said)))
    blocks += picture(
        groups_figure(means, name=model_name, better=better),
        "Mean label of saliency maps by backbone (P1, Figure 3b; P2, Figure 5).",
        "Dot plot of mean stars of saliency maps for each backbone and question",
    )
    if len(tested):
        caption = "Differences between backbones of saliency methods."
        blocks.append(_difference_table(tested, model_name, caption))
    return blocks


def _difference_table(gaps: pd.DataFrame, name: Callable[[str], str], caption: str) -> Table:
    pairs = gaps["comparison"].str.partition(" - ")
    written = [f"{name(one)} − {name(two)}" for one, two in zip(pairs[0], pairs[2], strict=True)]
    return Table(
        gaps.assign(comparison=written),
        [
            Column("question", "Question"),
            Column("comparison", "Comparison"),
            Column("n", "Samples", "0"),
            Column("estimate", "Stars", "signed"),
            Column("low", "95 % interval", "interval"),
            Column("p_holm", "p (Holm)", "p"),
            Column("p_equivalence", "p (equal)", "p"),
            Column("smallest_effect", "Detectable", "0.00"),
        ],
        caption,
    )


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
