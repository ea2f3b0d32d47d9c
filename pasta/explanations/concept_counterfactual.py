"""CLIP-QDA-sample: how little of a concept has to change for another decision.

Kazmierczak et al. (2024, doi:10.48550/arXiv.2312.00110) explain a decision by counterfactuals of
one concept each. Let s be the concept scores of an image, c the explained class and, for concept j,

    change_j = the t of smallest size for which s + t e_j crosses the border of c's region,

where c's region is where no other class has a larger logit. If the image is inside (c is what the
model predicts), crossing means that c is no longer predicted; if it is outside, that c becomes so.
Scores are standardised, so t counts standard deviations of the training images. The attribution is

    sign_j / |change_j|:

a concept of which a little more or less decides is important, one that cannot change the decision
alone gets 0. The sign is that of the slope of c's lead at the border: + if more of the concept is
better for c there, - if less is. Inside this means: + if a lower score would lose c, - if a higher
score would; outside: + if a higher score would win c, - if a lower score would.

Under Gaussians the lead of c over another class is a quadratic function of t, so that all borders
are roots of quadratic equations. They are solved exactly, in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.base import Given, exact, method
from pasta.models.clip_qda import GaussianHead

NEAREST = 1e-6  # standard deviations; nearer borders count as this near, to keep numbers finite
_ROUNDING = 1e-9  # of a lead next to the sizes of what it is made of


@method(
    "clip_qda",
    title="CLIP-QDA-sample",
    functioning="counterfactual",
    doi="10.48550/arXiv.2312.00110",
    attribution="concepts",
    stage="ante-hoc",
    sign="signed",
    backbones=("clip_qda",),
)
def clip_qda(given: Given) -> Tensor:
    """Sign of the concept's effect / how far its score alone is from another decision."""
    head = given.view.require_concepts().head
    if not isinstance(head, GaussianHead):
        raise PastaError(f"clip_qda needs a Gaussian head, not a {type(head).__name__}")
    change, sign = counterfactuals(head, given.concept_scores, given.targets)
    return (sign / change.abs().clamp_min(NEAREST)).float().to(given.images.device)


def counterfactuals(head: GaussianHead, scores: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest change of each concept alone that crosses the border of the target's region,
    and the sign of its effect at the border. Both (n, concepts), double; infinity and 0 if there
    is no such change."""
    lead = leads(head, scores, targets)
    borders, slopes = roots(lead)
    crossing = borders.isfinite() & _of_region(lead, borders)
    change = torch.where(crossing, borders, torch.inf).flatten(1, 2)
    sign = torch.where(crossing, slopes.sign(), 0).flatten(1, 2)
    nearest = change.abs().argmin(1, keepdim=True)
    return change.gather(1, nearest)[:, 0], sign.gather(1, nearest)[:, 0]


class Quadratics(NamedTuple):
    """Functions of the change t of one score: square t² + slope t + constant.

    Each is (n, classes, concepts): one function for each image, class and concept that changes.
    """

    square: Tensor
    slope: Tensor
    constant: Tensor


def leads(head: GaussianHead, scores: Tensor, targets: Tensor) -> Quadratics:
    """By how much the target's logit is above that of every other class (classes - 1 of them).

    A logit is offset - |(s - mean) W|² / 2, and a change t of score j adds t W[j] to the vector.
    """
    whitening, means, offsets = map(exact, (head.whitening, head.means, head.offsets))
    white = torch.einsum("nkd,kde->nke", exact(scores)[:, None] - means, whitening)
    slope = -torch.einsum("nke,kde->nkd", white, whitening)
    square = -whitening.square().sum(2) / 2
    constant = offsets - white.square().sum(2) / 2
    logits = Quadratics(square.expand_as(slope), slope, constant[:, :, None].expand_as(slope))
    target = targets.to(white.device)[:, None]
    others = torch.arange(len(means) - 1, device=white.device).expand(len(target), -1)
    others = others + (others >= target)  # all classes but the target
    rows = torch.arange(len(target), device=white.device)[:, None]
    return Quadratics(*(part[rows, target] - part[rows, others] for part in logits))


def roots(lead: Quadratics) -> tuple[Tensor, Tensor]:
    """Where leads change sign, and their slopes there: both (n, 2, classes - 1, concepts).

    Not finite where there is no such place. The form of the solution never subtracts numbers of
    nearly the same size, and the second root stays right where the square vanishes.
    """
    square, slope, constant = lead
    discriminant = slope.square() - 4 * square * constant
    steep = discriminant.clamp_min(0).sqrt().copysign(slope)
    half = -(slope + steep) / 2
    places = torch.stack([half / square, constant / half], 1)
    # A double root only touches zero.
    places = torch.where(discriminant[:, None] > 0, places, torch.inf)
    return places, torch.stack([-steep, steep], 1)


def _of_region(lead: Quadratics, borders: Tensor) -> Tensor:
    """Whether the place where one lead vanishes (n, 2, classes - 1, concepts) is on the border of
    the target's region: no other lead is negative there. The nearest such place is the way out for
    an image inside, and the way in for one outside."""
    square, slope, constant = (part[:, None, None] for part in lead)
    place = borders[:, :, :, None]  # next to the lead that vanishes here, all leads
    parts = torch.stack([square * place.square(), slope * place, constant.expand_as(place + slope)])
    negative = parts.sum(0) < -_ROUNDING * parts.abs().sum(0)
    others = ~torch.eye(negative.shape[3], dtype=torch.bool, device=place.device)[:, :, None]
    return ~(negative & others).any(3)
