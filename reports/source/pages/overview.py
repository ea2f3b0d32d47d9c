"""overview.pdf: the experiment on two pages, and what changed since the version before."""

from __future__ import annotations

from collections.abc import Mapping

from pasta.annotations.protocol import Protocol
from reports.source.document import Block, Bullets, Document, Heading, Note, Text
from reports.source.pages.applications import applications_findings
from reports.source.pages.headlines import (
    Parts,
    agreement_findings,
    bias_findings,
    changes_blocks,
    correlation_findings,
    headline_numbers,
    preference_findings,
    score_findings,
)
from reports.source.pages.parts import known, picture, table, why_missing
from reports.source.plots.preference import KIND_COLOURS, groups_figure
from reports.source.plots.score import people_and_score_figure
from reports.source.words import count, listed

MORE = {
    "dataset": "images, models, techniques, gallery, votes, and what people prefer",
    "agreement": "kappa, alpha and ICC, groups of annotators, each annotator",
    "correlation": "computational metrics against ratings",
    "score": "the score, its rivals and its ablations",
    "applications": "explanations chosen, steered and tuned by the score",
    "replication": "every number that the papers print, beside ours",
}


def overview_report(
    parts: Parts,
    applications: Parts,
    simulated: bool,
    *,
    protocol: Protocol,
    question: str,
    before: Mapping[str, float | None] | None = None,
) -> Document:
    """Make the overview; a part without tables is said to be missing.

    Parameters
    ----------
    parts
        Tables of any of ``dataset``, ``agreement``, ``preference``, ``correlation`` (as their
        suites leave them) and ``score`` (summary, differences).
    applications
        Tables of any application, as `applications_report` takes them.
    protocol, question
        What was asked; the question whose predicted stars the applications use.
    before
        Headline numbers of the version before; without them there is no page on changes.
    """
    up = protocol.question(question).direction or 1
    blocks: list[Block] = [
        Heading("What was done"),
        Text(_done(parts)),
        Heading("What was found"),
        *_agreement(parts),
        *_preference(parts, protocol),
        *_correlation(parts),
        *_score(parts),
        *_applications(applications, up),
        Heading("Where to read more"),
        Bullets([f"**{name}.pdf**: {about}" for name, about in MORE.items()]),
    ]
    if before is not None:
        blocks += changes_blocks(before, headline_numbers(parts))
    about = "What people think of explanations, what metrics and a learnt score make of them"
    return Document("overview", "PASTA in short", about, blocks, simulated, compact=True)


def _done(parts: Parts) -> str:
    facts = table(parts.get("dataset"), "study")
    values = {} if facts.empty else dict(zip(facts["what"], facts["value"], strict=True))
    steps = []
    if "images" in values:
        steps.append(
            f"Classifiers were trained and tested on {count(int(values['images']), 'image')} from "
            f"{count(int(values['datasets']), 'dataset')}."
        )
    if "techniques" in values:
        steps.append(
            f"{count(int(values['techniques']), 'technique')} explained their predictions, which "
            f"made {count(int(values['explanations']), 'explanation')}."
        )
    if "votes" in values:
        steps.append(
            f"{count(int(values['annotators']), 'annotator')} rated "
            f"{count(int(values['samples']), 'explanation')} of them on one to five stars for each "
            f"question, {count(int(values['votes']), 'vote')} in all."
        )
    tail = []
    if parts.get("correlation"):
        tail.append("computational metrics were held against the ratings")
    if parts.get("score"):
        tail.append("a score learnt to predict them")
    if tail:
        words = listed(tail)
        steps.append(f"{words[0].upper()}{words[1:]}.")
    return " ".join(steps) or "The sizes of the study were not counted."


def _part(title: str, said: list[str], why: str) -> list[Block]:
    heading = Heading(title, 2)
    return [heading, Text(" ".join(said))] if said else [heading, Note(f"{why}.", "missing")]


def _agreement(parts: Parts) -> list[Block]:
    tables = parts.get("agreement")
    return [
        *_part(
            "Do annotators agree?",
            agreement_findings(tables),
            f"Agreement: {why_missing(tables, 'agreement')}",
        ),
        *_part(
            "Does it matter who rates?",
            bias_findings(tables),
            f"Groups of annotators: {why_missing(tables, 'group_tests', 'sex', 'age', 'country')}",
        ),
    ]


def _preference(parts: Parts, protocol: Protocol) -> list[Block]:
    tables = parts.get("preference")
    better = {name: protocol.question(name).direction or 1 for name in protocol.stars}
    return [
        *_part(
            "What do people prefer?",
            preference_findings(tables),
            f"Preferences: {why_missing(tables, 'ranking', 'kinds')}",
        ),
        *picture(
            groups_figure(known(tables, "kinds"), colours=KIND_COLOURS, better=better),
            "Mean label of each kind of explanation, by question.",
            "Dot plot of mean stars of concept explanations and saliency maps for each question",
            0.8,
        ),
    ]


def _correlation(parts: Parts) -> list[Block]:
    tables = parts.get("correlation")
    return _part(
        "Do metrics agree with people?",
        correlation_findings(tables),
        f"Metrics against ratings: {why_missing(tables, 'correlations')}",
    )


def _score(parts: Parts) -> list[Block]:
    tables = parts.get("score")
    return [
        *_part(
            "Can the ratings be predicted?", score_findings(tables), "The score: it was not trained"
        ),
        *picture(
            people_and_score_figure(table(tables, "summary")),
            "Agreement with the label (quadratic kappa): scorers on explanations they have not "
            "seen, and annotators against the mode of the others.",
            "Dot plot of the quadratic kappa of scorers and of annotators for each question",
        ),
    ]


def _applications(tables: Parts, up: int) -> list[Block]:
    heading, said = Heading("What is the score good for?", 2), applications_findings(tables, up)
    if not said:
        return [heading, Note("Applications: they have not run.", "missing")]
    return [heading, Bullets(said)]
