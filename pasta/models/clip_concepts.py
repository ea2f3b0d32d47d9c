"""Concept models on CLIP: CLIP-linear, CLIP-QDA and LaBo.

All three see an image as its similarities to concept prompts, in units of the training images.
LaBo chooses concepts class by class: few, telling, and representative of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.models.base import MODELS, ConceptModel, History, Progress
from pasta.models.clip import (
    ClipEncoder,
    SharesClip,
    prompts,
    shared_encoder,
    shared_features,
)
from pasta.models.concept_bottleneck import Line, LinearHead, fit_logistic, line_logits
from pasta.models.data import ModelContext, TrainingData
from pasta.models.settings import ClipLinearParams, ClipQdaParams, LaboParams, OnClipParams

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

    def __init__(self, context: ModelContext, settings: OnClipParams, head: nn.Module) -> None:
        super().__init__(context.classes, context.concepts)
        encoder = shared_encoder(context, settings.encoder)
        texts = encoder.text_features(prompts(context.concepts, context.params.clip.template))
        self.extractor = ConceptExtractor(encoder, texts)
        self.head = head


@dataclass(frozen=True)
class Examples:
    """Concept scores and labels of one split, in double precision and in main memory."""

    scores: Tensor
    labels: Tensor


def examples(
    model: ClipConceptModel, data: TrainingData, settings: OnClipParams
) -> tuple[Examples, Examples]:
    """Training and validation examples; sets the extractor's statistics."""
    features = shared_features(data, settings.encoder).to(model.extractor.texts.device)
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


class ClipLinear(ClipConceptModel):
    """Weights say what each concept speaks for."""

    head: LinearHead

    def __init__(self, context: ModelContext, settings: OnClipParams) -> None:
        head = LinearHead(len(context.concepts), len(context.classes))
        super().__init__(context, settings, head)


@MODELS.register(
    "clip_linear",
    title="CLIP-linear",
    family="concept",
    encoder="clip",
    doi="10.48550/arXiv.2308.03685",
)
class ClipLinearRecipe:
    """Penalised logistic regression; the penalty is chosen on the validation images."""

    @staticmethod
    def build(context: ModelContext, settings: ClipLinearParams) -> ClipLinear:
        """All weights zero."""
        return ClipLinear(context, settings)

    @staticmethod
    def fit(
        model: ClipLinear, data: TrainingData, settings: ClipLinearParams, progress: Progress
    ) -> History:
        """Fit the layer on the similarities of the training images."""
        train, validation = examples(model, data, settings)
        fit = partial(fit_line, train, len(data.classes))
        line, history = choose(settings.inverse_penalty, fit, line_logits, validation, progress)
        model.head.take(line)
        return history


class GaussianHead(nn.Module):
    """Scores to log density + log prior under one Gaussian per class."""

    def __init__(self, concepts: int, classes: int) -> None:
        super().__init__()
        self.means: Tensor
        self.whitening: Tensor
        self.offsets: Tensor
        self.register_buffer("means", torch.zeros(classes, concepts))
        self.register_buffer("whitening", torch.eye(concepts).repeat(classes, 1, 1))
        self.register_buffer("offsets", torch.zeros(classes))

    def forward(self, scores: Tensor) -> Tensor:
        """Log joint density of scores and class, without the constant all classes share."""
        centred = scores[:, None] - self.means
        white = torch.einsum("nkd,kde->nke", centred, self.whitening)
        return self.offsets - white.square().sum(2) / 2


def fit_gaussians(train: Examples, classes: int, shrinkage: float) -> GaussianHead:
    """Mean and covariance of each class, (1 - shrinkage) x covariance + shrinkage x identity.

    Both are maximum-likelihood estimates (divided by n), as in scikit-learn 1.9. Scores are
    standardised, so the identity is a sphere of the size of the data.
    """
    concepts = train.scores.shape[1]
    head = GaussianHead(concepts, classes).double()
    for label in range(classes):
        chosen = train.scores[train.labels == label]
        if len(chosen) < 2:
            raise PastaError(f"clip_qda: class {label} has {len(chosen)} training images, needs 2")
        covariance = torch.cov(chosen.T, correction=0).reshape(concepts, concepts)
        identity = torch.eye(concepts, dtype=torch.double)
        lengths, axes = torch.linalg.eigh((1 - shrinkage) * covariance + shrinkage * identity)
        # Fewer images than concepts leave flat directions, in which nothing can be told.
        lengths = lengths.clamp_min(float(lengths.max()) * 1e-12)
        head.means[label] = chosen.mean(0)
        head.whitening[label] = axes / lengths.sqrt()
        prior = len(chosen) / len(train.labels)
        head.offsets[label] = torch.tensor(prior).log() - lengths.log().sum() / 2
    return head


class ClipQda(ClipConceptModel):
    """Class densities over concept scores."""

    head: GaussianHead

    def __init__(self, context: ModelContext, settings: OnClipParams) -> None:
        head = GaussianHead(len(context.concepts), len(context.classes))
        super().__init__(context, settings, head)


def _logits(head: GaussianHead, scores: Tensor) -> Tensor:
    logits: Tensor = head(scores)
    return logits


