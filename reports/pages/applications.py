"""`applications.pdf`: what the predicted score is used for, and whether people gain by it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from pasta.annotations.protocol import Protocol
from reports.document import Block, Bullets, Column, Document, Heading, Note, Table, Text
from reports.pages.applications_backbones import backbones_blocks
from reports.pages.applications_examples import examples_blocks
from reports.pages.applications_findings import applications_findings
from reports.pages.applications_mixture import mixture_blocks, pareto_blocks
from reports.pages.applications_paper import paper_rows
from reports.pages.applications_steering import steering_blocks
from reports.pages.applications_tuning import tuning_blocks
from reports.pages.applications_words import Parts
from reports.pages.parts import table
from reports.words import count

__all__ = ["applications_findings", "applications_report"]


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
