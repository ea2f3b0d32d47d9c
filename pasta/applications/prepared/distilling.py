"""CLIP image towers of different sizes: opened as they are, or distilled from the clip stage's.

To train a whole CLIP for each size would take minutes, so the demo trains image towers only. All
share the text tower of the clip stage's encoder, and each learns, from the same images and with
the same schedule, to give the encoder's own vectors and to find the class prompts. So they differ
in size and in nothing else, but they are students of one teacher and not four independent models:
what a much larger data set would teach a larger tower is not in them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pasta import compute
from pasta.applications.settings import DistillationParams, TowerParams
from pasta.config import Params
from pasta.models.base import torch_generator
from pasta.models.clip import ClipEncoder, load_clip, open_model, prompts
from pasta.models.clip_training import augment
from pasta.models.data import TrainingData
from pasta.models.resnet import ScaledResNet
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
        encoder = _open_pretrained(tower, root)
        compute.place(encoder)
        return encoder
    teacher = load_clip(params.clip, root)
    compute.place(teacher)
    lessons = [prepare(one, teacher, params.clip.template, settings) for one in parts]
    student = new_student(teacher, tower.width, tower.name, params.seed)
    distil(student, lessons, settings, params.seed)
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
    rows = rows[order[: settings.images]].sort().values
    where = compute.device_of(teacher)
    vectors = [
        teacher.image_features(compute.place(images, where)) for _, images in data.batches(rows, 64)
    ]
    texts = teacher.text_features(prompts(data.classes, template))
    return Lesson(data, rows, torch.cat(vectors), texts)


def distil(
    student: ClipEncoder,
    lessons: Sequence[Lesson],
    settings: DistillationParams,
    seed: int,
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


def _open_pretrained(tower: TowerParams, root: Path) -> ClipEncoder:
    weights = str(tower.weights)
    if (root / weights).is_file():
        weights = str(root / weights)
    model, tokenizer = open_model(str(tower.architecture), weights)
    return ClipEncoder(model, tokenizer, tower.name)
