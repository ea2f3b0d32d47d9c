"""How much explanations change when images are augmented (P1, Appendix D.3).

P1 has three sets of augmentations and does not say which; the released code has Gaussian noise,
sharpness and brightness. Augmented images are explained again by their classifiers, so this takes
several times as long as explaining the images did, and needs classifiers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.embedding.settings import HandcraftedParams
from pasta.errors import PastaError
from pasta.explanations.attribution import scaled, shown_maps
from pasta.explanations.engine import Work, attributions
from pasta.explanations.modality import MODALITIES
from pasta.explanations.perturbations import brightness, sharpness
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.suite import Backbone
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.models import checkpoint
from pasta.seeds import entropy

Numbers = NDArray[np.float64]
NOISE = 0.2  # standard deviation of Gaussian noise at magnitude 1, of the range of light


def gaussian(images: Tensor, magnitudes: Tensor, seeds: Sequence[int]) -> Tensor:
    """Images (n, 3, height, width) with noise, the same for an image wherever it stands."""
    noise = [
        torch.randn(image.shape, generator=torch.Generator().manual_seed(seed))
        for image, seed in zip(images, seeds, strict=True)
    ]
    return (images + NOISE * magnitudes[:, None, None, None] * torch.stack(noise)).clamp(0, 1)


SETS = (gaussian, sharpness, brightness)  # the order of the features


def augment(images: Tensor, magnitudes: Sequence[float], seeds: Sequence[int]) -> Tensor:
    """The images, then all their copies: (1 + sets x magnitudes, n, 3, height, width)."""
    copies = [
        change(images, torch.full((len(images),), magnitude), seeds)
        for change in SETS
        for magnitude in magnitudes
    ]
    return torch.stack([images, *copies])


def variance(explanations: Numbers) -> Numbers:
    """Variance under augmentation, for each explanation (P1, Eqs. 16 and 17).

    ``explanations`` is augmentations x n x length; a row without any attribution gives NaN.
    """
    values = np.asarray(explanations, dtype=np.float64)
    spread = values.var(axis=0).mean(1)
    mean = np.abs(values).mean((0, 2))
    result = np.full(len(mean), np.nan)
    np.divide(spread, mean, out=result, where=mean > 0)
    return result


@dataclass(frozen=True)
class Explained:
    """The explanations of one classifier that are to be made again."""

    backbone: Backbone
    techniques: tuple[Technique, ...]
    images: tuple[str, ...]  # names
    predicted: tuple[str, ...]

    def variances(self, settings: HandcraftedParams) -> dict[str, Numbers]:
        """By method, for each image and set of augmentations (n x 3)."""
        params = self.backbone.params
        dataset, own = open_dataset(self.backbone.group.images), params.explanations
        modality = MODALITIES[dataset.vocabulary.modality]
        row = dataset.images.set_index("image_id")["row"]
        pixels = dataset.pixels[row.loc[list(self.images)].to_numpy()]
        classes = [dataset.vocabulary.classes.index(name) for name in self.predicted]
        view, methods = self.backbone.view(), [one.method for one in self.techniques]
        found: dict[str, list[Numbers]] = defaultdict(list)
        for start in range(0, len(pixels), own.batch_size):
            part = slice(start, start + own.batch_size)
            seeds = [
                entropy(params.seeds.explaining, "augmented", name) % 2**63
                for name in self.images[part]
            ]
            every = augment(modality.load(pixels[part]), settings.magnitudes, seeds)
            times, number = every.shape[:2]
            targets = torch.tensor(classes[part]).repeat(times)
            flat = every.flatten(0, 1)
            work = Work(
                view,
                flat.__getitem__,
                targets,
                own.methods,
                params.seeds.explaining,
                own.batch_size,
                own.budget,
                modality=modality,
            )
            raw: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
            for piece in attributions(work, methods):
                raw[piece.method].append(piece.raw)
            for technique in self.techniques:
                whole = np.concatenate(raw[technique.method])
                values = _comparable(whole, technique).reshape(times, number, -1)
                found[technique.method].append(_by_set(values, len(settings.magnitudes)))
        return {method: np.concatenate(parts) for method, parts in found.items()}


def _comparable(raw: NDArray[np.float32], technique: Technique) -> Numbers:
    """Attributions on the scale in which they are stored and shown."""
    if technique.kind == "concept":
        return np.asarray(scaled(raw)[0], np.float64)
    return np.asarray(shown_maps(raw, technique.sign), np.float64)


def _by_set(values: Numbers, magnitudes: int) -> Numbers:
    """The variance within each set, the original among its augmentations."""
    columns = []
    for place in range(len(SETS)):
        first = 1 + place * magnitudes
        columns.append(variance(values[[0, *range(first, first + magnitudes)]]))
    return np.column_stack(columns)


def augmented_variances(
    group: Group, settings: HandcraftedParams, params: Params, root: Path
) -> dict[Technique, Numbers]:
    """The variances (n x 3) of each technique's explanations, in the order of their table."""
    stored = StoredExplanations(group.explanations)
    trained = set(checkpoint.trained_models(group.models))
    found: dict[Technique, Numbers] = {}
    for name in dict.fromkeys(one.backbone for one in stored.techniques):
        if name not in trained:
            raise PastaError(
                f"{group.models}: there is no classifier {name}, so augmented images cannot be "
                "explained (embedding.handcrafted.augmentations is `explained`); `copies` takes "
                "the stored explanations of perturbed copies instead"
            )
        own = tuple(one for one in stored.techniques if one.backbone == name)
        rows = stored.rows(own[0])
        images, predicted = rows["image_id"].astype(str), rows["predicted"].astype(str)
        unit = Explained(Backbone(group, name, params, root), own, tuple(images), tuple(predicted))
        changed = unit.variances(settings)
        found |= {one: changed[one.method] for one in own}
    return found
