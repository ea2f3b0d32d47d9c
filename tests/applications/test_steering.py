"""Steered RISE against its formula, and at the ends of lambda."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from pydantic import ValidationError

from pasta.applications.prepared.masks import Responses, ask_model, drawing, encode_masks, share_out
from pasta.applications.settings import SteeringParams
from pasta.applications.steering import Asked, ask, curve, mask_scores, matched, mix_maps
from pasta.embedding.inputs import render
from pasta.explanations.base import Given
from pasta.explanations.methods.rise import Masks, random_masks, rise
from pasta.explanations.settings import RiseParams
from pasta.layout import Group
from pasta.scoring.score import PastaScore, Scores
from pasta.seeds import generator
from tests.embedding.small import settings as embedding
from tests.explanations.networks import pictures, small_view
from tests.models.small import DEVICES
from tests.scoring.small_scorer import SIDE, make_root, make_scorer, tiny

torch.set_num_threads(1)
RISE = RiseParams(masks=60, cells=4, keep=0.5)
WEIGHTS = (0.0, 0.3, 1.0)


@pytest.fixture(scope="module")
def metric(tmp_path_factory: pytest.TempPathFactory) -> PastaScore:
    encoder = tiny()
    folder = make_scorer(make_root(tmp_path_factory.mktemp("project"), encoder), encoder)
    return PastaScore.load("Q1", folder, encoder=encoder)


def good(stars: np.ndarray) -> np.ndarray:
    return np.asarray((stars - 1) / 4, np.float64)


def given(number: int = 1) -> Given:
    targets = torch.arange(number) % 4
    return Given(small_view(), pictures(number, SIDE), targets, {"rise": RISE})


def responses(request: Given, metric: PastaScore, number: int = 0) -> Responses:
    masks, probabilities = ask_model(request, number)
    shown, image = metric.card.preprocessing, request.images[number]
    vectors = encode_masks(metric.encoder, shown, image, masks, 16)
    return Responses(masks, RISE.keep, probabilities, vectors)


def test_with_lambda_zero_the_map_is_that_of_rise_to_the_last_bit(metric: PastaScore) -> None:
    request = given()
    steered = ask(responses(request, metric), "cat", metric, good).maps(WEIGHTS)
    assert np.array_equal(steered[0], rise(request)[0].numpy())
    assert not np.allclose(steered[1], steered[0], rtol=1e-3)


def test_maps_are_those_of_the_papers_formula(metric: PastaScore) -> None:
    request = given(2)
    found = ask(responses(request, metric, 1), "cat", metric, good).maps(WEIGHTS)
    image, target = request.images[1], request.targets[1]
    masks = random_masks(60, 4, 0.5, (SIDE, SIDE), request.generator(1, "rise"))
    built = masks.build(slice(None))
    with torch.no_grad():
        probability = request.view.probabilities(image * built[:, None])[:, target].double().numpy()
    stars = metric.score(
        image=np.broadcast_to(image.numpy(), (60, *image.shape)),
        saliency=built.clamp(0, 1).numpy(),
        label="cat",
    )
    assert isinstance(stars, Scores)
    liked = good(stars.score.astype(np.float64))
    liked *= probability.std() / liked.std()
    for weight, steered in zip(WEIGHTS, found, strict=True):
        total = np.zeros((SIDE, SIDE))
        for one, mask in enumerate(built.double().numpy()):
            total += (weight * liked[one] + (1 - weight) * probability[one]) * mask
        np.testing.assert_allclose(steered, total / (60 * 0.5), rtol=2e-4)


def test_a_masks_score_is_that_of_the_same_heat_map(metric: PastaScore) -> None:
    request = given()
    image, known = request.images[0], responses(request, metric)
    found = mask_scores(metric, known, "cat")
    whole = metric.score(
        image=np.broadcast_to(image.numpy(), (60, *image.shape)),
        saliency=known.masks.build(slice(None)).clamp(0, 1).numpy(),
        label="cat",
    )
    assert isinstance(whole, Scores)
    np.testing.assert_allclose(found, whole.score, atol=1e-4)


def test_a_mask_that_shows_everything_or_nothing_has_no_score(metric: PastaScore) -> None:
    known = responses(given(), metric)
    grids = known.masks.grids.clone()
    grids[0], grids[1] = 0, 1
    masks = replace(known.masks, grids=grids)
    found = mask_scores(metric, replace(known, masks=masks), "cat")
    assert np.isnan(found[:2]).all() and np.isfinite(found[2:]).all()


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_the_size_of_batches_does_not_matter(metric: PastaScore, batch_size: int) -> None:
    image = pictures(1, SIDE)[0]
    masks = random_masks(20, 4, 0.5, (SIDE, SIDE), torch.Generator().manual_seed(0))
    shown = metric.card.preprocessing
    expected = encode_masks(metric.encoder, shown, image, masks, 4)
    found = encode_masks(metric.encoder, shown, image, masks, batch_size)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("shown", ["masked", "overlay", "blur"])
def test_masks_are_drawn_as_explanations_are(shown: str) -> None:
    image = pictures(1, SIDE)[0]
    maps = random_masks(9, 4, 0.5, (SIDE, SIDE), torch.Generator().manual_seed(0)).build(slice(9))
    own = embedding(image=shown)
    many = np.broadcast_to(image.numpy(), (9, *image.shape))
    expected = render(many, maps.numpy(), False, own)
    assert np.array_equal(drawing(image, own)(maps).numpy(), expected)


def test_scores_get_the_spread_of_probabilities_and_keep_their_order() -> None:
    random = generator(0, "matched")
    liked, probability = random.uniform(0, 1, 50), random.uniform(0, 0.1, 50)
    found = matched(liked, probability)
    assert found.std() == pytest.approx(probability.std())
    assert np.array_equal(np.argsort(found), np.argsort(liked))
    assert (found >= 0).all()
    np.testing.assert_array_equal(matched(liked, np.full(50, 0.7)), liked)


def test_a_mask_without_a_score_gets_the_mean() -> None:
    liked = np.array([0.0, 1.0, np.nan, 0.5])
    found = matched(liked, np.array([0.1, 0.2, 0.3, 0.4]))
    assert found[2] == pytest.approx(found[3])
    assert np.isfinite(matched(np.full(3, np.nan), np.array([0.1, 0.2, 0.3]))).all()


def test_equal_scores_cannot_steer_and_this_is_said() -> None:
    masks = random_masks(30, 4, 0.5, (16, 16), torch.Generator().manual_seed(0))
    probability = torch.rand(30, generator=torch.Generator().manual_seed(1))
    asked = Asked(masks, 0.5, probability, np.full(30, 0.4))
    assert asked.equal
    mean = masks.build(slice(None)).double().mean(0).numpy()
    np.testing.assert_allclose(asked.maps([1.0])[0], 0.4 * mean / 0.5, rtol=1e-5)
    assert not Asked(masks, 0.5, probability, np.linspace(0, 1, 30)).equal


@pytest.mark.parametrize("weights", [(-0.1,), (0.0, 1.5), (float("nan"),), ()])
def test_lambda_outside_zero_to_one_is_an_error(weights: tuple[float, ...]) -> None:
    plain: dict[str, Any] = {"backbone": "resnet50", "images": 1, "masks": 1, "batch_size": 1}
    with pytest.raises(ValidationError):
        SteeringParams(**plain, weights=weights)


def test_every_dataset_gives_about_as_many_images() -> None:
    a, b, c = (Group(name, name, Path()) for name in "abc")
    assert share_out([a, b, c], 8) == [(a, 3), (b, 3), (c, 2)]
    assert share_out([a, b, c], 2) == [(a, 1), (b, 1)]


@pytest.mark.parametrize("device", DEVICES)
def test_masks_are_drawn_and_mixed_where_they_are(device: str) -> None:
    drawn = random_masks(6, 4, 0.5, (SIDE, SIDE), torch.Generator().manual_seed(0))
    masks = Masks(drawn.grids.to(device), drawn.shifts.to(device), drawn.size)
    image = pictures(1, SIDE)[0].to(device)
    found = drawing(image, embedding(image="masked"))(masks.build(slice(None)))
    assert found.device.type == device and found.shape == (6, 3, SIDE, SIDE)
    values = torch.zeros(6, device=device)
    assert mix_maps(masks, 0.5, values, values, [0.0, 1.0]).device.type == device


def test_the_curve_compares_each_lambda_with_rise_on_the_same_images() -> None:
    images = [f"coco/{number}" for number in range(6)]
    rows = [
        {"image": image, "weight": weight, "score": number + 2 * weight, "faithfulness": np.nan}
        for number, image in enumerate(images)
        for weight in (0.0, 0.5, 1.0)
    ]
    found = curve(pd.DataFrame(rows).assign(quality=np.nan), 50, 0)
    assert found["measure"].unique().tolist() == ["score"]
    np.testing.assert_allclose(found["estimate"], [0, 1, 2])
    np.testing.assert_allclose(found["low"], [0, 1, 2])
    assert found["equal"].tolist() == [6, 0, 0]
    without = pd.DataFrame(rows).assign(quality=np.nan)
    assert curve(without[without["weight"] > 0], 50, 0).empty
