"""The last stage of an image tower, where CAM methods look."""

from __future__ import annotations

from typing import Any

from torch import nn

from pasta.errors import PastaError


def last_stage(visual: Any) -> tuple[nn.Module, tuple[int, int] | None]:
    """The layer, and for transformers rows x columns of its image tokens."""
    tower = getattr(visual, "trunk", visual)  # open_clip wraps timm's networks
    if hasattr(tower, "layer4"):
        return tower.layer4[-1], None
    # A transformer's last block only mixes tokens into the class token, so what still depends on
    # the place is its input after the norm.
    if hasattr(tower, "transformer"):
        return tower.transformer.resblocks[-1].ln_1, _pair(tower.grid_size)
    if hasattr(tower, "blocks"):
        return tower.blocks[-1].norm1, _pair(tower.patch_embed.grid_size)
    raise PastaError(f"no CAM layer is known for the image tower {type(tower).__name__}")


def _pair(grid: tuple[int, int]) -> tuple[int, int]:
    rows, columns = grid
    return rows, columns
