"""All printed numbers in one table: ``paper | ours | 95 % interval | difference | verdict``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd

from reports.replication import sections
from reports.replication.rows import GIVEN, judged

Frames = Mapping[str, pd.DataFrame]
P1, P2 = "P1", "P2"
LATEC, METAPREDICTOR, ATTENTION = "LATEC", "Meta-predictor", "Human attention"
RELEASED = "released_technique_ids"

_MAPS = "Models, maps and images differ, and the metric may be implemented otherwise."
_VOTES = "The ratings are of other people, images and maps."
_SCORER = (
    "The encoder, the split, the number of explanations and the ratings differ; P1 split by image "
    "and left the class out of the input."
)


@dataclass(frozen=True)
class Section:
    """One printed table: where it stands, what it says, and why ours may differ."""

    paper: str
    table: str
    title: str
    file: str
    why: str
    rows: Callable[..., pd.DataFrame]
    released: bool = False  # whether the rows need the numbers of techniques


SECTIONS = (
    Section(P1, "Table 1", "Faithfulness against ratings", "pasta_v1_table01_faithfulness_vs_human",
            f"{_MAPS} {_VOTES}", partial(sections.correlation_rows, metric="faithfulness")),
    Section(P1, "Table 2", "Seconds", "pasta_v1_table02_seconds",
            "Times depend on the machine.", sections.second_rows),
    Section(P1, "Table 3", "The score on six questions", "pasta_v1_table03_scorer",
            f"{_SCORER} On both sides SCC is the mean of rho and its p-value, and people are "
            "compared with a mode that contains their own vote.",
            partial(sections.scorer_rows, version=P1)),
    Section(P1, "Tables 4, 15–20", "Ablations of the score, Q1", "pasta_v1_ablations_q1",
            f"{_SCORER} Ours vary one thing around a centre with the class in the input.",
            sections.ablation_rows),
    Section(P1, "Table 9", "MaxSensitivity against ratings",
            "pasta_v1_table09_max_sensitivity_vs_human", f"{_MAPS} {_VOTES}",
            partial(sections.correlation_rows, metric="max_sensitivity")),
    Section(P1, "Table 10", "Sparseness against ratings", "pasta_v1_table10_sparseness_vs_human",
            f"{_MAPS} {_VOTES}", partial(sections.correlation_rows, metric="sparseness")),
    Section(P1, "Table 11", "Metric values of techniques", "pasta_v1_table11_metric_values", _MAPS,
            sections.value_rows, released=True),
    Section(P1, "Table 12", "Mean mode of techniques", "pasta_v1_table12_mean_mode_per_technique",
            _VOTES, sections.technique_rows, released=True),
    Section(P1, "Table 13", "Ranking of qualities", "pasta_v1_table13_q7_axiom_rank",
            "Other people ranked.", sections.quality_rows),
    Section(P1, "Table 14", "Ranking of questions", "pasta_v1_table14_q8_q9_question_rank",
            "Other people ranked.", sections.question_rows),
    Section(P1, "Table 23", "LIME's kernel width", "pasta_v1_table23_lime_kernel_width",
            f"{_SCORER} {_MAPS}", sections.kernel_rows),
    Section(P1, "text", "Numbers in the text", "pasta_text_numbers",
            "Sizes are choices of a study and need not be equal. P1's 147 explanations for each "
            "annotator would make one rating of each explanation, not five.",
            partial(sections.text_rows, version=P1)),
    Section(P2, "Table 1", "The score on six questions", "pasta_v2_table01_scorer",
            f"{_SCORER} P2 has ten times as many images; its encoders other than CLIP are compared "
            "with our linear network if they were run.", partial(sections.scorer_rows, version=P2)),
    Section(P2, "text", "Numbers in the text", "pasta_text_numbers",
            "Sizes are choices of a study and need not be equal. P2's 633 000 ratings are 21 100 "
            "explanations with six questions and five votes.",
            partial(sections.text_rows, version=P2)),
    Section(LATEC, "Table 2", "Average ranks of methods", "latec_table02_ranks",
            "Other models, data and metrics.", sections.latec_rows),
    Section(METAPREDICTOR, "Table 1", "Faithfulness", "metapredictor_table01_faithfulness",
            "Other models and images.", sections.faithfulness_rows),
    Section(METAPREDICTOR, "text", "Experiments", "metapredictor_tests", "Other people.",
            sections.experiment_rows),
    Section(ATTENTION, "text", "Regressions", "human_attention_tests", "Other people and masks.",
            sections.attention_rows),
)  # fmt: skip

COLUMNS = ["paper", "table", "title", *GIVEN, "difference", "verdict", "why"]


def replication_table(published: Frames, ours: Frames) -> pd.DataFrame:
    """Set every printed number beside ours.

    Parameters
    ----------
    published
        The papers' tables by file name (:func:`reports.replication.rows.published_tables`).
    ours
        Tables as they are there: ``correlations`` and ``values`` (analysis.suites.correlation),
        ``score`` (the score's summary), ``technique_scores`` and ``positions``
        (analysis.suites.preference), ``facts`` (:mod:`reports.replication.measured`),
        ``seconds``, ``kernel_width``, ``latec``, ``metapredictor``, ``human_attention``. What is
        not there makes rows that say so.

    Returns
    -------
    DataFrame
        paper, table, title, item, quantity, paper_value, paper_sd, paper_p, places, ours, ours_sd,
        low, high, n, design, reach, reason, difference, verdict, why
    """
    frames = []
    for section in SECTIONS:
        if section.file not in published:
            continue
        more = {"released": published[RELEASED]} if section.released else {}
        rows = judged(section.rows(published[section.file], ours, **more))
        rows = rows.assign(paper=section.paper, table=section.table, title=section.title)
        frames.append(rows.assign(why=section.why)[COLUMNS])
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat([frame.astype(object) for frame in frames], ignore_index=True).infer_objects()


def verdict_counts(rows: pd.DataFrame) -> pd.DataFrame:
    """How many numbers of each printed table have which verdict, in the order of the table."""
    keys = ["paper", "table", "title"]
    counts = rows.groupby([*keys, "verdict"], sort=False).size().unstack(fill_value=0)  # noqa: PD010
    return counts.reset_index()
