"""The same methods on CLIP image towers of growing size, explained and kept for any scorer.

The card has a row for each image, tower and method, and what is known of each tower; row i of
``maps`` is the map as people see it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pasta import compute
from pasta.applications.prepared import saving
from pasta.applications.prepared.distilling import open_tower
from pasta.applications.prepared.held_out import Fresh, fresh_images
from pasta.applications.prepared.norms import artefacts, background_cells, feature_norms
from pasta.applications.prepared.saving import Arrays, run_units
from pasta.applications.settings import BackbonesParams, TowerParams
from pasta.config import Params
from pasta.errors import PastaError
from pasta.explanations.attribution import shown_maps, statuses
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions, predicted_classes, view_of
from pasta.layout import Group
from pasta.models.base import torch_generator
from pasta.models.clip.encoder import ClipEncoder
from pasta.models.clip.prompts import prompts
from pasta.models.clip_zero_shot import ClipZeroShot
from pasta.models.data import TrainingData
from pasta.registry import did_you_mean
from pasta.resume import KeptUnits

STAGE, KEYS = "towers", "applications.backbones.images"
_LOOKED_AT = 200  # test images of a dataset, at most, for the accuracy of a tower
MAP_COLUMNS = (
    *("dataset", "image_id", "tower", "method", "family", "parameters"),
    *("predicted", "correct", "status"),
)
TOWER_COLUMNS = (
    *("tower", "parameters", "size", "accuracy", "positions", "median", "fence", "largest"),
    *("outliers", "background", "in_background"),
)


@dataclass(frozen=True)
class Explained:
    """Maps of the same images on every tower."""

    rows: pd.DataFrame  # MAP_COLUMNS
    maps: NDArray[np.float16]  # (rows, height, width), as people see them
    towers: pd.DataFrame  # TOWER_COLUMNS: sizes, accuracies and norms


@dataclass(frozen=True)
class TowerUnit:
    """One tower, and the groups whose datasets are explained with it."""

    tower: TowerParams
    groups: tuple[Group, ...]
    params: Params
    root: Path


def prepare_towers(
    groups: Sequence[Group],
    params: Params,
    root: Path,
    out: Path,
    kept: KeptUnits | None = None,
) -> None:
    """Explain fresh images on every tower by every method, and store the maps.

    Of ``groups`` those are used whose datasets ``applications.backbones.datasets`` names; ``root``
    is where the clip stage's encoder is.
    """
    own = params.applications.backbones
    for name in own.methods:
        family_of(name)
    datasets = tuple(choose_datasets(groups, own))
    # the largest takes longest and begins first
    units = [TowerUnit(tower, datasets, params, root) for tower in own.towers[::-1]]
    parts = run_units("towers of growing size", explain_tower, units, kept)[::-1]
    card = {
        "rows": [row for part in parts for row in json.loads(str(part["rows"]))],
        "towers": [json.loads(str(part["about"])) for part in parts],
    }
    saving.save(out, card, {"maps": np.concatenate([part["maps"] for part in parts])})


def load_towers(folder: Path) -> Explained:
    """What :func:`prepare_towers` has stored."""
    card, arrays = saving.load(folder, STAGE)
    towers = pd.DataFrame(card["towers"])[list(TOWER_COLUMNS)]
    numbers = [name for name in TOWER_COLUMNS if name != "tower"]
    towers[numbers] = towers[numbers].apply(pd.to_numeric)
    return Explained(pd.DataFrame(card["rows"])[list(MAP_COLUMNS)], arrays["maps"], towers)


def family_of(method: str) -> str:
    """``activation`` for methods that look at a layer, ``perturbation`` for those that hide parts
    of the image and look at the answer alone."""
    about = METHODS.entry(method).metadata
    if about["attribution"] != "image":
        raise PastaError(f"{about['title']} gives no maps: towers are compared by maps")
    if about["needs_layer"]:
        return "activation"
    if about["functioning"] == "perturbation":
        return "perturbation"
    raise PastaError(f"{about['title']} looks neither at a layer nor at perturbed images")


def choose_datasets(groups: Sequence[Group], settings: BackbonesParams) -> list[Group]:
    """A group of each of the datasets whose classes are told apart."""
    known = {group.dataset: group for group in reversed(groups)}
    missing = [name for name in settings.datasets if name not in known]
    if missing:
        raise PastaError(
            f"applications.backbones.datasets: there is no group of {missing[0]!r}. "
            f"{did_you_mean(missing[0], known)}"
        )
    return [known[name] for name in settings.datasets]


def explain_tower(unit: TowerUnit) -> Arrays:
    """Open or distil one tower, explain with it, and measure its size, accuracy and norms."""
    params, own = unit.params, unit.params.applications.backbones
    fresh = [fresh_images(group, params, own.images, KEYS) for group in unit.groups]
    parts = [TrainingData(one.dataset, params.seed, params, unit.root) for one in fresh]
    encoder = open_tower(unit.tower, parts, params, own.distillation, unit.root)
    found = [_explain(one, unit.tower, encoder, params) for one in fresh]
    rows = pd.concat([rows for rows, _ in found])[list(MAP_COLUMNS)].to_dict("records")
    return {
        "maps": np.concatenate([maps for _, maps in found]).astype(np.float16),
        "rows": np.array(json.dumps(rows)),
        "about": np.array(json.dumps(_describe(fresh, parts, unit.tower, encoder, params))),
    }


def _explain(
    fresh: Fresh, tower: TowerParams, encoder: ClipEncoder, params: Params
) -> tuple[pd.DataFrame, NDArray[np.float32]]:
    """All methods on the images of one dataset: rows, and maps as people see them."""
    explain = params.explanations
    model = _classifier(encoder, fresh, params)
    view, images = view_of(model), compute.place(fresh.images, compute.device_of(model))
    targets = torch.cat([predicted_classes(view, part) for part in torch.split(images, 16)])
    predicted = [model.classes[index] for index in targets.tolist()]
    work = Work(
        view,
        lambda part: images[part],
        targets,
        explain.methods,
        params.seed,
        explain.batch_size,
        explain.budget,
    )
    raw: dict[str, list[NDArray[np.float32]]] = {}
    for part in attributions(work, list(params.applications.backbones.methods)):
        raw.setdefault(part.method, []).append(part.raw)
    whole = {name: np.concatenate(pieces) for name, pieces in raw.items()}
    rows = [
        pd.DataFrame(
            {
                "dataset": fresh.name,
                "image_id": fresh.ids,
                "tower": tower.name,
                "method": name,
                "family": family_of(name),
                "parameters": _size(encoder),
                "predicted": predicted,
                "correct": np.array(predicted) == np.array(fresh.labels),
                "status": statuses(own),
            }
        )
        for name, own in whole.items()
    ]
    maps = [shown_maps(own, METHODS.entry(name).metadata["sign"]) for name, own in whole.items()]
    return pd.concat(rows, ignore_index=True), np.concatenate(maps)


def _describe(
    fresh: Sequence[Fresh],
    parts: Sequence[TrainingData],
    tower: TowerParams,
    encoder: ClipEncoder,
    params: Params,
) -> dict[str, Any]:
    """Size, accuracy and norms of one tower."""
    norms, background, right = [], [], []
    for one, data in zip(fresh, parts, strict=True):
        images = compute.place(one.images, compute.device_of(encoder))
        found = feature_norms(encoder.visual, encoder.prepare(images))
        norms.append(found)
        background.append(background_cells(one.dataset.parts[one.rows], *found.shape[1:]))
        right.append(_accuracy(_classifier(encoder, one, params), data))
    fence = params.applications.backbones.fence
    measured = artefacts(np.concatenate(norms), np.concatenate(background), fence)
    about = {
        "tower": tower.name,
        "parameters": _size(encoder),
        "size": encoder.size,
        "accuracy": float(np.mean(right)),
        **asdict(measured),
    }
    # JSON has no NaN
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in about.items()
    }


def _accuracy(model: ClipZeroShot, data: TrainingData) -> float:
    rows, where = data.rows("test"), compute.device_of(model)
    order = torch.randperm(len(rows), generator=torch_generator(data.seed, "tower accuracy"))
    rows = rows[order[:_LOOKED_AT]]
    with torch.inference_mode():
        right = [
            model(compute.place(images, where)).argmax(1).cpu() == data.labels[part]
            for part, images in data.batches(rows, 32)
        ]
    return float(torch.cat(right).float().mean())


def _classifier(encoder: ClipEncoder, fresh: Fresh, params: Params) -> ClipZeroShot:
    classes = fresh.dataset.vocabulary.classes
    texts = encoder.text_features(prompts(classes, params.clip.template))
    return ClipZeroShot(encoder, classes, texts).eval()


def _size(encoder: ClipEncoder) -> int:
    """Parameters of the image tower."""
    return sum(value.numel() for value in encoder.visual.parameters())
