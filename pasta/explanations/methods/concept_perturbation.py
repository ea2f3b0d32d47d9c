"""LIME, SHAP and RISE on concept scores: hide concepts, and see what becomes of the decision.

All three perturb in the same way. A mask z in {0, 1}^concepts keeps the scores of some concepts
(1) and replaces those of the others (0) by a score that says nothing, see
:func:`pasta.explanations.methods.self_explaining.reference`. Only the model's second half runs on
these scores; what is explained is the probability p of the target class. The methods differ in the
masks they look at and in how they read concepts' parts from p(z).

Masks are drawn from the image's own generator, so that the result does not depend on its batch.

Rows of all images share passes. Captum's ``LimeBase``, which runs LIME on superpixels, takes five
times as long here: it handles rows one by one, and beside a head that is all there is to do (16
images, 2000 masks of 32 concepts: 0.025 s and 0.12 s).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from pasta.explanations.base import Given, method
from pasta.explanations.methods.lime import ridge
from pasta.explanations.methods.self_explaining import reference
from pasta.explanations.methods.shap import coalitions, solve

_ROWS = 16  # rows of scores that may take the place of one image in a forward pass
perturbing = partial(
    method,
    functioning="perturbation",
    attribution="concepts",
    sign="signed",
    backbones=("clip_qda", "concept_bottleneck"),
)


def masked_probabilities(given: Given, masks: Sequence[Tensor]) -> list[Tensor]:
    """The target's probability of each image under its own masks (m, concepts): (m,) each, in
    double precision, in main memory, where the masks are.

    Rows of several images go through the head together, at most ``16 x budget`` of them at a time.
    """
    model, scores = given.view.require_concepts(), given.concept_scores
    neutral = reference(model)
    lengths = [len(part) for part in masks]
    kept = torch.cat(list(masks))
    owner = torch.arange(len(masks)).repeat_interleave(torch.tensor(lengths))
    parts: list[Tensor] = []
    with torch.inference_mode():
        for rows in torch.split(torch.arange(len(kept)), _ROWS * given.budget):
            image = owner[rows].to(scores.device)
            seen = kept[rows].to(scores.device)
            logits = model.classify(torch.where(seen, scores[image], neutral))
            chosen = given.targets[image][:, None]
            parts.append(given.view.to_probabilities(logits).gather(1, chosen)[:, 0])
    return list(torch.split(torch.cat(parts).cpu().double(), lengths))


@perturbing("lime_cbm", doi="10.48550/arXiv.2312.00110")
def lime_cbm(given: Given) -> Tensor:
    """The slopes of a linear model of p(z) near the image (Ribeiro et al. 2016,
    doi:10.48550/arXiv.1602.04938; on concepts Kazmierczak et al. 2024)."""
    settings, concepts = given.settings["lime_cbm"], given.concept_scores.shape[1]
    masks = [
        lime_masks(settings.samples, concepts, generator)
        for generator in given.generators("lime_cbm")
    ]
    values = torch.stack(masked_probabilities(given, masks))
    weights = torch.stack([lime_weights(part, settings.kernel_width) for part in masks])
    slopes = ridge(torch.stack(masks).double(), values, weights, settings.penalty)
    return slopes.to(given.concept_scores)


def lime_masks(samples: int, concepts: int, generator: torch.Generator) -> Tensor:
    """The image itself, then masks that keep each concept with probability one half."""
    masks = torch.rand(samples, concepts, generator=generator) < 0.5
    masks[0] = True
    return masks


def lime_weights(masks: Tensor, kernel_width: float) -> Tensor:
    """LIME's kernel for tabular data, sqrt(exp(-distance² / width²)): the distance to the image is
    Euclidean, so its square is the number of hidden concepts; the width is ``kernel_width`` times
    the square root of the number of concepts."""
    hidden = (~masks).double().mean(1)  # distance² / number of concepts
    return (-hidden / (2 * kernel_width**2)).exp()


@perturbing("shap_cbm", doi="10.48550/arXiv.2312.00110")
def shap_cbm(given: Given) -> Tensor:
    """Shapley values of the game p(z) by Kernel SHAP (Lundberg and Lee 2017,
    doi:10.48550/arXiv.1705.07874; on concepts Kazmierczak et al. 2024).

    They sum to p of the image - p of hidden concepts only.
    """
    samples, concepts = given.settings["shap_cbm"].samples, given.concept_scores.shape[1]
    chosen = [coalitions(concepts, samples, random) for random in given.generators("shap_cbm")]
    ends = torch.tensor([[True], [False]]).expand(2, concepts)  # all kept, all hidden
    probabilities = masked_probabilities(given, [torch.cat([ends, part]) for part, _ in chosen])
    values = [
        solve(part, weights, worth[None, 2:], worth[:1], worth[1:2])[0]
        for (part, weights), worth in zip(chosen, probabilities, strict=True)
    ]
    return torch.stack(values).to(given.concept_scores)


@perturbing("rise_cbm", doi="10.48550/arXiv.1806.07421")
def rise_cbm(given: Given) -> Tensor:
    """The mean of p(z) where a concept is kept - where it is hidden (Petsiuk et al. 2018).

    RISE's own importance, sum of p(z) z_j / (masks x keep), is the first mean alone. It is never
    negative and hardly differs between concepts, because all share the mean of p. If every concept
    is kept equally often, as here, the difference is RISE's importance up to one affine map for all
    concepts of an image: (importance - mean of p) / (1 - keep). Order and distances are RISE's, and
    0 means that the concept does not matter.
    """
    settings, concepts = given.settings["rise_cbm"], given.concept_scores.shape[1]
    masks = [
        rise_masks(settings.masks, concepts, settings.keep, generator)
        for generator in given.generators("rise_cbm")
    ]
    probabilities = masked_probabilities(given, masks)
    found = torch.stack(list(map(kept_minus_hidden, masks, probabilities)))
    return found.to(given.concept_scores)


def rise_masks(masks: int, concepts: int, keep: float, generator: torch.Generator) -> Tensor:
    """Random masks in which every concept is kept exactly equally often, and at least once hidden
    and once kept; different concepts are independent."""
    count = min(max(round(masks * keep), 1), masks - 1)
    chosen = torch.rand(concepts, masks, generator=generator).argsort(1)[:, :count]
    return torch.zeros(concepts, masks, dtype=torch.bool).scatter(1, chosen, True).T


def kept_minus_hidden(masks: Tensor, values: Tensor) -> Tensor:
    """For each column of masks, the mean value of rows where it is true - where it is false."""
    kept = masks.double()
    return values @ kept / kept.sum(0) - values @ (1 - kept) / (1 - kept).sum(0)
