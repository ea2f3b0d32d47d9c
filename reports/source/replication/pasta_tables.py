"""P1 and P2: every number that they print, as rows beside ours."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.source.names import LEAVE_ONE_OUT, PERTURBATION_TITLES
from reports.source.replication.reasons import MISSING, NEVER, NO_WAY
from reports.source.replication.rows import (
    OUT_OF_REACH,
    PERTURBATIONS,
    Frames,
    beside,
    over_runs,
    paper_rows,
    plain_variants,
    printed_rows,
    technique_keys,
    technique_titles,
)

_METHODS = {"pcc": ("pearson", "Pearson"), "scc": ("spearman", "Spearman")}
_MEASURED = {  # columns of Table 11
    "faithfulness_road": ("faithfulness", "road", "faithfulness (ROAD)"),
    "max_sensitivity_gaussian": ("max_sensitivity", "gaussian", "MaxSens. (Gaussian)"),
    "sparseness": ("sparseness", "", "Sparseness"),
}
# Metrics of maps alone are measured also where explanations come without their classifiers.
_METRICS = {
    "faithfulness": {"way": "paper_p1"},
    "max_sensitivity": {"way": "paper_p1"},
    "sparseness": {"way": "released"},
}
_NO_METRIC = {
    "faithfulness": MISSING["metric"],
    "max_sensitivity": MISSING["sensitivity"],
    "sparseness": MISSING["map"],
}


def correlation_rows(paper: pd.DataFrame, ours: Frames, metric: str) -> pd.DataFrame:
    """Tables 1, 9 and 10: one row for each question, perturbation and coefficient.

    ``ours["correlations"]`` is a table of :mod:`pasta.studies.ratings.analyses.correlation`.
    """
    variants = [PERTURBATIONS[name] for name in paper.get("perturbation", ())]
    named = paper.assign(variant=variants or "", title=paper["question"])
    if variants:
        named["title"] += [f", {PERTURBATION_TITLES[name]}" for name in variants]
    columns = {
        column: {
            "quantity": title, "method": method, "metric": metric, "p": f"{column}_p",
            **_METRICS[metric],
        }
        for column, (method, title) in _METHODS.items()
    }  # fmt: skip
    rows = printed_rows(named, columns, "{title}", keys=["question", "variant"], by_line=True)
    found = ours.get("correlations")
    if found is not None and len(found):
        found = plain_variants(found[found["scope"] == "overall"])
    return beside(rows, found, ["question", "metric", "variant", "method"], _NO_METRIC[metric])


def value_rows(paper: pd.DataFrame, ours: Frames, released: pd.DataFrame) -> pd.DataFrame:
    """Table 11: one row for each technique and metric.

    ``ours["values"]`` is a table of :mod:`pasta.studies.ratings.analyses.correlation`.
    """
    columns = {
        f"{column}_mean": {
            "quantity": title, "metric": metric, "variant": variant, "sd": f"{column}_sd",
            **_METRICS[metric],
        }
        for column, (metric, variant, title) in _MEASURED.items()
    }  # fmt: skip
    rows = printed_rows(_named(paper, released), columns, "{title}", keys=["technique"])
    found = ours.get("values")
    found = None if found is None or found.empty else plain_variants(found)
    parts = [
        beside(part, found, ["technique", "metric", "variant"], _NO_METRIC[str(metric)])
        for metric, part in rows.groupby("metric", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def _named(paper: pd.DataFrame, released: pd.DataFrame) -> pd.DataFrame:
    return paper.assign(technique=technique_keys(paper, released), title=technique_titles(paper))


_DIMENSIONS = {
    "fidelity_q1": ("fidelity", "fidelity (Q1)"),
    "complexity_q2_q3": ("complexity", "complexity (Q2, Q3)"),
    "objectivity_q4": ("objectivity", "objectivity (Q4)"),
    "robustness_q5_q6": ("robustness", "robustness (Q5, Q6)"),
}


def technique_rows(paper: pd.DataFrame, ours: Frames, released: pd.DataFrame) -> pd.DataFrame:
    """Table 12: one row for each technique and dimension.

    ``ours["technique_scores"]`` is a table of :mod:`pasta.studies.ratings.analyses.preference`.
    """
    columns = {
        column: {"quantity": title, "dimension": dimension}
        for column, (dimension, title) in _DIMENSIONS.items()
    }
    rows = printed_rows(_named(paper, released), columns, "{title}", keys=["technique"])
    rows = _unreadable(rows, NEVER["table12"])
    found = ours.get("technique_scores")
    return beside(rows, found, ["technique", "dimension"], MISSING["technique"])


def _unreadable(rows: pd.DataFrame, reason: str) -> pd.DataFrame:
    """Say of rows without a printed number why they have none; ours stand in the table."""
    lost = rows["paper_value"].isna()
    return rows.assign(
        reach=rows["reach"].mask(lost, OUT_OF_REACH), reason=rows["reason"].mask(lost, reason),
        way=rows["way"].mask(lost, NO_WAY),
    )  # fmt: skip


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


def kind_rows(paper: pd.DataFrame, ours: Frames, version: str) -> pd.DataFrame:
    """What figures show and the text says of them: which of two groups gets more stars.

    ``ours["kind_differences"]`` and ``ours["backbone_differences"]`` are tables of
    :mod:`pasta.studies.ratings.analyses.preference`.
    """
    own = paper[paper["paper"] == version].assign(zero=0.0)
    columns = {"zero": {"quantity": "{where}"}}
    keys = ["question", "comparison", "side"]
    rows = printed_rows(own, columns, "{question}: {what}", keys=keys)
    there = [ours[name] for name in ("kind_differences", "backbone_differences") if name in ours]
    found = pd.concat(there, ignore_index=True) if there else None
    return beside(rows, found, ["question", "comparison"], MISSING["kinds"])


_SIZES = {  # columns of Table 8, and what is the same in our study
    "n_samples": ("ratings", "ratings"),
    "n_participants": ("participants", "annotators"),
    "n_questions": ("questions", "questions"),
    "n_xai": ("methods", "methods"),
    "n_data": ("images or other data", "images"),
}
OWN_STUDY = "PASTA v1"  # in Table 8


def study_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 8: sizes of rating studies. P1's own line stands beside ours."""
    own = paper[paper["where"] == "P1, table 8"]
    other = own["study"] != OWN_STUDY
    own = own.assign(
        reach=other.map({True: OUT_OF_REACH, False: ""}),
        reason=other.map({True: NEVER["others"], False: ""}),
        way=other.map({True: NO_WAY, False: ""}),
    )
    columns = {
        column: {"quantity": title, "fact": fact, "places": 0, "design": True}
        for column, (title, fact) in _SIZES.items()
    }
    rows = printed_rows(own, columns, "{study}", keys=["reach", "reason", "way"], by_line=True)
    rows = rows.dropna(subset="paper_value")  # "NA", and "No" where nothing is compared
    rows = rows.assign(fact=rows["fact"].mask(rows["reach"] != "", "")).reset_index(drop=True)
    return beside(rows, ours.get("facts"), ["fact"], MISSING["fact"])


