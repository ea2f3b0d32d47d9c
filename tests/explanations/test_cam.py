"""Class activation maps against the formulas of the papers, and on planted signals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta.explanations.base import METHODS, Given, View
from pasta.explanations.methods import cam  # noqa: F401 (registers the methods)
from pasta.explanations.settings import FactorizationParams
from tests.explanations.networks import (
    covered_view,
    in_quadrant,
    pictures,
    quadrant_view,
    small_view,
)

SETTINGS = {"dff": FactorizationParams(components=2)}
Array = NDArray[np.float64]


def given(view: View, images: Tensor, targets: Tensor) -> Given:
    return Given(view, images, targets, SETTINGS)


# One image each: activations and gradients (channels, h, w) to a map, as the papers write it.


def literal_gradcam(acts: Array, grads: Array) -> Array:
    result = np.zeros(acts.shape[1:])
    for k in range(len(acts)):
        result += grads[k].sum() / grads[k].size * acts[k]
    return result


def literal_hirescam(acts: Array, grads: Array) -> Array:
    result = np.zeros(acts.shape[1:])
    for k, i, j in np.ndindex(acts.shape):
        result[i, j] += grads[k, i, j] * acts[k, i, j]
    return result


def literal_elementwise(acts: Array, grads: Array) -> Array:
    result = np.zeros(acts.shape[1:])
    for k, i, j in np.ndindex(acts.shape):
        result[i, j] += max(float(grads[k, i, j] * acts[k, i, j]), 0.0)
    return result


def literal_plus_plus(acts: Array, grads: Array) -> Array:
    result = np.zeros(acts.shape[1:])
    for k in range(len(acts)):
        weight = 0.0
        for i, j in np.ndindex(acts.shape[1:]):
            g = float(grads[k, i, j])
            alpha = g**2 / (2 * g**2 + acts[k].sum() * g**3 + 1e-6) if g else 0.0
            weight += alpha * max(g, 0.0)
        result += weight * acts[k]
    return result


def literal_xgradcam(acts: Array, grads: Array) -> Array:
    result = np.zeros(acts.shape[1:])
    for k in range(len(acts)):
        weight = 0.0
        for i, j in np.ndindex(acts.shape[1:]):
            weight += grads[k, i, j] * acts[k, i, j] / (acts[k].sum() + 1e-7)
        result += weight * acts[k]
    return result


def literal_layercam(acts: Array, grads: Array) -> Array:
    result = np.zeros(acts.shape[1:])
    for k, i, j in np.ndindex(acts.shape):
        result[i, j] += max(float(grads[k, i, j]), 0.0) * acts[k, i, j]
    return result


def literal_component(maps: Array) -> Array:
    """Power iteration on the covariance of cells; the sign is free."""
    cells = maps.reshape(len(maps), -1).T
    cells = cells - cells.mean(0)
    direction = np.ones(cells.shape[1])
    for _ in range(5000):
        direction = cells.T @ (cells @ direction)
        direction /= np.linalg.norm(direction)
    projected: Array = cells @ direction
    return projected.reshape(maps.shape[1:])


ORACLES: dict[str, Callable[[Array, Array], Array]] = {
    "gradcam": literal_gradcam,
    "hirescam": literal_hirescam,
    "gradcam_elementwise": literal_elementwise,
    "gradcam++": literal_plus_plus,
    "xgradcam": literal_xgradcam,
    "layercam": literal_layercam,
    "eigencam": lambda acts, _: literal_component(acts),
    "eigengradcam": lambda acts, grads: literal_component(acts * grads),
}


@pytest.mark.parametrize("name", list(ORACLES))
def test_each_method_computes_its_papers_formula(name: str) -> None:
    view, images = small_view(double=True), pictures().double()
    asked = given(view, images, torch.tensor([0, 2, 3]))
    found = METHODS[name](asked)
    for number in range(len(images)):
        acts = asked.passed.activations[number].numpy()
        grads = asked.passed.gradients[number].numpy()
        expected = ORACLES[name](acts, grads)
        map_ = found[number].numpy()
        if name.startswith("eigen") and (expected * map_).sum() < 0:
            expected = -expected
        np.testing.assert_allclose(map_, expected, rtol=1e-6, atol=1e-9)


def test_gradients_of_the_shared_pass_are_those_of_the_whole_network() -> None:
    view, images = small_view(double=True), pictures().double()
    targets = torch.tensor([1, 1, 3])
    shared = given(view, images, targets).passed
    step = 1e-6

    def score(activations: Tensor) -> float:
        handle = view.require_layer().register_forward_hook(lambda *_: activations)
        try:
            return float(view.logits(images).gather(1, targets[:, None]).sum().detach())
        finally:
            handle.remove()

    for place in [(0, 0, 0, 0), (1, 3, 2, 1), (2, 5, 3, 3)]:
        moved = shared.activations.clone()
        moved[place] += step
        slope = (score(moved) - score(shared.activations)) / step
        assert slope == pytest.approx(float(shared.gradients[place]), abs=1e-5)


# EigenCAM and the factors of DFF see the activations alone, wherever they come from.
FAITHFUL = [name for name in ORACLES if name not in ("eigencam", "eigengradcam")]


@pytest.mark.parametrize("name", ["hirescam", "gradcam_elementwise", "layercam"])
def test_a_signal_in_one_quadrant_is_found_there(name: str) -> None:
    images = pictures(4, 16) * 0.5 + 0.25
    found = METHODS[name](given(quadrant_view(), images, torch.ones(4, dtype=torch.long)))
    assert (in_quadrant(found) > 0.999).all()


# One weight for a whole channel cannot tell where in the channel the gradient was, but it does not
# invent anything where there was no activation.
@pytest.mark.parametrize("name", FAITHFUL)
def test_nothing_is_found_where_the_network_is_blind(name: str) -> None:
    images = pictures(4, 16) * 0.5 + 0.25
    found = METHODS[name](given(covered_view(), images, torch.ones(4, dtype=torch.long)))
    assert (in_quadrant(found) > 0.999).all()


def test_eigengradcam_of_a_quadrant_varies_there_alone() -> None:
    images = pictures(4, 16)
    found = METHODS["eigengradcam"](given(quadrant_view(), images, torch.ones(4, dtype=torch.long)))
    outside = found[:, 8:, 8:]
    assert (outside - outside[:, :1, :1]).abs().max() < 1e-6
    assert (found[:, :8, :8].std((1, 2)) > 0).all()


def test_deep_feature_factorization_takes_the_factor_that_speaks_for_the_class() -> None:
    """Two channels are active in different halves; each class reads one of them."""

    class Halves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.maps = nn.Conv2d(3, 2, 1, bias=False)
            with torch.no_grad():
                self.maps.weight.copy_(torch.eye(3)[:2, :, None, None])

        def forward(self, images: Tensor) -> Tensor:
            result: Tensor = self.maps(images).mean((2, 3))
            return result

    network = Halves()
    images = torch.zeros(2, 3, 8, 8)
    images[:, 0, :, :4] = 1
    images[:, 1, :, 4:] = 1
    found = METHODS["dff"](given(View(network, network.maps), images, torch.tensor([0, 1])))
    assert found[0, :, :4].min() > 0 and found[0, :, 4:].abs().max() < 1e-6
    assert found[1, :, 4:].min() > 0 and found[1, :, :4].abs().max() < 1e-6


def test_hooks_come_off_when_the_model_fails() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Conv2d(3, 2, 1)

        def forward(self, images: Tensor) -> Tensor:
            self.layer(images)
            raise RuntimeError("broken on purpose")

    network = Broken()
    with pytest.raises(RuntimeError, match="on purpose"):
        _ = given(
            View(network, network.layer), pictures(1), torch.zeros(1, dtype=torch.long)
        ).passed
    assert not network.layer._forward_hooks
