"""The section on what people prefer: techniques, kinds of explanation, backbones, qualities."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from pasta.annotations.protocol import Protocol
from reports.document import Block, Column, Heading, Table, Text
from reports.names import model_name
from reports.pages.parts import ALPHA, Tables, known, missing, picture, table
from reports.pages.rankings import ranking_blocks
from reports.pages.techniques import favourite_blocks, order_blocks, score_blocks
from reports.plots.preference import KIND_COLOURS, groups_figure
from reports.words import count, interval, listed, number, p_value

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
