"""Pixel flipping, deletion, insertion, ROAD and the faithfulness correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torchvision.transforms.functional import gaussian_blur

from pasta.explanations.image import blur_image
from pasta.metrics.api import curves, evaluate
from pasta.metrics.base import Batch
from pasta.metrics.forward import scorer_of
from pasta.metrics.own.correlation import correlate_subsets, score_falls
from pasta.metrics.settings import DEFAULTS
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import (
    WeightedSum,
    bright_points,
    distinct_weights,
    literal_imputation,
    order_of,
    probability_of,
    random_maps,
)


def literal_curve(name: str, image: Any, one: Any, steps: int, ask: Any) -> NDArray[np.float64]:
    """The target's probability, step by step."""
    pixels, order = one.size, order_of(one, descending=True)
    blur = blur_image(torch.from_numpy(image), 5.0).numpy()
    start, finish = (blur, image) if name == "insertion" else (image, np.zeros_like(image))
    now = start.copy().reshape(3, -1)
    points = [ask(start)]
    for step in range(1, steps + 1):
        part = order[pixels * (step - 1) // steps : pixels * step // steps]
        now[:, part] = finish.reshape(3, -1)[:, part]
        points.append(ask(now.reshape(image.shape)))
    return np.array(points)


@pytest.mark.parametrize("name", ["pixel_flipping", "deletion", "insertion"])
@pytest.mark.parametrize("steps", [1, 7, 16])
def test_curves_equal_the_papers_step_by_step(name: str, steps: int) -> None:
    network, images, maps = SmallNet().eval(), pictures(2), random_maps(2)
    given: Any = {"model": network, "images": images, "targets": [2, 0], "softmax": True}
    found = curves(name, maps=maps, **given, steps=steps)
    values = evaluate(name, maps=maps, **given, steps=steps)
    for number, target in enumerate((2, 0)):
        ask = probability_of(network)
        expected = literal_curve(
            name,
            images[number].double().numpy(),
            maps[number].double().numpy(),
            steps,
            lambda image, ask=ask, target=target: ask(image, target),
        )
        np.testing.assert_allclose(found[number], expected, atol=1e-6)
        area = np.trapezoid(expected, dx=1 / steps)
        aopc = np.mean(expected[0] - expected)
        assert values[number] == pytest.approx(aopc if name == "pixel_flipping" else area, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "higher"), [("pixel_flipping", True), ("deletion", False), ("insertion", True)]
)
def test_the_weights_of_a_weighted_sum_are_best_and_reversed_weights_worst(
    name: str, higher: bool
) -> None:
    weights = distinct_weights()
    maps = torch.cat([weights[None], -weights[None], random_maps(30, 8)])
    values = evaluate(
        name,
        maps=maps,
        model=WeightedSum(weights),
        images=torch.ones(len(maps), 3, 8, 8),
        targets=[1] * len(maps),
        filling="black",
        steps=16,
    )
    best, worst, *others = values if higher else -values
    assert best > max(others)
    assert worst < min(others)


def test_a_blurred_point_is_a_gaussian_of_eleven_pixels_and_tiny_images_can_be_blurred() -> None:
    point = torch.zeros(1, 21, 21)
    point[0, 10, 10] = 1
    places = np.abs(np.arange(21) - 10)
    line = np.where(places <= 5, np.exp(-(places**2) / 50), 0)
    expected = np.outer(line, line) / line.sum() ** 2
    np.testing.assert_allclose(blur_image(point, 5.0)[0].numpy(), expected, atol=1e-7)
    torch.testing.assert_close(blur_image(torch.ones(3, 2, 3), 5.0), torch.ones(3, 2, 3))


