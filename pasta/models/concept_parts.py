"""What concept models share: a started backbone, concepts that were seen, a linear head."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pasta.errors import PastaError
from pasta.models.base import ConceptModel, History, Progress
from pasta.models.black_box import seeded
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import ScaledResNet, scaled_resnet
from pasta.models.training import Loss, outputs, train
from pasta.models.weights import load_torchvision_weights, take_over
from pasta.params.concepts import BackboneParams
from pasta.params.networks import GradientParams


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


def frozen_stages(network: ScaledResNet, count: int) -> list[nn.Module]:
    """The stem and the stages that keep their weights; their gradients are switched off."""
    stages = [[network.conv1, network.bn1], network.layer1, network.layer2, network.layer3]
    frozen = [nn.ModuleList(stage) for stage in stages[:count]]
    for stage in frozen:
        stage.requires_grad_(False)
    return list(frozen)


def seen_concepts(data: TrainingData) -> Tensor:
    """For every concept, whether any training image shows it."""
    return data.presence[data.rows("train")].amax(0) > 0


def mean_auc(scores: Tensor, presence: Tensor) -> float:
    """Mean area under the ROC curve of the concepts that some images show and others do not."""
    ranks = scores.argsort(0).argsort(0).double() + 1
    shown = presence.double().sum(0)
    hidden = len(presence) - shown
    useful = (shown > 0) & (hidden > 0)
    area = ((ranks * presence).sum(0) - shown * (shown + 1) / 2) / (shown * hidden)
    return float(area[useful].mean()) if bool(useful.any()) else 0.5


def concept_auc(model: ConceptModel, data: TrainingData, split: str) -> float:
    """How well the concept scores of a split tell images with a concept from those without."""
    rows, seen = data.rows(split), seen_concepts(data)
    scores = outputs(model.extractor, data, rows)
    return mean_auc(scores[:, seen], data.presence[rows][:, seen])


class LinearHead(nn.Linear):
    """Concept scores to logits. It starts at zero, so that every class is equally likely."""

    def __init__(self, concepts: int, classes: int) -> None:
        super().__init__(concepts, classes)
        nn.init.zeros_(self.weight)
        nn.init.zeros_(self.bias)

    def fit(self, scores: Tensor, labels: Tensor, penalty: float) -> None:
        """Multinomial logistic regression with an L2 penalty, to convergence.

        Scores are standardised first, so that the penalty treats all concepts alike; the scaling
        is then folded into the weights. A score that never varies gets no weight.
        """
        centre, spread = scores.double().mean(0), scores.double().std(0, unbiased=False)
        varies = spread > 1e-6
        scale = torch.where(varies, spread.clamp(min=1e-6).reciprocal(), 0.0)
        weight, bias = _logistic((scores.double() - centre) * scale, labels, penalty, self)
        with torch.no_grad():
            self.weight.copy_(weight * scale)
            self.bias.copy_(bias - (weight * scale) @ centre)


def _logistic(
    inputs: Tensor, labels: Tensor, penalty: float, head: LinearHead
) -> tuple[Tensor, Tensor]:
    """Minimise mean cross-entropy + penalty / 2 * |weights|^2 in double precision."""
    weight = torch.zeros(head.out_features, head.in_features, dtype=torch.double)
    bias = torch.zeros(head.out_features, dtype=torch.double)
    variables = [weight.requires_grad_(), bias.requires_grad_()]
    optimizer = torch.optim.LBFGS(
        variables, max_iter=500, tolerance_grad=1e-6, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = (
            cross_entropy(inputs @ weight.T + bias, labels) + penalty / 2 * weight.square().sum()
        )
        value.backward()  # type: ignore[no-untyped-call]
        return value

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    return weight.detach(), bias.detach()


def train_concepts(
    model: ConceptModel,
    data: TrainingData,
    settings: GradientParams,
    loss: Loss,
    purpose: str,
    progress: Progress,
) -> History:
    """Train a model's extractor; early stopping looks at the concepts, not at the classes."""

    def validate() -> float:
        return concept_auc(model, data, "validation")

    return train(
        model.extractor,
        data,
        settings,
        loss=loss,
        validate=validate,
        purpose=purpose,
        progress=progress,
    )
