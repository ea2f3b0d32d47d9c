"""Names for people: of datasets, models, methods and techniques.

A key that is not known is shown as it is: ratings may be of anything.
"""

from __future__ import annotations

import pandas as pd

from pasta.datasets.vocabulary import VOCABULARIES
from pasta.explanations.techniques import METHOD_TITLES, backbone_title

LEAVE_ONE_OUT, OWN_VOTE = "people (leave one out)", "people (own vote in the mode)"
BEST = "ordinal"
TITLES = {
    "constant": "always the commonest star",
    "global-mean": "always the mean",
    "handcrafted": "handcrafted features, ridge",
    "handcrafted-pasta": "handcrafted features, PASTA (P1)",
    "pasta-linear": "PASTA, linear (P1)",
    "pasta-mlp": "PASTA, MLP (P2)",
    BEST: "ordinal model (ours)",
}
# The papers' main tables
PUBLISHED = {"P1": "pasta_v1_table03_scorer", "P2": "pasta_v2_table01_scorer"}
PERTURBATION_TITLES = {
    "road": "ROAD",
    "black": "black patches",
    "uniform": "uniform noise",
    "gaussian": "Gaussian noise",
}
_METRIC_TITLES = {
    "max_sensitivity": "MaxSensitivity",
    "max_sensitivity_absolute": "MaxSensitivity, not normalised",
    "road": "ROAD",
    "iou": "IoU",
    "mae": "MAE",
}
SCORERS = {
    **TITLES,
    LEAVE_ONE_OUT: "one annotator",
    OWN_VOTE: "one annotator, own vote in the label",
}
# In pictures a line has little room; the papers shorten the same way.
SHORT = {"dff": "DFF", "gradcam_elementwise": "GradCAM-EW", "concept_bottleneck": "CBM"}


def dataset_name(key: str) -> str:
    """``pascalpart`` as "Pascal Part"."""
    known = VOCABULARIES.get(key)
    return str(key) if known is None else known.title


def model_name(key: str) -> str:
    """``vit_b_16`` as "ViT-B"."""
    return backbone_title(str(key))


def method_name(key: str) -> str:
    """``input_x_gradient`` as "Input x Gradient"."""
    return METHOD_TITLES.get(str(key), str(key))


def scorer_name(key: str) -> str:
    """``pasta-mlp`` as "PASTA, MLP (P2)"."""
    return SCORERS.get(key, str(key))


def technique_name(key: str, *, short: bool = False) -> str:
    """``gradcam/resnet50`` as "GradCAM on ResNet50", or with a dot where there is little room."""
    method, slash, backbone = str(key).partition("/")
    if not slash:
        return str(key)
    if short:
        method = SHORT.get(method, METHOD_TITLES.get(method, method))
        return f"{method} · {SHORT.get(backbone, model_name(backbone))}"
    return f"{METHOD_TITLES.get(method, method)} on {model_name(backbone)}"


def metric_title(metric: str, variant: str = "") -> str:
    """For people: "faithfulness, ROAD"."""
    title = _METRIC_TITLES.get(metric, metric.replace("_", " "))
    if not variant or pd.isna(variant):
        return title
    first, _, reading = str(variant).partition(" ")
    known = PERTURBATION_TITLES.get(first, first)
    if reading and reading != "text":
        known += f" ({reading})"
    return f"{title}, {known}"


def metric_titles(correlations: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Metric and variant in the order of the table, with words for people."""
    keys = correlations[["metric", "variant"]].drop_duplicates()
    pairs = [(str(metric), str(variant)) for metric, variant in keys.itertuples(index=False)]
    return {pair: metric_title(*pair) for pair in pairs}
