"""Class activation maps: each method weighs the same activations by the same gradients."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from pasta.explanations.base import Given, method

cam = partial(method, functioning="gradient", needs_layer=True)


@cam("gradcam", title="GradCAM", doi="10.1109/ICCV.2017.74")
def gradcam(given: Given) -> Tensor:
    """Each channel weighs as much as its mean gradient (Selvaraju 2017)."""
    shared = given.passed
    return _weighted(shared.gradients.mean((2, 3)), shared.activations)


@cam("hirescam", title="HiResCAM", doi="10.48550/arXiv.2011.08891")
def hirescam(given: Given) -> Tensor:
    """Gradient x activation, cell by cell (Draelos 2020)."""
    shared = given.passed
    return (shared.gradients * shared.activations).sum(1)


@cam("gradcam_elementwise", title="GradCAMElementWise", doi="10.1609/aaai.v36i2.20123")
def gradcam_elementwise(given: Given) -> Tensor:
    """Gradient x activation, rectified before the channels are summed (Pillai 2021)."""
    shared = given.passed
    return (shared.gradients * shared.activations).relu().sum(1)


@cam("gradcam++", title="GradCAM++", doi="10.1109/WACV.2018.00097")
def gradcam_plus_plus(given: Given) -> Tensor:
    """Positive gradients, weighed by higher powers of themselves (Chattopadhay 2018).

    The powers stand for higher derivatives of an exponential of the score.
    """
    shared = given.passed
    squares = shared.gradients**2
    mass = shared.activations.sum((2, 3), keepdim=True)
    shares = squares / (2 * squares + mass * squares * shared.gradients + 1e-6)
    weights = (shares * shared.gradients.relu()).sum((2, 3))
    return _weighted(weights, shared.activations)


@cam("xgradcam", title="XGradCAM", doi="10.48550/arXiv.2008.02312")
def xgradcam(given: Given) -> Tensor:
    """Gradients averaged where the channel is active (Fu 2020)."""
    shared = given.passed
    mass = shared.activations.sum((2, 3)) + 1e-7
    weights = (shared.gradients * shared.activations).sum((2, 3)) / mass
    return _weighted(weights, shared.activations)


@cam("layercam", title="LayerCAM", doi="10.1109/TIP.2021.3089943")
def layercam(given: Given) -> Tensor:
    """Positive gradient x activation, cell by cell (Jiang 2021)."""
    shared = given.passed
    return (shared.gradients.relu() * shared.activations).sum(1)


def _weighted(weights: Tensor, activations: Tensor) -> Tensor:
    return torch.einsum("nc,nchw->nhw", weights, activations)
