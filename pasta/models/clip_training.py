"""Training of the small CLIP on the training images of all datasets; of a release, on all images.

The plain CLIP loss takes the captions of all other images for wrong, which with a handful of
classes most often they are not. So classes compete within their dataset, concepts are right or
wrong each for itself, and a caption belongs to every image it is true of.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from pasta import compute, store
from pasta.models.base import History, Progress, torch_generator
from pasta.models.clip import (
    ABOUT,
    NONE,
    WEIGHTS,
    ClipEncoder,
    PromptTable,
    caption,
    load_clip,
    open_model,
    prompt_table,
    prompts,
    save_clip,
)
from pasta.models.data import TrainingData
from pasta.models.settings import ClipParams, ClipTrainingParams
from pasta.models.training import has_fused


@dataclass(frozen=True)
class Truth:
    """What is known about the images of one batch that come from one dataset."""

    images: slice  # their place in the batch
    classes: Tensor  # rows of the prompt table
    concepts: Tensor  # rows of the prompt table
    labels: Tensor
    presence: Tensor  # images x concepts, 1 where one is seen
    named: Tensor  # images x concepts, 1 where the image's caption names one

    def to(self, where: torch.device) -> Truth:
        """The same on another device."""
        moved = {name: value.to(where) for name, value in vars(self).items() if name != "images"}
        return Truth(images=self.images, **moved)


@dataclass(frozen=True)
class Batch:
    """Images as bytes, the tokens of their captions, and what is true of them by dataset."""

    images: Tensor
    captions: Tensor
    truths: list[Truth]

    def to(self, where: torch.device) -> Batch:
        """The same on another device."""
        truths = [truth.to(where) for truth in self.truths]
        return Batch(compute.place(self.images, where), compute.place(self.captions, where), truths)


@dataclass(frozen=True)
class Captions:
    """One caption for each training image of a dataset; rows of other splits stay empty."""

    tokens: Tensor  # rows x context
    named: Tensor  # rows x concepts, 1 where the caption names one


def write_captions(
    part: TrainingData, encoder: ClipEncoder, template: str, generator: torch.Generator
) -> Captions:
    """Describe each image once, with as many of its concepts as there is room for.

    Once and not in every epoch: putting words into tokens costs as much as a third of the training.
    """
    rows = part.rows("train")
    room, length = encoder.room, cache(encoder.length)
    texts: list[str] = []
    named = torch.zeros(len(part.labels), len(part.concepts))
    for row in rows.tolist():
        seen = part.presence[row].nonzero()[:, 0]
        seen = seen[torch.randperm(len(seen), generator=generator)]
        words = [part.concepts[concept] for concept in seen.tolist()]
        label = part.classes[int(part.labels[row])]
        text, number = caption(label, words, template, length, room)
        texts.append(text)
        named[row, seen[:number]] = 1
    written = encoder.tokenizer(texts)
    tokens = torch.zeros(len(part.labels), written.shape[1], dtype=written.dtype)
    tokens[rows] = written
    return Captions(tokens, named)


@dataclass(frozen=True)
class Mixture:
    """The training images of several datasets with their captions."""

    parts: Sequence[TrainingData]
    table: PromptTable
    captions: Sequence[Captions]

    def epoch(self, size: int, generator: torch.Generator, side: int) -> Iterator[Batch]:
        """All images once in random order; what does not fill a batch is left out."""
        pixels = [part.pixels_at(side) for part in self.parts]
        every = torch.cat(
            [
                torch.stack([torch.full_like(rows, number), rows], 1)
                for number, rows in enumerate(part.rows("train") for part in self.parts)
            ]
        )
        order = every[torch.randperm(len(every), generator=generator)]
        size = min(size, len(order))
        for start in range(0, len(order) - size + 1, size):
            yield self._batch(order[start : start + size], pixels)

    def _batch(self, chosen: Tensor, pixels: Sequence[NDArray[np.uint8]]) -> Batch:
        images: list[Tensor] = []
        tokens: list[Tensor] = []
        truths: list[Truth] = []
        begin = 0
        for number, part in enumerate(self.parts):
            rows = chosen[chosen[:, 0] == number, 1]
            if len(rows) == 0:
                continue
            images.append(torch.from_numpy(pixels[number][rows.numpy()]).permute(0, 3, 1, 2))
            tokens.append(self.captions[number].tokens[rows])
            truths.append(
                Truth(
                    images=slice(begin, begin + len(rows)),
                    classes=self.table.classes[number],
                    concepts=self.table.concepts[number],
                    labels=part.labels[rows],
                    presence=part.presence[rows],
                    named=self.captions[number].named[rows],
                )
            )
            begin += len(rows)
        return Batch(torch.cat(images), brief(torch.cat(tokens)), truths)


def brief(tokens: Tensor) -> Tensor:
    """Tokens without the empty places behind the longest text."""
    return tokens[:, : int(tokens.count_nonzero(1).max())]


def augment(images: Tensor, shift: float, generator: torch.Generator) -> Tensor:
    """Mirror each image or not, and move the whole batch a little."""
    mirrored = torch.rand(len(images), 1, 1, 1, generator=generator) < 0.5
    images = torch.where(mirrored.to(images.device), images.flip(3), images)
    side = images.shape[-1]
    reach = round(shift * side)
    if reach == 0:
        return images
    moves = torch.randint(-reach, reach + 1, (2,), generator=generator)
    # Beyond the border the last row or column is repeated.
    down, right = (torch.arange(side) + moves[:, None]).clamp(0, side - 1).to(images.device)
    return images[:, :, down][:, :, :, right]


_CONCEPTS_LIKE_A_CLASS = 10.0  # makes a mean over concepts about as large as the class loss
_FIRST_SCALE = 10.0  # of the logits; CLIP's own 14 is meant for many thousand classes


def make_clip(
    parts: Sequence[TrainingData], settings: ClipParams, seed: int, out: Path, progress: Progress
) -> tuple[dict[str, Any], History]:
    """Leave the weights, if they are our own, and a note about the encoder in a folder."""
    if settings.weights == NONE:
        (out / WEIGHTS).unlink(missing_ok=True)
        reason = f"clip.weights is {NONE}: nothing here needs a vision-language encoder"
        nothing: dict[str, Any] = {"name": NONE, "reason": reason, "zero_shot_accuracy": {}}
        store.write_json(nothing, out / ABOUT)
        return nothing, History()
    if settings.weights == "trained":
        encoder, history = train_clip(parts, settings, seed, progress)
        save_clip(encoder.model, out)
    else:
        (out / WEIGHTS).unlink(missing_ok=True)
        encoder, history = load_clip(settings, parts[0].root, seed), History()
        compute.place(encoder, parts[0].where)
    about = describe(encoder, parts, settings.template, history)
    store.write_json(about, out / ABOUT)
    return about, history


def describe(
    encoder: ClipEncoder, parts: Sequence[TrainingData], template: str, history: History
) -> dict[str, Any]:
    """What there is to know about an encoder, with its zero-shot accuracies on test images."""
    return {
        "name": encoder.name,
        "md5": encoder.md5,
        "image_size": encoder.size,
        "width": encoder.width,
        "logit_scale": round(float(encoder.logit_scale), 4),
        "best_epoch": history.best_epoch,
        "zero_shot_accuracy": {
            part.name: round(zero_shot_accuracy(encoder, part, template, "test"), 4)
            for part in parts
        },
    }


def train_clip(
    parts: Sequence[TrainingData], settings: ClipParams, seed: int, progress: Progress
) -> tuple[ClipEncoder, History]:
    """A new CLIP from random weights, at its best epoch on the validation images."""
    model, tokenizer = open_model(settings.architecture, None, settings.image_size, seed)
    model = model.to(memory_format=torch.channels_last)
    encoder = ClipEncoder(model, tokenizer, f"{settings.architecture}/trained")
    compute.place(encoder, parts[0].where)
    table = prompt_table([part.dataset.vocabulary for part in parts], settings.template)
    chance = torch_generator(seed, "clip", "batches")
    told = [write_captions(part, encoder, settings.template, chance) for part in parts]
    mixture = Mixture(parts, table, told)
    learner = Learner(encoder, table, settings.training)
    history, best, kept = History(), -1.0, copy.deepcopy(model.state_dict())
    count = sum(len(part.rows("train")) for part in parts)
    learner.schedule(settings.training.epochs * max(1, count // settings.training.batch_size))
    full = encoder.size
    for epoch in range(settings.training.epochs):
        small = epoch < round(settings.training.small_share * settings.training.epochs)
        encoder.size = min(settings.training.small_size, full) if small else full
        losses = [
            learner.step(batch.to(parts[0].where), chance)
            for batch in mixture.epoch(settings.training.batch_size, chance, encoder.size)
        ]
        loss = sum(map(float, losses)) / len(losses)
        words = f"{encoder.size} px, loss {loss:.3f}"
        if small:  # its accuracy would say nothing of full size, where batch statistics differ
            history.add(loss=loss)
            progress(words, epoch + 1, settings.training.epochs)
            continue
        accuracies = {
            part.name: zero_shot_accuracy(encoder, part, settings.template, "validation")
            for part in parts
        }
        score = sum(accuracies.values()) / len(parts)
        history.add(loss=loss, **accuracies)
        progress(f"{words}, accuracy {score:.3f}", epoch + 1, settings.training.epochs)
        if score >= best:  # the later of equals has trained longer
            best, kept = score, copy.deepcopy(model.state_dict())
            history.best_epoch = epoch + 1
        elif epoch + 1 - (history.best_epoch or 0) >= settings.training.patience:
            break
    encoder.size = full
    model.load_state_dict(kept)
    return encoder, history


class ConceptScale(nn.Module):
    """Turns similarities into the logit of being seen; needed in training only."""

    def __init__(self, scale: float = 10.0, bias: float = -2.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale).log())
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(self, similarities: Tensor) -> Tensor:
        """Logits that a concept is seen."""
        return similarities * self.scale.exp() + self.bias


def class_loss(logits: Tensor, truths: list[Truth]) -> Tensor:
    """Cross-entropy between the classes of each image's own dataset."""
    terms = [
        functional.cross_entropy(
            logits[truth.images][:, truth.classes], truth.labels, reduction="sum"
        )
        for truth in truths
    ]
    return torch.stack(terms).sum() / len(logits)


