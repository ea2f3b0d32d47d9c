"""Networks that explain themselves: B-cos networks by pixels, concept models by their concepts.

**Linear heads.** The logit of the explained class is its bias plus, for each concept, weight times
score. How much of it a concept contributes depends on what its score is compared with: the
contribution is

    weight[class, concept] x (score - reference),

and with the logit of the reference these contributions sum to the logit of the image.

**CLIP-QDA-sample.** How little of a concept has to change for another decision?
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

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.base import Given, exact, method
from pasta.models.base import ConceptModel
from pasta.models.bcos import BcosClassifier
from pasta.models.clip_concepts import GaussianHead
from pasta.models.concept_bottleneck import ConceptNetwork

NEAREST = 1e-6  # standard deviations; nearer borders count as this near, to keep numbers finite
_ROUNDING = 1e-9  # of a lead next to the sizes of what it is made of


@method(
    "bcos",
    functioning="interpretable latent space",
    stage="ante-hoc",
    sign="signed",
    doi="10.1109/TPAMI.2024.3355155",
    backbones=("resnet50_bcos",),
    network=BcosClassifier,
)
def bcos(given: Given) -> Tensor:
    """The contributions of all pixels; with the logit's constant they sum to the logit."""
    return cast(BcosClassifier, given.view.network).contributions(given.images, given.targets)


def reference(model: ConceptModel) -> Tensor:
    """A score for each concept (concepts,) that says nothing about an image.

    - CLIP's similarities are standardised: 0 is the mean of the training images, what is expected
      of an image that one has not looked at.
    - X-NeSyL's scores are those of the best detection: 0 is that of a part that was not found.
      Parts speak for or against a class by being there.
    - A concept bottleneck's scores say how probable it is that a concept is there. For the same
      reason the reference is what it says of a concept that no training image has shown: not there.
      One half, the logit 0, would not be neutral. The second half has seen scores that nearly
      always are far below, and takes one half for evidence that the concept is there.
    """
    neutral = torch.zeros(len(model.concepts), device=compute.device_of(model))
    extractor = model.extractor
    if isinstance(extractor, ConceptNetwork):
        unseen = extractor.unseen
        neutral += unseen if extractor.score == "logit" else unseen.sigmoid()
    return neutral


def linear_contributions(
    head: nn.Module, scores: Tensor, targets: Tensor, neutral: Tensor
) -> Tensor:
    """Weight of the target x (score - neutral score), for each image and concept."""
    if not isinstance(head, nn.Linear):
        raise PastaError(f"contributions need a linear head, not a {type(head).__name__}")
    return head.weight.detach()[targets] * (scores - neutral)


def _contributions(given: Given) -> Tensor:
    """What each concept contributes to the logit of the target."""
    model = given.view.require_concepts()
    neutral = reference(model)
    return linear_contributions(model.head, given.concept_scores, given.targets, neutral)


for _key, _doi in (
    # what each part that was found contributes to the logit (Díaz-Rodríguez et al. 2022)
    ("xnesyl", "10.1016/j.inffus.2021.09.022"),
    # what each concept contributes by not being as usual (Yan et al. 2023)
    ("clip_linear", "10.48550/arXiv.2308.03685"),
    # the same for chosen concepts; all others contribute nothing (Yang et al. 2023)
    ("labo", "10.48550/arXiv.2211.11158"),
):
    method(
        _key,
        functioning="interpretable latent space",
        doi=_doi,
        attribution="concepts",
        stage="ante-hoc",
        sign="signed",
        backbones=(_key,),
    )(_contributions)


@method(
    "clip_qda",
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
