"""Concept bottleneck models (Koh et al. 2020, arXiv:2007.04612).

A residual network predicts every concept by its own sigmoid unit, trained by binary cross-entropy
on the concept annotations alone: labels never reach it. A multinomial logistic regression then
maps concept scores to classes.

Koh's two ways to fit the regression: ``sequential``, to the scores predicted for the training
images; ``independent``, to their annotations (0 or 1). The score that the second half sees is
either the ``logit`` or the ``probability`` of the concept. As in Koh's experiments the default pair
is sequential with logits: classes that share all their concepts (a bus and a car) can still be told
apart by how strongly concepts are seen. Independent needs probabilities, the only scores on the
scale of annotations; interventions then mean what they say, at the price of such classes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from pasta.errors import PastaError
from pasta.models.base import MODELS, ConceptModel, History, Normalise, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import ScaledResNet, load_torchvision_weights, scaled_resnet, take_over
from pasta.models.settings import BackboneParams, ConceptBottleneckParams
from pasta.models.training import fit_extractor, outputs, seeded, seen_concepts

Line = tuple[Tensor, Tensor]  # weights, classes x concepts, and bias


def new_backbone(
    context: ModelContext, settings: BackboneParams, outputs: int, purpose: str
) -> ScaledResNet:
    """A residual network with random weights."""
    with seeded(context, purpose):
        return scaled_resnet(settings, outputs)


def start_backbone(
    network: ScaledResNet, data: TrainingData, settings: BackboneParams, purpose: str
) -> None:
    """Give a network the weights that ``start`` asks for; its output units stay new."""
    match settings.start:
        case "imagenet":
            if settings.weights is None:
                raise PastaError(f"{purpose}: start 'imagenet' needs the name of the weights")
            load_torchvision_weights(network, "resnet50", settings.weights, skip=("fc",))
        case "resnet50":
            if "resnet50" not in data.shared:
                raise PastaError(
                    f"{purpose}: start 'resnet50' needs the trained resnet50 of {data.name}"
                )
            take_over(network, data.shared["resnet50"].network.state_dict(), skip=("fc",))


class Started(nn.Module):
    """A normalised residual network whose first stages may keep their weights and statistics."""

    def __init__(self, network: ScaledResNet, frozen: int) -> None:
        super().__init__()
        self.normalise, self.network = Normalise(), network
        stages = [[network.conv1, network.bn1], network.layer1, network.layer2, network.layer3]
        self._frozen = [[*stage] for stage in stages[:frozen]]  # no names of their own
        for layer in chain(*self._frozen):
            layer.requires_grad_(False)

    def train(self, mode: bool = True) -> Self:
        """Frozen stages stay as they are."""
        super().train(mode)
        for layer in chain(*self._frozen):
            layer.eval()
        return self


class LinearHead(nn.Linear):
    """Concept scores to logits. It starts at zero, so that every class is equally likely."""

    def __init__(self, concepts: int, classes: int) -> None:
        with torch.random.fork_rng(devices=[]):  # building takes no chance
            super().__init__(concepts, classes)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def fit(self, scores: Tensor, labels: Tensor, penalty: float) -> None:
        """Multinomial logistic regression with an L2 penalty, to convergence.

        Scores are standardised first, so that the penalty treats all concepts alike; the scaling
        is then folded into the weights. A score that never varies gets no weight.
        """
        scores = scores.cpu().double()
        centre, spread = scores.mean(0), scores.std(0, unbiased=False)
        scale = torch.where(spread > 1e-6, spread.clamp(min=1e-6).reciprocal(), 0.0)
        weight, bias = fit_logistic(
            (scores - centre) * scale, labels, self.out_features, penalty, most=500
        )
        self.take((weight * scale, bias - (weight * scale) @ centre))

    @torch.no_grad()
    def take(self, line: Line) -> None:
        """Put fitted weights into the layer."""
        self.weight.copy_(line[0])
        self.bias.copy_(line[1])


def fit_logistic(
    scores: Tensor, labels: Tensor, classes: int, penalty: float, most: int = 200
) -> Line:
    """Weights and bias that minimise the mean log loss + penalty / 2 x the squared weights.

    In double precision, all examples at once, on the CPU: these are small problems.
    """
    weight = torch.zeros(classes, scores.shape[1], dtype=torch.double, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.double, requires_grad=True)
    search = torch.optim.LBFGS(
        [weight, bias],
        max_iter=most,
        tolerance_grad=1e-6,
        tolerance_change=1e-10,
        history_size=10,
        line_search_fn="strong_wolfe",
    )

    def objective() -> Tensor:
        search.zero_grad()
        loss = cross_entropy(scores @ weight.T + bias, labels)
        value = loss + penalty / 2 * weight.square().sum()
        value.backward()  # type: ignore[no-untyped-call]
        return value

    search.step(objective)  # type: ignore[no-untyped-call]
    return weight.detach(), bias.detach()


def line_logits(line: Line, scores: Tensor) -> Tensor:
    """What a linear layer with these weights says."""
    return scores @ line[0].T + line[1]


PURPOSE = "concept_bottleneck"


class ConceptNetwork(Started):
    """Images to concept scores, logits or probabilities.

    A concept that training never showed keeps the same low score for every image.
    """

    def __init__(
        self, network: ScaledResNet, concepts: int, settings: ConceptBottleneckParams
    ) -> None:
        super().__init__(network, settings.backbone.frozen)
        self.score = settings.score
        self.seen: Tensor  # by training, which fills both
        self.unseen: Tensor  # the logit of all others
        self.register_buffer("seen", torch.ones(concepts, dtype=torch.bool))
        self.register_buffer("unseen", torch.zeros(()))

    def logits(self, images: Tensor) -> Tensor:
        """One logit for each concept; no gradient flows to those that were never seen."""
        return torch.where(self.seen, self.network(self.normalise(images)), self.unseen)

    def forward(self, images: Tensor) -> Tensor:
        """One score for each concept."""
        logits = self.logits(images)
        return logits if self.score == "logit" else logits.sigmoid()


class ConceptBottleneck(ConceptModel):
    """Concept probabilities or logits, then logistic regression."""

    extractor: ConceptNetwork
    head: LinearHead

    def __init__(
        self, classes: Sequence[str], concepts: Sequence[str], network: ConceptNetwork
    ) -> None:
        super().__init__(classes, concepts)
        self.extractor = network
        self.head = LinearHead(len(self.concepts), len(self.classes))


@MODELS.register(
    PURPOSE, title="ConceptBottleneck", family="concept", doi="10.48550/arXiv.2007.04612"
)
class ConceptBottleneckRecipe:
    """First the concepts on their annotations, then the classes on the concepts."""

    @staticmethod
    def build(context: ModelContext, settings: ConceptBottleneckParams) -> ConceptBottleneck:
        """A residual network with one output unit for each concept, and a linear head."""
        count = len(context.concepts)
        network = new_backbone(context, settings.backbone, count, PURPOSE)
        extractor = ConceptNetwork(network, count, settings)
        return ConceptBottleneck(context.classes, context.concepts, extractor)

    @staticmethod
    def fit(
        model: ConceptBottleneck,
        data: TrainingData,
        settings: ConceptBottleneckParams,
        progress: Progress,
    ) -> History:
        """Early stopping looks at how well the scores tell which concepts are there."""
        concepts, train_rows = model.extractor, data.rows("train")
        start_backbone(concepts.network, data, settings.backbone, PURPOSE)
        concepts.seen.copy_(seen_concepts(data))
        # the log-odds of half an image in all training images: rarer than anything seen
        concepts.unseen.fill_(-math.log(2 * len(train_rows) + 1))

        def loss(images: Tensor, rows: Tensor, _flipped: Tensor) -> Tensor:
            wanted = data.presence[rows].to(images.device)
            return binary_cross_entropy_with_logits(concepts.logits(images), wanted)

        history = fit_extractor(model, data, settings.training, PURPOSE, progress, loss)
        known = settings.head == "independent"
        scores = data.presence[train_rows] if known else outputs(concepts, data, train_rows)
        model.head.fit(scores, data.labels[train_rows], settings.penalty)
        return history
