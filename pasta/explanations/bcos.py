"""B-cos networks explain themselves: what each pixel adds to the logit."""

from __future__ import annotations

from typing import cast

from torch import Tensor

from pasta.explanations.base import Given, method
from pasta.models.bcos import BcosClassifier


@method(
    "bcos",
    title="BCos",
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
