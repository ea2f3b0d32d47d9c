"""The report on agreement in a few sentences, and the annotators who stand out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from reports.document import Block, Bullets, Column, Heading, Note, Picture, Table, Text
from reports.pages.agreement_likeness import likeness_sentence, order_sentence
from reports.pages.agreement_lookup import (
    HONEST,
    OVERALL,
    PUBLISHED,
    SECTIONS,
    capital,
    facts,
    known,
    missing_notes,
    only,
    whole_question,
    with_interval,
)
from reports.pages.agreement_people import verdicts_sentence
from reports.pages.parts import Tables
from reports.plots.bias import profiles_figure
from reports.words import count, interval, listed, number, signed, whole


def summary(tables: Tables) -> list[Block]:
    """What a reader in a hurry should know, and what is missing."""
    items = [
        _said("The study", study_sentence(tables)),
        _said("Agreement", mode_sentence(tables)),
        _said("Questions", _questions_sentence(tables)),
        _said("Kinds of explanation", kinds_sentence(tables)),
        _said("Who rates", verdicts_sentence(tables)),
        _said("Own words and boxes", likeness_sentence(tables)),
        _said("Order", order_sentence(tables)),
        _said("Annotators", look_at_sentence(tables)),
    ]
    blocks: list[Block] = [Heading("In short"), Bullets([item for item in items if item])]
    missing = tables["missing"]
    if len(missing):
        said = [
            f"{SECTIONS.get(str(section), str(section))} ({reason})"
            for section, reason in zip(missing["section"], missing["why"], strict=True)
        ]
        text = f"{capital(listed(said))}. The sections say more."
        blocks.append(Note(text, "missing"))
    return blocks


def study_sentence(tables: Tables) -> str:
    """Who rated what, and whether the votes are real."""
    numbers = facts(tables)
    if not numbers["votes"]:
        return "There are no ratings."
    text = (
        f"{count(int(numbers['annotators']), 'annotator')} gave "
        f"{count(int(numbers['votes']), 'vote')} to {count(int(numbers['samples']), 'sample')}"
    )
    if pd.notna(numbers["images"]):
        text += f" of {count(int(numbers['images']), 'image')}"
    text += f" on {count(int(numbers['questions']), 'question')}."
    fewest, most = numbers["fewest_votes"], numbers["most_votes"]
    each = whole(fewest) if fewest == most else f"{whole(fewest)} to {whole(most)}"
    votes = "vote" if fewest == most == 1 else "votes"
    text += f" A sample has {each} {votes} on a question."
    simulated = int(numbers["simulated_votes"])
    if simulated == numbers["votes"]:
        text += " All votes are simulated."
    elif simulated:
        text += f" {count(simulated, 'vote is', 'votes are')} simulated."
    return text


def mode_sentence(tables: Tables) -> str:
    """Mean kappa with the mode, fair and as published."""
    question = whole_question(tables, "agreement")
    questions = known(tables, "agreement", measure=HONEST)
    if questions.empty:
        return ""
    question = OVERALL if (questions["question"] == OVERALL).any() else question
    fair = only(tables, "agreement", measure=HONEST, question=question)
    published = only(tables, "agreement", measure=PUBLISHED, question=question)
    if fair is None:
        return ""
    text = (
        "With the mode of the others' votes annotators agree at a mean quadratic kappa of "
        f"{with_interval(fair)}."
    )
    if published is not None:
        text += (
            " With the mode that contains their own vote, as the papers compare, it is "
            f"{number(published['estimate'])}."
        )
    return text


def _questions_sentence(tables: Tables) -> str:
    alphas = known(tables, "agreement", measure="krippendorff_ordinal")
    if len(alphas) < 2:
        return ""
    ordered = alphas.sort_values("estimate")
    worst, best = ordered.iloc[0], ordered.iloc[-1]
    return (
        f"Agreement is best on {best['question']} (Krippendorff's alpha "
        f"{number(best['estimate'])}) and worst on {worst['question']} "
        f"({number(worst['estimate'])})."
    )


def kinds_sentence(tables: Tables) -> str:
    """On which questions annotators agree more on one kind than on another."""
    rows = known(tables, "kind_differences")
    if (rows["question"] != OVERALL).any():
        rows = rows[rows["question"] != OVERALL]
    text = []
    for (first, second), mine in rows.groupby(["first", "second"], sort=False):
        for sign, word in ((1, "more"), (-1, "less")):
            low, high = (mine["low"], mine["high"]) if sign > 0 else (-mine["high"], -mine["low"])
            sure = mine.assign(low=low, high=high)[low > 0]
            if len(sure):
                by = [
                    f"{question} (by {number(abs(value))} {interval(least, most)})"
                    for question, value, least, most in zip(
                        sure["question"], sure["estimate"], sure["low"], sure["high"], strict=True
                    )
                ]
                text.append(
                    f"Annotators agree {word} on {first} than on {second} explanations on "
                    f"{listed(by)}."
                )
        open_ones = mine[(mine["low"] <= 0) & (mine["high"] >= 0)]
        if len(open_ones):
            names = listed([str(name) for name in open_ones["question"]])
            text.append(
                f"On {names} the interval of the difference between {first} and {second} "
                "explanations contains 0."
            )
    return " ".join(text)


def look_at_sentence(tables: Tables) -> str:
    """Who stands out, in one sentence."""
    named = tables["look_at"]
    if not (tables["missing"]["section"] == "look_at").any() and named.empty:
        return "Nobody stands out."
    names = [str(name) for name in dict.fromkeys(named["annotator_id"])]
    return f"To look at, with the reasons in that section: {listed(names)}." if names else ""


def annotators_section(tables: Tables) -> list[Block]:
    """How each annotator rates, and who stands out."""
    blocks: list[Block] = [Heading("Annotators to look at")]
    blocks += missing_notes(tables, "profiles", "look_at")
    named = tables["look_at"]
    if len(named):
        blocks.append(
            Text(
                "To be named here is a reason to look, not to exclude: the annotator differs from "
                "the others by more than 3.5 robust standard deviations and by enough to matter, "
                "is twice as fast as they are, or is not shown to agree with them beyond chance."
            )
        )
        lines = [
            f"**{who}** {reason}."
            for who, reason in zip(named["annotator_id"], named["reason"], strict=True)
        ]
        blocks.append(Bullets(lines))
    elif not (tables["missing"]["section"] == "look_at").any():
        blocks.append(
            Text(
                "Nobody stands out: no annotator differs from the others by more than 3.5 robust "
                "standard deviations and by enough to matter, none is twice as fast as they are, "
                "and all are shown to agree with them beyond chance where enough was rated."
            )
        )
    figure = profiles_figure(tables["profiles"], named)
    if figure is None:
        return blocks
    severity = known(tables, "profiles", measure="severity").sort_values("estimate")
    if len(severity) > 1:
        low, high = severity.iloc[0], severity.iloc[-1]
        blocks.append(
            Text(
                f"On the same samples as the others, {low['annotator_id']} is the strictest "
                f"annotator ({_stars(low)}) and {high['annotator_id']} the most lenient "
                f"({_stars(high)})."
            )
        )
    caption = (
        "How each annotator rates, with 95 % intervals. Stars above the others: mean distance from "
        "the mean of the other votes on the same sample and question. All questions alike: share "
        "of samples with the same star on every question. Seconds: median time from one sample to "
        "the next."
    )
    if len(named):
        caption += " Orange: the annotators and measures named above."
    blocks.append(Picture(figure, caption, "Dots for each annotator and measure."))
    blocks += _favourites(tables)
    return blocks


def _favourites(tables: Tables) -> list[Block]:
    """The favourite star, which has no place in the figure."""
    frame = known(tables, "profiles", measure="favourite_share")
    frame = frame.sort_values("estimate", ascending=False).head(5)
    if frame.empty:
        return []
    columns = [
        Column("annotator_id", "annotator"),
        Column("n", "votes", "0"),
        Column("estimate", "share of the favourite star", "percent"),
    ]
    return [Table(frame, columns, "Who uses one star most often (the first five).")]


def _stars(row: pd.Series[Any]) -> str:
    ends = "" if pd.isna(row["low"]) else f" {interval(row['low'], row['high'])}"
    return f"{signed(row['estimate'])} stars{ends}"


def _said(head: str, text: str) -> str:
    return f"**{head}.** {text}" if text else ""
