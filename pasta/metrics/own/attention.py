"""Maps against masks of human attention: the share of people who chose each pixel.

All of these scores of a map are made together, from one sort (:mod:`analysis.map_scores`): the
first metric of them that is asked for computes the others. The object is where the mask is not
zero; with a segmentation mask in the place of the attention mask it is the segmentation.
"""

from __future__ import annotations

import math

import torch

from analysis.map_scores import EMPTY as NO_MASK
from analysis.map_scores import SCORES, score_maps
from pasta.compute import to_numpy
from pasta.metrics.base import MASKS, Batch, Result, metric, require
from pasta.metrics.own.map_metrics import EMPTY

_HA = "10.1145/3397481.3450689"
_SALIENCY = "10.1109/TPAMI.2018.2815601"  # Bylinskii et al. 2019
_THRESHOLDS = "10.1109/CVPR42600.2020.00320"
FULL = "mask of everything"
_LARGEST = 36.7368  # of the divergence: minus the logarithm of what is added within it, rounded up


def score_result(batch: Batch, score: str, least: float = -math.inf) -> Result:
    """One score of all maps, at least so much."""

    def compute() -> dict[str, torch.Tensor]:
        found = score_maps(to_numpy(batch.maps), to_numpy(require(batch.masks)))
        empty = torch.from_numpy((found.pop("status") == NO_MASK).to_numpy().copy())
        columns = {str(name): torch.from_numpy(found[name].to_numpy().copy()) for name in found}
        return {**columns, EMPTY: empty}

    found = batch.once("scores against masks", compute)
    device = batch.maps.device
    why = {EMPTY: found[EMPTY].to(device)}
    # What is outside of everything, and the order of equal numbers, do not exist.
    return Result(found[score].to(device).clamp_min(least), {**why, FULL: ~why[EMPTY]})


def _attention_metric(
    key: str, score: str, title: str, span: tuple[float, float], doi: str, about: str
) -> None:
    """Make a metric of the registry of one of the scores."""

    def measure(batch: Batch, _: None) -> Result:
        return score_result(batch, score, span[0])  # what is added to shares may leave less

    measure.__name__, measure.__doc__ = key, about
    metric(
        key,
        title=title,
        category="localisation",
        direction=SCORES[score],
        span=span,
        sign="positive",
        needs=MASKS,
        doi=doi,
        entries=False,
    )(measure)


_attention_metric(
    "attention_mae",
    "agreement",
    "1 - MAE, attention",
    (0, 1),
    _HA,
    """1 minus the mean difference between the shown map and the mask, which is divided by its
    largest value (Mohseni, Block and Ragan 2021). Maps that share nothing with the mask have 0
    only if both cover the image together, not wherever they are disjoint, as the paper says.""",
)
_attention_metric(
    "attention_false_positive",
    "false_positive",
    "False-positive error",
    (0, 1),
    _HA,
    """The mean difference between the shown map and the mask outside the object: what the map shows
    of the background, the opposite of correctness.""",
)
_attention_metric(
    "attention_false_negative",
    "false_negative",
    "False-negative error",
    (0, 1),
    _HA,
    """The mean difference between the shown map and the mask on the object: what the map misses,
    the opposite of completeness.""",
)
_attention_metric(
    "attention_iou",
    "iou_best",
    "Best IoU of all thresholds",
    (0, 1),
    _THRESHOLDS,
    """The largest intersection over union of the pixels that at least half of the largest number of
    people chose and those from a threshold on, over all thresholds (Choe et al. 2020).""",
)
_attention_metric(
    "attention_iou_mean",
    "iou_mean",
    "Mean IoU of all thresholds",
    (0, 1),
    _THRESHOLDS,
    """The same averaged over all thresholds of the shown map between 0 and 1, exactly.""",
)
_attention_metric(
    "attention_auc",
    "auc",
    "AUC-Judd",
    (0, 1),
    _SALIENCY,
    """The area under the curve of hits against false alarms with thresholds at the values of chosen
    pixels (Judd et al. 2009). Equal values stay equal: no noise is added to part them.""",
)
_attention_metric(
    "attention_nss",
    "nss",
    "Normalised scanpath saliency",
    (-math.inf, math.inf),
    _SALIENCY,
    """The mean, on chosen pixels, of the map in standard deviations from its mean (Peters et al.
    2005).""",
)
_attention_metric(
    "attention_cc",
    "correlation",
    "Pearson, attention",
    (-1, 1),
    _SALIENCY,
    """Pearson's correlation of map and mask over pixels.""",
)
_attention_metric(
    "attention_sim",
    "similarity",
    "Similarity",
    (0, 1),
    _SALIENCY,
    """The sum over pixels of the smaller of both shares, of map and mask (Judd et al. 2012).""",
)
_attention_metric(
    "attention_kl",
    "divergence",
    "Kullback-Leibler divergence",
    (0, _LARGEST),
    _SALIENCY,
    """How far the shares of the map are from those of the mask, in nats, with 2.2e-16 added within
    the logarithm and to what is divided by.""",
)
_attention_metric(
    "attention_spearman",
    "rank_correlation",
    "Spearman, attention",
    (-1, 1),
    "10.1016/j.cviu.2017.10.001",
    """Spearman's correlation of map and mask over pixels (Das et al. 2017).""",
)
