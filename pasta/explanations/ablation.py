"""Ablation-CAM: a channel weighs as much as the score drops without it (Desai & Ramaswamy 2020).

The weight of channel c is (y - y_c) / y, with y the target's logit and y_c the logit after the
channel is ablated (doi:10.1109/WACV45572.2020.9093360). Only what lies behind the target layer runs
again, for many channels at once (:mod:`pasta.explanations.tail`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from pasta.explanations.base import Given, View, method
from pasta.explanations.tail import Tail

_BELOW = 1e7  # the value of an ablated channel lies so far below the smallest activation
_NUMBERS = 2**23  # of activations in one batch, lest wide layers need too much memory


@method(
    "ablationcam",
    title="AblationCAM",
    functioning="perturbation",
    doi="10.1109/WACV45572.2020.9093360",
    needs_layer=True,
)
def ablationcam(given: Given) -> Tensor:
    """Activations, weighed by how much the score drops without their channel."""
    view, layer = given.view, given.view.require_layer()
    maps, short = [], None
    for one in given.one_by_one():
        behind = Tail(view.network, layer, one.images, short)
        short = behind.short  # tried out once
        weights = channel_weights(view, behind, int(one.targets), given.budget)
        maps.append(torch.einsum("c,chw->hw", weights, view.maps(behind.activations)[0]))
    return torch.stack(maps)


def channel_weights(view: View, behind: Tail, target: int, budget: int) -> Tensor:
    """The share of the target's logit that is lost without each channel."""
    activations = behind.activations[0]
    axis = channel_axis(view, behind.activations) - 1
    channels, device = activations.shape[axis], activations.device
    value = ablated_value(activations)
    rows = max(1, min(budget, _NUMBERS // activations.numel()))
    scores = []
    for start in range(0, channels, rows):
        chosen = torch.arange(start, min(start + rows, channels), device=device)
        batch = activations.expand(len(chosen), *activations.shape).clone()
        batch.movedim(axis + 1, 1)[chosen - start, chosen] = value
        scores.append(behind(batch)[:, target])
    score = behind.logits[0, target]
    return (score - torch.cat(scores)) / score


def ablated_value(activations: Tensor) -> float:
    """Zero, as in the paper, if zero is the smallest activation there is. Where activations can be
    negative a zero does not mean absence, and a very negative value takes its place, as in
    pytorch-grad-cam."""
    lowest = float(activations.min())
    return 0.0 if lowest == 0 else lowest - _BELOW


def channel_axis(view: View, output: Tensor) -> int:
    """Where the channels of the layer's output are: second in maps, last in tokens."""
    return 1 if view.maps(output).shape == output.shape else output.ndim - 1
