"""The small CLIP's image tower, made known to timm so that open_clip builds it by its name."""

from __future__ import annotations

from typing import Any

from timm.models import register_model
from torch import nn

from pasta.models.resnet import ScaledResNet

WIDTH = 16  # a multiple of 16 suits the vector units


class Tower(ScaledResNet):
    """Our slim residual network with the few names that open_clip expects of timm's networks.

    Its last stage keeps stride 16, 6 x 6 cells for 96 pixels: explanations look at it, and
    stride 32 would leave them nine cells.
    """

    def __init__(self) -> None:
        super().__init__(WIDTH, (1, 1, 1, 1), 1, bottleneck=False, keep_last=True)
        self.num_features = self.stage_channels[-1]
        self.default_cfg: dict[str, Any] = {"pool_size": (6, 6)}

    def reset_classifier(self, num_classes: int, global_pool: str = "avg") -> None:
        """Give pooled features instead of logits; open_clip adds its own projection."""
        if num_classes or global_pool != "avg":
            raise ValueError("the small tower gives averaged features only")
        self.fc = nn.Identity()


@register_model
def pasta_tiny_resnet(pretrained: bool = False, **options: Any) -> Tower:
    """A new tower with random weights; there are none to download."""
    del pretrained, options
    return Tower()
