"""All printed numbers in one table: ``paper | ours | 95 % interval | difference | verdict``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import pandas as pd

from reports.source.names import PERTURBATION_TITLES
from reports.source.replication.rows import (
    GIVEN,
    OUT_OF_REACH,
    PERTURBATIONS,
    beside,
    judged,
    over_runs,
    paper_rows,
    plain_variants,
    printed_rows,
    technique_keys,
    technique_titles,
)

Frames = Mapping[str, pd.DataFrame]
_METHODS = {"pcc": ("pearson", "Pearson"), "scc": ("spearman", "Spearman")}
_MEASURED = {  # columns of Table 11
    "faithfulness_road": ("faithfulness", "road", "faithfulness (ROAD)"),
    "max_sensitivity_gaussian": ("max_sensitivity", "gaussian", "MaxSens. (Gaussian)"),
    "sparseness": ("sparseness", "", "Sparseness"),
}
_NO_METRIC = "this metric was not measured"


def correlation_rows(paper: pd.DataFrame, ours: Frames, metric: str) -> pd.DataFrame:
    """Tables 1, 9 and 10: one row for each question, perturbation and coefficient.

    ``ours["correlations"]`` is a table of :mod:`pasta.studies.ratings.analyses.correlation`.
    """
    variants = [PERTURBATIONS[name] for name in paper.get("perturbation", ())]
    named = paper.assign(variant=variants or "", title=paper["question"])
    if variants:
        named["title"] += [f", {PERTURBATION_TITLES[name]}" for name in variants]
    columns = {
        column: {"quantity": title, "method": method, "metric": metric, "p": f"{column}_p"}
        for column, (method, title) in _METHODS.items()
    }
    rows = printed_rows(named, columns, "{title}", keys=["question", "variant"], by_line=True)
    found = ours.get("correlations")
    if found is not None and len(found):
        found = plain_variants(found[found["scope"] == "overall"])
    return beside(rows, found, ["question", "metric", "variant", "method"], _NO_METRIC)


def value_rows(paper: pd.DataFrame, ours: Frames, released: pd.DataFrame) -> pd.DataFrame:
    """Table 11: one row for each technique and metric.

    ``ours["values"]`` is a table of :mod:`pasta.studies.ratings.analyses.correlation`.
    """
    columns = {
        f"{column}_mean": {
            "quantity": title, "metric": metric, "variant": variant, "sd": f"{column}_sd"
        }
        for column, (metric, variant, title) in _MEASURED.items()
    }  # fmt: skip
    rows = printed_rows(_named(paper, released), columns, "{title}", keys=["technique"])
    found = ours.get("values")
    found = None if found is None or found.empty else plain_variants(found)
    return beside(rows, found, ["technique", "metric", "variant"], _NO_METRIC)


def _named(paper: pd.DataFrame, released: pd.DataFrame) -> pd.DataFrame:
    return paper.assign(technique=technique_keys(paper, released), title=technique_titles(paper))


_DIMENSIONS = {
    "fidelity_q1": ("fidelity", "fidelity (Q1)"),
    "complexity_q2_q3": ("complexity", "complexity (Q2, Q3)"),
    "objectivity_q4": ("objectivity", "objectivity (Q4)"),
    "robustness_q5_q6": ("robustness", "robustness (Q5, Q6)"),
}
_NO_TECHNIQUE = "no explanation of this technique was rated"
_NO_RANKING = "nobody ranked it"
_STAGES = ("training", "inference")


def technique_rows(paper: pd.DataFrame, ours: Frames, released: pd.DataFrame) -> pd.DataFrame:
    """Table 12: one row for each technique and dimension.

    ``ours["technique_scores"]`` is a table of :mod:`pasta.studies.ratings.analyses.preference`.
    """
    columns = {
        column: {"quantity": title, "dimension": dimension}
        for column, (dimension, title) in _DIMENSIONS.items()
    }
    rows = printed_rows(_named(paper, released), columns, "{title}", keys=["technique"])
    return beside(rows, ours.get("technique_scores"), ["technique", "dimension"], _NO_TECHNIQUE)


def quality_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 13: mean position of the five qualities (Q7).

    ``ours["positions"]`` is that of :func:`analysis.rankings.mean_positions`.
    """
    columns = {"mean_position": {"quantity": "mean position (Q7)", "question": "Q7", "sd": "sd"}}
    return _beside_positions(paper.rename(columns={"axiom": "ranked"}), columns, ours)


