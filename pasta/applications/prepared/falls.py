"""Faithfulness correlations of many maps of one image, from one set of forward passes.

The metric (Bhatt, Weller and Moura 2020, doi:10.24963/ijcai.2020/417) asks the model about copies
of the image without random subsets of pixels and compares the falls of the target's probability
with the relevance of the subsets. What the model answers does not depend on the map: fifteen
methods, or six settings of one, cost as much as one, and are compared on the same subsets. So the
falls can be kept, and maps that come later need no model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasta.errors import PastaError
from pasta.seeds import generator

if TYPE_CHECKING:
    from torch import Tensor

    from pasta.explanations.base import View

Floats = NDArray[np.float64]
SHARE = 0.02  # of the pixels that are in a subset, and become black, as the metric's default


def score_falls(
    view: View, image: Tensor, target: int, subsets: int, seed: int, name: str
) -> Floats:
    """By how much the target's probability falls without each subset of pixels (subsets,).

    ``name`` of the image and ``seed`` decide the subsets.
    """
    import torch

    from pasta.explanations.base import Given
    from pasta.explanations.masking import Masked, batch_rows, masked_scores
    from pasta.metrics.correlation import without
    from pasta.metrics.removal import replacing

    def ask(images: Tensor, owners: Tensor) -> Tensor:
        del owners  # all copies are of one image
        return view.probabilities(images)[:, target]

    chosen = torch.from_numpy(chosen_pixels(image[0].numel(), subsets, seed, name))
    black = replacing(image, torch.zeros_like(image))
    copies = [Masked(1, lambda _: image[None]), without(black, chosen, image.shape[1:])]
    given = Given(view, image[None], torch.tensor([target]))
    clean, rest = masked_scores(ask, copies, batch_rows(given))
    return np.asarray((clean - rest).double().numpy())


def correlated(maps: NDArray[Any], falls: Floats, seed: int, name: str) -> tuple[Floats, list[str]]:
    """Faithfulness correlations (maps,) of maps (maps, height, width) of the image that fell so.

    The status of a map says why there is no value: "constant relevance", or "constant output" if
    nothing moves the model.
    """
    import torch

    from pasta.metrics.correlation import pearson

    flat = np.asarray(maps, np.float64).reshape(len(maps), -1)
    chosen = chosen_pixels(flat.shape[1], len(falls), seed, name)
    sums = torch.from_numpy(np.stack([one[chosen].sum(1) for one in flat]))
    values, statuses = pearson(sums, torch.from_numpy(falls).expand(len(flat), -1))
    return values.numpy(), statuses


def faithfulness(
    view: View, image: Tensor, target: int, maps: NDArray[Any], subsets: int, seed: int, name: str
) -> tuple[Floats, list[str]]:
    """Both at once."""
    if maps.shape[1:] != tuple(image.shape[1:]):
        raise PastaError(f"the maps are {maps.shape[1:]} and the image {tuple(image.shape[1:])}")
    return correlated(maps, score_falls(view, image, target, subsets, seed, name), seed, name)


def made_quick(view: View, sample: Tensor) -> View:
    """The same classifier for forward passes alone; worth its time for hundreds of them."""
    from pasta.explanations.folding import forward_only

    return replace(view, network=forward_only(view.network, sample))


def chosen_pixels(pixels: int, number: int, seed: int, name: str) -> NDArray[np.int64]:
    """Pixel numbers (subsets, size)."""
    random = generator(seed, "applications", "subsets", name)
    size = max(1, round(SHARE * pixels))
    return np.stack([random.choice(pixels, size, replace=False) for _ in range(number)])
