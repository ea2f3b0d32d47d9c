"""Simple3D-Former: a vision transformer lifted to volumes (doi:10.48550/arXiv.2209.07026)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torchvision.models.vision_transformer import Encoder

from pasta.datasets.stored import FORMS
from pasta.errors import PastaError
from pasta.models.base import MODELS, BlackBox
from pasta.models.settings import Simple3dFormerParams
from pasta.models.solids import SolidRecipe


class VolumeTransformer(nn.Module):
    """Cubes of voxels as tokens for torchvision's encoder of images, with a class token.

    A convolution before the cubes are cut (``stem`` channels, half the resolution) lets little data
    suffice.
    """

    def __init__(
        self, settings: Simple3dFormerParams, size: int, outputs: int, channels: int
    ) -> None:
        super().__init__()
        if size % settings.patch:
            raise PastaError(f"cubes of {settings.patch} voxels do not fill a side of {size}")
        tokens, stem = size // settings.patch, list[nn.Module]()
        kernel = stride = settings.patch
        if settings.stem:
            stem = [nn.Conv3d(channels, settings.stem, 3, 2, 1, bias=False)]
            stem += [nn.BatchNorm3d(settings.stem), nn.ReLU()]
            halved = -(-size // 2)
            stride = halved // tokens
            kernel = halved - stride * (tokens - 1)  # tokens overlap rather than leave a rim out
        cut = nn.Conv3d(settings.stem or channels, settings.hidden, kernel, stride)
        self.conv_proj = nn.Sequential(*stem, cut)
        self.class_token = nn.Parameter(torch.zeros(1, 1, settings.hidden))
        self.encoder = Encoder(
            (size // settings.patch) ** 3 + 1,
            settings.layers,
            settings.heads,
            settings.hidden,
            settings.mlp,
            dropout=0.0,
            attention_dropout=0.0,
        )
        self.head = nn.Linear(settings.hidden, outputs)

    def forward(self, volumes: Tensor) -> Tensor:
        """Logits."""
        tokens = self.conv_proj(volumes).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.class_token.expand(len(tokens), -1, -1), tokens], 1)
        logits: Tensor = self.head(self.encoder(tokens)[:, 0])
        return logits


class Simple3dFormerClassifier(BlackBox):
    """A transformer on volumes (n, 1, depth, height, width) of one size, from 0 to 1."""

    def __init__(self, classes: Sequence[str], settings: Simple3dFormerParams, size: int) -> None:
        super().__init__(classes)
        channels = FORMS["volume"].channels
        self.network = VolumeTransformer(settings, size, len(self.classes), channels)
        self.token_grid = (size // settings.patch,) * 3

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.network(images)
        return logits

    def cam_layers(self) -> list[nn.Module]:
        """The first norm of the last block: the last place where voxels' tokens still matter."""
        last: nn.Module = self.network.encoder.layers[-1].ln_1
        return [last]


MODELS.register(
    "simple3dformer",
    title="Simple3D-Former",
    family="transformer",
    doi="10.48550/arXiv.2209.07026",
    modality="volume",
)(
    SolidRecipe(
        "simple3dformer",
        lambda context, settings: Simple3dFormerClassifier(context.classes, settings, context.size),
    )
)
