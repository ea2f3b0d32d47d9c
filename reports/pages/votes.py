"""The section on votes: what was asked, how often it was answered, by whom and how."""

from __future__ import annotations

import pandas as pd

from pasta.annotations.protocol import Protocol
from reports.document import Block, Column, Heading, Note, Table, Text
from reports.pages.parts import Tables, missing, picture, table
from reports.plots.dataset import stars_figure
from reports.words import count, number, whole

FACTORS = {"sex": "Sex", "age_group": "Age", "country": "Country"}


def vote_blocks(counts: Tables, protocol: Protocol, simulated: bool) -> list[Block]:
    """Numbers of votes, the stars that were given, the plan and the people."""
    blocks: list[Block] = [Heading("Votes")]
    questions = table(counts, "questions")
    if questions.empty:
        return [*blocks, missing(counts, "Votes", "questions")]
    if simulated:
        blocks.append(
            Note(
                "The raters are a program. Every number below and in the chapter on preferences "
                "shows what the analysis makes of such votes, not what people think.",
                "caution",
            )
        )
    blocks.append(Text(" ".join(_in_words(questions))))
    blocks.append(_questions(questions, protocol))
    blocks += picture(
        stars_figure(table(counts, "stars")),
        "Share of each star, by question.",
        "Stacked bars of the share of one to five stars for each question",
    )
    plan = table(counts, "plan")
    if len(plan):
        blocks += [Heading("How the votes are spread", 2), Text(_evenness(plan)), _plan(plan)]
    people = table(counts, "people")
    blocks.append(Heading("Who voted", 2))
    if people.empty:
        return [*blocks, missing(counts, "Age, sex and country", "people")]
    shown = people.assign(factor=people["factor"].map(lambda name: FACTORS.get(name, name)))
    shown = shown.assign(factor=shown["factor"].where(~shown["factor"].duplicated(), ""))
    columns = [
        Column("factor", "Factor"),
        Column("group", "Group"),
        Column("n", "Annotators", "0"),
        Column("votes", "Votes", "0"),
        Column("share", "Share of votes", "percent"),
    ]
    blanks = shown.assign(factor=shown["factor"].replace("", " "))  # a dash would mean missing
    return [*blocks, Table(blanks, columns, "The annotators, as they describe themselves.")]


def _in_words(questions: pd.DataFrame) -> list[str]:
    ordered = questions.sort_values("mean", kind="stable")
    low, high = ordered.iloc[0], ordered.iloc[-1]
    total = int(questions["n"].sum())
    same = bool((questions["n"] == questions["n"].iloc[0]).all())
    each = f", {whole(questions['n'].iloc[0])} on each question" if same else ""
    return [
        f"There are {count(total, 'vote')}{each}.",
        f"The mean goes from {number(low['mean'])} stars on {low['question']} to "
        f"{number(high['mean'])} on {high['question']}.",
    ]


def _questions(questions: pd.DataFrame, protocol: Protocol) -> Table:
    asked = {question.id: question for question in protocol.questions}
    rows = []
    for _, row in questions.iterrows():
        question = asked.get(str(row["question"]))
        wording = "" if question is None else question.wording
        if question is not None and question.note:
            wording = f"{wording} ({question.note})"
        rows.append(row.to_dict() | {"wording": wording})
    columns = [
        Column("question", "Question"),
        Column("wording", "Wording"),
        Column("samples", "Samples", "0"),
        Column("annotators", "Annotators", "0"),
        Column("n", "Votes", "0"),
        Column("mean", "Mean", "0.00"),
        Column("sd", "SD", "0.00"),
    ]
    widths = [0.1, 0.41, 0.1, 0.13, 0.1, 0.08, 0.08]
    caption = "The questions and their votes."
    return Table(pd.DataFrame(rows), columns, caption, "SD: standard deviation.", widths)


def _evenness(plan: pd.DataFrame) -> str:
    rows = {(row["what"], row["of"]): row for _, row in plan.iterrows()}
    votes = rows.get(("annotators", "sample"))
    common = rows.get(("samples in common", "pair of annotators"))
    said = ""
    if votes is not None:
        said = (
            f"Every sample was rated by {whole(votes['least'])} annotators."
            if votes["least"] == votes["most"]
            else f"A sample was rated by {whole(votes['least'])} to {whole(votes['most'])} "
            f"annotators ({number(votes['mean'], 1)} on average)."
        )
    if common is not None:
        said += (
            f" Agreement between annotators rests on what two have in common: "
            f"{whole(common['least'])} to {whole(common['most'])} samples."
        )
    return said.strip()


def _plan(plan: pd.DataFrame) -> Table:
    named = [f"{row['what'].capitalize()} of a {row['of']}" for _, row in plan.iterrows()]
    columns = [
        Column("what", "Number of"),
        Column("levels", "Cases", "0"),
        Column("least", "Fewest", "0"),
        Column("mean", "Mean", "0.0"),
        Column("most", "Most", "0"),
    ]
    shown = plan.assign(what=[name.replace("of a image", "of an image") for name in named])
    shown = shown.assign(what=shown["what"].str.replace("of a annotator", "of an annotator"))
    return Table(shown, columns, "How evenly people and samples met.")
