"""Maps of entries (n, channels, *spatial): a value for each channel of each place.

LATEC keeps all channels of its maps, and repeats over them what has none of its own (class
activation maps, attention).
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import interpolate

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}  # by the number of spatial axes


def enlarge(maps: Tensor, size: tuple[int, ...], *, nearest: bool = False) -> Tensor:
    """Maps (n, *any) at another size, linearly along each axis, or as blocks."""
    if tuple(maps.shape[1:]) == tuple(size):
        return maps
    if nearest:
        return interpolate(maps[:, None], size, mode="nearest")[:, 0]
    return interpolate(maps[:, None], size, mode=_LINEAR[len(size)], align_corners=False)[:, 0]


def stretch(maps: Tensor) -> Tensor:
    """Each map from 0 (its least value) to 1 (its largest); a constant one is all zero."""
    axes = tuple(range(1, maps.ndim))
    low, high = maps.amin(axes, keepdim=True), maps.amax(axes, keepdim=True)
    room = (high - low).where(high > low, 1)
    return (maps - low) / room


def repeat(maps: Tensor, channels: int) -> Tensor:
    """Maps (n, *spatial) for each of the channels (n, channels, *spatial)."""
    return maps[:, None].expand(-1, channels, *maps.shape[1:])
