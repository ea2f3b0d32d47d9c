"""EfficientNet-b0 lifted to volumes, and slim relatives (doi:10.48550/arXiv.1905.11946).

Blocks, gates and sizes are those of the network for images, with a third axis: the paper's seven
stages in the settings make EfficientNet-b0.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from pasta.datasets.stored import FORMS
from pasta.models.base import MODELS, BlackBox
from pasta.models.settings import EfficientNet3dParams
from pasta.models.solids import SolidRecipe


def make_layer(
    entering: int, channels: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> list[nn.Module]:
    """A convolution and its batch norm."""
    padding = (kernel - 1) // 2
    convolution = nn.Conv3d(entering, channels, kernel, stride, padding, groups=groups, bias=False)
    return [convolution, nn.BatchNorm3d(channels)]


class Gate(nn.Module):
    """Squeeze and excitation: every channel is multiplied by a share that all voxels decide."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.share = nn.Sequential(
            nn.AdaptiveAvgPool3d(1),
            nn.Conv3d(channels, squeezed, 1),
            nn.SiLU(),
            nn.Conv3d(squeezed, channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, maps: Tensor) -> Tensor:
        """Maps with their channels weighted."""
        gated: Tensor = maps * self.share(maps)
        return gated


class InvertedBlock(nn.Module):
    """MBConv: expand, filter each channel alone, weigh the channels, project."""

    def __init__(
        self, entering: int, channels: int, expansion: int, kernel: int, stride: int
    ) -> None:
        super().__init__()
        wide = entering * expansion
        expand = [*make_layer(entering, wide), nn.SiLU()] if expansion > 1 else []
        self.block = nn.Sequential(
            *expand,
            *make_layer(wide, wide, kernel, stride, groups=wide),
            nn.SiLU(),
            Gate(wide, max(entering // 4, 1)),
            *make_layer(wide, channels),
        )
        self.residual = stride == 1 and entering == channels

    def forward(self, maps: Tensor) -> Tensor:
        """The block's output, added to its input where the shapes are equal."""
        changed: Tensor = self.block(maps)
        return maps + changed if self.residual else changed


class ScaledEfficientNet3d(nn.Module):
    """An EfficientNet with three spatial axes; names are those of torchvision's."""

    def __init__(self, settings: EfficientNet3dParams, outputs: int, channels: int) -> None:
        super().__init__()
        entering, last = settings.stem, settings.last or 4 * settings.stages[-1][3]
        stages = [nn.Sequential(*make_layer(channels, entering, 3, 2), nn.SiLU())]
        for expansion, kernel, stride, width, blocks in settings.stages:
            stage = []
            for number in range(blocks):
                step = 1 if number else stride
                stage.append(InvertedBlock(entering, width, expansion, kernel, step))
                entering = width
            stages.append(nn.Sequential(*stage))
        stages.append(nn.Sequential(*make_layer(entering, last), nn.SiLU()))
        self.features = nn.Sequential(*stages)
        self.avgpool, self.flatten = nn.AdaptiveAvgPool3d(1), nn.Flatten()
        self.classifier = nn.Sequential(nn.Dropout(settings.dropout), nn.Linear(last, outputs))
        for module in self.modules():
            if isinstance(module, nn.Conv3d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")

    def forward(self, volumes: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.classifier(self.flatten(self.avgpool(self.features(volumes))))
        return logits


class EfficientNet3dClassifier(BlackBox):
    """An EfficientNet on volumes (n, 1, depth, height, width) from 0 to 1."""

    def __init__(self, classes: Sequence[str], settings: EfficientNet3dParams) -> None:
        super().__init__(classes)
        channels = FORMS["volume"].channels
        self.network = ScaledEfficientNet3d(settings, len(self.classes), channels)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(images)
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """What comes out of the last convolution that still has a map worth looking at."""
        return [self.network.features[-1]]


MODELS.register(
    "efficientnet_b0_3d",
    title="3D EfficientNet-B0",
    family="convolutional",
    doi="10.48550/arXiv.1905.11946",
    modality="volume",
)(
    SolidRecipe(
        "efficientnet_b0_3d",
        lambda context, settings: EfficientNet3dClassifier(context.classes, settings),
    )
)
