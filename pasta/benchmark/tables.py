"""What the stage `benchmark` leaves: every value of every cell, and what is known of the cells."""

from __future__ import annotations

from typing import get_args

from pasta.contracts import Table, a_name, a_number, a_text, matching, one_of
from pasta.readings import Reading
from pasta.tables import add_table

CRITERIA = ("faithfulness", "robustness", "complexity")
# Where the stage keeps its tables, and the maps of the images that are shown.
STAGE, MAPS = "benchmark", "maps"
VALUES, FACTS, RATED = "values.parquet", "facts.parquet", "rated.parquet"
EVERY = "all metrics"  # taken together, as one more criterion
ALL_MODALITIES = "all modalities"  # the same of inputs
READINGS: tuple[str, ...] = get_args(Reading)

BENCHMARK_VALUES = add_table(
    Table(
        "benchmark_values",
        "one metric of one map of the benchmark",
        ("dataset", "model", "method", "metric", "image_id", "reading"),
        {
            "dataset": a_name("a dataset"),
            "model": a_name("a classifier"),
            "method": a_name("an explanation method"),
            "metric": a_text("a metric", matching(r"\S+", "a metric")),
            "criterion": one_of(CRITERIA),
            "image_id": a_name("an image of the images table"),
            "value": a_number("any number; empty unless the status is ok", nullable=True),
            "direction": one_of(("higher", "lower")),
            "status": a_text("ok, or why there is no value"),
            "reading": one_of(READINGS),
        },
    )
)

BENCHMARK_FACTS = add_table(
    Table(
        "benchmark_facts",
        "what is known of a classifier, or of the maps of a method on it",
        ("dataset", "model", "method", "quantity", "reading"),
        {
            "dataset": a_name("a dataset"),
            "model": a_name("a classifier"),
            "method": a_text("an explanation method, or empty: of the classifier itself"),
            "quantity": a_name("what it is"),
            "value": a_number("any number, or empty", nullable=True),
            "note": a_text("words, or empty"),
            "reading": one_of(READINGS),
        },
    )
)
