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
from pasta.explanations.base import View
from pasta.explanations.engine import predicted_classes
from pasta.explanations.modality import MODALITIES
from pasta.explanations.perturbation_search import Found, find_pairs
from pasta.progress import tell
from pasta.sections import for_dataset
from pasta.seeds import generator


def choose_rated(test: NDArray[np.int64], dataset: str, params: Params) -> NDArray[np.int64]:
    """Test images to explain and rate, the same for every backbone; all if fewer are there."""
    number = for_dataset(params.explanations.images, dataset)
    random = generator(params.seeds.explaining, "explanations", dataset)
    return np.sort(random.choice(test, min(number, len(test)), replace=False))


def choose_fresh(
    test: NDArray[np.int64], dataset: str, params: Params, number: int
) -> NDArray[np.int64]:
    """Test images that are not rated, in random but fixed order; all if fewer are left."""
    rest = np.setdiff1d(test, choose_rated(test, dataset, params))
    random = generator(params.seeds.explaining, "applications", "fresh images", dataset)
    return np.asarray(random.permutation(rest)[:number])


def tell_too_few_test_images(dataset: StoredDataset, params: Params) -> None:
    """Say so if a dataset has fewer test images than are to be explained."""
    name, there = dataset.vocabulary.dataset, len(dataset.rows("test"))
    asked = for_dataset(params.explanations.images, name)
    if there < asked:
        tell(
            f"{name} has {there} test images: all of them are explained, not {asked} "
            "(explanations.images), and none is left that nobody has rated"
        )


def chosen(dataset: StoredDataset, params: Params) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    """Names and pixels of the images to explain."""
    rows = choose_rated(dataset.rows("test"), dataset.vocabulary.dataset, params)
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
