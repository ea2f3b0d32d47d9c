"""Kernel SHAP on superpixels against Shapley's formula, and on functions with known values."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.base import Given, View
from pasta.explanations.image import segment
from pasta.explanations.methods.shap import coalitions, shap, shapley_values
from pasta.explanations.settings import ShapParams
from pasta.explanations.superpixels import number_of
from tests.explanations.networks import (
    Sum,
    in_quadrant,
    pictures,
    quadrant_view,
    small_view,
)

torch.set_num_threads(1)
SETTINGS = ShapParams(samples=200, segments=16)


def given(
    view: View, images: Tensor, targets: Tensor, settings: ShapParams = SETTINGS, **rest: Any
) -> Given:
    return Given(view, images, targets, {"shap": settings}, **rest)


def literal_worth(view: View, image: Tensor, labels: Tensor, members: tuple[int, ...]) -> Tensor:
    """The probabilities when only some superpixels can be seen."""
    shown = image.clone()
    for number in range(number_of(labels)):
        if number not in members:
            for channel in range(3):
                shown[channel][labels == number] = image[channel].mean()
    with torch.no_grad():
        return view.probabilities(shown[None])[0]


def literal_values(view: View, image: Tensor, labels: Tensor, target: int) -> list[float]:
    """Shapley's formula term by term."""
    players, values = range(number_of(labels)), []
    for player in players:
        others = [one for one in players if one != player]
        value = 0.0
        for size in range(len(players)):
            share = factorial(size) * factorial(len(players) - size - 1) / factorial(len(players))
            for members in combinations(others, size):
                joined = literal_worth(view, image, labels, (*members, player))[target]
                value += share * float(joined - literal_worth(view, image, labels, members)[target])
        values.append(value)
    return values


def test_maps_share_exact_shapley_values_among_pixels() -> None:
    settings = ShapParams(samples=256, segments=6)
    view, images, targets = small_view(), pictures(2, 12), torch.tensor([0, 2])
    found = shap(given(view, images, targets, settings))
    for number, image in enumerate(images):
        labels = segment(image, "slic", 6)
        assert 2 <= number_of(labels) <= 8
        for player, value in enumerate(literal_values(view, image, labels, int(targets[number]))):
            inside = found[number][labels == player]
            assert float(inside.double().sum()) == pytest.approx(value, abs=1e-6)
            assert (inside == inside[0]).all()


@pytest.mark.parametrize("samples", [2, 30, 300])
def test_pixels_sum_to_what_the_image_adds_to_its_mean_colour(samples: int) -> None:
    view, images, targets = small_view(), pictures(3, 24), torch.tensor([0, 1, 3])
    found = shap(given(view, images, targets, ShapParams(samples=samples, segments=20)))
    plain = images.mean((2, 3), keepdim=True).expand_as(images)
    with torch.no_grad():
        gained = view.probabilities(images) - view.probabilities(plain)
    expected = gained.gather(1, targets[:, None])[:, 0]
    torch.testing.assert_close(found.double().sum((1, 2)), expected.double(), rtol=0, atol=1e-6)


def test_a_linear_function_gives_its_weights() -> None:
    image, weights = pictures(1).double(), pictures(1, seed=9)[0].double()
    view = View(Sum(weights), to_probabilities=lambda logits: logits)
    labels = segment(image[0], "slic", 20)
    some = coalitions(number_of(labels), 60, torch.Generator().manual_seed(0))
    (found,) = shapley_values(given(view, image, torch.tensor([1])), [labels], [some])
    each = ((image[0] - image[0].mean((1, 2), keepdim=True)) * weights).sum(0)
    expected = [float(each[labels == number].sum()) for number in range(number_of(labels))]
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-4)


def test_values_equal_those_of_the_shap_package_for_its_coalitions() -> None:
    package: Any = pytest.importorskip("shap")
    view, image = small_view(), pictures(1, 24)
    labels = segment(image[0], "slic", 16)
    superpixels, mean = number_of(labels), image[0].mean((1, 2))

    def worth(rows: NDArray[Any]) -> NDArray[Any]:
        shown = torch.from_numpy(rows).bool()[:, labels][:, None]
        with torch.no_grad():
            masked = torch.where(shown, image, mean[:, None, None])
            return view.probabilities(masked)[:, 2].double().numpy()

    explainer = package.KernelExplainer(worth, np.zeros((1, superpixels)))
    with np.errstate(all="ignore"):
        expected = explainer.shap_values(
            np.ones((1, superpixels)), nsamples=90, l1_reg=False, silent=True
        )
    used = (
        torch.from_numpy(explainer.maskMatrix).bool(),
        torch.from_numpy(explainer.kernelWeights),
    )
    (found,) = shapley_values(given(view, image, torch.tensor([2])), [labels], [used])
    np.testing.assert_allclose(found.numpy(), expected[0], rtol=0, atol=1e-6)


def test_a_signal_in_one_quadrant_is_found_there() -> None:
    images = pictures(3, 32)
    images[:, :, :16, :16] += 0.5  # brighter than the mean, so it speaks for class 1
    found = shap(given(quadrant_view(), images, torch.ones(3, dtype=torch.long)))
    assert found.shape == (3, 32, 32)
    assert found.dtype == torch.float32
    assert (in_quadrant(found) >= 0.8).all()
    against = shap(given(quadrant_view(), images, torch.zeros(3, dtype=torch.long)))
    torch.testing.assert_close(against, -found)


def test_too_few_samples_are_an_error() -> None:
    with pytest.raises(PastaError, match="coalitions"):
        shap(given(small_view(), pictures(1), torch.tensor([0]), ShapParams(samples=1, segments=4)))
