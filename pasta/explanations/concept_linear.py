"""Contributions of concepts where a linear layer makes the decision.

The logit of the explained class is its bias plus, for each concept, weight times score. How much of
it a concept contributes depends on what its score is compared with: the contribution is

    weight[class, concept] x (score - reference),

and with the logit of the reference these contributions sum to the logit of the image.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.base import Given, method
from pasta.models.base import ConceptModel
from pasta.models.concept_bottleneck import ConceptNetwork


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


for _key, _title, _doi in (
    # what each part that was found contributes to the logit (Díaz-Rodríguez et al. 2022)
    ("xnesyl", "X-NeSyL", "10.1016/j.inffus.2021.09.022"),
    # what each concept contributes by not being as usual (Yan et al. 2023)
    ("clip_linear", "CLIP-Linear-sample", "10.48550/arXiv.2308.03685"),
    # the same for chosen concepts; all others contribute nothing (Yang et al. 2023)
    ("labo", "LaBo-sample", "10.48550/arXiv.2211.11158"),
):
    method(
        _key,
        title=_title,
        functioning="interpretable latent space",
        doi=_doi,
        attribution="concepts",
        stage="ante-hoc",
        sign="signed",
        backbones=(_key,),
    )(_contributions)
