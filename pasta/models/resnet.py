"""ResNet50 and its slim relatives (He et al. 2016, doi:10.1109/CVPR.2016.90)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.error import URLError

import torch.hub
from torch import Tensor, nn
from torchvision.models import get_model_weights
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

from pasta.errors import PastaError
from pasta.models.base import MODELS, BlackBox, History, Normalise, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.settings import BackboneParams, ResNetParams, is_random
from pasta.models.training import fit_black_box, seeded


def load_torchvision_weights(
    network: nn.Module, architecture: str, name: str, skip: Sequence[str]
) -> None:
    """Load torchvision's weights by their name, all but the layers in ``skip``.

    They are taken from torch's cache or downloaded there; without network the error says which
    file to put where. ``random`` leaves the network as it was drawn.
    """
    if is_random(name):
        return
    known = get_model_weights(architecture)
    if name not in known.__members__:
        raise PastaError(f"{architecture} has no weights {name!r}: {', '.join(known.__members__)}")
    weights = known[name]
    try:
        state = weights.get_state_dict(progress=True, check_hash=True)
    except (URLError, OSError) as error:
        raise PastaError(
            f"the weights {weights} cannot be downloaded ({error}). Download {weights.url} by hand "
            f"and put it into {Path(torch.hub.get_dir()) / 'checkpoints'}."
        ) from error
    take_over(network, state, skip)


def take_over(network: nn.Module, state: Mapping[str, Tensor], skip: Sequence[str]) -> None:
    """Copy a state dict except the named layers; anything else that does not fit is an error."""
    layers = tuple(f"{one}." for one in skip)
    kept = {key: one for key, one in network.state_dict().items() if key.startswith(layers)}
    others = {key: one for key, one in state.items() if not key.startswith(layers)}
    try:
        network.load_state_dict({**others, **kept})
    except RuntimeError as error:
        reason = str(error).splitlines()[-1].strip()
        raise PastaError(f"the weights are of another architecture: {reason}") from error


class ScaledResNet(ResNet):
    """torchvision's ResNet with another base width; width 64, blocks (3, 4, 6, 3) is ResNet50.

    Slim networks may use the basic block, which costs half as much, and with ``keep_last`` the
    last stage keeps the resolution, so that small images still have a map worth looking at.
    """

    def __init__(
        self,
        width: int,
        blocks: Sequence[int],
        outputs: int,
        *,
        bottleneck: bool = True,
        keep_last: bool = False,
    ) -> None:
        nn.Module.__init__(self)  # the parent's constructor knows one width only
        block = Bottleneck if bottleneck else BasicBlock
        self._norm_layer = nn.BatchNorm2d
        self.inplanes, self.dilation, self.groups, self.base_width = width, 1, 1, 64
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, width, blocks[0])
        self.layer2 = self._make_layer(block, 2 * width, blocks[1], stride=2)
        self.layer3 = self._make_layer(block, 4 * width, blocks[2], stride=2)
        self.layer4 = self._make_layer(block, 8 * width, blocks[3], stride=1 if keep_last else 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        # of the outputs of layer1 ... layer4
        self.stage_channels = tuple(width * block.expansion * 2**stage for stage in range(4))
        self.fc: nn.Module = nn.Linear(self.stage_channels[-1], outputs)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def scaled_resnet(settings: ResNetParams | BackboneParams, outputs: int) -> ScaledResNet:
    """The network a section of the parameters describes."""
    return ScaledResNet(
        settings.width,
        settings.blocks,
        outputs,
        bottleneck=settings.bottleneck,
        keep_last=settings.keep_last,
    )


class ResNetClassifier(BlackBox):
    """A residual network on normalised images."""

    def __init__(self, classes: Sequence[str], settings: ResNetParams) -> None:
        super().__init__(classes)
        self.normalise = Normalise()
        self.network = scaled_resnet(settings, len(self.classes))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(self.normalise(images))
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """The last residual stage, as the CAM papers do."""
        return [self.network.layer4[-1]]


@MODELS.register("resnet50", title="ResNet50", family="convolutional", doi="10.1109/CVPR.2016.90")
class ResNetRecipe:
    """Cross-entropy from random or ImageNet weights."""

    @staticmethod
    def build(context: ModelContext, settings: ResNetParams) -> ResNetClassifier:
        """A network with random weights."""
        with seeded(context, "resnet50"):
            return ResNetClassifier(context.classes, settings)

    @staticmethod
    def fit(
        model: ResNetClassifier, data: TrainingData, settings: ResNetParams, progress: Progress
    ) -> History:
        """Train all layers, from torchvision's weights where the settings name some."""
        if settings.weights:
            skip = () if settings.keep_head else ("fc",)
            load_torchvision_weights(model.network, "resnet50", settings.weights, skip)
            if settings.keep_head:
                return History()
        return fit_black_box(model, data, settings.training, "resnet50", progress)