@MODELS.register(
    "clip_qda", title="CLIP-QDA", family="concept", encoder="clip", doi="10.48550/arXiv.2312.00110"
)
class ClipQdaRecipe:
    """Closed form; the shrinkage is chosen on the validation images."""

    @staticmethod
    def build(context: ModelContext, settings: ClipQdaParams) -> ClipQda:
        """The same standard Gaussian for each class."""
        return ClipQda(context, settings)

    @staticmethod
    def fit(
        model: ClipQda, data: TrainingData, settings: ClipQdaParams, progress: Progress
    ) -> History:
        """Estimate the Gaussians on the similarities of the training images."""
        train, validation = examples(model, data, settings)
        fit = partial(fit_gaussians, train, len(data.classes))
        head, history = choose(settings.shrinkage, fit, _logits, validation, progress)
        model.head.load_state_dict(head.state_dict())
        return history


class Labo(ClipConceptModel):
    """Only chosen concepts have weight."""

    head: LinearHead

    def __init__(self, context: ModelContext, settings: OnClipParams) -> None:
        head = LinearHead(len(context.concepts), len(context.classes))
        super().__init__(context, settings, head)
        self.chosen: Tensor
        nothing = torch.zeros(len(context.classes), len(context.concepts), dtype=torch.bool)
        self.register_buffer("chosen", nothing)  # which class has chosen which concept


@dataclass(frozen=True)
class Objective:
    """Worth of a set of concepts: how telling they are + how well they cover the candidates.

    Both terms only grow and have diminishing returns, so the greedy choice is worth at least
    1 - 1/e of the best one (Nemhauser et al., 1978).
    """

    telling: Tensor  # not negative, for each concept
    likeness: Tensor  # not negative, concepts x concepts
    discriminability: float  # weight of the first term
    coverage: float  # weight of the second

    def worth(self, chosen: list[int]) -> float:
        """The value of a set."""
        if not chosen:
            return 0.0
        covered = self.likeness[:, chosen].amax(1).sum()
        return float(self.discriminability * self.telling[chosen].sum() + self.coverage * covered)


def greedy(objective: Objective, number: int) -> list[int]:
    """Take the concept that adds most, again and again; the first of equals."""
    chosen: list[int] = []
    rest = list(range(len(objective.telling)))
    while rest and len(chosen) < number:
        worths = [objective.worth([*chosen, concept]) for concept in rest]
        chosen.append(rest.pop(worths.index(max(worths))))
    return chosen


def telling_scores(features: Tensor, labels: Tensor, texts: Tensor, scale: float) -> Tensor:
    """How far a concept is from saying the same of all classes: log classes - entropy, >= 0.

    The mean similarity of each class with the concept, turned into probabilities over classes.
    """
    classes = int(labels.max()) + 1
    means = torch.stack([features[labels == label].mean(0) for label in range(classes)])
    shares = (scale * means @ texts.T).softmax(0)
    entropy = -torch.xlogy(shares, shares).sum(0)
    return (torch.tensor(float(classes)).log() - entropy).clamp_min(0)


def likenesses(texts: Tensor) -> Tensor:
    """Cosine similarity of concepts, moved to 0-1 so that covering more never costs."""
    return (1 + texts @ texts.T) / 2


def choose_concepts(model: Labo, data: TrainingData, settings: LaboParams) -> Tensor:
    """Classes x concepts, true where a class has chosen a concept.

    Candidates of a class are the concepts that its training images show: they take the place of
    the sentences that the authors had a language model write about each class.
    """
    rows, texts = data.rows("train"), model.extractor.texts.cpu()
    features, labels = shared_features(data, settings.encoder)[rows], data.labels[rows]
    scale = float(model.extractor.encoder.logit_scale)
    telling = telling_scores(features, labels, texts, scale)
    likeness = likenesses(texts)
    chosen = torch.zeros(model.chosen.shape, dtype=torch.bool)
    for label in range(len(data.classes)):
        seen = data.presence[rows][labels == label].amax(0).nonzero()[:, 0]
        objective = Objective(
            telling[seen], likeness[seen][:, seen], settings.discriminability, settings.coverage
        )
        chosen[label, seen[greedy(objective, settings.per_class)]] = True
    return chosen


def fit_chosen(train: Examples, classes: int, columns: Tensor, inverse_penalty: float) -> Line:
    """Logistic regression on some columns; the others get weight zero."""
    part = Examples(train.scores[:, columns], train.labels)
    few, bias = fit_line(part, classes, inverse_penalty)
    weight = torch.zeros(classes, len(columns), dtype=few.dtype)
    weight[:, columns] = few
    return weight, bias


@MODELS.register(
    "labo", title="LaBo", family="concept", encoder="clip", doi="10.48550/arXiv.2211.11158"
)
class LaboRecipe:
    """Choose concepts, then fit a layer on all that any class has chosen."""

    @staticmethod
    def build(context: ModelContext, settings: LaboParams) -> Labo:
        """All weights zero, nothing chosen."""
        return Labo(context, settings)

    @staticmethod
    def fit(model: Labo, data: TrainingData, settings: LaboParams, progress: Progress) -> History:
        """Fit the layer on the chosen similarities of the training images."""
        train, validation = examples(model, data, settings)
        model.chosen.copy_(choose_concepts(model, data, settings))
        fit = partial(fit_chosen, train, len(data.classes), model.chosen.any(0).cpu())
        line, history = choose(settings.inverse_penalty, fit, line_logits, validation, progress)
        model.head.take(line)
        return history
