"""Kernel SHAP on superpixels (Lundberg and Lee 2017, doi:10.48550/arXiv.1705.07874).

The players are superpixels, and a coalition is worth the target's probability when only its members
can be seen. The others have the mean colour of the whole image: the image without any detail, in
the range of colours the model knows.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from pasta.explanations.base import Given, method
from pasta.explanations.masking import superpixel_scores
from pasta.explanations.shapley import coalitions, solve
from pasta.explanations.superpixels import number_of, pixel_counts, segment, spread


@method(
    "shap", title="SHAP", functioning="perturbation", doi="10.48550/arXiv.1705.07874", sign="signed"
)
def shap(given: Given) -> Tensor:
    """The Shapley value of a superpixel is shared equally by its pixels.

    So the pixels of a map sum to the target's probability for the image - that for an image which
    is all mean colour.
    """
    settings = given.settings["shap"]
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


def shapley_values(
    given: Given, labels: Sequence[Tensor], chosen: Sequence[tuple[Tensor, Tensor]]
) -> list[Tensor]:
    """Shapley values of the superpixels of each image, from given coalitions and their weights:
    in double precision, in main memory."""
    switches = [torch.cat([_ends(masks.shape[1]), masks]) for masks, _ in chosen]
    hidden = [image.mean((1, 2), keepdim=True).expand_as(image) for image in given.images]
    worths = [worth.cpu() for worth in superpixel_scores(given, labels, hidden, switches)]
    return [
        solve(masks, weights, worth[None, 2:], worth[:1], worth[1:2])[0]
        for (masks, weights), worth in zip(chosen, worths, strict=True)
    ]


def _ends(superpixels: int) -> Tensor:
    """The coalition of all and the one of none."""
    return torch.tensor([[True], [False]]).expand(2, superpixels)