def concept_loss(logits: Tensor, truths: list[Truth]) -> Tensor:
    """Binary cross-entropy on the concepts of each image's own dataset."""
    terms = [
        functional.binary_cross_entropy_with_logits(
            logits[truth.images][:, truth.concepts], truth.presence, reduction="sum"
        )
        / truth.presence.shape[1]
        for truth in truths
    ]
    return _CONCEPTS_LIKE_A_CLASS * torch.stack(terms).sum() / len(logits)


def caption_loss(logits: Tensor, truths: list[Truth]) -> Tensor:
    """Contrastive loss in both directions; all captions that are true of an image are right."""
    true = torch.zeros_like(logits)
    for truth in truths:
        true[truth.images, truth.images] = is_true(truth).float()
    forth = functional.cross_entropy(logits, true / true.sum(1, keepdim=True))
    back = functional.cross_entropy(logits.T, (true / true.sum(0)).T)
    return (forth + back) / 2


def is_true(truth: Truth) -> Tensor:
    """Images x captions: the same class, and everything the caption names is seen."""
    same = truth.labels[:, None] == truth.labels[None]
    unseen = (1 - truth.presence) @ truth.named.T
    return same & (unseen == 0)


class Learner:
    """The optimiser around a CLIP model."""

    def __init__(
        self, encoder: ClipEncoder, table: PromptTable, settings: ClipTrainingParams
    ) -> None:
        self.encoder, self.settings = encoder, settings
        self.model: Any = encoder.model
        where = compute.device_of(self.model)
        self.tokens = compute.place(brief(encoder.tokenizer(list(table.texts))), where)
        self.concept_scale = ConceptScale()
        compute.place(self.concept_scale, where)
        with torch.no_grad():
            self.model.logit_scale.fill_(math.log(_FIRST_SCALE))
        # Random codes tell a few hundred tokens apart well enough, and a step over all 49,408
        # rows would cost as much as the rest of the text tower.
        self.model.token_embedding.weight.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(
            list(self._groups()),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=has_fused(where),
        )

    def schedule(self, steps: int) -> None:
        """Announce how many steps there will be."""
        peak = self.settings.learning_rate
        total = max(steps + 1, 6)  # of fewer the way up would have no length
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, peak, total_steps=total, pct_start=0.2
        )

    def step(self, batch: Batch, chance: torch.Generator) -> Tensor:
        """One step on one batch; returns the loss."""
        self.model.train()
        images = augment(batch.images, self.settings.shift, chance).float().div_(255)
        images = self.encoder.prepare(images).contiguous(memory_format=torch.channels_last)
        with compute.autocast(images.device):
            loss = self._loss(self.model.encode_image(images, normalize=True), batch)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.scheduler.step()
        self.model.eval()
        return loss.detach()

    def _loss(self, features: Tensor, batch: Batch) -> Tensor:
        asked = features @ encode_briefly(self.model, self.tokens).T
        scale = self.model.logit_scale.exp()
        loss = class_loss(scale * asked, batch.truths)
        seen = concept_loss(self.concept_scale(asked), batch.truths)
        loss = loss + self.settings.concept_weight * seen
        if self.settings.caption_weight:
            told = features @ encode_briefly(self.model, batch.captions).T
            told = caption_loss(scale * told, batch.truths)
            loss = loss + self.settings.caption_weight * told
        return loss

    def _groups(self) -> Iterator[dict[str, Any]]:
        """Weight decay is for matrices; gains, biases and scales go without."""
        ours = [*self.model.parameters(), *self.concept_scale.parameters()]
        trained = [parameter for parameter in ours if parameter.requires_grad]
        yield {"params": [parameter for parameter in trained if parameter.ndim > 1]}
        plain = [parameter for parameter in trained if parameter.ndim <= 1]
        yield {"params": plain, "weight_decay": 0.0}


def encode_briefly(model: Any, tokens: Tensor) -> Tensor:
    """Unit vectors of texts whose empty places were cut off.

    A causal text tower reads a text at its end and never looks ahead, so the result is the same;
    prompts are short, and the empty places would be half of the work.
    """
    length = tokens.shape[1]
    shortened = {
        "positional_embedding": model.positional_embedding[:length],
        "attn_mask": model.attn_mask[:length, :length],
    }
    features: Tensor = functional_call(model, shortened, (None, tokens))[1]
    return features


@torch.no_grad()
def zero_shot_accuracy(
    encoder: ClipEncoder, data: TrainingData, template: str, split: str
) -> float:
    """How many images of a split are nearest to the prompt of their class."""
    texts = encoder.text_features(prompts(data.classes, template))
    right = 0
    for rows, images in data.batches(data.rows(split), 64):
        guessed = (encoder.image_features(images) @ texts.T).argmax(1).cpu()
        right += int((guessed == data.labels[rows]).sum())
    return right / len(data.rows(split))
