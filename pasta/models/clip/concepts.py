"""What CLIP's concept models have in common: similarities to concept prompts, standardised."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from pasta.models.base import ConceptModel, History, Progress
from pasta.models.clip.encoder import (
    ClipEncoder,
    SharesClip,
    clip_settings,
    shared_encoder,
    shared_features,
)
from pasta.models.clip.prompts import prompts
from pasta.models.concept_parts import Line, fit_logistic
from pasta.models.data import ModelContext, TrainingData

_SMALLEST_SPREAD = 1e-6
T = TypeVar("T")


class ConceptExtractor(nn.Module):
    """Images to similarities with frozen concept prompts, in units of the training images."""

    def __init__(self, encoder: ClipEncoder, texts: Tensor) -> None:
        super().__init__()
        self.encoder = encoder
        self.texts: Tensor
        self.mean: Tensor
        self.spread: Tensor
        self.register_buffer("texts", texts)
        self.register_buffer("mean", torch.zeros(len(texts)))
        self.register_buffer("spread", torch.ones(len(texts)))

    def forward(self, images: Tensor) -> Tensor:
        """Standardised similarities, n x concepts."""
        return self.scores(self.encoder(images))

    def scores(self, features: Tensor) -> Tensor:
        """The same from the encoder's unit vectors."""
        return (features @ self.texts.T - self.mean) / self.spread

    def standardise(self, features: Tensor) -> None:
        """Take mean and spread of the training images."""
        similarities = features @ self.texts.T
        self.mean.copy_(similarities.mean(0))
        self.spread.copy_(similarities.std(0).clamp_min(_SMALLEST_SPREAD))


class ClipConceptModel(SharesClip, ConceptModel):
    """The extractor and any head."""

    extractor: ConceptExtractor

    def __init__(self, context: ModelContext, head: nn.Module) -> None:
        super().__init__(context.classes, context.concepts)
        encoder = shared_encoder(context)
        texts = encoder.text_features(prompts(context.concepts, clip_settings(context).template))
        self.extractor = ConceptExtractor(encoder, texts)
        self.head = head


@dataclass(frozen=True)
class Examples:
    """Concept scores and labels of one split, in double precision and in main memory."""

    scores: Tensor
    labels: Tensor


def examples(model: ClipConceptModel, data: TrainingData) -> tuple[Examples, Examples]:
    """Training and validation examples; sets the extractor's statistics."""
    features = shared_features(data).to(model.extractor.texts.device)
    model.extractor.standardise(features[data.rows("train")])
    scores = model.extractor.scores(features).cpu().double()
    train, validation = (
        Examples(scores[rows], data.labels[rows])
        for rows in (data.rows("train"), data.rows("validation"))
    )
    return train, validation


def fit_line(train: Examples, classes: int, inverse_penalty: float) -> Line:
    """Weights and bias that minimise C x the sum of log losses + half the squared weights."""
    penalty = 1 / (inverse_penalty * len(train.labels))
    return fit_logistic(train.scores, train.labels, classes, penalty)


def choose(
    candidates: Iterable[float],
    fit: Callable[[float], T],
    logits: Callable[[T, Tensor], Tensor],
    validation: Examples,
    progress: Progress,
) -> tuple[T, History]:
    """Fit with each candidate setting; the best on validation, the more certain of equals."""
    history, fitted, merits = History(), [], []
    for candidate in candidates:
        result = fit(candidate)
        guesses = logits(result, validation.scores)
        accuracy = float((guesses.argmax(1) == validation.labels).double().mean())
        loss = float(nn.functional.cross_entropy(guesses, validation.labels))
        history.add(setting=candidate, validation=accuracy, validation_loss=loss)
        progress(f"setting {candidate:g}, accuracy {accuracy:.3f}")
        fitted.append(result)
        merits.append((accuracy, -loss))
    best = max(range(len(merits)), key=merits.__getitem__)
    history.best_epoch = best + 1
    return fitted[best], history
