"""What concept models share: a started backbone, and a linear head on concept scores."""

from __future__ import annotations

from itertools import chain
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from pasta.errors import PastaError
from pasta.models.data import ModelContext, TrainingData
from pasta.models.normalise import Normalise
from pasta.models.resnet import ScaledResNet, scaled_resnet
from pasta.models.settings import BackboneParams
from pasta.models.training import seeded
from pasta.models.weights import load_torchvision_weights, take_over

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
