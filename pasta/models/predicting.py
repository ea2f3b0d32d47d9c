"""What a trained classifier says about somebody's image files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pasta import compute
from pasta.config import load_params
from pasta.datasets.files.images import decode, fit
from pasta.errors import PastaError
from pasta.layout import groups
from pasta.models.base import Classifier, ConceptModel
from pasta.models.catalog import ORDER
from pasta.models.checkpoint import load
from pasta.models.data import as_tensor
from pasta.paths import project_root
from pasta.registry import did_you_mean

BATCH = 32


def predict_files(
    files: Sequence[Path], dataset: str, model: str, top: int = 5
) -> list[dict[str, Any]]:
    """The most probable classes of each image and, for a concept model, its strongest concepts."""
    classifier, size = open_classifier(dataset, model)
    answers: list[dict[str, Any]] = []
    for start in range(0, len(files), BATCH):
        part = files[start : start + BATCH]
        pixels = np.stack([read_image(file, size) for file in part])
        answers += [
            {"image": str(file), "dataset": dataset, "model": model, **answer}
            for file, answer in zip(part, _answers(classifier, pixels, top), strict=True)
        ]
    return answers


def open_classifier(dataset: str, model: str) -> tuple[Classifier, int]:
    """A trained model of this project and the size of image it wants."""
    if model not in ORDER:
        raise PastaError(f"there is no model called {model!r}. {did_you_mean(model, list(ORDER))}")
    root, params = project_root(), load_params()
    homes = [
        group.models / model
        for group in groups(params, root)
        if group.dataset == dataset and model in params.models[group.key].backbones
    ]
    if not homes:
        raise PastaError(f"no group of the parameters has a model {model!r} of {dataset!r}")
    classifier, card = load(homes[0], params, root)
    compute.place(classifier)
    return classifier, int(card["image_size"])


def read_image(file: Path, size: int) -> NDArray[np.uint8]:
    """Decode, convert to RGB and bring to size, exactly as the datasets are."""
    if not file.is_file():
        raise PastaError(f"{file}: there is no such file")
    return np.array(fit(decode(file), size), dtype=np.uint8)  # a copy: torch wants to write


def _answers(classifier: Classifier, pixels: NDArray[np.uint8], top: int) -> list[dict[str, Any]]:
    with torch.inference_mode():
        images = compute.place(as_tensor(pixels), compute.device_of(classifier))
        probabilities = classifier.probabilities(images)
        scores = classifier.concept_scores(images) if isinstance(classifier, ConceptModel) else None
    return [
        {
            "classes": _largest("class", "probability", classifier.classes, probabilities[n], top),
            "concepts": []
            if scores is None
            else _largest("concept", "score", getattr(classifier, "concepts", ()), scores[n], top),
        }
        for n in range(len(pixels))
    ]


def _largest(
    what: str, value: str, names: Sequence[str], numbers: torch.Tensor, top: int
) -> list[dict[str, Any]]:
    order = numbers.argsort(descending=True, stable=True)[:top].tolist()
    return [{what: names[index], value: round(float(numbers[index]), 6)} for index in order]
