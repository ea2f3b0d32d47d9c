"""Kernel SHAP on superpixels: coalitions to look at, and Shapley values from what they are worth.

Lundberg and Lee (2017, doi:10.48550/arXiv.1705.07874): Shapley values solve a weighted least
squares problem over all coalitions of features, and nearly solve it over the heaviest ones. As in
the authors' ``shap`` package, a coalition always comes together with its complement, and the small
sizes (the heaviest) are taken completely before the others are sampled. Captum's own ``KernelShap``
draws coalitions one by one, with repetitions: with equally many its error is two to three times as
large (12 superpixels, 50 to 400 coalitions). So captum's ``LimeBase`` is given these instead.

The players are superpixels, and a coalition is worth the target's probability when only its members
can be seen. The others have the mean colour of the whole image: the image without any detail, in
the range of colours the model knows. :mod:`pasta.explanations.methods.concept_perturbation` uses
the same coalitions and the same solution for concepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LinearRegression
from torch import Tensor
from torch.utils.data import DataLoader

from pasta.errors import PastaError
from pasta.explanations.base import Given, Passes, method
from pasta.explanations.grids import grid_of, grid_scores, maps_of_grid
from pasta.explanations.settings import ShapParams
from pasta.explanations.superpixels import (
    collected,
    fit_surrogate,
    number_of,
    pixel_counts,
    spread,
)

_TRIES = 4  # draws for each pair, as in shap: some are repetitions
_SMALLEST = 1e-10  # eigenvalues below this part of the largest are rounding


@method(
    "shap",
    functioning="perturbation",
    doi="10.48550/arXiv.1705.07874",
    sign="signed",
    any_modality=True,
    passes=lambda settings, _: _count_coalitions(settings),
)
def shap(given: Given) -> Tensor:
    """The Shapley value of a superpixel is shared equally by its pixels.

    So the pixels of a map sum to the target's probability for the image - that for an image which
    is all mean colour.
    """
    settings = given.settings["shap"]
    if settings.segmenter == "grid":
        return shap_of_grid(given, settings)
    segment = given.modality.need("segment")
    labels = [segment(image, "slic", settings.segments) for image in given.images]
    chosen = [
        coalitions(number_of(label), settings.samples, given.generator(number, "shap"))
        for number, label in enumerate(labels)
    ]
    values = shapley_values(given, labels, chosen)
    maps = [
        spread((value / pixel_counts(label).cpu()).to(given.images), label)
        for value, label in zip(values, labels, strict=True)
    ]
    return torch.stack(maps)


def _count_coalitions(settings: ShapParams) -> Passes:
    if settings.segmenter == "grid" and settings.reading != "corrected":
        return Passes(forward=settings.samples)
    return Passes(forward=2 + settings.samples // 2 * 2)  # pairs, and the ends


def shap_of_grid(given: Given, settings: ShapParams) -> Tensor:
    """Kernel SHAP on the cells of a grid, of hidden cells that have the baseline's value.

    In LATEC's readings coalitions are drawn one by one, as captum's KernelShap does it, a linear
    regression gives each cell its value, and values below zero count as none. Otherwise coalitions
    and solution are those of superpixels, and a cell's places share its value equally.
    """
    labels = grid_of(given, settings)
    cells = number_of(labels)
    drawn = [
        coalitions(cells, settings.samples, random)
        if settings.reading == "corrected"
        else (lone_coalitions(cells, settings.samples - 2, random), torch.empty(0))
        for random in given.generators("shap")
    ]
    ends = torch.tensor([[True], [False]]).expand(2, cells)
    rows = [torch.cat([ends, masks]) for masks, _ in drawn]
    found, counts = [], pixel_counts(labels).cpu()
    scores = grid_scores(given, labels, rows, settings)
    for (masks, weights), row, score in zip(drawn, rows, scores, strict=True):
        if settings.reading == "corrected":
            value = solve(masks, weights, score[None, 2:], score[:1], score[1:2])[0]
            found.append(value / counts)
        else:
            heavy = np.r_[[1e6, 1e6], np.ones(len(masks))]  # the ends, nearly exactly
            model = LinearRegression().fit(row.double().numpy(), score.numpy(), heavy)
            found.append(torch.from_numpy(model.coef_))
    return maps_of_grid(given, labels, found, settings)


def lone_coalitions(features: int, samples: int, generator: torch.Generator) -> Tensor:
    """Draw coalitions (samples, features) one by one; Shapley's kernel weighs their sizes."""
    if features < 2 or samples < 1:
        raise PastaError(f"no coalitions of {features} features in {samples + 2} samples")
    size = torch.arange(1, features).double()
    weights = (features - 1) / (size * (features - size))
    drawn = 1 + torch.multinomial(weights, samples, replacement=True, generator=generator)
    keys = torch.rand(samples, features, generator=generator, dtype=torch.double)
    return keys <= keys.sort(1).values.gather(1, drawn[:, None] - 1)


class ShapleySolution:
    """Shapley values, as captum wants its surrogate models: the first rows are all and nobody."""

    def fit(self, answers: DataLoader[Any], **_: Any) -> None:
        """Solve for the values."""
        rows, worth, weights = collected(answers)
        parts = (worth[None, 2:], worth[:1], worth[1:2])
        self.values: Tensor = solve(rows[2:].bool(), weights[2:], *parts)[0]

    def representation(self) -> Tensor:
        """Return the values (superpixels,)."""
        return self.values


