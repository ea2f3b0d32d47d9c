"""The same methods on CLIP image towers of growing size, explained and kept for any scorer.

The card has a row for each image, tower and method, and what is known of each tower; row i of
``maps`` is the map as people see it.

**Distilled towers.** The demo trains image towers only. All share the text tower of the clip
stage's encoder; each learns, from the same images and with the same schedule, to give the
encoder's vectors and to find the class prompts. They differ in size alone, but they are students
of one teacher and not independent models.

**High-norm artefacts.** Large vision transformers keep global information in a few background
tokens with a norm far above the others (Darcet et al. 2024, doi:10.48550/arXiv.2309.16588), which
show as bright spots in maps made of activations. The authors choose a cut-off by eye for each
model; here it is Tukey's outer fence. A convolutional tower has no tokens: the cells of its last
feature map are measured instead. There a large norm may be the object itself, so the share of
outliers in the background is reported too.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import adaptive_max_pool2d, cross_entropy

from pasta import compute
from pasta.applications.prepared.base import (
    Arrays,
    Fresh,
    fresh_images,
    groups_with_new_images,
    load_prepared,
    named_images,
    require_fresh,
    run_units,
    save_nothing,
    save_prepared,
)
from pasta.applications.settings import BackbonesParams, DistillationParams, TowerParams
from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.errors import PastaError
from pasta.explanations.attribution import shown_maps, statuses
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions, predicted_classes, view_of
from pasta.explanations.hooks import hooked
from pasta.explanations.layers import Tokens
from pasta.layout import Group
from pasta.models.base import torch_generator
from pasta.models.clip import ClipEncoder, ClipZeroShot, load_clip, open_model, prompts
from pasta.models.clip_training import augment
from pasta.models.data import TrainingData
from pasta.models.resnet import ScaledResNet
from pasta.models.settings import with_seed
from pasta.registry import did_you_mean
from pasta.resume import KeptUnits
from pasta.sections import for_dataset
from pasta.seeds import entropy


class SlimTower(nn.Module):
    """The small CLIP's image tower with another width; its vectors fit the same text tower."""

    def __init__(self, width: int, features: int, like: Any) -> None:
        super().__init__()
        self.image_size = like.image_size
        self.image_mean, self.image_std = like.image_mean, like.image_std
        self.trunk = ScaledResNet(width, (1, 1, 1, 1), features, bottleneck=False, keep_last=True)

    def forward(self, images: Tensor) -> Tensor:
        """Vectors that are not normalised yet."""
        vectors: Tensor = self.trunk(images)
        return vectors


@dataclass(frozen=True)
class Lesson:
    """Training images of one dataset, with what the teacher says about them."""

    data: TrainingData
    rows: Tensor
    vectors: Tensor  # rows x features, the teacher's
    texts: Tensor  # classes x features

    def __len__(self) -> int:
        return len(self.rows)


def open_tower(
    tower: TowerParams,
    parts: Sequence[TrainingData],
    params: Params,
    settings: DistillationParams,
    root: Path,
) -> ClipEncoder:
    """The encoder of a tower on the device of this process: opened, or distilled here from lessons
    that are alike for all."""
    if tower.width is None:
        encoder = _open_pretrained(tower, root, params.seeds.training)
        compute.place(encoder)
        return encoder
    teacher = load_clip(params.clip, root, params.seeds.training)
    compute.place(teacher)
    lessons = [prepare(one, teacher, params.clip.template, settings) for one in parts]
    student = new_student(teacher, tower.width, tower.name, params.seeds.training)
    distil(student, lessons, settings, params.seeds.training)
    return student


def new_student(teacher: ClipEncoder, width: int, name: str, seed: int) -> ClipEncoder:
    """The teacher with a new image tower that has random weights."""
    features = teacher.width
    model = copy.deepcopy(teacher.model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entropy(seed, "applications", "tower", width) % 2**63)
        model.visual = SlimTower(width, features, model.visual)
    student = ClipEncoder(model.to(memory_format=torch.channels_last), teacher.tokenizer, name)
    student.size = teacher.size
    compute.place(student, compute.device_of(teacher))
    return student


@torch.no_grad()
def prepare(
    data: TrainingData, teacher: ClipEncoder, template: str, settings: DistillationParams
) -> Lesson:
    """Let the teacher look at training images once."""
    rows = data.rows("train")
    order = torch.randperm(len(rows), generator=torch_generator(data.seed, "distil", data.name))
    rows = rows[order[: settings.images]].sort()[0]
    where = compute.device_of(teacher)
    vectors = [
        teacher.image_features(compute.place(images, where)) for _, images in data.batches(rows, 64)
    ]
    texts = teacher.text_features(prompts(data.classes, template))
    return Lesson(data, rows, torch.cat(vectors), texts)


