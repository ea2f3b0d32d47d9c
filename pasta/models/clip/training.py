"""Training of the small CLIP on the training images of all datasets."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from pasta import compute
from pasta.models.base import History, Progress, torch_generator
from pasta.models.clip.batches import Batch, Mixture, augment, brief, write_captions
from pasta.models.clip.encoder import ClipEncoder
from pasta.models.clip.losses import ConceptScale, caption_loss, class_loss, concept_loss
from pasta.models.clip.opening import open_model
from pasta.models.clip.prompts import PromptTable, prompt_table, prompts
from pasta.models.data import TrainingData
from pasta.models.training import has_fused
from pasta.params.clip import ClipParams, ClipTrainingParams

_FIRST_SCALE = 10.0  # of the logits; CLIP's own 14 is meant for many thousand classes


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
    best, history = Best(), History()
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
        accuracies = validation_accuracies(encoder, parts, settings.template)
        score = sum(accuracies.values()) / len(parts)
        history.add(loss=loss, **accuracies)
        progress(f"{words}, accuracy {score:.3f}", epoch + 1, settings.training.epochs)
        best.see(epoch, score, model)
        if epoch - best.epoch >= settings.training.patience:
            break
    encoder.size = full
    model.load_state_dict(best.state)
    history.best_epoch = best.epoch + 1
    return encoder, history


@dataclass
class Best:
    """The best epoch so far and its weights; the later of equals, having trained longer."""

    epoch: int = -1
    score: float = -1.0
    state: dict[str, Tensor] = field(default_factory=dict)

    def see(self, epoch: int, score: float, model: nn.Module) -> None:
        """Compare one more epoch."""
        if score >= self.score:
            self.epoch, self.score = epoch, score
            self.state = copy.deepcopy(model.state_dict())


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
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer, peak, total_steps=steps + 1, pct_start=0.2
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
def validation_accuracies(
    encoder: ClipEncoder, parts: Sequence[TrainingData], template: str
) -> dict[str, float]:
    """Zero-shot accuracy on the validation images of each dataset."""
    return {part.name: zero_shot_accuracy(encoder, part, template, "validation") for part in parts}


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
