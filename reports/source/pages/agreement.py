"""agreement.pdf: how well annotators agree, and whether it matters who they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from reports.source.document import (
    Block,
    Bullets,
    Column,
    Document,
    Heading,
    Note,
    Picture,
    Table,
    Text,
)
from reports.source.pages.bias import (
    likeness_section,
    likeness_sentence,
    order_section,
    order_sentence,
    people_section,
    verdicts_sentence,
)
from reports.source.pages.parts import (
    HONEST,
    MEAN,
    OVERALL,
    PUBLISHED,
    SECTIONS,
    Tables,
    capital,
    facts,
    known,
    missing_notes,
    named,
    only,
    whole_question,
    with_interval,
)
from reports.source.plots.agreement import (
    MOST_ROWS,
    WIDTH,
    kinds_figure,
    least_agreeing,
    measures_figure,
    mode_figure,
    pairs_figure,
    profiles_figure,
)
from reports.source.words import count, interval, listed, number, signed, whole

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
                f"annotator ({_mean_stars(low)}) and {high['annotator_id']} the most lenient "
                f"({_mean_stars(high)})."
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


def _mean_stars(row: pd.Series[Any]) -> str:
    ends = "" if pd.isna(row["low"]) else f" {interval(row['low'], row['high'])}"
    return f"{signed(row['estimate'])} stars{ends}"


def _said(head: str, text: str) -> str:
    return f"**{head}.** {text}" if text else ""


def method_section(tables: Tables) -> list[Block]:
    """Scale, intervals, tests and sources."""
    numbers = facts(tables)
    unit = "images" if pd.notna(numbers["images"]) else "samples"
    scale = f"{numbers['scale_low']:.0f} to {numbers['scale_high']:.0f}"
    items = [
        f"The scale is {scale}, whether or not every step was used; weights of kappa depend on it. "
        "A step of the scale is called a star. The mode is the most frequent rating, the lowest "
        "one where several are equally frequent. Where questions are taken together, all votes go "
        "into one kappa, so that differences between questions count as something to agree on.",
        f"Intervals of kappa, alpha and Fleiss' kappa are percentile bootstraps over {unit}, those "
        "of the ICC use the F distribution. They say what would change with other "
        f"{unit} and the same annotators.",
        "Comparisons of groups take annotators as the unit: Welch's t intervals, permutation "
        "tests, Holm's correction among the tests of one measure, two one-sided tests for "
        "equivalence. The rating level of an annotator is adjusted for which samples were seen.",
        "The model of all votes is a proportional-odds model with an effect of every annotator; "
        "these effects are then regressed on sex and age (restricted maximum likelihood, Knapp "
        "and Hartung's interval).",
        "Sources: Cohen 1968 (doi:10.1037/h0026256), Fleiss 1971 (doi:10.1037/h0031619), "
        "Krippendorff 2004 (doi:10.1111/j.1468-2958.2004.tb00738.x), Shrout and Fleiss 1979 "
        "(doi:10.1037/0033-2909.86.2.420), Schuirmann 1987 (doi:10.1007/BF01068419), PASTA "
        "(doi:10.48550/arXiv.2411.02470).",
    ]
    return [Heading("How it was computed"), Bullets(items)]
