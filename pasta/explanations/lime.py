"""LIME on superpixels (Ribeiro, Singh and Guestrin 2016, doi:10.1145/2939672.2939778).

Superpixels are hidden at random, a hidden one in its mean colour, and a weighted ridge regression
of the target's probability on what can be seen gives each superpixel a coefficient. The algorithm
is that of the authors' package (``lime.lime_image`` with all features), but masked images are made
and scored in batches of tensors, and all images of a batch are solved at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pasta.explanations.base import Given, method
from pasta.explanations.masking import superpixel_scores
from pasta.explanations.superpixels import mean_colours, number_of, segment, spread


@method(
    "lime", title="LIME", functioning="perturbation", doi="10.1145/2939672.2939778", sign="signed"
)
def lime(given: Given) -> Tensor:
    """Each pixel has the coefficient of its superpixel."""
    settings = given.settings["lime"]
    labels = [segment(image, settings.segmenter, settings.segments) for image in given.images]
    switches = [
        random_switches(settings.samples, number_of(label), random)
        for label, random in zip(labels, given.generators("lime"), strict=True)
    ]
    found = coefficients(given, labels, switches, settings.kernel_width, settings.penalty)
    pairs = zip(found, labels, strict=True)
    return torch.stack([spread(value.to(given.images), label) for value, label in pairs])


def coefficients(
    given: Given,
    labels: Sequence[Tensor],
    switches: Sequence[Tensor],
    kernel_width: float,
    penalty: float,
) -> list[Tensor]:
    """What each superpixel is worth, for given superpixels and switches of each image: in double
    precision, in main memory.

    ``switches`` (samples, superpixels) are true where a superpixel can be seen; all images have
    equally many samples.
    """
    hidden = [mean_colours(*pair) for pair in zip(given.images, labels, strict=True)]
    scores = torch.stack(superpixel_scores(given, labels, hidden, switches)).cpu()
    weights = torch.stack([kernel(rows, kernel_width) for rows in switches])
    # Images have different numbers of superpixels: columns of zeros get coefficients of zero.
    inputs = pad_sequence([rows.double().T for rows in switches], batch_first=True).mT
    found = ridge(inputs, scores.double(), weights, penalty)
    return [row[: rows.shape[1]] for row, rows in zip(found, switches, strict=True)]


def random_switches(samples: int, superpixels: int, generator: torch.Generator) -> Tensor:
    """The whole image, then superpixels that are seen with probability one half."""
    switches = torch.randint(0, 2, (samples, superpixels), generator=generator).bool()
    switches[0] = True
    return switches


def kernel(switches: Tensor, width: float) -> Tensor:
    """sqrt(exp(-distance² / width²)), with the cosine distance to the whole image.

    If a share s of the superpixels can be seen, this distance is 1 - sqrt(s).
    """
    distance = 1 - switches.double().mean(1).sqrt()
    return (-(distance**2) / width**2).exp().sqrt()


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
