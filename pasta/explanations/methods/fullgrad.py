"""FullGrad: the gradient at the image and at every bias on the way (Srinivas & Fleuret 2019).

The logit of a piecewise linear network is f(x) = <df/dx, x> + sum over biases of <df/db, b>. The
map (doi:10.48550/arXiv.1905.00780, equation 5) adds up what each place gives, channel by channel:

    psi(df/dx * x) + sum over layers and their channels of psi(df/db * b)

where psi takes the absolute value, rescales it to 0-1 and resizes it to the image.

Biases are all constants that are added to something that depends on the image
(:mod:`pasta.explanations.biases`): those of convolutions and linear layers, projections inside
attention, position embeddings, class tokens, and what norms add implicitly. A batch norm adds
``bias - weight * mean / spread``; a layer or group norm the same with the statistics of the token
or image at hand, taken as constants. ``x`` is the image from 0 to 1, so the shift of a normalising
first layer is one more bias.

- For networks of linear layers, ReLU, pooling and batch norm the sum is the logit, exactly.
  With GELU, softmax, layer norm or unit vectors it is not: they are not piecewise linear, and what
  is missing there is left out (``Whole.total`` tells how much). A cosine does not change with the
  length of its vector, so that all terms of CLIP add up to zero.
- Terms without a place in the image are part of the sum but not of the map: the head's bias, the
  class token's share of every bias, anything inside the windows of a Swin transformer, and
  constants added to attention logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from pasta.explanations.base import Given, SharedPass, View, exact, method
from pasta.explanations.biases import Contribution, Watch
from pasta.explanations.hooks import frozen, hooked

_TINY = 1e-7  # keeps the rescaling of an empty channel finite
_FLAT = 1e-5  # of a channel's largest value: smaller differences are rounding


@dataclass(frozen=True)
class Whole:
    """What FullGrad makes of one pass through the whole network."""

    maps: Tensor  # (n, height, width)
    total: Tensor  # (n,), the sum of all terms: the logit, if the network is piecewise linear
    logits: Tensor  # (n,), of the targets


@dataclass
class _Sums:
    """Adds up contributions as the backward pass delivers them; few of them are ever alive."""

    images: int
    tokens: Callable[[Tensor], Tensor | None]  # (n, tokens, channels) to (n, channels, h, w)
    totals: list[Tensor] = field(default_factory=list)  # (n,) each
    maps: dict[tuple[int, int], Tensor] = field(default_factory=dict)  # by resolution

    def add(self, contribution: Contribution) -> None:
        """Add one constant's contribution to the sum and, if it has a place, to the map."""
        values = contribution.values
        self.totals.append(exact(values.reshape(self.images, -1).sum(1)))
        placed = self._placed(values, contribution.channels)
        if placed is not None:
            height, width = placed.shape[2:]
            share = rescaled_sum(placed)
            before = self.maps.get((height, width))
            self.maps[height, width] = share if before is None else before + share

    def _placed(self, values: Tensor, channels: int | None) -> Tensor | None:
        if channels is None or len(values) != self.images:
            return None
        if values.ndim == 4:
            return values if channels == 1 else values.permute(0, 3, 1, 2)
        return self.tokens(values) if values.ndim == 3 and channels == -1 else None

    def resized(self, size: tuple[int, int]) -> Tensor:
        """All maps at one size, added up. Resizing is linear: once per resolution will do."""
        parts = [
            interpolate(part[:, None], size, mode="bilinear")[:, 0] for part in self.maps.values()
        ]
        return torch.stack(parts).sum(0)


def rescaled_sum(contributions: Tensor) -> Tensor:
    """Absolute values (n, channels, h, w), each channel rescaled to 0-1, added up: (n, h, w)."""
    values = contributions.abs()
    low, high = values.amin((2, 3), keepdim=True), values.amax((2, 3), keepdim=True)
    spread = high - low
    # A channel that is the same everywhere but for rounding would be blown up to pure noise.
    scale = torch.where(spread > _FLAT * high, 1 / (spread + _TINY), 0)
    return torch.einsum("nchw,nc->nhw", values - low, scale[:, :, 0, 0])


def whole_pass(view: View, images: Tensor, targets: Tensor) -> SharedPass:
    """One forward and one backward pass for FullGrad and for all that look at the target layer.

    A view without a layer has no activations and gradients: FullGrad alone can do without.
    """
    outputs: list[Tensor] = []

    def keep(_layer: nn.Module, _inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        outputs.append(output)
        return output.clone()  # what follows may change it in place

    def tokens(values: Tensor) -> Tensor | None:
        return _token_maps(view, outputs[0] if outputs else None, values)

    sums = _Sums(len(images), tokens)
    hook = nullcontext() if view.layer is None else hooked(view.layer, keep)
    with torch.enable_grad(), frozen(view.network):
        leaf = images.detach().clone().requires_grad_()
        with hook, Watch(len(images), sums.add):
            chosen = view.target_logits(leaf, targets)
        gradient, *gradients = torch.autograd.grad(chosen.sum(), [leaf, *outputs[:1]])
    sums.add(Contribution(gradient * leaf.detach(), channels=1))
    height, width = images.shape[2:]
    total = torch.stack(sums.totals).sum(0).to(images)
    whole = Whole(sums.resized((height, width)), total, chosen.detach())
    if not outputs:
        return SharedPass(images.new_empty(0), images.new_empty(0), whole)
    activations = view.maps(outputs[0].detach())
    # The graph's hooks know this list: unless it is emptied, neither is ever freed.
    outputs.clear()
    return SharedPass(activations, view.maps(gradients[0]), whole)


@method(
    "fullgrad",
    functioning="gradient",
    doi="10.48550/arXiv.1905.00780",
    own_pass=whole_pass,
)
def fullgrad(given: Given) -> Tensor:
    """Gradients at the image and at all biases, each rescaled, added up."""
    if given.run_pass is not whole_pass:
        given = replace(given, run_pass=whole_pass)
    whole: Whole = given.passed.found
    return whole.maps


def _token_maps(view: View, output: Tensor | None, values: Tensor) -> Tensor | None:
    """Tokens at their places, or None where it is not known which place a token has.

    The target layer knows best; other layers may have no class token, or another resolution.
    """
    count = values.shape[1]
    if output is not None and view.reshape is not None:
        if output.ndim == 3 and output.shape[1] == count:
            return view.reshape(values)
        height, width = view.reshape(output).shape[2:]
        if height * width == count:
            return values.transpose(1, 2).reshape(len(values), -1, height, width)
    for prefix in (0, 1):  # without a class token, or behind one
        side = math.isqrt(count - prefix)
        if side > 0 and side**2 == count - prefix:
            return values[:, prefix:].transpose(1, 2).reshape(len(values), -1, side, side)
    return None