def question_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 14: mean position of the six questions by importance (Q8) and easiness (Q9)."""
    columns = {
        "q8_importance_mean": {"quantity": "mean position (Q8)", "question": "Q8", "sd": "q8_sd"},
        "q9_easiness_mean": {"quantity": "mean position (Q9)", "question": "Q9", "sd": "q9_sd"},
    }
    return _beside_positions(paper.rename(columns={"question": "ranked"}), columns, ours)


def text_rows(paper: pd.DataFrame, ours: Frames, version: str) -> pd.DataFrame:
    """Numbers in the running text.

    ``ours["facts"]`` has fact, estimate, low, high, n (:mod:`.measured`).
    """
    own = paper[paper["paper"] == version]
    shares = own["fact"] == "lowest_accuracy"  # all others that are measured are stars
    own = own.assign(design=own["kind"] == "design", margin=shares.map({True: 0.05, False: STARS}))
    columns = {"value": {"quantity": "{where}"}}
    rows = printed_rows(own, columns, "{what}", keys=["places", "design", "fact", "margin"])
    absent = "nothing in this project's tables says it yet"
    return beside(rows, ours.get("facts"), ["fact"], absent)


def _beside_positions(
    paper: pd.DataFrame, columns: Mapping[str, Mapping[str, object]], ours: Frames
) -> pd.DataFrame:
    rows = printed_rows(paper, columns, "{ranked}", keys=["ranked"])
    found = ours.get("positions")
    found = None if found is None else found.rename(columns={"item": "ranked"})
    return beside(rows, found, ["question", "ranked"], _NO_RANKING)


PEOPLE = "people (own vote in the mode)"
_MODELS = {"handcrafted": "handcrafted", "human": PEOPLE}
_ENCODERS = {"LLaVa": "llava", "SIGLIP": "siglip", "BLIP": "blip", "EVA": "eva"}
_MEASURES = {"MSE": "mse", "QWK": "qwk"}
_LEVELS = {  # of the ablations: ours by P1's, where the words differ
    ("split", "xai_id"): "technique",
    ("split", "img_id"): "image",
    ("label_input", "embeddings+labels"): "embeddings and labels",
    ("scoring_function", "pasta"): "pasta-linear",
    ("scoring_function", "mlp"): "mlp-100",
    ("saliency_image", "heatmap"): "overlay",
    ("saliency_image", "masked_image"): "masked",
    ("concept_embedding", "weighted"): "weighted sum",
    ("concept_embedding", "sentence_with_template"): "sentence with template",
}
# P1's SCC is the mean of rho and its p-value.
ABLATION_MEASURES = {"mse": "mse", "qwk": "qwk", "scc": "scc_as_published"}
_NO_SCORE = "this setup is not among the studies that were run"


def scorer_rows(paper: pd.DataFrame, ours: Frames, version: str) -> pd.DataFrame:
    """The main tables, one row for each measure, model and question.

    ``ours["score"]`` has study, level, question, measure, mean, sd, n, reason. P1's CLIP is our
    linear network, P2's our MLP; P1's SCC is the mean of rho and its p-value.
    """
    scores = _scores(ours, "main")
    levels = [] if scores is None else list(scores["level"].unique())
    network = {"P1": "pasta-linear", "P2": "pasta-mlp"}[version]
    measures = _MEASURES | {"SCC": {"P1": "scc_as_published", "P2": "spearman_of_stars"}[version]}
    rows = []
    for line in paper.to_dict("records"):
        model = str(line["model"])
        level = _MODELS.get(model, network)
        reach = reason = ""
        if model in _ENCODERS:
            level = _of_encoder(levels, _ENCODERS[model])
            if not level:
                reach, reason = OUT_OF_REACH, f"needs the weights of {model}"
        rows.append(
            {
                "item": f"{line['question']}, {model}",
                "quantity": str(line["metric"]),
                "paper_value": line["mean"],
                "paper_sd": line["sd"],
                "places": 2 if version == "P1" else 3,
                "question": line["question"],
                "level": level,
                "measure": measures[str(line["metric"])],
                "reach": reach,
                "reason": reason,
            }
        )
    return beside(paper_rows(rows), scores, ["level", "question", "measure"], _NO_SCORE)


def ablation_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """The ablations, one row for each level and measure; all about Q1."""
    printed = ablation_levels(paper)
    unread = printed["paper_value"].isna()
    rows = printed.assign(
        item=printed["study"] + ": " + printed["printed_level"],
        reach=unread.map({True: OUT_OF_REACH, False: ""}),
        reason=unread.map({True: "the printed number cannot be read", False: ""}),
    ).to_dict("records")
    named = [{str(key): value for key, value in row.items()} for row in rows]
    scores = _scores(ours, None)
    if scores is not None:
        scores = scores[scores["question"] == "Q1"]
    keys = ["study", "level", "measure"]
    return beside(paper_rows(named), scores, keys, _NO_SCORE)


def ablation_levels(paper: pd.DataFrame) -> pd.DataFrame:
    """P1's ablations with our words for studies and levels.

    Columns: study, level, printed_level, measure, quantity, paper_value, paper_sd.
    """
    rows = [
        {
            "study": str(line["factor"]).replace("_", " "),
            "level": _LEVELS.get((line["factor"], line["level"]), str(line["level"])),
            "printed_level": str(line["level"]).replace("_", " "),
            "measure": measure,
            "quantity": column.upper(),
            "paper_value": line[f"{column}_mean"],
            "paper_sd": line[f"{column}_sd"],
        }
        for line in paper.to_dict("records")
        for column, measure in ABLATION_MEASURES.items()
    ]
    return pd.DataFrame(rows)


def second_rows(paper: pd.DataFrame, _: Frames) -> pd.DataFrame:
    """P1's Table 2."""
    graphics = paper["device"] != "CPU"
    paper = paper.assign(
        reach=graphics.map({True: OUT_OF_REACH, False: ""}),
        reason=graphics.map({True: "needs the paper's graphics card", False: ""}),
    )
    columns = {f"{stage}_s": {"quantity": f"seconds of {stage}"} for stage in _STAGES}
    rows = printed_rows(paper, columns, "{device}", keys=["reach", "reason"], by_line=True)
    absent = "times of another machine are no finding; none are recorded for this table"
    return beside(rows, None, [], absent)