def shapley_values(
    given: Given, labels: Sequence[Tensor], chosen: Sequence[tuple[Tensor, Tensor]]
) -> list[Tensor]:
    """Compute Shapley values of the superpixels of each image.

    Parameters
    ----------
    labels
        To which superpixel a pixel (height, width) belongs.
    chosen
        For each image its coalitions and their weights, see :func:`coalitions`.

    Returns
    -------
    One tensor (superpixels,) for each image, in double precision, in main memory.
    """
    found = []
    for number, (image, label) in enumerate(zip(given.images, labels, strict=True)):
        masks, weights = chosen[number]
        plain = image.mean(tuple(range(1, image.ndim)), keepdim=True).expand_as(image)
        ends = torch.tensor([[True], [False]]).expand(2, masks.shape[1])
        parts = (torch.cat([ends, masks]), torch.cat([weights.new_ones(2), weights]))
        found.append(fit_surrogate(given, number, label, plain, *parts, ShapleySolution()))
    return found


def coalitions(features: int, samples: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """At most ``samples`` different coalitions: masks (m, features), true where a feature is in,
    and their weights (m,), which sum to one.

    The empty coalition and the one of all features are left out, the solution meets them exactly.
    If all others fit into ``samples``, these are all there are and ``generator`` is not used.
    """
    if features < 1 or samples < 2:
        raise PastaError(f"no coalitions of {features} features in {samples} samples")
    sizes = torch.arange(1, features // 2 + 1)  # of the smaller half of each pair
    shares = _shares(features, sizes)
    left, masks, weights = samples // 2, [_no_masks(features)], [_no_masks(1)[:, 0].double()]
    for place, size in enumerate(sizes.tolist()):
        count = comb(features, size) // (2 if 2 * size == features else 1)
        # What the size would get of the samples that are left must be enough for all its pairs.
        # Weights of single coalitions fall with size, so this never stops early if all fit.
        if left * float(shares[place] / shares[place:].sum()) < count * (1 - 1e-8):
            part, counts = _sampled(features, sizes[place:], shares[place:], left, generator)
            masks.append(part)
            weights.append(counts / counts.sum() * shares[place:].sum())
            break
        masks.append(_all_of_size(features, size, count))
        weights.append(shares[place].expand(count) / count)
        left -= count
    halves, weight = torch.cat(masks), torch.cat(weights) / 2
    return torch.cat([halves, ~halves]), torch.cat([weight, weight])


def solve(masks: Tensor, weights: Tensor, values: Tensor, full: Tensor, empty: Tensor) -> Tensor:
    """Shapley values (b, features) in double precision.

    ``values`` (b, m) says what each coalition is worth, ``full`` (b,) and ``empty`` (b,) what all
    and no features are worth: the result sums to their difference. Coalitions that do not
    determine it leave a choice; then it is the one nearest to equal values for all features.
    """
    features = masks.shape[1]
    inside, roots = masks.double(), weights.double().sqrt()
    equal = ((full - empty).double() / features)[:, None]  # (b, 1): the same for every feature
    # What differs from equal values sums to zero: columns without their mean make it so.
    design = roots[:, None] * (inside - inside.mean(1, keepdim=True))
    rest = values.double() - empty.double()[:, None] - equal * inside.sum(1)
    inverse = torch.linalg.pinv(design.T @ design, rtol=_SMALLEST, hermitian=True)
    differences = (rest * roots) @ design @ inverse
    result: Tensor = equal + differences - differences.mean(1, keepdim=True)
    return result


def _no_masks(features: int) -> Tensor:
    return torch.zeros(0, features, dtype=torch.bool)


def _shares(features: int, sizes: Tensor) -> Tensor:
    """What all pairs of one size weigh together: Shapley's kernel times their number."""
    smaller = sizes.double()
    kernel = (features - 1) / (smaller * (features - smaller))
    both = torch.where(2 * sizes == features, 1.0, 2.0)  # halves are their own complements' size
    return kernel * both / (kernel * both).sum()


def _all_of_size(features: int, size: int, count: int) -> Tensor:
    """One mask for each pair; of two halves the one that comes first, with the first feature."""
    chosen = torch.tensor(list(combinations(range(features), size))[:count])
    return torch.zeros(count, features, dtype=torch.bool).scatter(1, chosen, True)


def _sampled(
    features: int, sizes: Tensor, shares: Tensor, pairs: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Up to ``pairs`` different masks (one for each pair), and how often each was drawn."""
    masks = _no_masks(features)
    for _ in range(_TRIES):
        masks = torch.cat([masks, _drawn(features, sizes, shares, pairs, generator)])
        first, place = _repetitions(masks)
        if len(first) >= pairs:
            break
    order = first.argsort()
    # Stop at the first draw that would be one pair too many.
    end = len(masks) if len(order) <= pairs else int(first[order[pairs]])
    counts = torch.bincount(place[:end], minlength=len(first))
    return masks[first[order[:pairs]]], counts[order[:pairs]].double()


def _drawn(
    features: int, sizes: Tensor, shares: Tensor, pairs: int, generator: torch.Generator
) -> Tensor:
    """Masks of sizes by their shares; of one size all are equally likely."""
    size = sizes[torch.multinomial(shares, pairs, replacement=True, generator=generator)][:, None]
    keys = torch.rand(pairs, features, generator=generator, dtype=torch.double)
    masks = keys <= keys.sort(1).values.gather(1, size - 1)
    # A half and its complement are one pair: take the one with the first feature.
    return masks ^ ((2 * size == features) & ~masks[:, :1])


def _repetitions(masks: Tensor) -> tuple[Tensor, Tensor]:
    """Where each different mask comes first, and which of them each mask is."""
    packed = np.packbits(masks.numpy(), axis=1)  # bytes sort much faster than booleans
    _, first, place = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return torch.from_numpy(first), torch.from_numpy(place.reshape(-1))
