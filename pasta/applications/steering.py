"""RISE whose masks are also weighted by what people would say of them (P2, Eq. 4).

    weight = lambda * score + (1 - lambda) * probability

P2: doi:10.48550/arXiv.2411.02470, RISE: doi:10.48550/arXiv.1806.07421. What is scored is the mask
itself, taken as a heat map of the image (:mod:`pasta.applications.prepared.masks`), with
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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.applications.paired import COLUMNS as DIFFERENCE
from pasta.applications.paired import paired_difference
from pasta.applications.prepared.faithfulness import correlate
from pasta.applications.prepared.masks import ImageResponses, Responses, load_masks
from pasta.applications.scores import direction, goodness
from pasta.applications.simulated_judge import Judges, MapJudge
from pasta.config import Params
from pasta.datasets.stored import StoredDataset
from pasta.embedding import inputs
from pasta.explanations.attribution import shown_maps, statuses
from pasta.explanations.methods.rise import Masks, importance
from pasta.scoring.score import PastaScore

Floats = NDArray[np.float64]
FLAT = 1e-9  # weights that differ less do not differ
MEASURES = ("score", "faithfulness", "quality")
# weight is lambda; familiar: whether the map looks like what the scorer has learned from; equal:
# whether all masks of the image have the same score, so that nothing was steered
COLUMNS = (
    *("dataset", "image_id", "image", "predicted", "weight", "score", "familiar"),
    *("faithfulness", "why", "quality", "status", "equal"),
)


@dataclass(frozen=True)
class Asked:
    """The masks of one image, and what the model and the scorer say about each."""

    masks: Masks
    keep: float
    probabilities: Tensor  # (masks,)
    goodness: Floats  # (masks,) predicted answers from 0, the worst, to 1, the best; may be NaN

    def maps(self, weights: Sequence[float]) -> NDArray[np.float32]:
        """Raw maps (weights, height, width), one for each lambda."""
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


@dataclass(frozen=True)
class Steered:
    """What steering gives: tables, and pictures for the report."""

    tables: dict[str, pd.DataFrame]  # steered (a row for each image and lambda), curve
    images: NDArray[np.uint8]  # (n, height, width, 3)
    maps: NDArray[np.float16]  # (n, lambdas, height, width), as people see them


def run_steering(
    datasets: Mapping[str, StoredDataset],
    params: Params,
    scorer: PastaScore,
    prepared: Path,
    judges: Judges,
) -> Steered:
    """Steer RISE on images that nobody has rated, so that the scorer has not seen them.

    ``prepared`` has what classifier and encoder say about every mask, see
    :mod:`pasta.applications.prepared.masks`; all lambdas share it.
    """
    settings = params.applications
    images = load_masks(prepared, datasets, scorer.card)
    table, maps = [], []
    for one in images:
        shown, raw, equal = _steer(one, params, scorer)
        table.append(_rows(one, shown, raw, params, scorer, judges[one.dataset], equal))
        maps.append(shown)
    steered = pd.concat(table, ignore_index=True)[list(COLUMNS)]
    return Steered(
        {"steered": steered, "curve": curve(steered, settings.resamples, params.seeds.analysing)},
        np.stack([one.pixels for one in images]),
        np.stack(maps).astype(np.float16),
    )


def curve(steered: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Each lambda against plain RISE on the same images; empty without lambda = 0.

    Columns weight, measure and those of paired differences: ``first`` is the mean at this lambda,
    ``second`` that of plain RISE.
    """
    rows = []
    for measure in MEASURES:
        wide = steered.pivot_table(measure, "image", "weight", dropna=False)
        if 0.0 not in wide.columns or not wide.notna().any(axis=None):
            continue
        for weight in wide.columns:
            difference = paired_difference(wide[weight], wide[0.0], resamples, seed, 1e-9)
            rows.append({"weight": weight, "measure": measure, **difference})
    return pd.DataFrame(rows, columns=["weight", "measure", *DIFFERENCE])


def _steer(
    one: ImageResponses, params: Params, scorer: PastaScore
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Maps for each lambda as people see them and raw, and whether the score could not steer."""
    protocol = params.annotations.protocol
    good = partial(goodness, question=scorer.question, protocol=protocol)
    asked = ask(one.responses, one.predicted, scorer, good)
    raw = asked.maps(params.applications.steering.weights)
    return shown_maps(raw, "positive"), raw, asked.equal


def _rows(
    one: ImageResponses,
    shown: NDArray[np.float32],
    raw: NDArray[np.float32],
    params: Params,
    scorer: PastaScore,
    judge: MapJudge | None,
    equal: bool,
) -> pd.DataFrame:
    """What is to be said about the maps of one image."""
    number = len(shown)
    many = np.broadcast_to(one.pixels, (number, *one.pixels.shape))
    scored: Any = scorer.score(image=many, saliency=shown, label=one.predicted, dataset=one.dataset)
    values, why = correlate(shown, one.drops, params, one.name)
    quality = np.full(number, np.nan)
    if judge is not None:
        sign = direction(scorer.question, params.annotations.protocol)
        quality = sign * judge(shown, [one.image_id] * number, [one.predicted] * number)
    return pd.DataFrame(
        {
            "dataset": one.dataset,
            "image_id": one.image_id,
            "image": one.name,
            "predicted": one.predicted,
            "weight": list(params.applications.steering.weights),
            "score": scored.score.astype(np.float64),
            "familiar": scored.familiar,
            "faithfulness": values,
            "why": why,
            "quality": quality,
            "status": statuses(raw),
            "equal": equal,
        }
    )
