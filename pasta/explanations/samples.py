"""The images of a dataset that are explained: originals and their perturbed copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.config import Params
from pasta.datasets.stored import StoredDataset
from pasta.errors import PastaError
from pasta.explanations.base import View
from pasta.explanations.engine import predicted_classes
from pasta.explanations.modality import MODALITIES
from pasta.explanations.perturbation_search import Found, find_pairs
from pasta.seeds import generator


def chosen_rows(dataset: StoredDataset, number: int, seed: int) -> NDArray[np.int64]:
    """Test images, the same for every backbone."""
    rows = dataset.rows("test")
    if len(rows) < number:
        raise PastaError(
            f"{dataset.folder}: {number} images are to be explained (explanations.images), but "
            f"there are {len(rows)} test images"
        )
    random = generator(seed, "explanations", dataset.vocabulary.dataset)
    return np.sort(random.choice(rows, number, replace=False))


def chosen(dataset: StoredDataset, params: Params) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """Names and pixels of the images to explain."""
    rows = chosen_rows(dataset, params.explanations.images, params.seeds.explaining)
    names = tuple(dataset.images["image_id"].iloc[rows])
    return names, np.ascontiguousarray(dataset.pixels[rows])


def search_copies(view: View, dataset: StoredDataset, params: Params) -> dict[str, NDArray[Any]]:
    """A light and a strong copy of each image: which is strong depends on what the model sees."""
    settings = params.explanations
    names, originals = chosen(dataset, params)
    modality = MODALITIES[dataset.vocabulary.modality]
    images = modality.load(originals).to(compute.device_of(view.network))

    def predict(part: Tensor) -> Tensor:
        return predicted_classes(view, part)

    classes = torch.cat([predict(part) for part in torch.split(images, settings.budget)]).tolist()
    pairs = find_pairs(
        predict,
        images,
        names,
        params.seeds.explaining,
        settings.perturbations,
        settings.budget,
        modality,
    )
    found = [*(pair.light for pair in pairs), *(pair.strong for pair in pairs)]
    return {
        "pixels": np.stack([_bytes(one) for one in found]),
        "predicted": np.array([*classes, *(one.predicted for one in found)], dtype=np.int64),
        "perturbation": np.array([one.perturbation for one in found]),
        "magnitude": np.array([one.magnitude for one in found], dtype=np.float64),
        "changed": np.array([one.changed for one in found], dtype=bool),
    }


def _bytes(found: Found) -> NDArray[np.uint8]:
    pixels: NDArray[np.uint8] = compute.to_numpy((found.image * 255).round().to(torch.uint8))
    return np.moveaxis(pixels, 0, -1)
