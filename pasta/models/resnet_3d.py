"""3D ResNet18 for volumes and slim relatives (Tran et al. 2018, doi:10.1109/CVPR.2018.00675)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torchvision.models.video.resnet import BasicBlock, Conv3DSimple

from pasta.datasets.stored import FORMS
from pasta.models.base import MODELS, BlackBox
from pasta.models.settings import ResNet3dParams
from pasta.models.solids import SolidRecipe


def make_stage(entering: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    """Residual blocks, the first of which may halve the resolution; torchvision's, at any width."""
    shortcut = None
    if stride > 1 or entering != width:
        shortcut = nn.Sequential(
            nn.Conv3d(entering, width, 1, stride, bias=False), nn.BatchNorm3d(width)
        )
    first = BasicBlock(entering, width, Conv3DSimple, stride, shortcut)
    return nn.Sequential(
        first, *(BasicBlock(width, width, Conv3DSimple) for _ in range(blocks - 1))
    )


class ScaledResNet3d(nn.Module):
    """torchvision's ``r3d_18`` with any width, blocks, and channels of its input.

    Width 64, blocks (2, 2, 2, 2) and ``video_stem`` are its size. Its stem is made for videos and
    keeps the first axis; the other one halves all three.
    """

    def __init__(
        self, width: int, blocks: Sequence[int], outputs: int, channels: int, video_stem: bool
    ) -> None:
        super().__init__()
        if video_stem:
            first = nn.Conv3d(channels, width, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False)
        else:
            first = nn.Conv3d(channels, width, 3, 2, 1, bias=False)
        self.stem = nn.Sequential(first, nn.BatchNorm3d(width), nn.ReLU(inplace=True))
        self.layer1 = make_stage(width, width, blocks[0], 1)
        self.layer2 = make_stage(width, 2 * width, blocks[1], 2)
        self.layer3 = make_stage(2 * width, 4 * width, blocks[2], 2)
        self.layer4 = make_stage(4 * width, 8 * width, blocks[3], 2)
        self.avgpool = nn.AdaptiveAvgPool3d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(8 * width, outputs)
        for module in self.modules():
            if isinstance(module, nn.Conv3d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, volumes: Tensor) -> Tensor:
        """Logits."""
        maps = self.layer4(self.layer3(self.layer2(self.layer1(self.stem(volumes)))))
        logits: Tensor = self.fc(self.flatten(self.avgpool(maps)))
        return logits


class ResNet3dClassifier(BlackBox):
    """A residual network on volumes (n, 1, depth, height, width) from 0 to 1."""

    def __init__(self, classes: Sequence[str], settings: ResNet3dParams) -> None:
        super().__init__(classes)
        self.network = ScaledResNet3d(
            settings.width,
            settings.blocks,
            len(self.classes),
            FORMS["volume"].channels,
            settings.video_stem,
        )

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(images)
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """The third stage, as LATEC: of a small volume the last one leaves 2 x 2 x 2 cells."""
        return [self.network.layer3]


MODELS.register(
    "resnet18_3d",
    title="3D ResNet18",
    family="convolutional",
    doi="10.1109/CVPR.2018.00675",
    modality="volume",
)(
    SolidRecipe(
        "resnet18_3d", lambda context, settings: ResNet3dClassifier(context.classes, settings)
    )
)
