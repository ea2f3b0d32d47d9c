"""Sufficiency, necessity and faithfulness against the algorithm line by line, and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pasta.metrics.api import evaluate
from pasta.metrics.base import Batch
from pasta.metrics.removal import make_perturbation
from pasta.metrics.settings import DEFAULTS
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import (
    WeightedSum,
    algorithm_1,
    blackened,
    bright_points,
    distinct_weights,
    literal_imputation,
    probability_of,
    random_maps,
)

THRESHOLDS = (6, 50, 20)  # the last one is not the largest: max(arr) is about the last
PERTURBATIONS = ["uniform", "gaussian", "black", "road"]


@pytest.mark.parametrize("perturbation", ["black", "road"])
@pytest.mark.parametrize("name", ["sufficiency", "necessity"])
def test_both_readings_equal_the_algorithm_line_by_line(name: str, perturbation: str) -> None:
    network, images, maps = SmallNet().eval(), pictures(2, 12), random_maps(2, 12)
    targets = [1, 3]
    probability = probability_of(network)
    given: Any = {
        "maps": maps,
        "model": network,
        "images": images,
        "targets": targets,
        "softmax": True,
        "perturbation": perturbation,
        "road": 0.0,
        "thresholds": THRESHOLDS,
    }
    text = evaluate(name, **given)
    published = evaluate(name, **given, reading="published")
    perturb = blackened if perturbation == "black" else literal_imputation
    for number, target in enumerate(targets):
        expected = algorithm_1(
            images[number].double().numpy(),
            maps[number].double().numpy(),
            THRESHOLDS,
            name == "sufficiency",
            perturb,
            lambda image, target=target: probability(image, target),  # type: ignore[misc]
        )
        np.testing.assert_allclose((text[number], published[number]), expected, atol=1e-5)


@pytest.mark.parametrize("reading", ["text", "published"])
def test_faithfulness_is_the_harmonic_mean(reading: str) -> None:
    given: Any = {
        "maps": random_maps(3),
        "model": SmallNet(),
        "images": pictures(3),
        "softmax": True,
        "reading": reading,
        "perturbation": "uniform",
    }
    one, other = (evaluate(name, **given) for name in ("sufficiency", "necessity"))
    np.testing.assert_allclose(evaluate("faithfulness", **given), 2 / (1 / one + 1 / other))


def test_the_weights_of_a_weighted_sum_are_best_and_reversed_weights_worst_with_black() -> None:
    weights = distinct_weights()
    maps = torch.cat([weights[None], -weights[None], random_maps(30, 8)])
    images = torch.ones(len(maps), 3, 8, 8)
    for name in ("sufficiency", "necessity", "faithfulness"):
        best, worst, *others = evaluate(
            name,
            maps=maps,
            model=WeightedSum(weights),
            images=images,
            targets=[1] * len(maps),
            perturbation="black",
        )
        assert best >= max(others), name
        assert worst <= min(others), name
        assert worst < best


@pytest.mark.parametrize("name", ["sufficiency", "necessity", "faithfulness"])
def test_the_weights_of_a_weighted_sum_are_best_and_reversed_weights_worst_with_road(
    name: str,
) -> None:
    image, weights = bright_points()
    maps = torch.cat([weights[None], -weights[None], random_maps(20, 12)])
    best, worst, *others = evaluate(
        name,
        maps=maps,
        model=WeightedSum(weights),
        images=image.expand(len(maps), -1, -1, -1),
        targets=[1] * len(maps),
        perturbation="road",
        road=0.0,
        thresholds=[80],
    )
    assert best >= max(others) - 1e-5
    assert worst <= min(others) + 1e-5
    assert best - worst > 0.05


@pytest.mark.parametrize("perturbation", PERTURBATIONS)
def test_pixels_the_model_does_not_see_are_neither_necessary_nor_missed(perturbation: str) -> None:
    image, weights = bright_points()
    given: Any = {
        "model": WeightedSum(weights),
        "images": image[None],
        "targets": [1],
        "perturbation": perturbation,
        "thresholds": (40, 80),  # eight of nine pixels are not seen
    }
    for sign, name in ((1, "sufficiency"), (-1, "necessity")):
        seen = evaluate(name, maps=sign * weights[None], **given)
        other = evaluate(name, maps=-sign * weights[None], **given)
        assert seen == pytest.approx(1 if sign == 1 else 0, abs=1e-6)
        assert other < seen if sign == 1 else other > seen


@pytest.mark.parametrize("kind", PERTURBATIONS)
def test_only_removed_pixels_are_perturbed_and_as_much_as_is_set(kind: str) -> None:
    images = pictures(1, 64)
    settings = DEFAULTS.faithfulness.model_copy(update={"uniform": 0.3, "gaussian": 0.2})
    removed = random_maps(2, 64) > 0.5
    copies = make_perturbation(Batch(random_maps(1, 64), images=images), 0, settings, kind)(removed)
    change = copies - images
    where = removed[:, None].expand_as(change)
    assert change[~where].abs().max() < 1e-5
    moved = change[where]
    if kind == "uniform":
        assert 0.29 < moved.abs().max() <= 0.3
        assert moved.std() == pytest.approx(0.3 / 3**0.5, rel=0.05)
    if kind == "gaussian":
        assert moved.std() == pytest.approx(0.2, rel=0.05)
    if kind == "black":
        assert copies[where].abs().max() == 0
    if kind == "road":  # linear interpolation of noise is smoother than noise
        assert copies[where].std() < 0.7 * images.std()


def test_road_adds_noise_to_what_it_imputes() -> None:
    images = torch.full((1, 3, 64, 64), 0.5)
    batch = Batch(random_maps(1, 64), images=images)
    removed = random_maps(1, 64) > 0.5
    copies = make_perturbation(batch, 0, DEFAULTS.faithfulness, "road")(removed)
    noise = copies[removed[:, None].expand_as(copies)] - 0.5
    assert noise.std() == pytest.approx(0.01, rel=0.05)
