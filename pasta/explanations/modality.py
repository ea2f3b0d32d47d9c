"""What differs between images and other inputs, as one object that the dataset chooses.

Inputs are tensors (n, channels, *spatial) and maps (n, *spatial), whatever the spatial axes are.
How stored inputs are loaded, cut into parts, perturbed, emptied, enlarged and shown is a matter of
the modality. A dataset names its own in ``vocabularies/<dataset>.yaml``; images are the default.
See :mod:`pasta.explanations.image`, :mod:`~pasta.explanations.volume` and
:mod:`~pasta.explanations.cloud`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from torch import Tensor

from pasta.errors import PastaError
from pasta.registry import Registry

# Inputs, a magnitude from 0 to 1 and a seed for each, to inputs alike.
Perturbation = Callable[[Tensor, Tensor, Sequence[int]], Tensor]


@dataclass(frozen=True)
class Modality:
    """A kind of input; what is None it cannot do, and who needs it is told so.

    Attributes
    ----------
    name
        Its key among the modalities.
    axes
        Names of the spatial axes, ``("height", "width")`` for images.
    channels
        How many an input has; None is any number.
    load
        Stored values (n, *spatial, channels) to inputs as models want them.
    resize
        Maps (n, *any) to maps of another spatial size.
    segment
        One input to the numbers 0, 1, ... of the parts that LIME and SHAP hide.
    split
        A spatial size and a length to the numbers (*spatial) 0, 1, ... of the cells of a grid of
        that side; for point clouds of groups of so many points.
    shift
        Inputs with their content moved along the last axis by a share of its length.
    perturb
        Perturbations by name, for copies that people compare with the original.
    remove
        Inputs (n, ...) without the removed places (n, *spatial): what they could hold instead.
    blur
        One input and a standard deviation to the input without detail. The side of the kernel may
        be given.
    render
        Stored values of one input, its map and whether it is signed to a picture.
    """

    name: str
    axes: tuple[str, ...]
    channels: int | None
    load: Callable[[NDArray[Any]], Tensor]
    resize: Callable[[Tensor, tuple[int, ...]], Tensor]
    segment: Callable[..., Tensor] | None = None
    split: Callable[[tuple[int, ...], int], Tensor] | None = None
    shift: Callable[[Tensor, float], Tensor] | None = None
    perturb: Registry[Perturbation] | None = None
    remove: Callable[[Tensor, Tensor], Tensor] | None = None
    blur: Callable[..., Tensor] | None = None
    render: Callable[..., NDArray[Any]] | None = None

    @property
    def form(self) -> str:
        """The shape of inputs, for people: ``(n, 3, height, width)``."""
        return f"(n, {self.channels or 'channels'}, {', '.join(self.axes)})"

    @property
    def map_form(self) -> str:
        """The shape of maps, for people: ``(n, height, width)``."""
        return f"(n, {', '.join(self.axes)})"

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether inputs may have this shape."""
        right = len(shape) == len(self.axes) + 2 and 0 not in shape
        return right and self.channels in (None, shape[1])

    def drop_channel(self, maps: Tensor) -> Tensor:
        """Maps without the axis of a single channel, if they have one."""
        return maps[:, 0] if maps.ndim == len(self.axes) + 2 and maps.shape[1] == 1 else maps

    def need(self, ability: str) -> Any:
        """One of the abilities, or an error that says that it is not there."""
        found = getattr(self, ability)
        if found is None:
            raise PastaError(f"the modality {self.name!r} has no way to {ability} its inputs")
        return found


MODALITIES: Registry[Modality] = Registry("modality")


def find_modality(modality: Modality | str) -> Modality:
    """Return a modality that is given as it is or by its name: image, volume, point cloud."""
    return MODALITIES[modality] if isinstance(modality, str) else modality
