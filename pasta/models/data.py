"""The images of one dataset as a model sees them: decoded once, taken in batches."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate
from torch.utils.data import DataLoader, Dataset

from pasta import compute
from pasta.datasets.stored import StoredDataset

if TYPE_CHECKING:
    from pasta.config import Params


@dataclass
class ModelContext:
    """What building a model needs to know: the dataset's words and sizes, and where things are."""

    name: str  # of the dataset
    classes: tuple[str, ...]  # in the order of the logits
    concepts: tuple[str, ...]  # in the order of the scores
    size: int  # side of the square images in pixels, of volumes in voxels, or number of points
    seed: int
    params: Params
    root: Path  # of the project
    shared: dict[str, Any] = field(default_factory=dict)  # what several models of a dataset reuse


class TrainingData(ModelContext):
    """One dataset for its models. Pixels stay memory-mapped; batches are float tensors 0-1.

    Volumes are treated as images; point clouds are floats as they are. Batches are on the device
    ``where``; rows, labels and concepts are in main memory.
    """

    def __init__(
        self,
        dataset: StoredDataset,
        seed: int,
        params: Params,
        root: Path,
        where: torch.device | None = None,
    ) -> None:
        words, size = dataset.vocabulary, int(dataset.pixels.shape[1])
        super().__init__(words.dataset, words.classes, words.concepts, size, seed, params, root)
        self.dataset, self.where = dataset, where or compute.device()
        self._shrunk: dict[int, NDArray[np.uint8]] = {}  # all images, by their side

    @cached_property
    def labels(self) -> Tensor:
        """Class index of every row."""
        return torch.from_numpy(self.dataset.labels().copy())

    @cached_property
    def presence(self) -> Tensor:
        """Rows x concepts, 1 where a concept is seen."""
        table = self.dataset.concepts()
        wide = table["present"].to_numpy(np.float32).reshape(len(self.dataset.images), -1)
        return torch.from_numpy(wide.copy())

    @cached_property
    def regions(self) -> pd.DataFrame:
        """Every visible instance with ``row`` (of the arrays), ``index`` (of the concept), box."""
        table = self.dataset.regions()
        rows = self.dataset.images.set_index("image_id")["row"]
        index = {name: number for number, name in enumerate(self.concepts)}
        return table.assign(row=table["image_id"].map(rows), index=table["concept"].map(index))

    def rows(self, split: str) -> Tensor:
        """Rows of a split; a release has nothing to train on but what it tests on."""
        released = len(self.dataset.rows("train")) == 0
        return torch.from_numpy(self.dataset.rows("test" if released else split).copy())

    def images(self, rows: Tensor | NDArray[np.int64]) -> Tensor:
        """A batch: float 0-1, n x 3 x size x size; n x channels x spatial axes in general."""
        return _floats(compute.place(_bytes(self.dataset.pixels, np.asarray(rows)), self.where))

    def pixels_at(self, side: int) -> NDArray[np.uint8]:
        """All images as bytes, n x side x side x 3; shrunk once, kept for the next time."""
        if side >= self.size:
            return self.dataset.pixels
        if side not in self._shrunk:
            whole = self.dataset.pixels
            parts = [
                _small_bytes(as_tensor(np.array(whole[start : start + 256])), side)
                for start in range(0, len(whole), 256)
            ]
            self._shrunk[side] = np.concatenate(parts)
        return self._shrunk[side]

    def batches(self, rows: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows and their images, in order."""
        parts = torch.split(rows, size) if len(rows) else ()
        for part, pixels in zip(
            parts, _loaded(self.dataset.pixels, parts, self.where), strict=True
        ):
            yield part, _floats(compute.place(pixels, self.where))


class _Batches(Dataset[Tensor]):
    """Whole batches of bytes, by their number."""

    def __init__(self, pixels: NDArray[np.uint8], parts: Sequence[Tensor]) -> None:
        self.pixels, self.parts = pixels, parts

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, number: int) -> Tensor:
        return _bytes(self.pixels, self.parts[number].numpy())


def _loaded(
    pixels: NDArray[np.uint8], parts: Sequence[Tensor], where: torch.device
) -> Iterator[Tensor]:
    """Batches of bytes; for a GPU they are read ahead into pinned memory by other processes.

    A worker of a cluster may have no processes of its own and reads them itself.
    """
    batches = _Batches(pixels, parts)
    if where.type != "cuda" or not parts:
        yield from (batches[number] for number in range(len(parts)))
        return
    readers = 0 if multiprocessing.current_process().daemon else min(4, compute.threads())
    yield from DataLoader(batches, batch_size=None, num_workers=readers, pin_memory=True)


def as_tensor(pixels: NDArray[Any]) -> Tensor:
    """Bytes (n, h, w, 3) to floats 0-1 (n, 3, h, w), channels last in memory as CPUs like it.

    Any number of spatial axes will do. What is stored as floats (coordinates) stays as it is.
    """
    return _floats(torch.from_numpy(pixels))


def shrunk(images: Tensor, size: int) -> Tensor:
    """The images at a smaller size, or as they are if they are not larger."""
    return images if images.shape[-1] <= size else interpolate(images, (size, size), mode="area")


def _bytes(pixels: NDArray[Any], rows: NDArray[np.int64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(pixels[rows]))


def _floats(pixels: Tensor) -> Tensor:
    moved = pixels.movedim(-1, 1)
    return moved.contiguous() if moved.is_floating_point() else moved.float().div_(255)


def _small_bytes(images: Tensor, side: int) -> NDArray[np.uint8]:
    small = interpolate(images, (side, side), mode="bicubic", antialias=True)
    whole: NDArray[np.uint8] = (
        small.mul_(255).round_().clamp_(0, 255).byte().permute(0, 2, 3, 1).numpy()
    )
    return whole
