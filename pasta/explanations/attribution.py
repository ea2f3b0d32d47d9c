"""From what a method computes to what is stored and what people see.

*Raw* attributions have the images' size. Maps of positive methods are rectified at the resolution
of the method and then enlarged; signed methods keep both signs. Raw values are stored divided by
the largest absolute value of their map, which is kept beside them (``scale``), because half
precision has no room for very small gradients.

*Shown* maps are what people see: a positive map from 0 (its least value) to 1 (its largest), a
signed map from -1 to 1 with 0 where nothing speaks for or against.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pasta.explanations.techniques import Sign

Status = Literal["ok", "zero", "constant", "nan"]
FLAT = 1e-6  # a map that varies less than this share of its largest value is constant


def shown_maps(raw: NDArray[Any], sign: Sign) -> NDArray[np.float32]:
    """The maps (n, *spatial) as people see them; constant maps are shown as nothing at all."""
    values = np.nan_to_num(np.asarray(raw, dtype=np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    axes = tuple(range(1, values.ndim))
    if sign == "signed":
        return _divided(values, np.abs(values).max(axes, keepdims=True))
    low = values.min(axes, keepdims=True)
    return _divided(values - low, values.max(axes, keepdims=True) - low)


def of_places(raw: NDArray[Any], axes: int) -> NDArray[Any]:
    """One value for each place (n, *spatial), of so many spatial axes: entries of LATEC's readings
    (n, channels, *spatial) are summed over channels."""
    return raw.sum(1) if raw.ndim == axes + 2 else raw


def statuses(raw: NDArray[Any]) -> list[Status]:
    """What is the matter with each attribution (first axis), if anything."""
    flat = np.asarray(raw, dtype=np.float32).reshape(len(raw), -1)
    return [_status(values) for values in flat]


def scaled(raw: NDArray[Any]) -> tuple[NDArray[np.float16], NDArray[np.float64]]:
    """Attributions in half precision within [-1, 1], and the scales that give them back."""
    values = np.asarray(raw, dtype=np.float32)
    axes = tuple(range(1, values.ndim))
    finite = np.where(np.isfinite(values), np.abs(values), 0)
    scales = finite.max(axes, initial=0.0).astype(np.float64)
    shape = (-1, *([1] * len(axes)))
    halves = values / np.where(scales > 0, scales, 1).reshape(shape).astype(np.float32)
    return halves.astype(np.float16), scales


def _status(values: NDArray[np.float32]) -> Status:
    if not np.isfinite(values).all():
        return "nan"
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return "zero"
    return "constant" if float(np.ptp(values)) <= FLAT * largest else "ok"


def _divided(values: NDArray[np.float32], by: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0)
