"""LIME on superpixels (Ribeiro, Singh and Guestrin 2016, doi:10.1145/2939672.2939778).

Superpixels are hidden at random, a hidden one in its mean colour, and a weighted ridge regression
of the target's probability on what can be seen gives each superpixel a coefficient. Captum runs
it; superpixels, kernel and regression are those of the authors' package (``lime.lime_image`` with
all features).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sklearn.linear_model import Lasso
from torch import Tensor
from torch.utils.data import DataLoader

from pasta.explanations.base import BACKBONES, Given, Passes, method
from pasta.explanations.grids import grid_of, grid_scores, maps_of_grid, seen_energy
from pasta.explanations.settings import LimeParams
from pasta.explanations.superpixels import (
    collected,
    fit_surrogate,
    mean_colours,
    number_of,
    spread,
)

_ROUNDS = 100_000  # of coordinate descent, with far fewer samples than slopes


@method(
    "lime",
    functioning="perturbation",
    doi="10.1145/2939672.2939778",
    sign="signed",
    backbones=(*BACKBONES, "vgg19"),
    any_modality=True,
    passes=lambda settings, _: Passes(forward=settings.samples),
)
def lime(given: Given) -> Tensor:
    """Each pixel has the coefficient of its superpixel, or of its cell of a grid."""
    settings = given.settings["lime"]
    if settings.segmenter == "grid":
        return lime_of_grid(given, settings)
    segment = given.modality.need("segment")
    labels = [segment(image, settings.segmenter, settings.segments) for image in given.images]
    switches = [
        random_switches(settings.samples, number_of(label), random)
        for label, random in zip(labels, given.generators("lime"), strict=True)
    ]
    found = coefficients(given, labels, switches, settings.kernel_width, settings.penalty)
    pairs = zip(found, labels, strict=True)
    return torch.stack([spread(value.to(given.images), label) for value, label in pairs])


def lime_of_grid(given: Given, settings: LimeParams) -> Tensor:
    """LIME on the cells of a grid, of hidden cells that have the baseline's value.

    In LATEC's readings no sample shows the whole input, the kernel compares inputs, not switches
    (both as captum's Lime does), and coefficients below zero count as none.
    """
    corrected = settings.reading == "corrected"
    labels = grid_of(given, settings)
    rows = [
        random_switches(settings.samples, number_of(labels), random, whole=corrected)
        for random in given.generators("lime")
    ]
    found = []
    for image, switches, score in zip(
        given.images, rows, grid_scores(given, labels, rows, settings), strict=True
    ):
        near = switches.double().mean(1)
        if not corrected and settings.baseline == 0:
            near = seen_energy(image, labels, switches)
        weights = width_kernel(1 - near.sqrt(), settings.kernel_width)
        fit = lasso if settings.surrogate == "lasso" else ridge
        parts = (switches.double()[None], score[None], weights[None])
        found.append(fit(*parts, settings.penalty)[0])
    return maps_of_grid(given, labels, found, settings)


class Ridge:
    """A weighted ridge regression, as captum wants its surrogate models."""

    def __init__(self, penalty: float) -> None:
        self.penalty = penalty

    def fit(self, answers: DataLoader[Any], **_: Any) -> None:
        """Find the slopes."""
        inputs, scores, weights = collected(answers)
        self.slopes: Tensor = ridge(inputs[None], scores[None], weights[None], self.penalty)[0]

    def representation(self) -> Tensor:
        """Return the slopes (superpixels,)."""
        return self.slopes


def coefficients(
    given: Given,
    labels: Sequence[Tensor],
    switches: Sequence[Tensor],
    kernel_width: float,
    penalty: float,
) -> list[Tensor]:
    """Compute what each superpixel is worth, for given superpixels and switches of each image.

    Parameters
    ----------
    labels
        To which superpixel a pixel (height, width) belongs.
    switches
        True where a superpixel can be seen (samples, superpixels). Equal rows are asked once and
        count as often as they come.
    kernel_width, penalty
        Of the kernel and of the ridge regression.

    Returns
    -------
    One tensor (superpixels,) for each image, in double precision, in main memory.
    """
    found = []
    for number, (image, label) in enumerate(zip(given.images, labels, strict=True)):
        rows, times = torch.unique(switches[number], dim=0, return_counts=True)
        weights = kernel(rows, kernel_width) * times
        parts = (label, mean_colours(image, label), rows, weights)
        found.append(fit_surrogate(given, number, *parts, Ridge(penalty)))
    return found


def random_switches(
    samples: int, superpixels: int, generator: torch.Generator, whole: bool = True
) -> Tensor:
    """The whole image, unless it is not wanted, then superpixels that are seen with probability one
    half."""
    switches = torch.randint(0, 2, (samples, superpixels), generator=generator).bool()
    if whole:
        switches[0] = True
    return switches


def kernel(switches: Tensor, width: float) -> Tensor:
    """sqrt(exp(-distance² / width²)), with the cosine distance to the whole image.

    If a share s of the superpixels can be seen, this distance is 1 - sqrt(s).
    """
    return width_kernel(1 - switches.double().mean(1).sqrt(), width)


def width_kernel(distance: Tensor, width: float) -> Tensor:
    """sqrt(exp(-distance² / width²))."""
    return (-(distance**2) / width**2).exp().sqrt()


def lasso(inputs: Tensor, values: Tensor, weights: Tensor, penalty: float) -> Tensor:
    """Slopes (b, features) that minimise the weighted mean of squared errors / 2 + penalty x sum of
    |slopes|, of inputs (b, samples, features) and values (b, samples), by scikit-learn."""
    found = []
    for rows, value, weight in zip(inputs, values, weights, strict=True):
        model = Lasso(penalty, max_iter=_ROUNDS).fit(rows.numpy(), value.numpy(), weight.numpy())
        found.append(torch.from_numpy(model.coef_).double())
    return torch.stack(found)


def ridge(inputs: Tensor, values: Tensor, weights: Tensor, penalty: float) -> Tensor:
    """Slopes (b, features) that minimise the weighted sum of squared errors + penalty x |slopes|²
    of inputs (b, samples, features) and values (b, samples); the intercept is free."""
    shares = (weights / weights.sum(1, keepdim=True))[:, None]  # (b, 1, samples)
    centred = inputs - shares @ inputs
    rest = values[:, :, None] - shares @ values[:, :, None]
    weighted = (centred * weights[:, :, None]).mT
    square = weighted @ centred + penalty * torch.eye(inputs.shape[2], dtype=inputs.dtype)
    result: Tensor = torch.linalg.solve(square, weighted @ rest)[:, :, 0]
    return result
