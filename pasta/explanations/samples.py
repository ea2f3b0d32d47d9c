"""The images of a dataset that are explained: originals and their perturbed copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import store
from pasta.datasets.stored import StoredDataset
from pasta.errors import PastaError
from pasta.explanations.base import View
from pasta.explanations.engine import predicted_classes
from pasta.explanations.fingerprints import code_behind, module_file
from pasta.models.data import as_tensor
from pasta.models.fingerprint import fingerprint
from pasta.params import Params
from pasta.perturbations.search import Found, find_pairs
from pasta.seeds import generator

Strength = Literal["light", "strong"]
STRENGTHS: tuple[Strength, ...] = ("light", "strong")


@dataclass(frozen=True)
class Samples:
    """Images for one backbone: n originals, then n light and n strong perturbations."""

    ids: tuple[str, ...]  # of the originals
    pixels: NDArray[np.uint8]  # (3 n, height, width, 3)
    predicted: NDArray[np.int64]  # (3 n,), the class that is explained
    pairs: tuple[dict[str, Any], ...]  # (2 n), kind and magnitude of each perturbation
    fingerprint: str

    def __len__(self) -> int:
        return len(self.ids)

    def images(self, part: slice) -> Tensor:
        """A batch for the model."""
        return as_tensor(self.pixels[part])


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


def load_samples(
    dataset: StoredDataset, view: View, params: Params, folder: Path, backbone: str, weights: str
) -> Samples:
    """The samples of a backbone, from their files if nothing they depend on has changed."""
    settings = params.explanations
    rows = chosen_rows(dataset, settings.images, params.seed)
    ids = tuple(dataset.images["image_id"].iloc[rows])
    originals = np.ascontiguousarray(dataset.pixels[rows])
    current = fingerprint(
        {
            "pixels": [_digest(originals), ids],
            "weights": weights,
            "settings": settings.perturbations.model_dump(mode="json"),
            "seed": params.seed,
            "code": code_behind(module_file(find_pairs)),
        }
    )
    array, card = folder / f"{backbone}.perturbed.npy", folder / f"{backbone}.perturbed.json"
    if not (array.is_file() and card.is_file() and _print_of(card) == current):
        found, classes = _search(view, originals, ids, params)
        store.write_array(np.stack([_bytes(one.image) for one in found]), array)
        note = {"fingerprint": current, "predicted": classes, "pairs": [*map(_note, found)]}
        store.write_json(note, card)
    stored = store.read_json(card)
    pairs = tuple(stored["pairs"])
    predicted = [*stored["predicted"], *(pair["predicted"] for pair in pairs)]
    pixels = np.concatenate([originals, np.asarray(store.read_array(array))])
    return Samples(ids, pixels, np.asarray(predicted, dtype=np.int64), pairs, current)


def _search(
    view: View, originals: NDArray[np.uint8], ids: Sequence[str], params: Params
) -> tuple[list[Found], list[int]]:
    settings = params.explanations

    def predict(images: Tensor) -> Tensor:
        return predicted_classes(view, images)

    images = as_tensor(originals)
    parts = torch.split(images, settings.budget)
    classes = torch.cat([predict(part) for part in parts]).tolist()
    pairs = find_pairs(predict, images, ids, params.seed, settings.perturbations, settings.budget)
    return [*(pair.light for pair in pairs), *(pair.strong for pair in pairs)], classes


def _note(found: Found) -> dict[str, Any]:
    return {
        "perturbation": found.perturbation,
        "magnitude": found.magnitude,
        "predicted": found.predicted,
        "changed": found.changed,
    }


def _bytes(image: Tensor) -> NDArray[np.uint8]:
    pixels: NDArray[np.uint8] = (image * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
    return pixels


def _digest(pixels: NDArray[np.uint8]) -> str:
    import hashlib

    return hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()


def _print_of(card: Path) -> str:
    return str(store.read_json(card).get("fingerprint"))
