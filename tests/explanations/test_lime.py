"""LIME against its formula, against the authors' package, and on planted signals; superpixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor, nn

from pasta.explanations.base import Given, View
from pasta.explanations.image import Segmenter, segment
from pasta.explanations.methods.lime import coefficients, lime, random_switches, ridge
from pasta.explanations.settings import LimeParams
from pasta.explanations.superpixels import (
    mean_colours,
    number_of,
    pixel_counts,
    spread,
)
from tests.explanations.networks import (
    Sum,
    in_quadrant,
    pictures,
    quadrant_view,
    small_view,
)

torch.set_num_threads(1)
SETTINGS = LimeParams(samples=120, kernel_width=0.25, segmenter="slic", segments=16, penalty=1.0)
Array = NDArray[np.float64]


def given(
    view: View, images: Tensor, targets: Tensor, settings: LimeParams = SETTINGS, **rest: Any
) -> Given:
    return Given(view, images, targets, {"lime": settings}, **rest)


def literal_image(image: Array, labels: Array, switches: Array) -> Array:
    """Hidden superpixels one by one in their mean colour."""
    shown = image.copy()
    for number, on in enumerate(switches):
        if not on:
            for channel in range(3):
                shown[channel][labels == number] = image[channel][labels == number].mean()
    return shown


def literal_weight(switches: Array, width: float) -> float:
    whole = np.ones(len(switches))
    length = np.linalg.norm(switches) * np.linalg.norm(whole)
    distance = 1 - (switches @ whole / length if length else 0.0)
    return math.sqrt(math.exp(-(distance**2) / width**2))


def literal_slopes(inputs: Array, values: Array, weights: Array, penalty: float) -> Array:
    """Least squares with a column of ones for the intercept and rows for the penalty."""
    roots = np.sqrt(weights)[:, None]
    features = inputs.shape[1]
    above = np.hstack([inputs, np.ones((len(inputs), 1))]) * roots
    below = np.hstack([math.sqrt(penalty) * np.eye(features), np.zeros((features, 1))])
    goal = np.concatenate([values * roots[:, 0], np.zeros(features)])
    slopes: Array = np.linalg.lstsq(np.vstack([above, below]), goal)[0][:-1]
    return slopes


def test_coefficients_are_those_of_the_papers_formula() -> None:
    view, images = small_view(double=True), pictures(2).double()
    labels = [torch.arange(256).view(16, 16) // 52, torch.arange(256).view(16, 16) % 3]
    switches = [
        random_switches(40, number_of(label), torch.Generator().manual_seed(3)) for label in labels
    ]
    switches[1][5] = False  # nothing is seen
    targets = torch.tensor([2, 1])
    found = coefficients(given(view, images, targets), labels, switches, 0.4, 0.3)
    for number, label in enumerate(labels):
        rows = switches[number].double().numpy()
        shown = [literal_image(images[number].numpy(), label.numpy(), row) for row in rows]
        with torch.no_grad():
            scores = view.logits(torch.tensor(np.array(shown))).softmax(1)[:, targets[number]]
        weights = np.array([literal_weight(row, 0.4) for row in rows])
        expected = literal_slopes(rows, scores.numpy(), weights, 0.3)
        np.testing.assert_allclose(found[number].numpy(), expected, rtol=1e-4, atol=1e-7)


def test_ridge_of_several_problems_equals_scikit_learns_of_each() -> None:
    from sklearn.linear_model import Ridge

    random = np.random.default_rng(0)
    inputs, values, weights = (
        random.random((3, 30, 5)),
        random.random((3, 30)),
        random.random((3, 30)),
    )
    tensors = [torch.from_numpy(one) for one in (inputs, values, weights)]
    found = ridge(tensors[0], tensors[1], tensors[2], 0.7)
    for number in range(3):
        peer = Ridge(alpha=0.7).fit(inputs[number], values[number], weights[number])
        np.testing.assert_allclose(found[number].numpy(), peer.coef_, rtol=1e-9)


def test_switches_begin_with_the_whole_image_and_are_fair() -> None:
    switches = random_switches(4000, 6, torch.Generator().manual_seed(0))
    assert switches[0].all()
    np.testing.assert_allclose(switches[1:].double().mean(0).numpy(), 0.5, atol=0.03)
    assert len({tuple(row) for row in switches.tolist()}) == 64


@pytest.mark.parametrize("segmenter", ["slic", "quickshift"])
def test_coefficients_equal_those_of_the_lime_package(segmenter: Any) -> None:
    lime_image: Any = pytest.importorskip("lime.lime_image")
    view = small_view()
    image = nn.functional.interpolate(pictures(1, 5), (48, 48), mode="bicubic").clamp(0, 1)
    labels = segment(image[0], segmenter, 20)
    superpixels = number_of(labels)
    assert superpixels > 3

    def probabilities(pixels: NDArray[Any]) -> NDArray[Any]:
        with torch.no_grad():
            return view.probabilities(torch.from_numpy(pixels).permute(0, 3, 1, 2).float()).numpy()

    explainer = lime_image.LimeImageExplainer(random_state=7)
    peer = explainer.explain_instance(
        image[0].permute(1, 2, 0).double().numpy(),
        probabilities,
        labels=(2,),
        top_labels=None,
        num_samples=200,
        segmentation_fn=lambda _: labels.numpy(),
        random_seed=0,
    )
    expected = [value for _, value in sorted(peer.local_exp[2])]
    drawn = np.random.RandomState(7).randint(0, 2, 200 * superpixels)  # as lime draws
    switches = torch.from_numpy(drawn.reshape(200, superpixels)).bool()
    switches[0] = True
    asked = given(view, image, torch.tensor([2]))
    (found,) = coefficients(asked, [labels], [switches], 0.25, 1.0)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-3, atol=1e-7)
    assert spearmanr(found.numpy(), expected).statistic > 0.99


def test_of_a_linear_function_each_superpixel_gets_what_hiding_it_takes_away() -> None:
    image = pictures(1).double()
    weights = pictures(1, seed=9)[0].double()
    view = View(Sum(weights), to_probabilities=lambda logits: logits)
    labels = segment(image[0], "slic", 6)
    switches = random_switches(200, number_of(labels), torch.Generator().manual_seed(1))
    asked = given(view, image, torch.tensor([1]))
    (found,) = coefficients(asked, [labels], [switches], 0.25, 1e-9)
    for number in range(number_of(labels)):
        inside = labels == number
        mean = image[0][:, inside].mean(1, keepdim=True)
        lost = float(((image[0][:, inside] - mean) * weights[:, inside]).sum())
        assert float(found[number]) == pytest.approx(lost, abs=1e-4)  # captum has single precision


def test_a_signal_in_one_quadrant_is_found_there() -> None:
    blocks = nn.functional.interpolate(pictures(3, 4), (32, 32))
    images = (blocks + pictures(3, 32)) / 2  # superpixels can follow the border of the quadrant
    found = lime(given(quadrant_view(), images, torch.ones(3, dtype=torch.long)))
    assert found.shape == (3, 32, 32)
    assert found.dtype == torch.float32
    assert (in_quadrant(found) >= 0.8).all()
    against = lime(given(quadrant_view(), images, torch.zeros(3, dtype=torch.long)))
    assert (in_quadrant(-against) >= 0.8).all()


def test_a_single_superpixel_and_a_single_sample_are_no_problem() -> None:
    settings = SETTINGS.model_copy(update={"segments": 1, "samples": 1})
    found = lime(given(small_view(), pictures(2), torch.tensor([0, 1]), settings))
    assert found.shape == (2, 16, 16)
    assert (found == 0).all()  # one sample says nothing


# Superpixels


def smooth(number: int = 1, size: int = 32) -> Tensor:
    """Images with a few large blobs of colour."""
    coarse = pictures(number, 4)
    return nn.functional.interpolate(coarse, (size, size), mode="bicubic").clamp(0, 1)


@pytest.mark.parametrize("segmenter", ["quickshift", "slic"])
@pytest.mark.parametrize("kind", ["noise", "smooth", "constant", "tiny", "nan"])
def test_superpixels_are_numbered_without_gaps_and_repeatable(
    segmenter: Segmenter, kind: str
) -> None:
    images = {
        "noise": pictures(1, 24)[0],
        "smooth": smooth()[0],
        "constant": torch.full((3, 20, 30), 0.5),
        "tiny": pictures(1, 2)[0],
        "nan": torch.full((3, 16, 16), torch.nan),
    }
    image = images[kind]
    labels = segment(image, segmenter, 9)
    assert labels.shape == image.shape[1:]
    assert labels.dtype == torch.long
    assert sorted(set(labels.flatten().tolist())) == list(range(number_of(labels)))
    assert torch.equal(labels, segment(image.clone(), segmenter, 9))
    assert int(pixel_counts(labels).sum()) == labels.numel()


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3, 1.0])
def test_noise_does_not_leave_slic_without_superpixels(noise: float) -> None:
    image = (1 - noise) * smooth(size=64)[0] + noise * pictures(1, 64)[0]
    assert 12 <= number_of(segment(image, "slic", 24)) <= 36


def test_quickshift_is_that_of_the_lime_package() -> None:
    lime: Any = pytest.importorskip("lime.wrappers.scikit_image")
    image = smooth(size=48)[0]
    settings = {"kernel_size": 4, "max_dist": 200, "ratio": 0.2, "rng": 0}
    peer = lime.SegmentationAlgorithm("quickshift", **settings)
    expected = peer(image.permute(1, 2, 0).double().numpy())
    assert number_of(segment(image, "quickshift")) > 1
    np.testing.assert_array_equal(segment(image, "quickshift").numpy(), expected)


def test_mean_colours_and_spread_values_of_superpixels() -> None:
    image = pictures(1, 12)[0]
    labels = torch.arange(144).view(12, 12) % 5
    means = mean_colours(image, labels)
    for number in range(5):
        inside = labels == number
        for channel in range(3):
            expected = float(image[channel][inside].double().mean())
            np.testing.assert_allclose(means[channel][inside].numpy(), expected, rtol=1e-6)
    values = torch.tensor([3.0, -1.0, 0.0, 7.0, 2.0])
    assert spread(values, labels)[0].tolist()[:6] == [3, -1, 0, 7, 2, 3]
