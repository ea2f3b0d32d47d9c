"""B-cos ResNet50 and slim relatives (Böhle et al. 2024, doi:10.1109/TPAMI.2024.3355155)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError

import torch
import torch.hub
from bcos.models import pretrained
from bcos.models.resnet import BasicBlock, BcosResNet, Bottleneck
from bcos.modules import BcosConv2d
from bcos.modules.norms import BatchNormUncentered2d, NoBias
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from pasta.errors import PastaError
from pasta.models.base import MODELS, BlackBox, History, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import take_over
from pasta.models.settings import BcosParams, is_random
from pasta.models.training import fit_black_box, seeded
from pasta.registry import did_you_mean

# Names of bcos.models.pretrained that are a ResNet50, and where the package keeps their addresses.
RELEASED = {
    "resnet50": ("bcos_final", "resnet_50"),
    "resnet50_long": ("bcos_final_long", "resnet_50"),
}


class BcosClassifier(BlackBox):
    """A B-cos network: its weights align with the input, so it explains itself linearly.

    It sees each image and its inverse side by side, so that dark pixels carry as much as bright
    ones, with values from 0 to 1: the authors' ImageNet weights expect no other statistics.
    Logits are trained one against the rest; probabilities are their sigmoids, scaled to one.
    """

    def __init__(self, classes: Sequence[str], settings: BcosParams) -> None:
        super().__init__(classes)
        self.network = BcosResNet(
            Bottleneck if settings.bottleneck else BasicBlock,
            list(settings.blocks),
            num_classes=len(self.classes),
            inplanes=settings.width,
            norm_layer=NoBias(BatchNormUncentered2d),  # the papers' choice for deep ones
            conv_layer=BcosConv2d,
        )

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(self.encode(images))
        return logits

    def to_probabilities(self, logits: Tensor) -> Tensor:
        """Independent sigmoids, scaled to sum to one."""
        scores = logits.sigmoid()
        return scores / scores.sum(1, keepdim=True).clamp_min(1e-12)

    @staticmethod
    def encode(images: Tensor) -> Tensor:
        """The six channels that the network sees."""
        return torch.cat([images, 1 - images], 1)

    def contributions(self, images: Tensor, targets: Tensor) -> Tensor:
        """How much each pixel adds to the target's logit, n x size x size.

        With the dynamic weights detached the network is linear in its input, so input x gradient
        is exact: the contributions and the constant logit bias sum to the logit.
        """
        seen = self.encode(images).detach().requires_grad_()
        with torch.enable_grad(), self.network.explanation_mode():
            logits = self.network(seen).gather(1, targets[:, None])
            (gradients,) = torch.autograd.grad(logits.sum(), seen)
        return (seen * gradients).sum(1).detach()

    def take_over(self, network: nn.Module) -> None:
        """Begin with the filters of an ordinary network of the same shape.

        Its first layer sees three channels; the inverse ones start with the opposite sign. Norms
        are left alone: without centring and bias they mean something else here.
        """
        own = self.network.state_dict()
        for name, value in network.state_dict().items():
            ours = name.removesuffix(".weight") + ".linear.weight"
            if value.ndim == 4 and ours in own:
                filters = torch.cat([value, -value], 1) if value.shape[1] == 3 else value
                own[ours].copy_(filters)

    def cam_layers(self) -> list[nn.Module]:
        """The last residual stage."""
        return [self.network.layer4[-1]]


def load_released_weights(network: nn.Module, name: str) -> None:
    """Load the authors' ImageNet weights by their name, all but the last layer.

    They are taken from torch's cache or downloaded there; without network the error says which
    file to put where. ``random`` leaves the network as it was drawn.
    """
    if is_random(name):
        return
    if name not in RELEASED:
        raise PastaError(
            f"there are no ImageNet weights {name!r} of a B-cos ResNet50. "
            f"{did_you_mean(name, list(RELEASED))}"
        )
    network_group, experiment = RELEASED[name]
    address = pretrained.URLS[network_group][experiment]
    try:
        state = torch.hub.load_state_dict_from_url(
            address, map_location="cpu", check_hash=True, weights_only=True
        )
    except (URLError, OSError) as error:
        raise PastaError(
            f"the B-cos weights {name!r} cannot be downloaded ({error}). Download {address} by "
            f"hand and put it into {Path(torch.hub.get_dir()) / 'checkpoints'}."
        ) from error
    take_over(network, state, skip=("fc",))


def one_against_the_rest(logits: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of every logit, as B-cos networks are trained."""
    wanted = one_hot(labels, logits.shape[1]).to(logits)
    return binary_cross_entropy_with_logits(logits, wanted)


@MODELS.register(
    "resnet50_bcos", title="ResNet50-BCos", family="convolutional", doi="10.1109/TPAMI.2024.3355155"
)
class BcosRecipe:
    """Binary cross-entropy from random weights, a ResNet's filters or ImageNet weights."""

    @staticmethod
    def build(context: ModelContext, settings: BcosParams) -> BcosClassifier:
        """A network with random weights."""
        with seeded(context, "resnet50_bcos"):
            return BcosClassifier(context.classes, settings)

    @staticmethod
    def fit(
        model: BcosClassifier, data: TrainingData, settings: BcosParams, progress: Progress
    ) -> History:
        """Train all layers, from the weights that the settings ask for."""
        if settings.weights:
            load_released_weights(model.network, settings.weights)
        if settings.start == "resnet50":
            model.take_over(data.shared["resnet50"].network)
        return fit_black_box(
            model, data, settings.training, "resnet50_bcos", progress, one_against_the_rest
        )
