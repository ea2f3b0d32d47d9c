"""CLIP-QDA: concept scores of each class as a Gaussian, and Bayes' rule on top."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.models.base import MODELS, History, Progress
from pasta.models.clip.concepts import ClipConceptModel, Examples, choose, examples
from pasta.models.data import ModelContext, TrainingData
from pasta.models.settings import ClipQdaParams


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

    def __init__(self, context: ModelContext) -> None:
        super().__init__(context, GaussianHead(len(context.concepts), len(context.classes)))


def _logits(head: GaussianHead, scores: Tensor) -> Tensor:
    logits: Tensor = head(scores)
    return logits


@MODELS.register(
    "clip_qda", title="CLIP-QDA", family="concept", encoder="clip", doi="10.48550/arXiv.2312.00110"
)
class ClipQdaRecipe:
    """Closed form; the shrinkage is chosen on the validation images."""

    @staticmethod
    def build(context: ModelContext, settings: ClipQdaParams) -> ClipQda:  # noqa: ARG004
        """The same standard Gaussian for each class."""
        return ClipQda(context)

    @staticmethod
    def fit(
        model: ClipQda, data: TrainingData, settings: ClipQdaParams, progress: Progress
    ) -> History:
        """Estimate the Gaussians on the similarities of the training images."""
        train, validation = examples(model, data)
        fit = partial(fit_gaussians, train, len(data.classes))
        head, history = choose(settings.shrinkage, fit, _logits, validation, progress)
        model.head.load_state_dict(head.state_dict())
        return history
