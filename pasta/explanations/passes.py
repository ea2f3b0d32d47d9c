"""One forward and one backward pass for every method that looks at activations or gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pasta.explanations.base import SharedPass, View
from pasta.explanations.hooks import hooked


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

    with torch.enable_grad(), hooked(view.require_layer(), cut):
        chosen = view.logits(images).gather(1, targets[:, None]).sum()
        (gradients,) = torch.autograd.grad(chosen, leaves[0])
    return SharedPass(view.maps(leaves[0].detach()), view.maps(gradients))