def kernel_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """P1's Table 23. ``ours["kernel_width"]`` has kernel_width, estimate, low, high."""
    columns = {"pasta_score": {"quantity": "PASTA-score of LIME"}}
    rows = printed_rows(paper, columns, "kernel width {kernel_width:g}", keys=["kernel_width"])
    absent = "the search for LIME's settings has not been run"
    return beside(rows, ours.get("kernel_width"), ["kernel_width"], absent)


def _scores(ours: Frames, study: str | None) -> pd.DataFrame | None:
    found = ours.get("score")
    if found is None or found.empty:
        return None
    return over_runs(found if study is None else found[found["study"] == study])


def _of_encoder(levels: list[str], encoder: str) -> str:
    """The level of the main study that has this encoder and P1's network; "" if there is none."""
    found = [
        level for level in levels if level.startswith(encoder) and level.endswith("pasta-linear")
    ]
    return found[0] if found else ""


_NEEDS_LATEC = "needs LATEC's models, volumes and point clouds, and its 20 metrics"
_NEEDS_METAPREDICTOR = "needs the experiment with participants who predict the model"
_NEEDS_ATTENTION = "needs the attention masks that people drew, and their ratings"


def latec_rows(paper: pd.DataFrame, _: Frames) -> pd.DataFrame:
    """LATEC's Table 2: average ranks, and the standard deviation over metrics."""
    paper = paper.assign(modality=paper["modality"].str.replace("_", " "))
    columns = {"average_rank": {"quantity": "rank in {criterion}", "sd": "metric_sd", "places": 1}}
    # A method that does not exist for point clouds has no rank.
    return _out_of_reach(printed_rows(paper, columns, "{method}, {modality}"), _NEEDS_LATEC)


