"""What the stage `texts` leaves: texts, the weights of their words, and what these are worth."""

from __future__ import annotations

import re

import pandas as pd

from pasta.contracts import (
    Reference,
    Rule,
    Table,
    a_flag,
    a_name,
    a_number,
    a_text,
    a_whole,
    matching,
    one_of,
)
from pasta.tables import STATUSES, add_table

STAGE = "texts"  # where the stage keeps its tables, and the model
DOCUMENTS, EXPLANATIONS = "documents.parquet", "explanations.parquet"
WEIGHTS, METRICS, PROBLEMS = "weights.parquet", "metrics.parquet", "problems.parquet"
MODEL = "model"
RANDOM = "random"  # a random order of words, the floor that methods are compared with
TEXT_METRICS = {"comprehensiveness": "higher", "sufficiency": "lower", "cue_precision": "higher"}

_NUMBER = re.compile("[0-9]+")
_INDICES = "indices of words from 0, separated by blanks, or empty text"
_TEXT = Reference(("text_id",), "text_documents")


def _cues_are_words(frame: pd.DataFrame) -> pd.Series[bool]:
    pairs = zip(frame["cues"], frame["words"], strict=True)
    inside = [all(int(one) < words for one in _NUMBER.findall(cell)) for cell, words in pairs]
    return pd.Series(inside, index=frame.index, dtype=bool)


TEXT_DOCUMENTS = add_table(
    Table(
        "text_documents",
        "every text, its class, and what the classifier says",
        ("text_id",),
        {
            "text_id": a_name("a name without slash or space"),
            "split": one_of(("train", "validation", "test")),
            "label": a_text("a class"),
            "text": a_text("the text as it is"),
            "words": a_whole("how many words it has", 1),
            "cues": a_text(_INDICES, matching(r"([0-9]+( [0-9]+)*)?", _INDICES)),
            "predicted": a_text("a class"),
            "probability": a_number("probability of the predicted class", 0, 1),
            "explained": a_flag("whether its words have weights"),
        },
        rules=(Rule("cues", "indices below the number of words", _cues_are_words),),
    )
)

TEXT_EXPLANATIONS = add_table(
    Table(
        "text_explanations",
        "every explanation of a text",
        ("text_id", "method"),
        {
            "text_id": a_name("a text"),
            "method": a_name("an explanation method"),
            "predicted": a_text("the class that is explained"),
            "status": one_of(STATUSES),
            "words": a_whole("how many words the text has", 1),
        },
        (_TEXT,),
    )
)

WORD_WEIGHTS = add_table(
    Table(
        "word_weights",
        "what each word of an explained text weighs",
        ("text_id", "method", "word"),
        {
            "text_id": a_name("a text"),
            "method": a_name("an explanation method"),
            "word": a_whole("index of the word, from 0", 0),
            "weight": a_number("for the class if positive; empty if not finite", nullable=True),
        },
        (_TEXT,),
    )
)

TEXT_VALUES = add_table(
    Table(
        "text_metrics",
        "one metric of one explanation of a text",
        ("text_id", "method", "metric"),
        {
            "text_id": a_name("a text"),
            "method": a_name("an explanation method, or random"),
            "metric": one_of(tuple(TEXT_METRICS)),
            "value": a_number("any number; empty unless the status is ok", nullable=True),
            "direction": one_of(("higher", "lower")),
            "status": a_text("ok, or why there is no value"),
        },
        (_TEXT,),
    )
)

TEXT_PROBLEMS = add_table(
    Table(
        "text_problems",
        "what could not be used, by file and entry",
        (),
        {
            "file": a_text("a file below the root"),
            "entry": a_text("a place in it, or empty text"),
            "problem": a_text("what is wrong"),
            "expected": a_text("what was expected"),
        },
    )
)