def test_road_equals_imputing_and_asking_one_by_one() -> None:
    images, maps = pictures(2, 12), random_maps(2, 12)
    percentages = (5, 40, 80, 99)
    network = SmallNet(seed=3).eval()
    with torch.no_grad():  # classes that are close to each other
        network.head.bias.sub_(network(images).mean(0))
        targets = network(images).argmax(1)
    answers = []
    for name, most in (("road", True), ("road_least", False)):
        found = curves(
            name,
            maps=maps,
            model=network,
            images=images,
            targets=targets,
            percentages=percentages,
            road=0.0,
        )
        for number in range(2):
            image, one = images[number].double().numpy(), maps[number].double().numpy()
            order = order_of(one, descending=most)
            for place, part in enumerate(percentages):
                removed = np.zeros(one.size, bool)
                removed[order[: int(one.size * part / 100)]] = True
                changed = literal_imputation(image, removed.reshape(one.shape))
                with torch.no_grad():
                    answer = network.double()(torch.from_numpy(changed)[None]).argmax(1)
                network.float()
                assert found[number, place] == (answer == targets[number])
                answers.append(found[number, place])
    assert set(answers) == {0, 1}  # else the network is no test


def test_road_is_zero_for_the_weights_and_one_for_reversed_weights() -> None:
    image, weights = bright_points()
    maps = torch.stack([weights, -weights])
    given: Any = {
        "maps": maps,
        "model": WeightedSum(weights),
        "images": image.expand(2, -1, -1, -1),
        "targets": [1, 1],
        "percentages": [12, 40, 80],  # one in nine pixels is seen
        "road": 0.0,
    }
    assert evaluate("road", **given).tolist() == [0, 1]
    assert evaluate("road_least", **given).tolist() == [1, 0]


def test_faithfulness_correlation_equals_pearson_over_the_same_subsets() -> None:
    network, images, maps = SmallNet().eval(), pictures(2), random_maps(2)
    random = np.random.default_rng(0)
    subsets = [np.stack([random.choice(256, 9, replace=False) for _ in range(20)]) for _ in "ab"]
    batch = Batch(
        maps,
        rows=7,
        images=images,
        targets=torch.tensor([1, 2]),
        scorer=scorer_of(network, images, True, False),
    )
    chosen = [torch.from_numpy(part) for part in subsets]
    fallen = score_falls(batch, DEFAULTS.faithfulness_correlation, chosen)
    found = correlate_subsets(batch, chosen, fallen)
    ask = probability_of(network)
    for number, target in enumerate((1, 2)):
        image, one = images[number].double().numpy(), maps[number].double().numpy()
        falls, sums = [], []
        for subset in subsets[number]:
            without = image.reshape(3, -1).copy()
            without[:, subset] = 0
            falls.append(ask(image, target) - ask(without.reshape(image.shape), target))
            sums.append(one.ravel()[subset].sum())
        expected = np.corrcoef(sums, falls)[0, 1]
        assert float(found.values[number]) == pytest.approx(expected, abs=1e-4)


def test_faithfulness_correlation_of_a_weighted_sum_is_one_and_minus_one_reversed() -> None:
    weights = distinct_weights()
    values = evaluate(
        "faithfulness_correlation",
        maps=torch.stack([weights, -weights]),
        model=WeightedSum(weights),
        images=torch.ones(2, 3, 8, 8),
        targets=[1, 1],
        share=0.2,
        subsets=30,
    )
    np.testing.assert_allclose(values, [1, -1], atol=1e-5)


def test_a_correlation_with_outputs_that_never_change_has_a_status_and_no_value() -> None:
    values, statuses = evaluate(
        "faithfulness_correlation",
        maps=random_maps(1, 8),
        model=lambda images: torch.tensor([[0.3, 0.7]]).expand(len(images), -1),
        images=torch.ones(1, 3, 8, 8),
        targets=[1],
        return_status=True,
    )
    assert np.isnan(values).all()
    assert statuses == ["constant output"]


def test_an_image_can_be_blurred_by_a_kernel_of_another_side() -> None:
    image = pictures(1, 40)[0]
    for kernel, deviation in ((15, 5.0), (39, 120.0)):
        expected = gaussian_blur(image, [kernel, kernel], [deviation, deviation])
        torch.testing.assert_close(blur_image(image, deviation, kernel), expected)
