"""What every encoder can do, and the register of encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate

from pasta import compute
from pasta.embedding.sentences import Piece
from pasta.errors import PastaError
from pasta.registry import Registry


class Encoder(Protocol):
    """Pictures and texts into one space.

    P1 and P2 put both kinds of explanation there: the image vector of a rendered saliency map and
    the text vector of a concept sentence are columns of the same features. Pictures may come from
    anywhere; vectors stay on the encoder's device, in float32.
    """

    name: str  # in the register
    size: int  # pixels of a side of what the image tower sees

    @property
    def md5(self) -> str:
        """Of all weights by name, wherever they were loaded from."""

    @property
    def width(self) -> int:
        """Length of the vectors."""

    def images(self, batch: Tensor) -> Tensor:
        """Unit vectors (n x width) of pictures (n x 3 x height x width; bytes, or floats from 0 to
        1)."""

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors (n x width); a text that is too long is an error and is never cut."""

    def fits(self, text: str) -> bool:
        """Whether the text tower sees a text to its end."""


Opener = Callable[[str, Path], Encoder]  # weights, root of the project
# metadata: title, weights (the usual ones), doi, and for models of open_clip their architecture
ENCODERS: Registry[Opener] = Registry("encoder")


def about(encoder: Encoder) -> dict[str, Any]:
    """What makes vectors comparable: they are mixed only if all of this is equal."""
    return {
        "encoder": encoder.name,
        "md5": encoder.md5,
        "size": encoder.size,
        "width": encoder.width,
    }


def pictures(batch: Tensor) -> Tensor:
    """A batch as encoders take it, as floats from 0 to 1; or an error that says what it is."""
    in_bytes = batch.dtype == torch.uint8
    if batch.ndim != 4 or batch.shape[1] != 3 or not (in_bytes or batch.is_floating_point()):
        raise PastaError(
            f"pictures of the shape {' x '.join(map(str, batch.shape))} and type {batch.dtype} "
            "(expected n x 3 x height x width, bytes or floats)"
        )
    # Convolutions on a CPU are half as fast again with the colours last in memory.
    colours_last = batch.contiguous(memory_format=torch.channels_last)
    if in_bytes:
        return colours_last.float().div_(255)
    if batch.numel() and not (float(batch.min()) >= 0 and float(batch.max()) <= 1):
        raise PastaError("a picture has values outside 0 to 1, or values that are no numbers")
    return colours_last


def require_fit(encoder: Encoder, texts: Sequence[str]) -> None:
    """Raise if a text is longer than what the encoder sees."""
    for text in texts:
        if not encoder.fits(text):
            raise PastaError(f"{encoder.name}: the text is too long to be seen whole: {text!r}")


def squared(batch: Tensor, size: int) -> Tensor:
    """The whole picture at the size of the image tower."""
    if tuple(batch.shape[2:]) == (size, size):
        return batch
    return interpolate(batch, (size, size), mode="bicubic", antialias=True).clamp(0, 1)


class TextEncoder(Protocol):
    """The half of an encoder that reads."""

    def fits(self, text: str) -> bool:
        """Whether a text is seen to its end."""

    def texts(self, texts: Sequence[str]) -> Any:
        """Unit vectors, n x width."""


def sentence_vectors(encoder: TextEncoder, told: Sequence[Sequence[Piece]]) -> NDArray[np.float32]:
    """A unit vector for each list of pieces; equal sentences are encoded once."""
    place: dict[str, int] = {}
    for parts in told:
        for part in parts:
            place.setdefault(part.text, len(place))
    vectors = compute.to_numpy(encoder.texts(list(place))).astype(np.float64)
    means = [
        np.average(
            vectors[[place[part.text] for part in parts]],
            axis=0,
            weights=[part.weight for part in parts],
        )
        for parts in told
    ]
    joined = np.stack(means)
    return np.asarray(joined / np.linalg.norm(joined, axis=1, keepdims=True), dtype=np.float32)
