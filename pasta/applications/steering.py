"""RISE whose masks are also weighted by what people would say of them (P2, Eq. 4).

    weight = lambda * score + (1 - lambda) * probability

P2: doi:10.48550/arXiv.2411.02470, RISE: doi:10.48550/arXiv.1806.07421. What is scored is the mask
itself, taken as a heat map of the image (:mod:`pasta.applications.prepared.mask_responses`), with
the class that the model predicts. With lambda = 0 the map is that of RISE to the last bit.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.applications.prepared.mask_responses import Responses
from pasta.embedding import inputs
from pasta.errors import PastaError
from pasta.explanations.rise import Masks, importance
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

    def maps(self, weights: Sequence[float]) -> NDArray[np.float32]:
        """Raw maps (weights, height, width), one for each lambda."""
        require_weights(weights)
        probabilities = np.asarray(compute.to_numpy(self.probabilities), np.float64)
        scores = torch.from_numpy(matched(self.goodness, probabilities)).float()
        scores = scores.to(self.probabilities.device)
        found = mix_maps(self.masks, self.keep, self.probabilities, scores, weights)
        return np.asarray(compute.to_numpy(found), np.float32)

    @property
    def equal(self) -> bool:
        """Whether all masks have the same score, so that the score cannot steer."""
        known = self.goodness[np.isfinite(self.goodness)]
        return len(known) == 0 or bool(np.ptp(known) <= FLAT)


def mix_maps(
    masks: Masks, keep: float, probabilities: Tensor, scores: Tensor, weights: Sequence[float]
) -> Tensor:
    """Maps (weights, height, width) of masks, one for each lambda, where the masks are."""
    plain, liked = importance(masks, probabilities, keep), importance(masks, scores, keep)
    return torch.stack([one * liked + (1 - one) * plain for one in weights])


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
    responses: Responses, label: str, metric: PastaScore, good: Callable[[NDArray[Any]], Floats]
) -> Asked:
    """Let the scorer say what people would think of each mask.

    ``label`` is the class as the scorer calls it, ``good`` turns stars into goodness.
    """
    stars = mask_scores(metric, responses, label)
    return Asked(responses.masks, responses.keep, responses.probabilities, good(stars))


def mask_scores(metric: PastaScore, responses: Responses, label: str) -> Floats:
    """Predicted stars of masks as heat maps; NaN for one that shows everything, or nothing."""
    features, labels = responses.vectors, metric.card.labels
    if labels is not None:
        features = inputs.with_label(features, [label] * len(features), labels.order)
    column = metric.card.questions.index(metric.question)
    stars = np.asarray(metric.stored.fitted.predict(features).stars[:, column], np.float64)
    return np.where(responses.shows, stars, np.nan)
