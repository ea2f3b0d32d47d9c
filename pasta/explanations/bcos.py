"""B-cos networks explain themselves: what each pixel adds to the logit."""

from __future__ import annotations

from torch import Tensor

from pasta.errors import PastaError
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
)
def bcos(given: Given) -> Tensor:
    """The contributions of all pixels; with the logit's constant they sum to the logit."""
    network = given.view.network
    if not isinstance(network, BcosClassifier):
        raise PastaError(f"bcos needs a B-cos network; {type(network).__name__} is not one")
    return network.contributions(given.images, given.targets)
