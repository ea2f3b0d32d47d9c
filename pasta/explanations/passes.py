"""One forward and one backward pass for every method that looks at activations or gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.explanations.base import SharedPass, View
from pasta.explanations.hooks import frozen, hooked


def shared_pass(view: View, images: Tensor, targets: Tensor, whole: bool = False) -> SharedPass:
    """Run the model once forward, and once back from the targets' logits.

    The backward pass ends at the target layer; only FullGrad (``whole``) needs it to go on to the
    image.
    """
    if whole:
        from pasta.explanations.fullgrad import whole_pass

        return whole_pass(view, images, targets)
    leaves: list[Tensor] = []

    def cut(_layer: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        leaves.append(output.detach().requires_grad_())
        return leaves[-1].clone()  # what follows may change it in place

    # with frozen parameters nothing before the layer is remembered for the way back
    with torch.enable_grad(), frozen(view.network), hooked(view.require_layer(), cut):
        chosen = target_logits(view, images, targets).sum()
        (gradients,) = torch.autograd.grad(chosen, leaves[0])
    return SharedPass(view.maps(leaves[0].detach()), view.maps(gradients))


def target_logits(view: View, images: Tensor, targets: Tensor) -> Tensor:
    """The targets' logits (n,), or an error if there is no such class."""
    logits = view.logits(images)
    classes = logits.shape[-1]
    outside = [int(index) for index in targets if not 0 <= index < classes]
    if outside:
        raise PastaError(f"there is no class {outside[0]}: the model has {classes}, from 0 on")
    return logits.gather(1, targets[:, None])[:, 0]
