"""Does a larger backbone have better explanations? (P2, Figure 8)

The same methods explain the same images on CLIP image towers of growing size. Methods that look
at activations are set against methods that look at the image alone: the paper finds that the
predicted score of the first falls with size and that of the second does not, and suspects
high-norm artefacts in the activations (:mod:`pasta.applications.norms`). With simulated raters
the same comparison is made with their true quality.

All images are new to scorer, classifier and encoder. Towers also predict differently, and wrong
predictions are rated lower whatever the map shows; so accuracies stand beside the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.applications.backbone_trends import summarise_towers, tower_trends
from pasta.applications.tuning_fresh import Fresh, fresh_images, predicted_stars, true_quality
from pasta.errors import PastaError
from pasta.params import Params
from pasta.params.applications import ApplicationsParams, BackbonesParams, TowerParams
from pasta.registry import did_you_mean

if TYPE_CHECKING:
    from pasta.applications.backbone_towers import TowerClassifier
    from pasta.applications.judge import MapJudge
    from pasta.models.clip.encoder import ClipEncoder
    from pasta.models.data import TrainingData
    from pasta.scoring.score import PastaScore

Say = Callable[[str, int, int], None]
FAMILIES = ("activation", "perturbation")
_LOOKED_AT = 200  # test images of a dataset, at most, for the accuracy of a tower
_KEY = ("dataset", "image_id", "tower", "method", "family")
SCORE_COLUMNS = (*_KEY, "parameters", "predicted", "correct", "status", "score", "quality")
TOWER_COLUMNS = (
    *("tower", "parameters", "size", "accuracy", "positions", "median", "fence", "largest"),
    *("outliers", "background", "in_background"),
)


@dataclass(frozen=True)
class Picture:
    """One map to show, with what is predicted of it."""

    tower: str
    method: str
    signed: bool
    image: str  # dataset/image
    pixels: NDArray[np.uint8]
    shown: NDArray[np.float32]
    predicted: str
    score: float


@dataclass(frozen=True)
class Backbones:
    """What comes out: tables (see the columns above and in backbone_trends), and maps to show."""

    scores: pd.DataFrame  # SCORE_COLUMNS: one row for each image, tower and method
    towers: pd.DataFrame  # TOWER_COLUMNS: sizes, accuracies and norms
    summary: pd.DataFrame  # means with intervals, of each tower and method and family
    trends: pd.DataFrame  # paired differences of the largest tower from the smallest
    pictures: list[Picture]


def run_backbones(
    folders: Sequence[Path],
    params: Params,
    settings: ApplicationsParams,
    scorer: PastaScore,
    root: Path,
    planted: Path | None = None,
    say: Say | None = None,
) -> Backbones:
    """Explain fresh images on every tower by every method, and compare.

    Parameters
    ----------
    folders
        Of the datasets; those that ``settings.backbones.datasets`` names are used.
    scorer
        Of the question that the settings ask about.
    root
        Of the project, where the clip stage's encoder is.
    planted
        What was planted in simulated raters; None or an empty folder with real ones.
    """
    from pasta.applications.backbone_towers import open_towers
    from pasta.applications.judge import MapJudge, planted_judge
    from pasta.models.data import TrainingData

    own = settings.backbones
    families = {name: family(name) for name in own.methods}
    chosen = _chosen(folders, own)
    keys = "applications.backbones.images"
    fresh = [fresh_images(folder, params, own.images, keys) for folder in chosen]
    parts = [TrainingData(one.dataset, params.seed, params, root) for one in fresh]
    judge = planted_judge(planted, params.annotations.simulation, settings.question)
    judges = [None if judge is None else MapJudge(judge, one.dataset) for one in fresh]
    asked = _Asked(fresh, judges, parts, params, own, scorer, families)
    rows, about, pictures = list[pd.DataFrame](), list[dict[str, Any]](), list[Picture]()
    for tower, encoder in open_towers(
        own.towers, parts, params, own.distillation, root, say or _silent
    ):
        for number in range(len(fresh)):
            found, some = _explained(asked, number, tower, encoder)
            rows.append(found)
            pictures += some
        about.append(_note(asked, tower, encoder))
    scores = pd.concat(rows, ignore_index=True)[list(SCORE_COLUMNS)]
    return Backbones(
        scores,
        pd.DataFrame(about)[list(TOWER_COLUMNS)],
        summarise_towers(scores, settings.resamples, params.seed),
        tower_trends(scores, settings.resamples, params.seed),
        pictures,
    )


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


@dataclass(frozen=True)
class _Asked:
    """What is the same for all towers; the lists have one entry for each dataset."""

    fresh: list[Fresh]
    judges: list[MapJudge | None]
    parts: list[TrainingData]
    params: Params
    settings: BackbonesParams
    scorer: PastaScore
    families: dict[str, str]


def _chosen(folders: Sequence[Path], settings: BackbonesParams) -> list[Path]:
    by_name = {folder.name: folder for folder in folders}
    missing = [name for name in settings.datasets if name not in by_name]
    if missing:
        raise PastaError(
            f"applications.backbones.datasets: there is no folder of {missing[0]!r}. "
            f"{did_you_mean(missing[0], by_name)}"
        )
    return [by_name[name] for name in settings.datasets]


def _explained(
    asked: _Asked, number: int, tower: TowerParams, encoder: ClipEncoder
) -> tuple[pd.DataFrame, list[Picture]]:
    """All methods on the images of one dataset."""
    import torch

    from pasta.explanations.attribution import shown_maps, statuses
    from pasta.explanations.catalog import METHODS
    from pasta.explanations.engine import Work, attributions, predicted_classes, view_of

    fresh, explain = asked.fresh[number], asked.params.explanations
    model = _classifier(encoder, fresh, asked.params)
    view = view_of(model)
    targets = torch.cat([predicted_classes(view, part) for part in torch.split(fresh.images, 16)])
    predicted = [model.classes[index] for index in targets.tolist()]
    work = Work(
        view,
        lambda part: fresh.images[part],
        targets,
        dict(explain.methods),
        asked.params.seed,
        explain.batch_size,
        explain.budget,
    )
    raw: dict[str, list[NDArray[np.float32]]] = {}
    for part in attributions(work, list(asked.families)):
        raw.setdefault(part.method, []).append(part.raw)
    rows, pictures = [], list[Picture]()
    shown_too = _shown_methods(asked.families)
    for name, pieces in raw.items():
        about, whole = METHODS.entry(name).metadata, np.concatenate(pieces)
        shown = shown_maps(whole, about["sign"])
        stars = predicted_stars(asked.scorer, fresh, shown, predicted, about["sign"] == "signed")
        rows.append(
            pd.DataFrame(
                {
                    "dataset": fresh.name,
                    "image_id": fresh.ids,
                    "tower": tower.name,
                    "method": name,
                    "family": asked.families[name],
                    "parameters": _size(encoder),
                    "predicted": predicted,
                    "correct": np.array(predicted) == np.array(fresh.labels),
                    "status": statuses(whole),
                    "score": stars,
                    "quality": true_quality(asked.judges[number], fresh, shown, predicted),
                }
            )
        )
        if name in shown_too:
            pictures += [
                Picture(
                    tower.name,
                    name,
                    about["sign"] == "signed",
                    f"{fresh.name}/{fresh.ids[row]}",
                    fresh.pixels[row],
                    shown[row],
                    predicted[row],
                    float(stars[row]),
                )
                for row in _shown_rows(asked, number)
            ]
    return pd.concat(rows, ignore_index=True), pictures


def _note(asked: _Asked, tower: TowerParams, encoder: ClipEncoder) -> dict[str, Any]:
    """Size, accuracy and norms of one tower."""
    from pasta.applications.norms import artefacts, background_cells, feature_norms

    norms, background, right = [], [], []
    for fresh, data in zip(asked.fresh, asked.parts, strict=True):
        found = feature_norms(encoder.visual, encoder.prepare(fresh.images))
        norms.append(found)
        parts = fresh.dataset.parts[fresh.rows]
        background.append(background_cells(parts, *found.shape[1:]))
        right.append(_accuracy(_classifier(encoder, fresh, asked.params), data))
    measured = artefacts(np.concatenate(norms), np.concatenate(background), asked.settings.fence)
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
    from pasta.applications.backbone_towers import TowerClassifier

    classes, side = fresh.dataset.vocabulary.classes, int(fresh.dataset.pixels.shape[1])
    return TowerClassifier(encoder, classes, params.clip.template, side)


def _size(encoder: ClipEncoder) -> int:
    """Parameters of the image tower."""
    return sum(value.numel() for value in encoder.visual.parameters())


def _shown_methods(families: dict[str, str]) -> set[str]:
    """The first method of each family."""
    first = {kind: name for name, kind in reversed(families.items())}
    return set(first.values())


def _shown_rows(asked: _Asked, number: int) -> range:
    """The first images of a dataset, so that all datasets together have as many as are wanted."""
    wanted, datasets = asked.settings.pictures, len(asked.fresh)
    own = wanted // datasets + (number < wanted % datasets)
    return range(min(own, len(asked.fresh[number])))


def _silent(words: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""
