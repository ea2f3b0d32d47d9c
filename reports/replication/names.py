"""The papers' names of techniques and metrics, and ours."""

from __future__ import annotations

import pandas as pd

from pasta.annotations.formats.released_ids import TECHNIQUES
from reports.replication.rows import texts

# As Tables 11 and 12 of P1 write names that the released dataset writes otherwise.
_BACKBONES = {"resnet50": "ResNet50", "vitB": "ViT-B", "resnet50-bcos": "ResNet50-BCos"}
_METHODS = {"RISE": "RISE_CBM"}
PERTURBATIONS = {
    "road": "road",
    "black_patches": "black",
    "uniform_noise": "uniform",
    "gaussian_noise": "gaussian",
}


def technique_keys(table: pd.DataFrame, released: pd.DataFrame) -> list[str]:
    """Our ``method/backbone`` for each row (method, backbone) of a paper's table; "" if unknown."""
    numbers = {
        (row["method"], row["backbone"]): int(row["xai_id"]) for row in released.to_dict("records")
    }
    pairs = zip(table["method"], table["backbone"], strict=True)
    found = [
        numbers.get((_METHODS.get(method, method), _BACKBONES.get(backbone, backbone)))
        for method, backbone in pairs
    ]
    return ["" if number is None else TECHNIQUES.get(number, "") for number in found]


def technique_titles(table: pd.DataFrame) -> list[str]:
    """As the paper names them, with one spelling of backbones."""
    pairs = zip(table["method"], table["backbone"], strict=True)
    return [f"{method}, {_BACKBONES.get(backbone, backbone)}" for method, backbone in pairs]


def plain_variants(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows to compare with a paper: variants by perturbation or noise alone.

    Faithfulness may be there in two readings of P1's Algorithm 1; the one of the paper's text
    ("text") stands for it.
    """
    parts = texts(frame["variant"]).astype(str).str.partition(" ")
    return frame.assign(variant=parts[0])[parts[2].isin(["", "text"])]
