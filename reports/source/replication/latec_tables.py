"""LATEC: every number that its tables print, as rows beside ours."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.tables import Tables
from pasta.benchmark.catalog import all_methods
from pasta.benchmark.tables import CRITERIA
from reports.source.replication.reasons import MISSING, NEVER, NO_WAY
from reports.source.replication.rows import (
    OUT_OF_REACH,
    Frames,
    beside,
    printed_rows,
)

# As the paper's tables name what has another name here
MODALITIES = {"image": "image", "volume": "volume", "point_cloud": "point cloud"}
METHODS = {one.code: one.key for one in all_methods()}
DATASETS = {
    "IMN": "imagenet", "OCT": "oct", "R45": "resisc45", "RESISC45": "resisc45",
    "AMN": "adrenalmnist3d", "AdrenalMNIST3D": "adrenalmnist3d", "OMN": "organmnist3d",
    "OrganMNIST3D": "organmnist3d", "VMN": "vesselmnist3d", "VesselMNIST3D": "vesselmnist3d",
    "CMA": "coma", "CoMA": "coma", "M40": "modelnet40", "ModelNet40": "modelnet40",
    "SHN": "shapenetpart", "ShapeNet-part": "shapenetpart",
}  # fmt: skip
MODELS = {
    "ResNet 50": "resnet50", "EfficientNet b0": "efficientnet_b0", "DeiT ViT": "vit_b_16",
    "3DResNet18": "resnet18_3d", "3D ResNet 18": "resnet18_3d", "3DEffNetb0": "efficientnet_b0_3d",
    "EfficientNet3D b0": "efficientnet_b0_3d", "S3DF": "simple3dformer",
    "Simple3DFormer": "simple3dformer", "PointNet": "pointnet", "DGCNN": "dgcnn", "PCT": "pct",
    "PC Transformer": "pct",
}  # fmt: skip
TRANSFORMERS = ("vit_b_16", "simple3dformer", "pct")
METRICS = {"faithfulness": 10, "robustness": 7, "complexity": 3}
WEIGHTED = "weighted_average"
DISAGREED = ("OC", "IxG", "SC", "DL")  # of which the text gives the share of agreeing metrics
_KEYS = ["modality", "criterion", "method"]
_PLACE = {"place_rounded": "estimate", "place_low": "low", "place_high": "high"}


def _named(paper: pd.DataFrame) -> pd.DataFrame:
    """Printed lines with our keys, and without those of methods that a modality does not have."""
    kinds = paper["modality"].map(MODALITIES)
    code = paper["method"]
    found = paper.assign(modality=kinds, code=code, method=code.map(METHODS))
    return found.dropna(subset="average_rank")


def rank_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 2: places by the average rank, and the standard deviation over metrics.

    ``ours["averages"]`` is a table of :func:`pasta.benchmark.ranks.average_table`.
    """
    columns = {"average_rank": {"quantity": "rank in {criterion}", "sd": "metric_sd", "places": 1}}
    rows = printed_rows(_named(paper), columns, "{code}, {modality}", keys=_KEYS)
    return beside(rows, _places(ours, "all"), _KEYS, MISSING["ranks"])


def _places(ours: Frames, *scopes: str) -> pd.DataFrame | None:
    """Places in the order by the average rank, of some scopes (all, a dataset or a model)."""
    found = ours.get("averages")
    if found is None or found.empty:
        return None
    own = found[found["scope"].isin(scopes)]
    own = own.drop(columns=["estimate", "low", "high", "note"])
    return own.rename(columns=_PLACE).assign(note="")


def dataset_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 10: average ranks in each dataset, rounded to whole numbers, and standard errors."""
    columns = {"average_rank": {"quantity": "rank in {criterion}", "sd": "error", "places": 0}}
    named = _named(paper).assign(place=paper["dataset"], scope=paper["dataset"].map(DATASETS))
    rows = printed_rows(named, columns, "{code}, {place}", keys=[*_KEYS, "scope"])
    found = ours.get("averages")
    if found is not None and len(found):
        found = found.assign(sd=found["error"])
    return beside(rows, found, [*_KEYS, "scope"], MISSING["dataset"])


def architecture_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Tables 11 and 12: places on both CNNs together, and on the transformer alone.

    ``ours["metric_ranks"]`` is the table ``ranks`` of :mod:`pasta.benchmark.ranks`.
    """
    columns = {"average_rank": {"quantity": "rank in {criterion}", "places": 1}}
    words = {"cnn": "CNNs", "transformer": "transformer"}
    named = _named(paper).assign(on=paper["architectures"].map(words))
    keys = [*_KEYS, "architectures"]
    rows = printed_rows(named, columns, "{code}, {modality}, {on}", keys=keys)
    there = [_places(ours, *TRANSFORMERS), _cnn_places(ours.get("metric_ranks"))]
    known = [
        frame.assign(architectures=name).drop(columns="sd", errors="ignore")
        for frame, name in zip(there, ("transformer", "cnn"), strict=True)
        if frame is not None
    ]
    found = (
        pd.concat(known, ignore_index=True).drop(columns="sd", errors="ignore") if known else None
    )
    return beside(rows, found, keys, MISSING["ranks"])


def _cnn_places(ranks: pd.DataFrame | None) -> pd.DataFrame | None:
    """Places by the mean rank over the CNNs, rounded and with ties, as the paper's tables are."""
    if ranks is None or ranks.empty:
        return None
    own = ranks[~ranks["model"].isin(TRANSFORMERS)]
    means = own.groupby(_KEYS)["rank"].mean().round()
    places = means.groupby(level=["modality", "criterion"]).rank(method="average")
    return places.rename("estimate").reset_index()


