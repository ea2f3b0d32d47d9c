"""High-norm artefacts in the last feature map of an image tower.

Large vision transformers keep global information in a few background tokens whose norm is far
above that of all others (Darcet et al. 2024, doi:10.48550/arXiv.2309.16588). Maps made of
activations show them as bright spots where there is nothing to see. The authors choose their
cut-off by eye for each model; here it is Tukey's outer fence, so that towers of all kinds are
measured alike. A convolutional tower has no tokens: the cells of its last feature map are looked
at instead. There a large norm may simply be the object, so it is also asked how many of the
outliers lie in the background.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import adaptive_max_pool2d

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.hooks import hooked
from pasta.explanations.layers import Tokens

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Artefacts:
    """What the norms of all positions of some images say."""

    positions: int
    median: float
    fence: float  # norms above it are outliers
    largest: float  # the largest norm as a multiple of the median
    outliers: float  # their share of all positions
    background: float  # share of all positions that show no part of an object
    in_background: float  # share of the outliers that are there; NaN if there are none


def artefacts(norms: Floats, background: Flags, width: float = 3.0) -> Artefacts:
    """Outliers among norms (images, rows, columns) of one tower.

    A norm is an outlier if it lies more than ``width`` interquartile ranges above the upper
    quartile of all positions of all images; 3 is Tukey's outer fence ("far out"). ``background``
    (same shape) is true where a position shows no part of an object.

    Examples
    --------
    >>> norms = np.ones((1, 10, 10)); norms[0, 0, 0] = 9.0
    >>> artefacts(norms, np.ones((1, 10, 10), bool)).outliers
    0.01
    """
    if norms.shape != background.shape or not norms.size:
        raise PastaError(f"norms are {norms.shape} and the background {background.shape}")
    low, median, high = np.quantile(norms, (0.25, 0.5, 0.75))
    fence = float(high + width * (high - low))
    far = norms > fence
    return Artefacts(
        int(norms.size),
        float(median),
        fence,
        float(norms.max() / median) if median > 0 else float("nan"),
        float(far.mean()),
        float(background.mean()),
        float(background[far].mean()) if far.any() else float("nan"),
    )


def feature_norms(tower: Any, images: Tensor, batch_size: int = 16) -> Floats:
    """Norms (n, rows, columns) over the channels of the tower's last feature map.

    ``images`` are as the tower wants them, on its device. For transformers these are the outputs
    of the last block, before any further norm, which would make all of them alike.
    """
    layer, to_maps = last_features(tower)
    parts: list[Tensor] = []

    def keep(_layer: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> None:
        parts.append(to_maps(output).norm(dim=1))

    with torch.inference_mode(), hooked(layer, keep):
        for batch in torch.split(images, batch_size):
            tower(batch)
    return np.asarray(compute.to_numpy(torch.cat(parts)), np.float64)


def last_features(tower: Any) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """The last layer that knows places, and what makes (n, channels, rows, columns) of it."""
    inner = getattr(tower, "trunk", tower)  # open_clip wraps timm's networks
    if hasattr(inner, "layer4"):
        return inner.layer4[-1], lambda output: output
    if hasattr(inner, "transformer"):
        rows, columns = inner.grid_size
        places = Tokens(grid=(rows, columns))
        if getattr(inner.transformer, "batch_first", True):
            return inner.transformer.resblocks[-1], places
        return inner.transformer.resblocks[-1], lambda output: places(output.transpose(0, 1))
    if hasattr(inner, "blocks"):
        rows, columns = inner.patch_embed.grid_size
        return inner.blocks[-1], Tokens(grid=(rows, columns))
    raise PastaError(f"where {type(inner).__name__} keeps its last feature map is not known")


def background_cells(parts: NDArray[np.uint8], rows: int, columns: int) -> Flags:
    """Which cells (n, rows, columns) hold no pixel of any part (n, height, width)."""
    seen = torch.from_numpy(np.asarray(parts) > 0).float()[:, None]
    found: Flags = (adaptive_max_pool2d(seen, (rows, columns))[:, 0] == 0).numpy()
    return found
