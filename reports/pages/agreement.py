"""agreement.pdf: how well annotators agree, and whether it matters who they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
from matplotlib.figure import Figure

from reports.document import Block, Column, Document, Heading, Note, Picture, Table, Text
from reports.pages.agreement_likeness import likeness_section, order_section
from reports.pages.agreement_lookup import (
    HONEST,
    MEAN,
    OVERALL,
    PUBLISHED,
    facts,
    known,
    missing_notes,
    named,
    only,
    whole_question,
    with_interval,
)
from reports.pages.agreement_method import method_section
from reports.pages.agreement_people import people_section
from reports.pages.agreement_short import annotators_section, kinds_sentence, summary
from reports.pages.parts import Tables
from reports.plots.agreement import (
    MOST_ROWS,
    WIDTH,
    kinds_figure,
    least_agreeing,
    measures_figure,
    mode_figure,
    pairs_figure,
)
from reports.words import count, listed, number

_TITLES = {
    PUBLISHED: "mode, as published",
    HONEST: "mode of the others",
    "pairwise_kappa": "pairs",
    "krippendorff_ordinal": "alpha",
    "icc1": "ICC(1)",
    "icc1k": "ICC(1, k)",
    "fleiss": "Fleiss",
}
FIRM, TENTATIVE = 0.8, 0.667  # Krippendorff's bars


def agreement_report(
    tables: Tables, simulated: bool, *, questions: Mapping[str, str] | None = None
) -> Document:
    """Write the report from the tables of :func:`analysis.suites.agreement.agreement_tables`.

    Parameters
    ----------
    tables
        As computed, or as read back from CSV files.
    simulated
        Whether any of the votes are simulated.
    questions
        What was asked, by the name of the question.
    """
    sections: list[Callable[[Tables], list[Block]]] = [
        summary,
        _questions_section,
        _mode_section,
        _pairs_section,
        _kinds_section,
        people_section,
        likeness_section,
        order_section,
        annotators_section,
        method_section,
    ]
    tables = named(tables)
    blocks: list[Block] = []
    for section in sections:
        blocks += section(tables)
        if section is summary and questions:
            blocks += _asked(questions, tables)
    annotators = facts(tables)["annotators"]
    return Document(
        name="agreement",
        title="Agreement and bias",
        subtitle=f"How well {count(int(annotators), 'annotator')} agree, "
        "and whether it matters who they are",
        blocks=blocks,
        simulated=simulated,
    )


def _asked(questions: Mapping[str, str], tables: Tables) -> list[Block]:
    used = set(tables["stars"]["question"].astype(str))
    rows = [(name, text) for name, text in questions.items() if name in used]
    if not rows:
        return []
    frame = pd.DataFrame(rows, columns=["question", "text"])
    columns = [Column("question", "question"), Column("text", "wording")]
    return [Table(frame, columns, "What annotators were asked.")]


def _questions_section(tables: Tables) -> list[Block]:
    blocks: list[Block] = [Heading("Agreement by question")]
    blocks += missing_notes(tables, "agreement")
    figure = measures_figure(tables["agreement"])
    if figure is not None:
        blocks.append(Text(_alpha_sentences(tables)))
        caption = "Measures of agreement by question, with 95 % intervals."
        alt = "Dots for each measure of agreement on each question; the numbers are in the table."
        blocks.append(Picture(figure, caption, alt))
        blocks.append(_measures_table(tables))
    blocks += _stars(tables)
    return blocks


def _alpha_sentences(tables: Tables) -> str:
    alphas = known(tables, "agreement", measure="krippendorff_ordinal")
    if alphas.empty:
        return "Krippendorff's alpha has no value here."
    ordered = alphas.sort_values("estimate", ascending=False)
    best, worst = ordered.iloc[0], ordered.iloc[-1]
    if len(ordered) == 1:
        text = f"Krippendorff's ordinal alpha is {with_interval(best)}."
    else:
        text = (
            f"Annotators agree most on {best['question']} (Krippendorff's ordinal alpha "
            f"{with_interval(best)}) and least on {worst['question']} ({with_interval(worst)})."
        )
    firm = [str(name) for name in ordered.loc[ordered["estimate"] >= FIRM, "question"]]
    some = ordered[(ordered["estimate"] >= TENTATIVE) & (ordered["estimate"] < FIRM)]
    tentative = [str(name) for name in some["question"]]
    text += f" Krippendorff asks for {number(FIRM)} before firm conclusions are drawn and for "
    text += f"{number(TENTATIVE, 3)} before tentative ones: "
    text += f"the first is reached by {listed(firm) or 'no question'}, "
    return text + f"the second but not the first by {listed(tentative) or 'no question'}."


def _measures_table(tables: Tables) -> Table:
    frame = tables["agreement"]
    names = [name for name in _TITLES if (frame["measure"] == name).any()]
    wide = frame[frame["measure"].isin(names)]
    order = list(dict.fromkeys(wide["question"]))
    rows = []
    for question in sorted(order, key=lambda name: name == OVERALL):
        row: dict[str, object] = {"question": "all" if question == OVERALL else question}
        for name in names:
            found = only(tables, "agreement", question=question, measure=name)
            row[name] = None if found is None else found["estimate"]
        rows.append(row)
    columns = [Column("question", "question")]
    columns += [Column(name, _TITLES[name], "0.00") for name in names]
    note = (
        "The first three are means of quadratic kappas over annotators or pairs. ICC(1) is the "
        "reliability of one vote, ICC(1, k) that of the mean of all votes on a sample. Fleiss' "
        "kappa counts neighbouring stars as plain disagreement. Intervals are in the figure and "
        "in agreement.csv."
    )
    return Table(pd.DataFrame(rows), columns, "Agreement by question.", note)


def _stars(tables: Tables) -> list[Block]:
    stars = tables["stars"]
    if stars.empty:
        return []
    scale = sorted(stars["rating"].unique())
    rows = []
    for question, mine in stars.groupby("question", sort=True):
        shares = dict(zip(mine["rating"], mine["share"], strict=True))
        rows.append(
            {"question": question, "n": mine["n"].sum()} | {str(s): shares[s] for s in scale}
        )
    columns = [Column("question", "question"), Column("n", "votes", "0")]
    columns += [Column(str(star), f"{star}", "percent") for star in scale]
    blocks: list[Block] = []
    single = [str(row["question"]) for row in rows if max(row[str(s)] for s in scale) == 1]
    if single:
        text = f"On {listed(single)} all votes are the same star: no measure of agreement beyond "
        blocks.append(Note(text + "chance has a value there.", "missing"))
    return [*blocks, Table(pd.DataFrame(rows), columns, "How the scale was used: share of votes.")]


def _mode_section(tables: Tables) -> list[Block]:
    blocks: list[Block] = [Heading("Each annotator against the mode")]
    blocks += missing_notes(tables, "with_mode")
    figure, question = mode_figure(tables["with_mode"]), whole_question(tables, "with_mode")
    if figure is None or question is None:
        return blocks
    honest = known(tables, "with_mode", question=question, label="leave_one_out")
    honest = honest[honest["annotator_id"] != MEAN].sort_values("estimate", ascending=False)
    names = least_agreeing(tables["with_mode"])
    best, worst = honest.iloc[0], honest.iloc[-1]
    text = (
        "The papers compare each annotator with the mode of all votes, the annotator's own among "
        "them, which makes everybody look better. The mode of the others' votes is the fair "
        "comparison and the ceiling for a score that is learnt from the votes."
    )
    if len(honest) > 1:
        text += (
            f" By it {best['annotator_id']} agrees most (kappa {with_interval(best)}) and "
            f"{worst['annotator_id']} least ({with_interval(worst)})."
        )
    caption = (
        "Quadratic kappa of each annotator with the mode of the votes, with 95 % intervals. Filled "
        "blue dots: mode of the other annotators. Open orange dots: mode that contains the "
        "annotator's own vote, as published."
    )
    if len(honest) > MOST_ROWS:
        caption += f" The {len(names)} of {len(honest)} annotators who agree least are shown."
    alt = f"Dots for {count(len(names), 'annotator')} on each question."
    return [*blocks, Text(text), Picture(figure, caption, alt), _mode_table(tables, question)]


def _mode_table(tables: Tables, question: str) -> Table:
    """Both comparisons of the annotators in the figure, all questions together."""
    rows = []
    for name in least_agreeing(tables["with_mode"]):
        row: dict[str, object] = {"annotator": name}
        for label in ("leave_one_out", "as_published"):
            keys = {"question": question, "annotator_id": name, "label": label}
            found = only(tables, "with_mode", **keys) or {}
            row |= {f"{label}_{key}": found.get(key) for key in ("n", "estimate", "low", "high")}
        rows.append(row)
    columns = [
        Column("annotator", "annotator"),
        Column("leave_one_out_n", "votes", "0"),
        Column("leave_one_out_estimate", "mode of the others", "0.00"),
        Column("leave_one_out_low", "95 % interval", "interval", other="leave_one_out_high"),
        Column("as_published_estimate", "as published", "0.00"),
        Column("as_published_low", "95 % interval", "interval", other="as_published_high"),
    ]
    where = "all questions together" if question == OVERALL else question
    caption = f"Quadratic kappa of each annotator with the mode, {where}."
    return Table(pd.DataFrame(rows, dtype=object), columns, caption)


def _pairs_section(tables: Tables) -> list[Block]:
    blocks: list[Block] = [Heading("Every two annotators")]
    blocks += missing_notes(tables, "pairs")
    figure, question = pairs_figure(tables["pairs"]), whole_question(tables, "pairs")
    if figure is None or question is None:
        return blocks
    rows = known(tables, "pairs", question=question)
    pairs = rows[rows["first"] != MEAN].sort_values("estimate", ascending=False)
    mean = only(tables, "pairs", question=question, first=MEAN)
    text = ""
    if mean is not None:
        text = (
            f"Two annotators agree with a quadratic kappa of {with_interval(mean)} on average "
            f"(mean over {count(len(pairs), 'pair')})."
        )
    if len(pairs) > 1:
        best, worst = pairs.iloc[0], pairs.iloc[-1]
        text += (
            f" Most alike are {best['first']} and {best['second']} ({number(best['estimate'])}), "
            f"least alike {worst['first']} and {worst['second']} ({number(worst['estimate'])})."
        )
    caption = (
        "Quadratic kappa of every two annotators on the samples that both rated, all questions "
        "together. Annotators who agree most with everybody come first."
    )
    alt = "A triangle of kappas, one for every two annotators; all are in pairs.csv."
    return [*blocks, Text(text), Picture(figure, caption, alt, _share(figure))]


def _share(figure: Figure) -> float:
    """Of the text's width, so that letters keep their size."""
    return min(1.0, figure.get_figwidth() / WIDTH)


def _kinds_section(tables: Tables) -> list[Block]:
    blocks: list[Block] = [Heading("By kind of explanation")]
    blocks += missing_notes(tables, "kinds", "kind_differences")
    figure = kinds_figure(tables["kinds"])
    if figure is None:
        return blocks
    sentence = kinds_sentence(tables)
    blocks += [Text(sentence)] if sentence else []
    caption = (
        "Mean quadratic kappa with the mode of the others, for each kind of explanation, with "
        "95 % intervals."
    )
    alt = "Dots for each kind of explanation on each question."
    blocks.append(Picture(figure, caption, alt, _share(figure)))
    rows = known(tables, "kind_differences")
    rows = rows[rows["question"] != OVERALL]
    if len(rows):
        frame = rows.assign(comparison=rows["first"] + " − " + rows["second"])
        columns = [
            Column("question", "question"),
            Column("comparison", "comparison"),
            Column("n", "annotators", "0"),
            Column("estimate", "difference in kappa", "signed"),
            Column("low", "95 % interval", "interval"),
        ]
        blocks.append(Table(frame, columns, "Difference in agreement between kinds."))
    return blocks
