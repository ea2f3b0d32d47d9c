"""RISE whose masks are also weighted by what people would say of them (P2, Eq. 4).

    weight = lambda * score + (1 - lambda) * probability

P2: doi:10.48550/arXiv.2411.02470, RISE: doi:10.48550/arXiv.1806.07421. What is scored is the mask
itself, taken as a heat map of the image: it is drawn as the scorer has learned explanations (over
the image, or multiplied with it), encoded, and scored with the class that the model predicts. With
lambda = 0 the map is that of RISE to the last bit.

**Scales.** The paper leaves them open. Probabilities are from 0 to 1, stars from 1 to 5, and what
forms a map of RISE is how much weights differ between masks. So stars are taken from 0, the worst
answer, to 1, the best, and multiplied by one factor for each image that makes their standard
deviation over its masks that of the probabilities: at lambda = 0.5 both have an equal say, weights
are never negative, and with lambda = 1 the factor does not show. Where probabilities do not vary
(a model that is sure whatever it sees) the factor is 1. A mask that shows everything or nothing has
no score and gets the mean; if all scores are equal they say nothing, and the map moves towards the
mean of the masks.

Maps are linear in the weights: lambda mixes two maps, and all lambdas share the masks, their
probabilities and their vectors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.embedding import inputs
from pasta.errors import PastaError
from pasta.explanations.base import Given
from pasta.explanations.masking import target_scores
from pasta.explanations.rise import Masks, importance, masked_copies, random_masks
from pasta.scoring.encoding import side_by_side

if TYPE_CHECKING:
    from pasta.scoring.score import PastaScore

Floats = NDArray[np.float64]
FLAT = 1e-9  # weights that differ less do not differ


@dataclass(frozen=True)
class Asked:
    """The masks of one image, and what the model and the scorer say about each."""

    masks: Masks
    keep: float
    probabilities: Tensor  # (masks,)
    goodness: Floats  # (masks,) predicted answers from 0, the worst, to 1, the best; may be NaN
    seconds: dict[str, float]  # spent on the model, on encoding, and on scoring in all

    def maps(self, weights: Sequence[float]) -> NDArray[np.float32]:
        """Raw maps (weights, height, width), one for each lambda."""
        require_weights(weights)
        scores = torch.from_numpy(matched(self.goodness, self.probabilities.double().numpy()))
        plain = importance(self.masks, self.probabilities, self.keep)
        liked = importance(self.masks, scores, self.keep)
        mixed = [one * liked + (1 - one) * plain for one in weights]
        return np.asarray(torch.stack(mixed).float().numpy())

    @property
    def equal(self) -> bool:
        """Whether all masks have the same score, so that the score cannot steer."""
        known = self.goodness[np.isfinite(self.goodness)]
        return len(known) == 0 or bool(np.ptp(known) <= FLAT)


def require_weights(weights: Sequence[float]) -> None:
    """Raise unless every lambda is from 0 to 1."""
    if not len(weights):
        raise PastaError("there is no lambda (expected at least one number from 0 to 1)")
    wrong = [one for one in weights if not 0 <= one <= 1]
    if wrong:
        raise PastaError(f"lambda is {wrong[0]} (expected a number from 0 to 1)")


def matched(goodness: Floats, probabilities: Floats) -> Floats:
    """Scores that vary over the masks as much as the probabilities do; see the module."""
    known = np.isfinite(goodness)
    if not known.any():
        return np.full(len(goodness), probabilities.mean())
    filled = np.where(known, goodness, goodness[known].mean())
    if np.ptp(filled) <= FLAT or np.ptp(probabilities) <= FLAT:
        return np.asarray(filled)
    return np.asarray(filled * (probabilities.std() / filled.std()))


def ask(
    given: Given,
    number: int,
    label: str,
    metric: PastaScore,
    good: Callable[[NDArray[Any]], Floats],
    batch_size: int,
) -> Asked:
    """Draw the masks of one of the given images, and ask the model and the scorer about each.

    ``label`` is the class as the scorer calls it, ``good`` turns stars into goodness. Masks are
    those that :func:`pasta.explanations.rise.rise` would draw for the same image and seed.
    """
    settings = given.settings["rise"]
    generator = given.generator(number, "rise")
    masks = random_masks(settings.masks, settings.cells, settings.keep, given.size, generator)
    image, target = given.images[number], given.targets[number]
    alone = Given(given.view, image[None], target[None], given.settings, given.seed, given.budget)
    started = time.perf_counter()
    [probabilities] = target_scores(alone, [masked_copies(image, masks)])
    asked = time.perf_counter()
    stars, encoding = mask_scores(metric, image, masks, label, batch_size)
    ended = time.perf_counter()
    seconds = {"model": asked - started, "encoder": encoding, "scores": ended - asked}
    return Asked(masks, settings.keep, probabilities, good(stars), seconds)


def mask_scores(
    metric: PastaScore, image: Tensor, masks: Masks, label: str, batch_size: int
) -> tuple[Floats, float]:
    """Predicted stars of masks as heat maps of an image, and the seconds spent in the encoder.

    The seconds are those of all threads, added up.
    """
    settings: Any = metric.card.preprocessing
    draw = _drawing(image, settings)
    spent: list[float] = []

    def encode(rows: slice) -> NDArray[np.float32]:
        drawn = draw(masks.build(rows))
        started = time.perf_counter()
        vectors = np.asarray(metric.encoder.images(drawn), np.float32)
        spent.append(time.perf_counter() - started)
        return vectors

    starts = range(0, len(masks), batch_size)
    parts = [slice(start, min(start + batch_size, len(masks))) for start in starts]
    vectors = np.concatenate(list(side_by_side(encode, parts)))
    stars = _stars(metric, vectors, label)
    flat = masks.grids.flatten(1)
    stars[(flat.amin(1) == flat.amax(1)).numpy()] = np.nan  # shows everything, or nothing
    return stars, sum(spent)


def _drawing(image: Tensor, settings: Any) -> Callable[[Tensor], Tensor]:
    """How maps (n, height, width) of one image become the pictures that the encoder sees."""
    if settings.image == "masked":
        light = image.mul(255).round()  # once for all maps, which makes this a product and a cut
        light = light.permute(1, 2, 0).contiguous().permute(2, 0, 1)  # as encoders want it
        return lambda maps: (light * maps[:, None]).add_(0.5).to(torch.uint8)
    pixels = image.numpy()
    soft = inputs.blurred(pixels[None], settings.blur) if settings.image == "blur" else None

    def draw(maps: Tensor) -> Tensor:
        many = np.broadcast_to(pixels, (len(maps), *pixels.shape))
        blurred = None if soft is None else np.broadcast_to(soft, many.shape)
        return torch.from_numpy(inputs.render(many, maps.numpy(), False, settings, blurred))

    return draw


def _stars(metric: PastaScore, vectors: NDArray[np.float32], label: str) -> Floats:
    features, labels = vectors, metric.card.labels
    if labels is not None:
        features = inputs.with_label(vectors, [label] * len(vectors), labels.order)
    column = metric.card.questions.index(metric.question)
    return np.asarray(metric.stored.fitted.predict(features).stars[:, column], np.float64)