def _beside_positions(
    paper: pd.DataFrame, columns: Mapping[str, Mapping[str, object]], ours: Frames
) -> pd.DataFrame:
    rows = printed_rows(paper, columns, "{ranked}", keys=["ranked"])
    found = ours.get("positions")
    found = None if found is None else found.rename(columns={"item": "ranked"})
    return beside(rows, found, ["question", "ranked"], MISSING["ranking"])


# The papers' models as ours: encoder and scorer. P1's network is linear, P2's a perceptron.
CLIP, HANDCRAFTED = "clip-vit-l-14-336", "handcrafted"
_PEOPLE = ("none", "people")
_MODELS = {
    "P1": {
        "CLIP": (CLIP, "pasta-linear"),
        "LLaVa": ("llava-1.5-7b", "pasta-linear"),
        "handcrafted": (HANDCRAFTED, "handcrafted-pasta"),
        "human": _PEOPLE,
    },
    "P2": {
        "CLIP": (CLIP, "pasta-mlp"),
        "SIGLIP": ("siglip-vit-l-16-384", "pasta-mlp"),
        "BLIP": ("blip-base", "pasta-mlp"),
        "EVA": ("eva02-l-14-336", "pasta-mlp"),
        "human": _PEOPLE,
    },
}
_SCORER_WAYS = {  # where it is not that of the whole table
    ("P1", "human"): "released",
    **{("P2", model): "released_encoder" for model in ("CLIP", "BLIP", "EVA")},
}
_NETWORKS = {
    "pasta-linear": "the linear network",
    "handcrafted-pasta": "the linear network",
    "pasta-mlp": "the perceptron",
    "people": "people",
}
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
_KEYS = ["encoder", "scorer", "question", "measure"]