def faithfulness_rows(paper: pd.DataFrame, _: Frames) -> pd.DataFrame:
    """The meta-predictor's Table 1: faithfulness of methods on three datasets."""
    columns = {
        dataset: {"item": f"{{method}}, {dataset.replace('_', ' ')}", "quantity": "faithfulness"}
        for dataset in ("husky_vs_wolf", "leaves", "imagenet")
    }
    return _out_of_reach(printed_rows(paper, columns), _NEEDS_METAPREDICTOR)


def experiment_rows(paper: pd.DataFrame, _: Frames) -> pd.DataFrame:
    """The meta-predictor's experiments: people, analysis of variance, rank correlation."""
    paper = paper.assign(experiment=paper["experiment"].str.replace("_", " "))
    columns = {
        "n_participants": {"quantity": "participants", "places": 0},
        "anova_F": {"quantity": "F of the analysis of variance", "places": 2, "p": "anova_p"},
        "eta_squared": {"quantity": "eta squared", "places": 3},
        "utility_faithfulness_rho": {"quantity": "rho of utility and faithfulness", "places": 2},
    }
    rows = printed_rows(paper, columns, "{experiment}", by_line=True)
    return _out_of_reach(rows, _NEEDS_METAPREDICTOR)


def attention_rows(paper: pd.DataFrame, _: Frames) -> pd.DataFrame:
    """Human attention: correlations, slopes and intercepts."""
    paper = paper.assign(comparison=paper["comparison"].str.replace("_", " "))
    columns = {
        "pearson_r": {"quantity": "Pearson's r", "places": 3, "p": "p"},
        "slope": {"quantity": "slope", "places": 3},
        "intercept": {"quantity": "intercept", "places": 3},
    }
    return _out_of_reach(
        printed_rows(paper, columns, "{comparison}", by_line=True), _NEEDS_ATTENTION
    )


def _out_of_reach(rows: pd.DataFrame, reason: str) -> pd.DataFrame:
    printed = rows.dropna(subset="paper_value").reset_index(drop=True)
    return beside(printed.assign(reach=OUT_OF_REACH, reason=reason), None, [], reason)


P1, P2 = "P1", "P2"
LATEC, METAPREDICTOR, ATTENTION = "LATEC", "Meta-predictor", "Human attention"
RELEASED = "released_technique_ids"
_MAPS = "Models, maps and images differ, and the metric may be implemented otherwise."
_VOTES = "The ratings are of other people, images and maps."
_SCORER = (
    "The encoder, the split, the number of explanations and the ratings differ; P1 split by image "
    "and left the class out of the input."
)


# How far a number may be from the printed one and still count as the same: fixed before looking.
CORRELATION, STARS, POSITIONS = 0.1, 0.25, 0.5
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
    margin: float | Mapping[str, float] = CORRELATION  # what counts as equal, by quantity
    released: bool = False  # whether the rows need the numbers of techniques