def spread_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 9: standard deviations over metrics, by architecture and by dataset.

    ``ours["spread"]`` is a table of :mod:`pasta.benchmark.ranks`; the weighted average is that of
    10, 7 and 3 metrics.
    """
    by = {"architecture": "model", "dataset": "dataset"}
    named = paper.assign(
        modality=paper["modality"].map(MODALITIES), name=paper["level"], by=paper["kind"].map(by),
        level=paper["level"].map(MODELS | DATASETS), what=paper["criterion"].str.replace("_", " "),
    )  # fmt: skip
    columns = {"metric_sd": {"quantity": "deviation, {what}"}}
    keys = ["modality", "by", "level", "criterion"]
    rows = printed_rows(named, columns, "{name}, {modality}", keys=keys)
    found = ours.get("spread")
    if found is not None and len(found):
        found = pd.concat([found, _weigh(found)], ignore_index=True)
    absent = {"model": MISSING["ranks"], "dataset": MISSING["dataset"]}
    parts = [
        beside(part, found, keys, absent[str(kind)])
        for kind, part in rows.groupby("by", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def _weigh(spread: pd.DataFrame) -> pd.DataFrame:
    keys = ["modality", "by", "level"]
    wide = spread.pivot_table("estimate", keys, "criterion")
    if not set(CRITERIA) <= set(wide):
        return spread[:0]
    weights = np.array([METRICS[name] for name in CRITERIA]) / sum(METRICS.values())
    mean = wide[list(CRITERIA)].to_numpy(np.float64) @ weights
    return wide.index.to_frame(index=False).assign(criterion=WEIGHTED, estimate=mean)


_MEASURES = {
    "accuracy": "accuracy", "precision": "precision", "recall": "recall", "f1": "F1",
    "auroc": "AUROC",
}  # fmt: skip
_KEPT = {"accuracy": "accuracy", "f1": "macro_f1"}


def performance_rows(paper: pd.DataFrame, ours: Frames) -> pd.DataFrame:
    """Table 3: how well the classifiers are right. Of ours accuracy and F1 are kept.

    ``ours["classifiers"]`` has dataset, model, quantity, estimate.
    """
    columns = {
        column: {"quantity": title, "places": 4}
        | ({"measure": _KEPT[column]} if column in _KEPT else
           {"measure": "", "reach": OUT_OF_REACH, "reason": NEVER["measures"], "way": NO_WAY})
        for column, title in _MEASURES.items()
    }  # fmt: skip
    named = paper.assign(
        of=paper["dataset"], on=paper["model"], dataset=paper["dataset"].map(DATASETS),
        model=paper["model"].map(MODELS),
    )  # fmt: skip
    keys = ["dataset", "model"]
    rows = printed_rows(named, columns, "{of}, {on}", keys=keys, by_line=True)
    found = ours.get("classifiers")
    if found is not None and len(found):
        found = found.assign(measure=found["quantity"])
    return beside(rows, found, [*keys, "measure"], MISSING["dataset"])


def benchmark_facts(tables: Tables) -> list[dict[str, object]]:
    """What our benchmark has of the numbers in LATEC's text, as rows with fact and estimate.

    Parameters
    ----------
    tables
        Those of :mod:`pasta.benchmark.ranks`, of the main reading.
    """
    if not {"methods", "metrics", "ranks"} <= set(tables):
        return []
    methods = tables["methods"].drop_duplicates("method")
    metrics, ranks = tables["metrics"].drop_duplicates("metric"), tables["ranks"]
    attention = (methods["group"] == "attention").sum()
    found: dict[str, float] = {
        "methods": len(methods),
        "attribution": len(methods) - attention,
        "attention": attention,
        "metrics": len(metrics),
        **{name: (metrics["criterion"] == name).sum() for name in CRITERIA},
        "modalities": ranks["modality"].nunique(),
        "datasets": ranks["dataset"].nunique(),
        "architectures": ranks["model"].nunique(),
        "cells": len(ranks),
        "observations": ranks["n"].max(),
    }
    if "counts" in tables:  # of the main reading, which has all of them
        found["scores"] = tables["counts"].groupby("reading")["n"].sum().max()
    rows = [_fact(name, value) for name, value in found.items()]
    return rows + _agreeing(tables.get("agreement")) + _with_f1(tables.get("accuracy"))


def _fact(name: str, value: float) -> dict[str, object]:
    return {"fact": f"latec_{name}", "n": None, "estimate": float(value), "note": ""}


def _agreeing(agreement: pd.DataFrame | None) -> list[dict[str, object]]:
    """The weighted share of cells in which metrics agree, of the four methods of the text."""
    if agreement is None or agreement.empty:
        return []
    own = agreement[(agreement["reference"] == "released") & (agreement["modality"] == "image")]
    own = own[(own["criterion"] == "weighted")]
    own = own[own["method"].isin([METHODS[code] for code in DISAGREED])]
    if len(own) < len(DISAGREED):
        return []
    row = _fact("agreement_low", own["estimate"].mean(skipna=False))
    why = "robustness was not measured for all of these methods"
    return [row | {"note": why if own["estimate"].isna().any() else ""}]


def _with_f1(accuracy: pd.DataFrame | None) -> list[dict[str, object]]:
    if accuracy is None or accuracy.empty:
        return []
    own = accuracy[accuracy["modality"].isin(["image", "volume"])]
    own = own[own["criterion"].isin(["faithfulness", "robustness"])]
    known = own["estimate"].dropna().to_numpy(np.float64)
    if len(known) < 4:
        return []
    return [_fact("f1_weakest", float(known.max())), _fact("f1_strongest", float(known.min()))]
