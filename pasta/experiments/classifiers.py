"""The classifiers of the experiments: slim ones for drawn images, torchvision's for photographs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torchvision import models

from pasta import compute
from pasta.config import Params
from pasta.errors import PastaError
from pasta.models.base import BlackBox, Normalise, silent
from pasta.models.data import ModelContext, TrainingData, as_tensor
from pasta.models.resnet import ResNetClassifier, load_torchvision_weights
from pasta.models.settings import ResNetParams
from pasta.models.training import fit_black_box, seeded
from pasta.studies.prediction.settings import ExperimentParams

Bytes = NDArray[np.uint8]
_HEADS = {"googlenet": "fc", "vgg16": "classifier.6", "resnet50": "fc"}


class PairData(TrainingData):
    """Images of two classes in main memory, in the form that training takes."""

    def __init__(
        self,
        name: str,
        classes: Sequence[str],
        pixels: Bytes,
        labels: NDArray[np.int64],
        validation: int,
        seed: int,
        params: Params,
        root: Path,
    ) -> None:
        ModelContext.__init__(
            self, name, tuple(classes), (), int(pixels.shape[1]), seed, params, root
        )
        self.where = compute.device()
        self.pixels, self._labels, self.validation = pixels, labels, validation

    @cached_property
    def labels(self) -> Tensor:
        """Class of every row."""
        return torch.from_numpy(self._labels)

    def rows(self, split: str) -> Tensor:
        """Rows to train on; the last ones are those to validate by."""
        whole, cut = torch.arange(len(self.pixels)), len(self.pixels) - self.validation
        return whole[:cut] if split == "train" else whole[cut:]

    def batches(self, rows: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Rows and their images, in order."""
        for part in torch.split(rows, size) if len(rows) else ():
            yield part, compute.place(as_tensor(self.pixels[part.numpy()]), self.where)


class TorchvisionPair(BlackBox):
    """A network of torchvision that tells two classes apart.

    With ``outputs`` its own last layer stays, and two of its classes are looked at.
    """

    def __init__(self, classes: Sequence[str], settings: ExperimentParams) -> None:
        super().__init__(classes)
        self.outputs = settings.outputs
        self.architecture = settings.architecture
        self.normalise = Normalise()
        number = 1000 if settings.outputs is not None else 2
        more = {"aux_logits": False, "init_weights": True} if self.is_inception else {}
        self.network: nn.Module = models.get_model(
            settings.architecture, weights=None, num_classes=number, **more
        )

    @property
    def is_inception(self) -> bool:
        """Whether it has auxiliary classifiers, which are left out."""
        return self.architecture == "googlenet"

    def forward(self, images: Tensor) -> Tensor:
        """Logits of the two classes."""
        logits: Tensor = self.network(self.normalise(images))
        return logits if self.outputs is None else logits[:, list(self.outputs)]

    def cam_layers(self) -> list[nn.Module]:
        """The last layer with a map."""
        path = {"googlenet": "inception5b", "vgg16": "features.29", "resnet50": "layer4"}
        return [self.network.get_submodule(path[self.architecture])]


def make_classifier(
    settings: ExperimentParams, data: PairData, learns: bool
) -> tuple[BlackBox, dict[str, object]]:
    """Build the classifier of an experiment, and train it unless its weights know the classes.

    Returns
    -------
    The classifier where it computes, in evaluation mode, and facts about it.
    """
    with seeded(data, settings.architecture):
        model = _build(settings, data)
    if settings.weights is not None and isinstance(model, TorchvisionPair):
        skip = ["aux1", "aux2", *([] if settings.outputs else [_HEADS[settings.architecture]])]
        load_torchvision_weights(model.network, settings.architecture, settings.weights, skip)
    placed = compute.place(model, data.where)
    facts: dict[str, object] = {
        "architecture": settings.architecture,
        "weights": settings.weights or "none",
        "parameters": sum(one.numel() for one in model.parameters()),
    }
    if learns:
        # torch draws dropout from its own state
        with seeded(data, f"{settings.architecture} dropout"):
            history = fit_black_box(placed, data, settings.training, settings.architecture, silent)
        facts |= {"epochs": len(history.curves.get("loss", ())), "best_epoch": history.best_epoch}
    placed.eval()
    return placed, facts


def _build(settings: ExperimentParams, data: PairData) -> BlackBox:
    if settings.architecture == "slim":
        if settings.outputs is not None:
            raise PastaError("the slim network has no classes of its own: leave out `outputs`")
        return ResNetClassifier(data.classes, ResNetParams(width=settings.width))
    return TorchvisionPair(data.classes, settings)


def predict(model: BlackBox, pixels: Bytes, batch: int = 64) -> NDArray[np.float64]:
    """Probabilities (n, 2) of bytes (n, size, size, 3)."""
    where, found = compute.device_of(model), []
    with torch.inference_mode():
        for start in range(0, len(pixels), batch):
            images = compute.place(as_tensor(np.asarray(pixels[start : start + batch])), where)
            found.append(compute.to_numpy(model.probabilities(images).double()))
    return np.concatenate(found)