SECTIONS = (
    Section(P1, "Table 1", "Faithfulness against ratings", "pasta_v1_table01_faithfulness_vs_human",
            f"{_MAPS} {_VOTES}", partial(correlation_rows, metric="faithfulness")),
    Section(P1, "Table 2", "Seconds", "pasta_v1_table02_seconds",
            "Times depend on the machine.", second_rows),
    Section(P1, "Table 3", "The score on six questions", "pasta_v1_table03_scorer",
            f"{_SCORER} On both sides SCC is the mean of rho and its p-value, and people are "
            "compared with a mode that contains their own vote.",
            partial(scorer_rows, version=P1), margin=_SCORER_MARGINS),
    Section(P1, "Tables 4, 15–20", "Ablations of the score, Q1", "pasta_v1_ablations_q1",
            f"{_SCORER} Ours vary one thing around a centre with the class in the input.",
            ablation_rows, margin=_SCORER_MARGINS),
    Section(P1, "Table 9", "MaxSensitivity against ratings",
            "pasta_v1_table09_max_sensitivity_vs_human", f"{_MAPS} {_VOTES}",
            partial(correlation_rows, metric="max_sensitivity")),
    Section(P1, "Table 10", "Sparseness against ratings", "pasta_v1_table10_sparseness_vs_human",
            f"{_MAPS} {_VOTES}", partial(correlation_rows, metric="sparseness")),
    Section(P1, "Table 11", "Metric values of techniques", "pasta_v1_table11_metric_values", _MAPS,
            value_rows, released=True),
    Section(P1, "Table 12", "Mean mode of techniques", "pasta_v1_table12_mean_mode_per_technique",
            _VOTES, technique_rows, margin=STARS, released=True),
    Section(P1, "Table 13", "Ranking of qualities", "pasta_v1_table13_q7_axiom_rank",
            "Other people ranked.", quality_rows, margin=POSITIONS),
    Section(P1, "Table 14", "Ranking of questions", "pasta_v1_table14_q8_q9_question_rank",
            "Other people ranked.", question_rows, margin=POSITIONS),
    Section(P1, "Table 23", "LIME's kernel width", "pasta_v1_table23_lime_kernel_width",
            f"{_SCORER} {_MAPS}", kernel_rows, margin=STARS),
    Section(P1, "text", "Numbers in the text", "pasta_text_numbers",
            "Sizes are choices of a study and need not be equal. P1's 147 explanations for each "
            "annotator would make one rating of each explanation, not five.",
            partial(text_rows, version=P1), margin=STARS),
    Section(P2, "Table 1", "The score on six questions", "pasta_v2_table01_scorer",
            f"{_SCORER} P2 has ten times as many images; its encoders other than CLIP are compared "
            "with our linear network if they were run.", partial(scorer_rows, version=P2),
            margin=_SCORER_MARGINS),
    Section(P2, "text", "Numbers in the text", "pasta_text_numbers",
            "Sizes are choices of a study and need not be equal. P2's 633 000 ratings are 21 100 "
            "explanations with six questions and five votes.",
            partial(text_rows, version=P2), margin=STARS),
    Section(LATEC, "Table 2", "Average ranks of methods", "latec_table02_ranks",
            "Other models, data and metrics.", latec_rows),
    Section(METAPREDICTOR, "Table 1", "Faithfulness", "metapredictor_table01_faithfulness",
            "Other models and images.", faithfulness_rows),
    Section(METAPREDICTOR, "text", "Experiments", "metapredictor_tests", "Other people.",
            experiment_rows),
    Section(ATTENTION, "text", "Regressions", "human_attention_tests", "Other people and masks.",
            attention_rows),
)  # fmt: skip
COLUMNS = ["paper", "table", "title", *GIVEN, "difference", "verdict", "why"]


def replication_table(published: Frames, ours: Frames) -> pd.DataFrame:
    """Set every printed number beside ours.

    Parameters
    ----------
    published
        The papers' tables by file name (:func:`reports.source.replication.rows.published_tables`).
    ours
        Tables as they are there: ``correlations``, ``values``, ``technique_scores`` and
        ``positions`` (:mod:`pasta.studies.ratings.analyses`), ``score`` (the score's summary),
        ``facts`` (:mod:`reports.source.replication.measured`), ``kernel_width``. What is not there
        makes rows that say so.

    Returns
    -------
    DataFrame
        paper, table, title, item, quantity, paper_value, paper_sd, paper_p, places, ours, ours_sd,
        low, high, n, margin, design, reach, reason, difference, verdict, why
    """
    frames = []
    for section in SECTIONS:
        if section.file not in published:
            continue
        more = {"released": published[RELEASED]} if section.released else {}
        rows = judged(section.rows(published[section.file], ours, **more), section.margin)
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
