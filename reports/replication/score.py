"""Tables about the score: P1's 2, 3, 4, 15 to 20 and 23, and P2's 1."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reports.replication.rows import OUT_OF_REACH, beside, over_runs, paper_rows

Frames = Mapping[str, pd.DataFrame]

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


def second_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """P1's Table 2. ``ours["seconds"]``, if anybody has it, has device, stage and estimate."""
    rows = []
    for line in paper.to_dict("records"):
        device = str(line["device"])
        graphics = device != "CPU"
        for stage in ("training", "inference"):
            rows.append(
                {
                    "item": device,
                    "quantity": f"seconds of {stage}",
                    "paper_value": line[f"{stage}_s"],
                    "device": device,
                    "stage": stage,
                    "reach": OUT_OF_REACH if graphics else "",
                    "reason": "needs the paper's graphics card" if graphics else "",
                }
            )
    absent = "times of another machine are no finding; none are recorded for this table"
    return beside(paper_rows(rows), ours.get("seconds"), ["device", "stage"], absent)


def kernel_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """P1's Table 23. ``ours["kernel_width"]`` has kernel_width, estimate, low, high."""
    rows = [
        {
            "item": f"kernel width {line['kernel_width']:g}",
            "quantity": "PASTA-score of LIME",
            "paper_value": line["pasta_score"],
            "kernel_width": line["kernel_width"],
        }
        for line in paper.to_dict("records")
    ]
    absent = "the search for LIME's settings has not been run"
    return beside(paper_rows(rows), ours.get("kernel_width"), ["kernel_width"], absent)


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