def scorer_rows(paper: pd.DataFrame, ours: Frames, version: str) -> pd.DataFrame:
    """The main tables, one row for each measure, model and question.

    ``ours["score"]`` has study, level, scorer, encoder, question, measure, mean, sd, n, reason. A
    printed model stands beside ours only if encoder and network are the same; people are compared
    with a mode that contains their own vote, as in the papers.
    """
    models = _MODELS[version]
    scores = _scores(ours, "main")
    if scores is not None:
        scores = scores[scores["level"] != LEAVE_ONE_OUT]
    measures = _MEASURES | {"SCC": {"P1": "scc_as_published", "P2": "spearman_of_stars"}[version]}
    rows = []
    for line in paper.to_dict("records"):
        model = str(line["model"])
        encoder, scorer = models[model]
        rows.append(
            {
                "item": f"{line['question']}, {model}",
                "quantity": str(line["metric"]),
                "paper_value": line["mean"],
                "paper_sd": line["sd"],
                "places": 2 if version == "P1" else 3,
                "question": line["question"],
                "encoder": encoder,
                "scorer": scorer,
                "measure": measures[str(line["metric"])],
                "way": _SCORER_WAYS.get((version, model), ""),
            }
        )
    return _beside_scorers(paper_rows(rows), scores)


def _beside_scorers(rows: pd.DataFrame, scores: pd.DataFrame | None) -> pd.DataFrame:
    """Rows beside the scores of the same encoder and network, in the order they have."""
    parts = []
    for (encoder, scorer), part in rows.groupby(["encoder", "scorer"], sort=False):
        shown = "handcrafted features" if encoder == HANDCRAFTED else encoder
        absent = MISSING["scorer"].format(encoder=shown, network=_NETWORKS[str(scorer)])
        absent = MISSING["people"] if (encoder, scorer) == _PEOPLE else absent
        found = beside(part, scores, _KEYS, absent)
        parts.append(found.set_index(part.index))
    return pd.concat(parts).sort_index()


def ablation_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """The ablations, one row for each level and measure; all about Q1 and P1's encoder.

    The network is P1's, but in the study that varies it.
    """
    printed = ablation_levels(paper)
    named = printed.assign(item=printed["study"] + ": " + printed["printed_level"])
    records = [{str(key): value for key, value in row.items()} for row in named.to_dict("records")]
    scores = _scores(ours, None)
    if scores is not None:
        network = (scores["scorer"] == "pasta-linear") | (scores["study"] == "scoring function")
        scores = scores[network & (scores["question"] == "Q1") & (scores["encoder"] == CLIP)]
    rows = _unreadable(paper_rows(records), NEVER["table15"])
    return beside(rows, scores, ["study", "level", "measure"], MISSING["ablation"])


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


def second_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """P1's Table 2: seconds of training (with its embeddings) and of inference.

    ``ours["seconds"]`` has encoder, scorer, device, step, n, seconds.
    """
    columns = {f"{step}_s": {"quantity": f"seconds of {step}", "step": step} for step in _STEPS}
    short = paper.assign(kind=paper["device"].str.split().str[0])
    rows = printed_rows(short, columns, "{device}", keys=["kind"], by_line=True)
    return beside(rows, _seconds(ours), ["kind", "step"], MISSING["seconds"])


_STEPS = {"training": ("embedding", "training"), "inference": ("inference",)}


def _seconds(ours: Frames) -> pd.DataFrame | None:
    taken = ours.get("seconds")
    if taken is None or taken.empty:
        return None
    shared = taken["scorer"].isna() | (taken["scorer"] == "")  # vectors are those of all scorers
    own = taken[(taken["encoder"] == CLIP) & (shared | (taken["scorer"] == "pasta-linear"))]
    rows = []
    for device, part in own.groupby("device"):
        spent = part.set_index("step")["seconds"]
        for step, parts in _STEPS.items():
            if set(parts) <= set(spent.index):
                seconds = spent.loc[list(parts)].sum()
                rows.append({"kind": str(device).upper(), "step": step, "estimate": seconds})
    return pd.DataFrame(rows, columns=["kind", "step", "estimate"])


def kernel_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """P1's Table 23. ``ours["kernel_width"]`` has kernel_width, estimate, low, high."""
    columns = {"pasta_score": {"quantity": "PASTA-score of LIME"}}
    rows = printed_rows(paper, columns, "kernel width {kernel_width:g}", keys=["kernel_width"])
    found = ours.get("kernel_width")
    return beside(rows, found, ["kernel_width"], MISSING["kernel_width"])


def _scores(ours: Frames, study: str | None) -> pd.DataFrame | None:
    found = ours.get("score")
    if found is None or found.empty:
        return None
    return over_runs(found if study is None else found[found["study"] == study])
