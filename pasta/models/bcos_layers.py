"""B-cos layers with their derivatives written out: what the ``bcos`` package computes, in fewer
passes over memory.

On a CPU most of a B-cos network's time goes into elementwise steps that autograd takes one by one.
Both layers fall back to the package's own code when dynamic weights are detached, so explanations
are the package's.
"""

from __future__ import annotations

from typing import Any

import torch
from bcos.modules import BcosConv2d
from bcos.modules.norms import BatchNormUncentered2d
from torch import Tensor
from torch.autograd import Function


class Cosine(Function):
    """x |x| / n, the linear output times its cosine with the input patch of norm n."""

    @staticmethod
    def forward(context: Any, linear: Tensor, norm: Tensor) -> Tensor:
        """The scaled output."""
        scale = linear.abs().div_(norm)
        scaled = scale * linear
        context.save_for_backward(scale, scaled, norm)
        return scaled

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        """d/dx = 2 |x| / n and d/dn = -x |x| / n^2, summed over the channels that share n."""
        (gradient,) = gradients
        scale, scaled, norm = context.saved_tensors
        of_norm = (gradient * scaled).sum(1, keepdim=True).div_(norm).neg_()
        return (gradient * scale).mul_(2), of_norm


class Uncentered(Function):
    """w x / s with s the standard deviation of the channel over the batch."""

    @staticmethod
    def forward(
        context: Any, images: Tensor, weight: Tensor, mean: Tensor, variance: Tensor, eps: float
    ) -> Tensor:
        """The scaled images; mean and variance are the batch's own."""
        deviation = (variance + eps).sqrt()
        context.save_for_backward(images, weight, mean, deviation)
        return images * _per_channel(weight / deviation)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """d/dx = w (g / s - (x - m) sum(g x) / (M s^3)): the variance depends on every pixel."""
        (gradient,) = gradients
        images, weight, mean, deviation = context.saved_tensors
        pixels = images.numel() / images.shape[1]
        of_weight = (gradient * images).sum((0, 2, 3)) / deviation
        slope = weight * of_weight / (pixels * deviation**2)
        shift = _per_channel(slope * mean)
        of_images = torch.addcmul(shift, images, _per_channel(slope), value=-1)
        of_images.addcmul_(gradient, _per_channel(weight / deviation))
        return of_images, of_weight, None, None, None


class QuickBcosConv2d(BcosConv2d):
    """A B-cos convolution for B = 2 without MaxOut or groups."""

    def forward_impl(self, in_tensor: Tensor) -> Tensor:
        """The package's result, in three passes instead of nine."""
        if self.detach or self.b != 2 or self.max_out != 1 or self.groups != 1:
            detached: Tensor = super().forward_impl(in_tensor)
            return detached
        scaled: Tensor = Cosine.apply(self.linear(in_tensor), self.calc_patch_norms(in_tensor))
        return scaled


class QuickBatchNorm(BatchNormUncentered2d):
    """Batch normalisation without centring."""

    def forward(self, input: Tensor) -> Tensor:
        """The package's result; in training its running variance too."""
        if self.detach or not self.training or self.momentum is None or not self.affine:
            normed: Tensor = super().forward(input)
            return normed
        with torch.no_grad():
            flat = input.movedim(1, -1).flatten(0, 2)
            mean = flat.mean(0)
            variance = torch.linalg.vector_norm(flat, dim=0).square_().div_(len(flat))
            variance.sub_(mean**2).clamp_min_(0)
            self.running_var.lerp_(variance, self.momentum)
            self.num_batches_tracked.add_(1)
        scaled: Tensor = Uncentered.apply(input, self.weight, mean, variance, self.eps)
        return scaled if self.bias is None else scaled + _per_channel(self.bias)


def _per_channel(values: Tensor) -> Tensor:
    return values[None, :, None, None]
