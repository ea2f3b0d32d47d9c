"""Settings of networks that are trained by gradient descent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.params.base import Count, NotNegative, Positive, Section

Blocks = Annotated[tuple[Count, Count, Count, Count], Field(strict=False)]
Start = Literal["scratch", "resnet50", "imagenet"]


def needed(start: str) -> tuple[str, ...]:
    """What must be trained before a model that starts there."""
    return ("resnet50",) if start == "resnet50" else ()


class GradientParams(Section):
    """Training by gradient descent: AdamW under a one-cycle schedule, early stopping."""

    epochs: Count
    learning_rate: Positive
    batch_size: Count
    weight_decay: NotNegative
    patience: Count  # epochs without a better validation score before it stops
    small_share: Annotated[float, Field(ge=0, lt=1)]  # of the epochs, the first ones, that see
    small_size: Count  # images of this many pixels only: cheaper, and enough to begin with


class ResNetParams(Section):
    """A residual network; width 64 and blocks (3, 4, 6, 3) is ResNet50."""

    width: Count
    blocks: Blocks
    bottleneck: bool  # false: basic blocks, half as expensive
    keep_last: bool  # the last stage keeps the resolution (for small images)
    weights: str | None  # a torchvision weight name for the full size, or null for random
    training: GradientParams


class StemParams(Section):
    """How pixels become tokens: plain patches, or the first stages of a residual network.

    The residual kind has three stages and stride 16; the rest of the section concerns it alone.

    ``start`` tells whose weights they begin with: random ones, or the dataset's own ``resnet50``,
    which then must have the same width, blocks and kind of block.
    """

    kind: Literal["patches", "residual"]
    width: Count
    blocks: Annotated[tuple[Count, Count, Count], Field(strict=False)]
    bottleneck: bool
    start: Literal["scratch", "resnet50"]


class TransformerParams(Section):
    """A vision transformer, with plain patches or, for small data, a residual stem (a hybrid)."""

    patch: Count
    layers: Count
    heads: Count
    hidden: Count
    mlp: Count
    stem: StemParams
    weights: str | None
    training: GradientParams

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.stem.start if self.stem.kind == "residual" else "scratch")


class BcosParams(Section):
    """A B-cos residual network (weight decay is not for B-cos layers).

    ``start`` is ``scratch`` or ``resnet50``: then its filters begin as those of the dataset's own
    ``resnet50`` of the same shape (B-cosification, doi:10.48550/arXiv.2411.00715).
    """

    width: Count
    blocks: Blocks
    bottleneck: bool
    start: Literal["scratch", "resnet50"]
    training: GradientParams

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.start)
