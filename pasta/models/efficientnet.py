"""EfficientNet-b0 and slim relatives (Tan and Le 2019, doi:10.48550/arXiv.1905.11946).

Its activations are SiLU and its blocks multiply channels by gates, which is where explanation
methods that were made for ReLU differ from what their names promise.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torchvision.models.efficientnet import EfficientNet, MBConvConfig

from pasta.models.base import MODELS, BlackBox, History, Normalise, Progress
from pasta.models.data import ModelContext, TrainingData
from pasta.models.resnet import load_torchvision_weights
from pasta.models.settings import EfficientNetParams
from pasta.models.training import fit_black_box, seeded


def scaled_efficientnet(settings: EfficientNetParams, outputs: int) -> EfficientNet:
    """The network a section of the parameters describes."""
    blocks, entering = [], settings.stem
    for expansion, kernel, stride, channels, layers in settings.stages:
        blocks.append(MBConvConfig(expansion, kernel, stride, entering, channels, layers))
        entering = channels
    return EfficientNet(
        blocks,
        dropout=settings.dropout,
        stochastic_depth_prob=settings.skipped,
        num_classes=outputs,
        last_channel=settings.last,
    )


class EfficientNetClassifier(BlackBox):
    """An EfficientNet on normalised images."""

    def __init__(self, classes: Sequence[str], settings: EfficientNetParams) -> None:
        super().__init__(classes)
        self.normalise = Normalise()
        self.network = scaled_efficientnet(settings, len(self.classes))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(self.normalise(images))
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """What comes out of the last convolution."""
        last: nn.Module = self.network.features[-1]
        return [last]


@MODELS.register(
    "efficientnet_b0",
    title="EfficientNet-B0",
    family="convolutional",
    doi="10.48550/arXiv.1905.11946",
)
class EfficientNetRecipe:
    """Cross-entropy from random or ImageNet weights."""

    @staticmethod
    def build(context: ModelContext, settings: EfficientNetParams) -> EfficientNetClassifier:
        """A network with random weights."""
        with seeded(context, "efficientnet_b0"):
            return EfficientNetClassifier(context.classes, settings)

    @staticmethod
    def fit(
        model: EfficientNetClassifier,
        data: TrainingData,
        settings: EfficientNetParams,
        progress: Progress,
    ) -> History:
        """Train all layers, from torchvision's weights where the settings name some."""
        if settings.weights:
            skip = () if settings.keep_head else ("classifier",)
            load_torchvision_weights(model.network, "efficientnet_b0", settings.weights, skip)
            if settings.keep_head:
                return History()
        with seeded(data, "efficientnet_b0 dropout"):  # torch draws it from its own state
            return fit_black_box(model, data, settings.training, "efficientnet_b0", progress)
