"""The same methods on CLIP image towers of growing size, explained and kept for any scorer.

The card has a row for each image, tower and method, and what is known of each tower; row i of
``maps`` is the map as people see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.applications.prepared import saving
from pasta.applications.prepared.fresh import Fresh, fresh_images
from pasta.errors import PastaError
from pasta.params import Params
from pasta.params.applications import BackbonesParams, TowerParams
from pasta.registry import did_you_mean
from pasta.workers import as_finished

if TYPE_CHECKING:
    from pasta.applications.prepared.distilling import TowerClassifier
    from pasta.models.clip.encoder import ClipEncoder
    from pasta.models.data import TrainingData

Tell = Callable[[str], None]  # the name of a tower that is done
STAGE, KEYS = "towers", "applications.backbones.images"
FAMILIES = ("activation", "perturbation")
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


def prepare_towers(
    folders: Sequence[Path], params: Params, root: Path, out: Path, tell: Tell
) -> None:
    """Explain fresh images on every tower by every method, and store the maps.

    Small towers are distilled in processes of their own, as many at once as there are cores; large
    ones that are only opened come one after the other, with all memory and cores for each. Of
    ``folders`` those are used that ``applications.backbones.datasets`` names; ``root`` is where the
    clip stage's encoder is.
    """
    from pasta.applications.prepared.distilling import require_sense
    from pasta.models.data import TrainingData

    own = params.applications.backbones
    for tower in own.towers:
        require_sense(tower)
    families = {name: family(name) for name in own.methods}
    fresh = [fresh_images(folder, params, own.images, KEYS) for folder in chosen(folders, own)]
    parts = [TrainingData(one.dataset, params.seed, params, root) for one in fresh]
    towers = own.towers[::-1]  # the largest takes longest and begins first
    work = [partial(_one_tower, tower, fresh, parts, families, params, root) for tower in towers]
    small = all(tower.width is not None for tower in towers)
    finished = dict[str, _Tower]()
    for place, one in as_finished(work, processes=None if small else 1):
        finished[towers[place].name] = one
        tell(towers[place].name)
    found = [finished[tower.name] for tower in own.towers]
    card = {
        "rows": pd.concat([one.rows for one in found])[list(MAP_COLUMNS)].to_dict("records"),
        "towers": [{key: _plain(value) for key, value in one.about.items()} for one in found],
    }
    saving.save(out, card, {"maps": np.concatenate([one.maps for one in found])})


@dataclass(frozen=True)
class _Tower:
    rows: pd.DataFrame
    maps: NDArray[np.float16]
    about: dict[str, Any]


def _one_tower(
    tower: TowerParams,
    fresh: Sequence[Fresh],
    parts: Sequence[TrainingData],
    families: dict[str, str],
    params: Params,
    root: Path,
) -> _Tower:
    """Open or distil one tower, and explain with it."""
    from pasta.applications.prepared.distilling import open_tower

    settings = params.applications.backbones.distillation
    encoder = open_tower(tower, parts, params, settings, root)
    found = [_explained(one, tower, encoder, families, params) for one in fresh]
    return _Tower(
        pd.concat([rows for rows, _ in found]),
        np.concatenate([maps for _, maps in found]).astype(np.float16),
        _note(fresh, parts, tower, encoder, params),
    )


def load_towers(folder: Path) -> Explained:
    """What :func:`prepare_towers` has stored."""
    card, arrays = saving.load(folder, STAGE)
    towers = pd.DataFrame(card["towers"])[list(TOWER_COLUMNS)]
    numbers = [name for name in TOWER_COLUMNS if name != "tower"]
    towers[numbers] = towers[numbers].apply(pd.to_numeric)
    return Explained(pd.DataFrame(card["rows"])[list(MAP_COLUMNS)], arrays["maps"], towers)


def family(method: str) -> str:
    """``activation`` for methods that look at a layer, ``perturbation`` for those that hide parts
    of the image and look at the answer alone."""
    from pasta.explanations.catalog import METHODS

    about = METHODS.entry(method).metadata
    if about["attribution"] != "image":
        raise PastaError(f"{about['title']} gives no maps: towers are compared by maps")
    if about["needs_layer"]:
        return "activation"
    if about["functioning"] == "perturbation":
        return "perturbation"
    raise PastaError(f"{about['title']} looks neither at a layer nor at perturbed images")


def chosen(folders: Sequence[Path], settings: BackbonesParams) -> list[Path]:
    """The folders of the datasets whose classes are told apart."""
    by_name = {folder.name: folder for folder in folders}
    missing = [name for name in settings.datasets if name not in by_name]
    if missing:
        raise PastaError(
            f"applications.backbones.datasets: there is no folder of {missing[0]!r}. "
            f"{did_you_mean(missing[0], by_name)}"
        )
    return [by_name[name] for name in settings.datasets]


def _explained(
    fresh: Fresh,
    tower: TowerParams,
    encoder: ClipEncoder,
    families: dict[str, str],
    params: Params,
) -> tuple[pd.DataFrame, NDArray[np.float32]]:
    """All methods on the images of one dataset: rows, and maps as people see them."""
    import torch

    from pasta.explanations.attribution import shown_maps, statuses
    from pasta.explanations.catalog import METHODS
    from pasta.explanations.engine import Work, attributions, predicted_classes, view_of

    explain = params.explanations
    model = _classifier(encoder, fresh, params)
    view = view_of(model)
    targets = torch.cat([predicted_classes(view, part) for part in torch.split(fresh.images, 16)])
    predicted = [model.classes[index] for index in targets.tolist()]
    work = Work(
        view,
        lambda part: fresh.images[part],
        targets,
        dict(explain.methods),
        params.seed,
        explain.batch_size,
        explain.budget,
    )
    raw: dict[str, list[NDArray[np.float32]]] = {}
    for part in attributions(work, list(families)):
        raw.setdefault(part.method, []).append(part.raw)
    whole = {name: np.concatenate(pieces) for name, pieces in raw.items()}
    rows = [
        pd.DataFrame(
            {
                "dataset": fresh.name,
                "image_id": fresh.ids,
                "tower": tower.name,
                "method": name,
                "family": families[name],
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


def _note(
    fresh: Sequence[Fresh],
    parts: Sequence[TrainingData],
    tower: TowerParams,
    encoder: ClipEncoder,
    params: Params,
) -> dict[str, Any]:
    """Size, accuracy and norms of one tower."""
    from pasta.applications.prepared.norms import artefacts, background_cells, feature_norms

    norms, background, right = [], [], []
    for one, data in zip(fresh, parts, strict=True):
        found = feature_norms(encoder.visual, encoder.prepare(one.images))
        norms.append(found)
        background.append(background_cells(one.dataset.parts[one.rows], *found.shape[1:]))
        right.append(_accuracy(_classifier(encoder, one, params), data))
    fence = params.applications.backbones.fence
    measured = artefacts(np.concatenate(norms), np.concatenate(background), fence)
    return {
        "tower": tower.name,
        "parameters": _size(encoder),
        "size": encoder.size,
        "accuracy": float(np.mean(right)),
        **asdict(measured),
    }


def _accuracy(model: TowerClassifier, data: TrainingData) -> float:
    import torch

    from pasta.models.base import torch_generator

    rows = data.rows("test")
    order = torch.randperm(len(rows), generator=torch_generator(data.seed, "tower accuracy"))
    rows = rows[order[:_LOOKED_AT]]
    with torch.inference_mode():
        right = [
            model(images).argmax(1) == data.labels[part] for part, images in data.batches(rows, 32)
        ]
    return float(torch.cat(right).float().mean())


def _classifier(encoder: ClipEncoder, fresh: Fresh, params: Params) -> TowerClassifier:
    from pasta.applications.prepared.distilling import TowerClassifier

    classes, side = fresh.dataset.vocabulary.classes, int(fresh.dataset.pixels.shape[1])
    return TowerClassifier(encoder, classes, params.clip.template, side)


def _size(encoder: ClipEncoder) -> int:
    """Parameters of the image tower."""
    return sum(value.numel() for value in encoder.visual.parameters())


def _plain(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and math.isnan(value) else value
