"""applications.pdf: what the predicted score is used for, and whether people gain by it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pasta.annotations.protocol import Protocol
from reports.source.document import Block, Bullets, Column, Document, Heading, Note, Table, Text
from reports.source.pages.applications_choice import (
    CROSSED,
    ELSEWHERE,
    HELD_OUT,
    MEAN,
    Parts,
    change,
    examples_blocks,
    method_title,
    mixture_blocks,
    pareto_blocks,
    printed,
    served,
    top,
    verdict,
)
from reports.source.pages.applications_new_maps import (
    ALL,
    CONTRAST,
    backbones_blocks,
    backbones_finding,
    steering_blocks,
    steering_finding,
    tuning_blocks,
    tuning_finding,
)
from reports.source.pages.parts import Tables, chosen, one, table
from reports.source.replication.rows import published_table
from reports.source.words import count, listed, number, share


def applications_report(
    tables: Parts,
    pictures: Mapping[str, Path],
    simulated: bool,
    *,
    protocol: Protocol,
    question: str,
) -> Document:
    """Write the report; a part without tables, or a picture that is not there, is said to be so.

    Parameters
    ----------
    tables
        ``mixture``: choices, comparison, wins, places, agreement, examples. ``steering``: steered,
        curve. ``backbones``: scores, towers, summary, trends. ``tuning``: candidates, verdict,
        images, of all techniques below each other. All as read from CSV files.
    pictures
        Files by the names of :func:`pasta.applications.report_pictures.applications_pictures`.
    simulated
        Whether the votes are those of simulated raters.
    protocol, question
        What was asked, and the question whose predicted stars choose, steer and tune.
    """
    asked = protocol.question(question)
    up = asked.direction or 1
    mixture = tables.get("mixture")
    blocks: list[Block] = [
        *_short(tables, up),
        *_about(tables, simulated, f"{question}, “{asked.wording}”", up),
        *mixture_blocks(mixture, pictures, up),
        *pareto_blocks(mixture, pictures),
        *backbones_blocks(tables.get("backbones"), pictures),
        *steering_blocks(tables.get("steering"), pictures, up),
        *tuning_blocks(tables.get("tuning"), pictures, up),
        *examples_blocks(mixture, pictures),
        *_paper(tables),
        *_method(tables),
    ]
    about = "Choosing, placing, steering and tuning explanations by their predicted score"
    return Document("applications", "What the score is good for", about, blocks, simulated)


def _short(tables: Parts, up: int) -> list[Block]:
    said = applications_findings(tables, up)
    if not said:
        return [Heading("In short"), Note("No application has been run.", "missing")]
    return [Heading("In short"), Bullets(said)]


def _about(tables: Parts, simulated: bool, asked: str, up: int) -> list[Block]:
    turned = "" if up > 0 else " For this question few stars are good news."
    text = (
        "The score is the number of stars that people are predicted to give to an explanation. All "
        f"applications use that of {asked}{turned} What is chosen by a score looks good by this "
        "score, whether or not it is good. So three things are reported each time: the predicted "
        "stars, the faithfulness correlation with the model, and, where raters are simulated, the "
        "true quality that was planted in them, which neither scorer nor chooser has seen."
    )
    blocks: list[Block] = [Heading("What judges"), Text(text)]
    if simulated:
        blocks.append(
            Note(
                "True quality exists because the raters are simulated: maps that lie on the parts "
                "of the class, that are focused and that explain a right prediction are good. Its "
                "unit is the simulator's: all explanations lie within three of the mean. “People "
                "would be better served” means these simulated people. Whether real people would "
                "be has to be asked of real people.",
                "caution",
            )
        )
    few = _few(tables)
    return [*blocks, Note(few, "caution")] if few else blocks


def _few(tables: Parts) -> str:
    choices = table(tables.get("mixture"), "choices")
    said = []
    if len(choices):
        unseen = int(choices["held_out"].astype(bool).sum())
        said.append(
            f"The public scorer has left only {count(unseen, 'rated image')} of {len(choices)} "
            "aside. To judge the mixture on all of them, scorers of the same kind were also "
            "trained on folds of images (“cross-fitted”)."
        )
    steered = table(tables.get("steering"), "steered")
    if len(steered):
        said.append(f"Steering was tried on {count(steered['image'].nunique(), 'image')}.")
    verdicts = table(tables.get("tuning"), "verdict")
    if len(verdicts):
        number = int(verdicts.loc[verdicts["part"] == "held-out", "n"].max())
        said.append(f"Tuned settings were compared on {count(number, 'held-out image')}.")
    if not said:
        return ""
    return "Held-out images are few. " + " ".join(said) + " Small differences cannot be seen."


def _paper(tables: Parts) -> list[Block]:
    return [
        Heading("What was reproduced"),
        Table(
            pd.DataFrame(paper_rows(tables)),
            [
                Column("where", "Where"),
                Column("paper", "The paper"),
                Column("here", "Here"),
                Column("same", "Same?"),
            ],
            "The papers' applications beside ours.",
            note="Images, models and encoder are small stand-ins in the demo, so numbers are not "
            "expected to be equal; what can be compared is the direction.",
            widths=[0.13, 0.34, 0.38, 0.15],
        ),
    ]


def _method(tables: Parts) -> list[Block]:
    items = [
        "Scores: expected stars of the public scorer. Explanations that show nothing have no score "
        "and are left out.",
        "Faithfulness correlation: random subsets of pixels are made black, and the fall of the "
        "predicted class's probability is correlated with the relevance of the subset (Bhatt et "
        "al. 2020, doi:10.24963/ijcai.2020/417); all maps of an image are compared on the same "
        "subsets.",
        "Intervals: 95 %, percentiles of a bootstrap over images that draws both values of an "
        "image together; none for fewer than five images. They are not corrected for the number "
        "of comparisons.",
        "True quality of stored explanations is the planted one with its chance part; that of new "
        "maps, steered or tuned, is what the simulator would expect of them.",
        "Sources: PASTA (doi:10.48550/arXiv.2411.02470; P1 is its first version, P2 the published "
        "one), RISE (Petsiuk et al. 2018, doi:10.48550/arXiv.1806.07421), high-norm tokens (Darcet "
        "et al. 2024, doi:10.48550/arXiv.2309.16588).",
    ]
    if not any(len(own) for own in tables.values()):
        return []
    return [Heading("How it was computed"), Bullets(items)]


def applications_findings(tables: Parts, up: int = 1) -> list[str]:
    """Sentences for the overview; none about what was not computed.

    ``up`` is -1 where few predicted stars are good news.
    """
    said = [*_mixture(tables.get("mixture")), *_front(tables.get("mixture"))]
    trends = table(tables.get("backbones"), "trends")
    said += [backbones_finding(trends)] if len(trends) else []
    curve = table(tables.get("steering"), "curve")
    said += [steering_finding(curve)] if len(curve) else []
    verdicts = table(tables.get("tuning"), "verdict")
    for key in dict.fromkeys(verdicts["technique"]) if len(verdicts) else []:
        said.append(tuning_finding(chosen(verdicts, technique=key), up))
    return [sentence for sentence in said if sentence]


def _mixture(tables: Tables | None) -> list[str]:
    comparison = table(tables, "comparison")
    own = chosen(comparison, images=CROSSED)
    new = own if len(own) else chosen(comparison, images=HELD_OUT)
    row = one(new, measure="quality", against=ELSEWHERE)
    lost = one(new, measure="faithfulness", against=MEAN)
    if row is None:
        score = one(new, measure="score", against=MEAN)
        if score is None:
            return []
        text = (
            "Taking for each image the explanation with the best score changes predicted stars by "
            f"{change(score)} against the mean of all methods"
        )
    else:
        always = str(row["note"]).split(";")[0].removeprefix("always ")
        usual = " or ".join(method_title(key) for key in always.split(" or "))
        text = (
            f"Taking for each of {count(int(row['n']), 'image')} the explanation with the best "
            f"score changes true quality by {change(row)} against always taking {usual}: "
            f"{served(row)}"
        )
        public = one(comparison, images=HELD_OUT, measure="quality", against=ELSEWHERE)
        if len(own) and public is not None:
            text += (
                f" (by the public scorer, on the {count(int(public['n']), 'image')} it has not "
                f"seen: {change(public)})"
            )
    if lost is not None:
        text += f"; faithfulness changes by {change(lost, 3)} against the mean of all methods"
    return [f"{text}."]


def _front(tables: Tables | None) -> list[str]:
    places = table(tables, "places")
    if places.empty:
        return []
    front = places[places["on_front"].astype(bool)].sort_values("score", ascending=False)
    names = [method_title(str(key)) for key in front["technique"]]
    ends = listed(list(dict.fromkeys([names[0], names[-1]]))) if names else ""
    if not ends:
        return []
    return [
        f"{count(len(front), 'technique')} of {len(places)} are on the Pareto front of "
        f"plausible and faithful, whose ends are {ends}."
    ]


NOT_RUN = "not run"
_TABLE_23 = "pasta_v1_table23_lime_kernel_width"


def paper_rows(tables: Parts) -> list[dict[str, str]]:
    """One row for each figure or table: where, paper, here, same."""
    mixture, steering = tables.get("mixture"), tables.get("steering")
    return [
        _row("P2, Figure 1", "Methods lie in all four corners of faithful and plausible.",
             *_corners(mixture)),
        _row("P2, Figure 7", "FullGrad is chosen on nearly half of the images.", *_wins(mixture)),
        _row(
            "P2, text",
            f"Faithfulness of the selection {number(printed('mixture_faithfulness'), 4)}, of all "
            f"{number(printed('every_faithfulness'), 4)}: not compromised.",
            *_faithful(mixture),
        ),
        _row(
            "P2, Figure 8",
            "Scores of activation-based methods fall with the size of the backbone, others do not.",
            *_towers(tables.get("backbones")),
        ),
        _row(
            "P2, Figure 9",
            "Steered maps locate objects slightly better; at λ = 1 they invent zones.",
            *_steering(steering),
        ),
        _row("P1, Tables 21 and 22", "Votes and predicted scores of some explanations.",
             *_examples(mixture)),
        _row("P1, Table 23", _kernel_widths(), *_lime(tables.get("tuning"))),
        _row(
            "P1, Table 24",
            "Tuned maps look slightly more focused.",
            *_looks(tables.get("tuning")),
        ),
    ]  # fmt: skip


def _row(where: str, paper: str, here: str, same: str) -> dict[str, str]:
    return {"where": where, "paper": paper, "here": here, "same": same}


def _corners(mixture: Tables | None) -> tuple[str, str]:
    places = table(mixture, "places")
    if places.empty:
        return NOT_RUN, "–"
    front = int(places["on_front"].astype(bool).sum())
    agreement = table(mixture, "agreement")
    if agreement.empty:
        return f"{front} of {len(places)} techniques are on the front.", "–"
    low, high = agreement["estimate"].min(), agreement["estimate"].max()
    weak = max(abs(low), abs(high)) < 0.2
    return (
        f"Faithfulness and score correlate with {number(low)} to {number(high)} within images; "
        f"{front} of {len(places)} techniques are on the front.",
        "yes" if weak else "partly",
    )


def _wins(mixture: Tables | None) -> tuple[str, str]:
    every = chosen(table(mixture, "wins"), images="all")
    if every.empty:
        return NOT_RUN, "–"
    most = top(every, every["wins"])
    full = one(every[every["technique"].str.startswith("fullgrad/")])
    other = "" if full is None else f"; FullGrad has {share(full['share'])}"
    same = str(most["technique"]).startswith("fullgrad/")
    return (
        f"{method_title(most['technique'])} is chosen most, on {share(most['share'])}{other}.",
        "yes" if same else "no",
    )


def _faithful(mixture: Tables | None) -> tuple[str, str]:
    comparison = table(mixture, "comparison")
    name = CROSSED if len(chosen(comparison, images=CROSSED)) else HELD_OUT
    row = one(comparison, images=name, measure="faithfulness", against=MEAN)
    if row is None:
        return NOT_RUN, "–"
    same = {"worse": "no", "better": "yes", "open": "not clear", "unknown": "not clear"}
    return (
        f"{number(row['first'], 4)} and {number(row['second'], 4)}, a difference of "
        f"{change(row, 3)}.",
        same[verdict(row)],
    )


def _towers(backbones: Tables | None) -> tuple[str, str]:
    row = one(table(backbones, "trends"), group=ALL, family=CONTRAST, measure="score")
    if row is None:
        return NOT_RUN, "–"
    same = {"worse": "yes", "better": "no", "open": "not clear", "unknown": "not clear"}
    return (
        f"The change of activation-based maps is {change(row)} stars from that of the others. "
        "Distilled towers, as in the demo, are convolutional and have no tokens.",
        same[verdict(row)],
    )


def _steering(steering: Tables | None) -> tuple[str, str]:
    curve = table(steering, "curve")
    if curve.empty:
        return NOT_RUN, "–"
    last = curve["weight"].max()
    rows = {name: one(curve, weight=last, measure=name) for name in ("quality", "faithfulness")}
    said = [
        f"{words} {change(row)}"
        for (words, row) in zip(("true quality", "faithfulness"), rows.values(), strict=True)
        if row is not None
    ]
    quality: Any = rows["quality"]
    same = "not clear" if verdict(quality) in ("open", "unknown") else (
        "yes" if verdict(quality) == "better" else "no"
    )  # fmt: skip
    number_of = f"{int(curve['n'].max())} images"
    judged = ", ".join(said) or "only the score judges"
    return f"At λ = {last:g} against RISE, {number_of}: {judged}.", same


def _examples(mixture: Tables | None) -> tuple[str, str]:
    found = table(mixture, "examples")
    if found.empty:
        return NOT_RUN, "–"
    odd = int(found["group"].astype(str).str.endswith("predicted").sum())
    inside = int(found["mean"].between(found["low"], found["high"]).sum())
    return (
        f"{len(found)} explanations, {odd} of them chosen for being surprising; the mean vote of "
        f"{inside} lies within the predicted 90 % interval.",
        "same layout",
    )


def _kernel_widths() -> str:
    theirs = published_table(_TABLE_23)
    best = top(theirs, theirs["pasta_score"])
    return (
        f"LIME scores best with a kernel width of {best['kernel_width']:g} "
        f"({number(best['pasta_score'])} stars, {number(printed('lime_default'))} with 0.25); the "
        "text says 0.15."
    )


def _lime(tuning: Tables | None) -> tuple[str, str]:
    found = chosen(table(tuning, "verdict"), technique="lime/resnet50")
    row = one(found, part="held-out", measure="score")
    if row is None:
        return NOT_RUN, "–"
    quality = one(found, part="held-out", measure="quality")
    other = "" if quality is None else f", true quality {change(quality)}"
    same = {"better": "yes", "worse": "no", "open": "not clear", "unknown": "not clear"}
    return (
        f"{str(row['tuned']).replace('_', ' ').capitalize()} is chosen; on held-out images "
        f"{change(row)} stars{other}.",
        same[verdict(row)],
    )


def _looks(tuning: Tables | None) -> tuple[str, str]:
    found = table(tuning, "verdict")
    if found.empty:
        return NOT_RUN, "–"
    return "Pictures are shown above; nobody has rated them.", "not judged"