def distil(
    student: ClipEncoder, lessons: Sequence[Lesson], settings: DistillationParams, seed: int
) -> list[float]:
    """Train the student's image tower in place; returns the mean loss of each epoch.

    The loss is :func:`distillation_loss` with the prompts of the image's own dataset.
    """
    visual, full = student.visual, student.size
    chance = torch_generator(seed, "applications", "distil")
    optimizer = torch.optim.AdamW(visual.parameters(), lr=settings.learning_rate, fused=True)
    steps = sum(-(-len(lesson) // settings.batch_size) for lesson in lessons) * settings.epochs
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.learning_rate, total_steps=steps + 1, pct_start=0.3
    )
    losses = []
    visual.requires_grad_(True)
    for epoch in range(settings.epochs):
        small = epoch < round(settings.small_share * settings.epochs)
        student.size = min(settings.small_size, full) if small else full
        batches = _batches(lessons, settings.batch_size, chance)
        visual.train()
        own = []
        for lesson, chosen in batches:
            own.append(_step(student, lesson, chosen, settings, optimizer, chance))
            schedule.step()
        visual.eval()
        losses.append(sum(own) / len(own))
    student.size = full
    visual.requires_grad_(False)
    return losses


def _step(
    student: ClipEncoder,
    lesson: Lesson,
    chosen: Tensor,
    settings: DistillationParams,
    optimizer: torch.optim.Optimizer,
    chance: torch.Generator,
) -> float:
    rows, where = lesson.rows[chosen], lesson.vectors.device
    pixels = torch.from_numpy(lesson.data.pixels_at(student.size)[rows.numpy()])
    images = augment(pixels.permute(0, 3, 1, 2), 0.05, chance)  # bytes: little to move
    loss = distillation_loss(
        student,
        compute.place(images, where),
        lesson.vectors[chosen.to(where)],
        lesson.texts,
        compute.place(lesson.data.labels[rows], where),
        settings.class_weight,
    )
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return float(loss.detach())


def distillation_loss(
    student: ClipEncoder,
    images: Tensor,
    vectors: Tensor,
    texts: Tensor,
    labels: Tensor,
    class_weight: float,
) -> Tensor:
    """1 - cosine to the teacher's ``vectors`` + ``class_weight`` x cross-entropy over ``texts``.

    ``images`` (n, 3, height, width) are bytes.
    """
    prepared = student.prepare(images.float().div(255))
    with compute.autocast(images.device):
        own: Tensor = student.model.encode_image(
            prepared.contiguous(memory_format=torch.channels_last), normalize=True
        )
    own = own.float()
    logits = student.logit_scale * own @ texts.T
    return 1 - (own * vectors).sum(1).mean() + class_weight * cross_entropy(logits, labels)


def _batches(
    lessons: Sequence[Lesson], size: int, chance: torch.Generator
) -> list[tuple[Lesson, Tensor]]:
    """Batches of one dataset each, all in random order."""
    found = [
        (lesson, part)
        for lesson in lessons
        for part in torch.split(torch.randperm(len(lesson), generator=chance), size)
    ]
    return [found[place] for place in torch.randperm(len(found), generator=chance).tolist()]


def _open_pretrained(tower: TowerParams, root: Path, seed: int) -> ClipEncoder:
    weights = with_seed(str(tower.weights), seed)
    if (root / weights).is_file():
        weights = str(root / weights)
    model, tokenizer = open_model(str(tower.architecture), weights)
    return ClipEncoder(model, tokenizer, tower.name)


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Artefacts:
    """What the norms of all positions of some images say."""

    positions: int
    median: float
    fence: float  # norms above it are outliers
    largest: float  # the largest norm as a multiple of the median
    outliers: float  # their share of all positions
    background: float  # share of all positions that show no part of an object
    in_background: float  # share of the outliers that are there; NaN if there are none


def artefacts(norms: Floats, background: Flags, width: float = 3.0) -> Artefacts:
    """Outliers among norms (images, rows, columns) of one tower.

    A norm is an outlier if it lies more than ``width`` interquartile ranges above the upper
    quartile of all positions of all images; 3 is Tukey's outer fence ("far out"). ``background``
    (same shape) is true where a position shows no part of an object.

    Examples
    --------
    >>> norms = np.ones((1, 10, 10)); norms[0, 0, 0] = 9.0
    >>> artefacts(norms, np.ones((1, 10, 10), bool)).outliers
    0.01
    """
    if norms.shape != background.shape or not norms.size:
        raise PastaError(f"norms are {norms.shape} and the background {background.shape}")
    low, median, high = np.quantile(norms, (0.25, 0.5, 0.75))
    fence = float(high + width * (high - low))
    far = norms > fence
    return Artefacts(
        int(norms.size),
        float(median),
        fence,
        float(norms.max() / median) if median > 0 else float("nan"),
        float(far.mean()),
        float(background.mean()),
        float(background[far].mean()) if far.any() else float("nan"),
    )


def feature_norms(tower: Any, images: Tensor, batch_size: int = 16) -> Floats:
    """Norms (n, rows, columns) over the channels of the tower's last feature map.

    ``images`` are as the tower wants them, on its device. For transformers these are the outputs
    of the last block, before any further norm, which would make all of them alike.
    """
    layer, to_maps = last_features(tower)
    parts: list[Tensor] = []

    def keep(_layer: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        parts.append(to_maps(output).norm(dim=1))

    with torch.inference_mode(), hooked(layer, keep):
        for batch in torch.split(images, batch_size):
            tower(batch)
    return np.asarray(compute.to_numpy(torch.cat(parts)), np.float64)


def last_features(tower: Any) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """The last layer that knows places, and what makes (n, channels, rows, columns) of it."""
    inner = getattr(tower, "trunk", tower)  # open_clip wraps timm's networks
    if hasattr(inner, "layer4"):
        return inner.layer4[-1], lambda output: output
    if hasattr(inner, "transformer"):
        rows, columns = inner.grid_size
        places = Tokens(grid=(rows, columns))
        if getattr(inner.transformer, "batch_first", True):
            return inner.transformer.resblocks[-1], places
        return inner.transformer.resblocks[-1], lambda output: places(output.transpose(0, 1))
    if hasattr(inner, "blocks"):
        rows, columns = inner.patch_embed.grid_size
        return inner.blocks[-1], Tokens(grid=(rows, columns))
    raise PastaError(f"where {type(inner).__name__} keeps its last feature map is not known")


def background_cells(parts: NDArray[np.uint8], rows: int, columns: int) -> Flags:
    """Which cells (n, rows, columns) hold no pixel of any part (n, height, width)."""
    seen = torch.from_numpy(np.asarray(parts) > 0).float()[:, None]
    found: Flags = (adaptive_max_pool2d(seen, (rows, columns))[:, 0] == 0).numpy()
    return found


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
    """One tower, and the images of some groups' datasets that are explained with it."""

    tower: TowerParams
    images: tuple[tuple[Group, tuple[str, ...]], ...]
    params: Params
    root: Path


def prepare_towers(
    groups: Sequence[Group], params: Params, root: Path, out: Path, kept: KeptUnits | None = None
) -> int:
    """Explain fresh images on every tower by every method, and store the maps.

    Of ``groups`` those are used whose datasets ``applications.backbones.datasets`` names; ``root``
    is where the clip stage's encoder is. Returns the number of images.
    """
    own = params.applications.backbones
    for name in own.methods:
        family_of(name)
    groups = groups_with_new_images(groups)
    if not groups:
        save_nothing(out)
        return 0
    chosen = {
        group: fresh
        for group in choose_datasets(groups, own)
        if len(fresh := fresh_images(group, params, for_dataset(own.images, group.dataset), KEYS))
    }
    require_fresh(list(chosen.values()), KEYS)
    images = tuple((group, tuple(fresh.ids)) for group, fresh in chosen.items())
    # the largest takes longest and begins first
    units = [TowerUnit(tower, images, params, root) for tower in own.towers[::-1]]
    parts = run_units("towers of growing size", explain_tower, units, kept)[::-1]
    card = {
        "rows": [row for part in parts for row in json.loads(str(part["rows"]))],
        "towers": [json.loads(str(part["about"])) for part in parts],
    }
    save_prepared(out, card, {"maps": np.concatenate([part["maps"] for part in parts])})
    return sum(map(len, chosen.values()))


def load_towers(folder: Path) -> Explained:
    """What :func:`prepare_towers` has stored."""
    card, arrays = load_prepared(folder, STAGE)
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
    fresh = [named_images(open_dataset(group.images), ids) for group, ids in unit.images]
    parts = [TrainingData(one.dataset, params.seeds.training, params, unit.root) for one in fresh]
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
        params.seeds.explaining,
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
