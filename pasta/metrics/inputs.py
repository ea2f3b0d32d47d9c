"""What a caller gives, looked at before any work and handed out a few samples at a time."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.metrics.base import METRICS, Explainer

CHUNK = 16  # samples that are in memory at a time
Images = Tensor | ArrayLike | Callable[[slice], Tensor]  # or a function that loads some of them


@dataclass(frozen=True)
class Inputs:
    """Everything a metric may need, not yet in memory where it comes from a file."""

    maps: Any
    images: Any = None
    targets: Any = None
    masks: Any = None
    model: Any = None
    explainer: Explainer | None = None
    memory: dict[Hashable, Any] | None = None  # what other maps of the same images left behind

    def __len__(self) -> int:
        given = self.maps if self.maps is not None else self.targets
        return len(given) if given is not None else len(self.images)

    @cached_property
    def device(self) -> torch.device:
        """That of the model, or of the images or maps where there is none."""
        model = self.model if isinstance(self.model, nn.Module) else nn.Identity()
        given = chain(model.parameters(), model.buffers(), (self.images, self.maps))
        return next((one.device for one in given if isinstance(one, Tensor)), torch.device("cpu"))

    def part(self, rows: slice) -> Inputs:
        """Some of the samples."""

        def some(values: Any) -> Any:
            if values is None:
                return None
            return values(rows) if callable(values) else values[rows]

        names = ("maps", "images", "targets", "masks")
        return replace(self, **{name: some(getattr(self, name)) for name in names})

    def chunks(self) -> Iterator[slice]:
        """Which samples go together."""
        for start in range(0, len(self), CHUNK):
            yield slice(start, min(start + CHUNK, len(self)))

    def maps_of(self, part: slice) -> Tensor:
        """Maps (n, height, width)."""
        maps = _tensor(self.maps[part]).float().to(self.device)
        return maps[:, 0] if maps.ndim == 4 else maps

    def images_of(self, part: slice) -> Tensor:
        """Images (n, channels, height, width)."""
        images = _tensor(self.images(part) if callable(self.images) else self.images[part])
        if images.ndim != 4 or not images.is_floating_point():
            raise PastaError(
                f"the images are {images.dtype} of the shape {tuple(images.shape)}, expected "
                "floats (n, channels, height, width)"
            )
        if callable(self.images) and len(images) != part.stop - part.start:
            raise PastaError(
                f"{len(images)} images were loaded for the samples {part.start} to "
                f"{part.stop - 1}, expected {part.stop - part.start}"
            )
        if not bool(images.isfinite().all()):
            raise PastaError(f"images {part.start} to {part.stop - 1} hold NaN or infinity")
        return images.float().to(self.device)

    def targets_of(self, part: slice) -> Tensor:
        """Class numbers (n,)."""
        return _tensor(self.targets)[part].long().to(self.device)

    def masks_of(self, part: slice) -> Tensor:
        """Masks (n, height, width) from 0 to 1."""
        masks = _tensor(self.masks[part]).float()
        if not bool(((masks >= 0) & (masks <= 1)).all()):
            raise PastaError("the masks hold other numbers than 0 to 1")
        return masks.to(self.device)


def check(inputs: Inputs, names: list[str]) -> None:
    """Raise an error that says what is missing or does not fit, before anything is computed."""
    for name in names:
        _check_needs(inputs, name)
    if inputs.maps is None and inputs.targets is None and callable(inputs.images):
        raise PastaError("without maps or targets nobody knows how many images there are to load")
    if not len(inputs):
        raise PastaError("there are no samples")
    size = _map_size(inputs)
    used = {need for name in names for need in METRICS.entry(name).metadata["needs"]}
    if "images" in used:
        first = inputs.images_of(slice(0, 1))
        if not callable(inputs.images):
            _same_number(inputs, "images", inputs.images)
        same_size("images", tuple(first.shape[-2:]), size)
    if "targets" in used and inputs.targets is not None:
        _check_targets(inputs)
    if "masks" in used:
        shape = tuple(np.shape(inputs.masks))
        if len(shape) != 3:
            raise PastaError(f"the masks have the shape {shape}, expected (n, height, width)")
        _same_number(inputs, "masks", inputs.masks)
        same_size("masks", shape[1:], size)


def check_finite(inputs: Inputs) -> None:
    """Raise an error that names the maps that hold NaN or infinity."""
    wrong = [
        part.start + int(number)
        for part in inputs.chunks()
        for number in (~inputs.maps_of(part).isfinite().flatten(1).all(1)).nonzero()
    ]
    if wrong:
        shown = ", ".join(map(str, wrong[:10])) + (", ..." if len(wrong) > 10 else "")
        raise PastaError(
            f"{len(wrong)} of {len(inputs)} maps hold NaN or infinity: {shown}. With "
            "return_status=True they get a status, and the others a value"
        )


def _check_needs(inputs: Inputs, name: str) -> None:
    about = METRICS.entry(name).metadata
    for need in about["needs"]:
        if getattr(inputs, need) is not None:
            continue
        if need == "targets" and inputs.model is not None:
            continue  # those that the model predicts
        if need == "maps" and "explainer" in about["needs"] and inputs.explainer is not None:
            continue  # those that the explainer gives
        raise PastaError(
            f"{name} needs {need}: it is a metric of {about['category']} that looks at "
            f"{', '.join(about['needs'])}"
        )
    if about["changes_model"] and not _takes_model(inputs.explainer):
        raise PastaError(
            f"{name} explains changed copies of the model: it needs an explainer with a parameter "
            "`model`, as in explainer(images, targets, model)"
        )


def _takes_model(explainer: Any) -> bool:
    return "model" in inspect.signature(explainer).parameters


def _map_size(inputs: Inputs) -> tuple[int, ...] | None:
    if inputs.maps is None:
        return None
    shape = tuple(np.shape(inputs.maps))
    if len(shape) == 4 and shape[1] == 1:
        shape = (shape[0], *shape[2:])
    if len(shape) != 3 or 0 in shape:
        raise PastaError(
            f"the maps have the shape {shape}, expected (n, height, width): one number per pixel. "
            "Maps with channels must be added up first"
        )
    return shape[1:]


def _check_targets(inputs: Inputs) -> None:
    targets = _tensor(inputs.targets)
    _same_number(inputs, "targets", targets)
    if targets.ndim != 1 or targets.is_floating_point() or targets.dtype == torch.bool:
        raise PastaError(
            f"the targets are {targets.dtype} of the shape {tuple(targets.shape)}, expected one "
            "class number for each image"
        )


def _same_number(inputs: Inputs, what: str, values: Any) -> None:
    if len(values) != len(inputs):
        raise PastaError(f"there are {len(inputs)} maps and {len(values)} {what}")


def same_size(what: str, found: tuple[int, ...], size: tuple[int, ...] | None) -> None:
    """Raise an error if something does not have the maps' size."""
    if size is not None and found != size:
        one, other = (" x ".join(map(str, shape)) for shape in (size, found))
        raise PastaError(f"the maps have {one} pixels and the {what} {other}, expected the same")


def _tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach()
    return torch.from_numpy(np.array(values))  # a copy: a memory-mapped file cannot be written
