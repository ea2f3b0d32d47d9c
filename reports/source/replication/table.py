"""All printed numbers in one table: ``paper | ours | 95 % interval | difference | verdict``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd

from reports.source.replication.attention_tables import homogeneity_rows, line_rows
from reports.source.replication.latec_tables import (
    architecture_rows,
    dataset_rows,
    performance_rows,
    rank_rows,
    spread_rows,
)
from reports.source.replication.metapredictor_tables import (
    experiment_rows,
    faithfulness_rows,
    figure_rows,
    pair_rows,
)
from reports.source.replication.pasta_tables import (
    ablation_rows,
    correlation_rows,
    kernel_rows,
    kind_rows,
    quality_rows,
    question_rows,
    scorer_rows,
    second_rows,
    study_rows,
    technique_rows,
    value_rows,
)
from reports.source.replication.reasons import WAYS, explain_absence
from reports.source.replication.rows import GIVEN, Frames, judged, text_rows

P1, P2, TEXT = "P1", "P2", "text"
LATEC, METAPREDICTOR, ATTENTION = "LATEC", "Meta-predictor", "Human attention"
RELEASED = "released_technique_ids"
_MAPS = "Models, maps and images differ, and the metric may be implemented otherwise."
_VOTES = "The ratings are of other people, images and maps."
_LATEC = "Other classifiers and data; metrics and methods are as corrected, not as released."
_PEOPLE = "Other people, classifiers and images."
_RATED = "Other people, images and maps; the classifier is ResNet50 instead of VGG-19."
_FIGURES = (
    "The figures print no numbers; the text says that saliency gets more stars than concepts, and "
    "ResNet50 more than ViT-B and CLIP."
)
_SCORER = (
    "Encoder and network are the same; the split, the input of the class, the number of "
    "explanations and the ratings may differ. P1 split by image and left the class out of the "
    "input."
)


# How far a number may be from the printed one and still count as the same: fixed before looking.
CORRELATION, STARS, POSITIONS = 0.1, 0.25, 0.5
RANKS, DEVIATIONS, ACCURACY = 2.0, 0.5, 0.02
_SCORER_MARGINS = {"QWK": 0.1, "SCC": 0.1, "MSE": 0.25}


@dataclass(frozen=True)
class Section:
    """One printed table: where it stands, what it says, and why ours may differ."""

    paper: str
    table: str
    title: str
    file: str
    why: str
    rows: Callable[..., pd.DataFrame]
    way: str = "paper_p1"  # to numbers of ours, in reasons.yaml, unless a row has its own
    margin: float | Mapping[str, float] = CORRELATION  # what counts as equal, by quantity
    released: bool = False  # whether the rows need the numbers of techniques


SECTIONS = (
    Section(P1, "Table 1", "Faithfulness against ratings", "pasta_v1_table01_faithfulness_vs_human",
            f"{_MAPS} {_VOTES}", partial(correlation_rows, metric="faithfulness")),
    Section(P1, "Table 2", "Seconds", "pasta_v1_table02_seconds",
            "Times depend on the machine and on the number of explanations.", second_rows,
            "timing"),
    Section(P1, "Table 3", "The score on six questions", "pasta_v1_table03_scorer",
            f"{_SCORER} On both sides SCC is the mean of rho and its p-value, and people are "
            "compared with a mode that contains their own vote.",
            partial(scorer_rows, version=P1), margin=_SCORER_MARGINS),
    Section(P1, "Tables 4, 15–20", "Ablations of the score, Q1", "pasta_v1_ablations_q1",
            f"{_SCORER} All vary one thing around the same centre, which both sides print again "
            "in every table.", ablation_rows, margin=_SCORER_MARGINS),
    Section(P1, "Table 8", "Sizes of rating studies", "study_designs",
            "Sizes are choices of a study and need not be equal.", study_rows),
    Section(P1, "Table 9", "MaxSensitivity against ratings",
            "pasta_v1_table09_max_sensitivity_vs_human", f"{_MAPS} {_VOTES}",
            partial(correlation_rows, metric="max_sensitivity")),
    Section(P1, "Table 10", "Sparseness against ratings", "pasta_v1_table10_sparseness_vs_human",
            f"{_MAPS} {_VOTES}", partial(correlation_rows, metric="sparseness")),
    Section(P1, "Table 11", "Metric values of techniques", "pasta_v1_table11_metric_values", _MAPS,
            value_rows, released=True),
    Section(P1, "Table 12", "Mean mode of techniques", "pasta_v1_table12_mean_mode_per_technique",
            f"{_VOTES} P2 asks Q5 the other way round, so that its stars for robustness are not "
            "those of P1.", technique_rows, "released", margin=STARS, released=True),
    Section(P1, "Table 13", "Ranking of qualities", "pasta_v1_table13_q7_axiom_rank",
            "Other people ranked.", quality_rows, "rankings", margin=POSITIONS),
    Section(P1, "Table 14", "Ranking of questions", "pasta_v1_table14_q8_q9_question_rank",
            "Other people ranked.", question_rows, "rankings", margin=POSITIONS),
    Section(P1, "Table 23", "LIME's kernel width", "pasta_v1_table23_lime_kernel_width",
            f"{_MAPS} The score is that of this project's public scorer.", kernel_rows,
            margin=STARS),
    Section(P1, "Figures 3a, 3b", "Preferred kinds and backbones", "preferred_kinds",
            f"{_FIGURES} {_VOTES}", partial(kind_rows, version=P1), "released"),
    Section(P1, TEXT, "Numbers in the text", "text_numbers",
            "Sizes are choices of a study and need not be equal. P1's 147 explanations for each "
            "annotator would make one rating of each explanation, not five. Its appendix D.1 has "
            "24 images and 45 techniques where sections 3.1 and 3.3 have 25 and 46. Scores of "
            "explanations are those of this project's public scorer, losses of QWK those of its "
            "encoder.", partial(text_rows, version=P1), margin=STARS),
    Section(P2, "Table 1", "The score on six questions", "pasta_v2_table01_scorer",
            "Encoder and network are the same; the number of explanations and the ratings may "
            "differ. People are compared with a mode that contains their own vote.",
            partial(scorer_rows, version=P2), "released", margin=_SCORER_MARGINS),
    Section(P2, "Figures 4, 5", "Preferred kinds and backbones", "preferred_kinds",
            f"{_FIGURES} {_VOTES}", partial(kind_rows, version=P2), "released"),
    Section(P2, TEXT, "Numbers in the text", "text_numbers",
            "Sizes are choices of a study and need not be equal. P2's 633 000 ratings are 21 100 "
            "explanations with six questions and five votes; its text has 21 110 explanations. "
            "Figure 8 scores one map of each tower, ours is the mean over images and methods.",
            partial(text_rows, version=P2), "paper_p2", margin=STARS),
    Section(LATEC, "Table 2", "Places of methods", "latec_table02_ranks", _LATEC, rank_rows,
            "paper_latec", margin=RANKS),
    Section(LATEC, "Table 3", "Classifiers", "latec_table03_performance",
            "Classifiers are trained otherwise, the transformer for images is ViT-B instead of "
            "DeiT.", performance_rows, "paper_latec", margin=ACCURACY),
    Section(LATEC, "Table 9", "Deviations between metrics", "latec_table09_sd", _LATEC, spread_rows,
            "paper_latec", margin=DEVIATIONS),
    Section(LATEC, "Table 10", "Average ranks in each dataset", "latec_table10_ranks", _LATEC,
            dataset_rows, "paper_latec", margin=RANKS),
    Section(LATEC, "Tables 11, 12", "Places on CNNs and on transformers",
            "latec_table11_12_ranks", _LATEC, architecture_rows, "paper_latec", margin=RANKS),
    Section(LATEC, TEXT, "Numbers in the text", "text_numbers",
            "Sizes are choices of a study and need not be equal. Both correlations with F1 are the "
            "extremes of four means.", partial(text_rows, version=LATEC), "paper_latec"),
    Section(METAPREDICTOR, "Table 1", "Faithfulness", "metapredictor_table01_faithfulness",
            "Other models and images, which stand for the paper's as a biased, a hard and a "
            "useless task.", faithfulness_rows, "paper_mp"),
    Section(METAPREDICTOR, "Section 4", "Experiments", "metapredictor_tests",
            f"{_PEOPLE} Rank correlations are of six methods.", experiment_rows, "paper_mp"),
    Section(METAPREDICTOR, "Section 4.1", "Tukey's tests", "metapredictor_pairs",
            f"{_PEOPLE} The text gives p and says which is larger; ours is the difference with "
            "Tukey's interval. One p is a misprint, as the errata say.", pair_rows, "paper_mp"),
    Section(METAPREDICTOR, "Figures 4, 5, 6", "Above or below the baseline",
            "metapredictor_figures",
            f"{_PEOPLE} The figures print no numbers; the text says which conditions lie above 1, "
            "the baseline.", figure_rows, "paper_mp"),
    Section(METAPREDICTOR, TEXT, "Numbers in the text", "text_numbers",
            "Sizes are choices of a study and need not be equal.",
            partial(text_rows, version=METAPREDICTOR), "paper_mp"),
    Section(ATTENTION, "Figures 2, 4", "Regressions and correlations", "human_attention_tests",
            f"{_RATED} Intervals allow for images with several maps.", line_rows, "paper_ha"),
    Section(ATTENTION, "Section 4", "Tests of lines", "human_attention_homogeneity",
            f"{_RATED} The paper takes maps of the same image as independent, ours does not.",
            homogeneity_rows, "paper_ha"),
    Section(ATTENTION, TEXT, "Numbers in the text and in Table 1", "text_numbers",
            "Sizes are choices of a study and need not be equal.",
            partial(text_rows, version=ATTENTION), "paper_ha"),
)  # fmt: skip
COLUMNS = ["paper", "table", "title", *GIVEN, "difference", "verdict", "why", "command", "data"]


def replication_table(
    published: Frames, ours: Frames, sections: Sequence[Section] = SECTIONS
) -> pd.DataFrame:
    """Set every printed number beside ours.

    Parameters
    ----------
    published
        The papers' tables by file name (:func:`reports.source.replication.rows.published_tables`).
    ours
        Tables as they are there: ``correlations``, ``values``, ``technique_scores`` and
        ``positions`` (:mod:`pasta.studies.ratings.analyses`), ``score`` (the score's summary) and
        the others of :data:`reports.source.replication.collected.BESIDE`; ``facts``,
        ``kernel_width``, ``seconds``. What is not there makes rows that say so.
    sections
        Of which tables.

    Returns
    -------
    DataFrame
        paper, table, title, item, quantity, paper_value, paper_sd, paper_p, places, ours, ours_sd,
        low, high, n, margin, design, reach, reason, way, difference, verdict, why, and command
        and data, which say what makes the number ("" where nothing does)
    """
    frames = []
    for section in sections:
        if section.file not in published:
            continue
        more = {"released": published[RELEASED]} if section.released else {}
        rows = judged(section.rows(published[section.file], ours, **more), section.margin)
        rows = _with_ways(rows, section.way)
        rows = rows.assign(paper=section.paper, table=section.table, title=section.title)
        frames.append(rows.assign(why=section.why)[COLUMNS])
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat([frame.astype(object) for frame in frames], ignore_index=True).infer_objects()


def compare_study(published: Frames, ours: Frames, paper: str) -> pd.DataFrame:
    """The rows of one paper that have a number of ours, but for sizes and choices in its text."""
    own = [one for one in SECTIONS if one.paper == paper and one.table != TEXT]
    rows = replication_table(published, ours, own)
    return rows[rows["ours"].notna()].reset_index(drop=True)


def _with_ways(rows: pd.DataFrame, usual: str) -> pd.DataFrame:
    """Add what makes each number, and say it where ours is missing."""
    ways = rows["way"].replace("", usual)
    known = [WAYS.get(way) for way in ways]
    reasons = [
        explain_absence(reason, way) for reason, way in zip(rows["reason"], ways, strict=True)
    ]
    return rows.assign(
        way=ways,
        reason=reasons,
        command=["" if way is None else way.command for way in known],
        data=["" if way is None else way.data for way in known],
    )


def verdict_counts(rows: pd.DataFrame) -> pd.DataFrame:
    """How many numbers of each printed table have which verdict, in the order of the table."""
    keys = ["paper", "table", "title"]
    counts = rows.groupby([*keys, "verdict"]).size().unstack(fill_value=0)  # noqa: PD010
    return rows[keys].drop_duplicates().merge(counts.reset_index(), on=keys)
