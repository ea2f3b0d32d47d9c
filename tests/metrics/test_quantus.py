"""Equal to Quantus where it is right, and what happens where it is not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import quantus as peer
import torch
from torch import Tensor, nn

from pasta.metrics.api import curves, evaluate
from pasta.metrics.base import METRICS, Batch
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import random_maps
from tests.metrics.rooms import SHAPES, Bent, Remembering, draw, explain_brightness

quantus: Any = peer  # its types do not show the metrics
LIMIT = 1e-4
TARGETS = np.array([1, 3, 0])
QUIET = {"disable_warnings": True, "display_progressbar": False}


class Grey(nn.Module):
    """A network for images of one channel, whose classes are close to each other."""

    def __init__(self) -> None:
        super().__init__()
        self.network = SmallNet(seed=2)
        with torch.no_grad():
            self.network.head.weight *= 30
            shown = pictures(1)[:, :1].expand(-1, 3, -1, -1)
            self.network.head.bias.sub_(self.network(shown)[0])

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.network(images.expand(-1, 3, -1, -1))
        return outputs


def ask(metric: Any, model: nn.Module, images: Tensor, maps: Tensor, **more: Any) -> Any:
    return ask_entries(metric, model, images, maps[:, None].numpy().copy(), **more)


def ask_entries(metric: Any, model: nn.Module, images: Tensor, maps: Any, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(
            model=model.eval(),
            x_batch=images.numpy(),
            y_batch=more.pop("targets", TARGETS),
            a_batch=maps,
            channel_first=True,
            softmax=more.pop("softmax", True),
            **more,
        )


def test_pixel_flipping_curves() -> None:
    model, images, maps = SmallNet(), pictures(3, 12), random_maps(3, 12) - 0.5
    metric = quantus.PixelFlipping(
        features_in_step=3 * 12, perturb_baseline=0.0, normalise=False, abs=False, **QUIET
    )
    expected = np.array(ask(metric, model, images, maps))
    found = curves(
        "pixel_flipping",
        maps=maps,
        model=model,
        images=images,
        targets=TARGETS,
        softmax=True,
        steps=12,
    )
    np.testing.assert_allclose(found[:, 1:], expected, atol=LIMIT)


def test_max_sensitivity() -> None:
    images, copies = pictures(3), list[Tensor]()

    def explainer(noisy: Tensor, targets: Tensor) -> Tensor:
        copies.append(noisy)
        return noisy.square().mean(1) * (1 + targets[:, None, None])

    maps = images.square().mean(1) * (1 + torch.from_numpy(TARGETS)[:, None, None])
    found = evaluate(
        "max_sensitivity",
        maps=maps,
        images=images,
        targets=TARGETS,
        explainer=explainer,
        samples=5,
        relative=True,
    )
    noisy = iter(torch.cat(copies).view(3, 5, -1).transpose(0, 1).numpy())  # draw by draw
    metric = quantus.MaxSensitivity(
        nr_samples=5,
        perturb_func=lambda **_: next(noisy),
        normalise=False,
        abs=False,
        **QUIET,
    )

    def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
        squares = np.square(inputs).mean(1, keepdims=True)
        return squares * (1 + targets[:, None, None, None])

    expected = ask(metric, SmallNet(), images, maps, explain_func=explain)
    np.testing.assert_allclose(found, expected, atol=LIMIT)


STABILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "local_lipschitz": ("LocalLipschitzEstimate", {}),
    "relative_input_stability": ("RelativeInputStability", {}),
    "relative_output_stability": ("RelativeOutputStability", {}),
    "relative_representation_stability": (
        "RelativeRepresentationStability",
        {"layer_names": ["hidden.1"]},
    ),
}


@pytest.mark.parametrize("entries", [False, True])
@pytest.mark.parametrize("reading", ["paper", "released"])
@pytest.mark.parametrize("name", list(STABILITIES))
def test_stability(name: str, reading: str, entries: bool) -> None:
    """Quantus with the copies that ours has drawn and the normalisation of the reading."""
    kind, options = STABILITIES[name]
    images, explainer, model = draw("image"), Remembering(entries), Bent(SHAPES["image"])
    maps = explain_brightness(images, entries)
    named: dict[str, Any] = {"layer": "hidden.1"} if "layer_names" in options else {}
    found = evaluate(
        name,
        maps=maps,
        images=images,
        targets=TARGETS,
        explainer=explainer,
        model=model,
        reading=reading,
        samples=5,
        **named,
    )
    copies = torch.cat(explainer.copies).view(3, 5, -1).numpy()
    largest = quantus.AVAILABLE_NORMALISATION_FUNCTIONS["normalise_by_max"]
    shown = (maps if entries else maps[:, None]).numpy()

    def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
        given = np.asarray(inputs).reshape(len(targets), *SHAPES["image"])
        found = explain_brightness(given, entries)
        return found if entries else found[:, None]

    for number in range(3):  # one by one: it normalises the maps of copies over the whole batch
        noisy = iter(copies[number])
        metric = getattr(quantus, kind)(
            nr_samples=5,
            perturb_func=lambda arr, noisy=noisy, **_: next(noisy).reshape(arr.shape),
            normalise=True,
            normalise_func=None if reading == "released" else largest,  # None: its own choice
            abs=False,
            return_nan_when_prediction_changes=False,
            **options,
            **QUIET,
        )
        part = slice(number, number + 1)
        own: dict[str, Any] = {"targets": TARGETS[part], "explain_func": explain, "softmax": False}
        expected = ask_entries(metric, model, images[part], shown[part].copy(), **own)
        assert found[number] == pytest.approx(expected[0], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("sparseness", "Sparseness"),
        ("entropy", "Complexity"),
        ("effective_complexity", "EffectiveComplexity"),
    ],
)
def test_complexity(name: str, peer: str) -> None:
    maps = random_maps(3) - 0.5
    maps[0, :8] = 0
    options = {"eps": 1e-5} if name == "effective_complexity" else {}
    metric = getattr(quantus, peer)(abs=True, normalise=True, **options, **QUIET)
    expected = ask(metric, SmallNet(), pictures(3), maps)
    np.testing.assert_allclose(evaluate(name, maps=maps), expected, atol=LIMIT)


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("pointing_game", "PointingGame"),
        ("relevance_mass", "RelevanceMassAccuracy"),
        ("relevance_rank", "RelevanceRankAccuracy"),
    ],
)
def test_localisation(name: str, peer: str) -> None:
    maps, masks = random_maps(3), random_maps(3, seed=8) > 0.6
    metric = getattr(quantus, peer)(abs=False, normalise=False, **QUIET)
    expected = ask(metric, SmallNet(), pictures(3), maps, s_batch=masks[:, None].numpy())
    np.testing.assert_allclose(evaluate(name, maps=maps, masks=masks), expected, atol=LIMIT)


ROAD: dict[str, Any] = {"percentages": [5, 30, 60, 90]}


def road_of(model: nn.Module, images: Tensor, maps: Tensor, targets: Any) -> Any:
    return curves(
        "road",
        maps=maps,
        model=model,
        images=images,
        targets=targets,
        road=0.0,
        **ROAD,
    )


def many() -> tuple[Grey, Tensor, Tensor, Any]:
    model, images = Grey().eval(), pictures(12, seed=4)[:, :1]
    with torch.no_grad():
        targets = model(images).argmax(1).numpy()
    return model, images, random_maps(12), targets


def test_road_on_grey_images() -> None:
    model, images, maps, targets = many()
    metric = quantus.ROAD(noise=0.0, normalise=False, **ROAD, **QUIET)
    expected = ask(metric, model, images, maps, targets=targets)
    found = road_of(model, images, maps, targets)
    assert 0 < found.mean() < 1  # else this is no test
    np.testing.assert_allclose(found.mean(0), list(expected.values()), atol=LIMIT)


def test_road_of_a_second_batch_is_lost_by_quantus_only() -> None:
    model, images, maps, targets = many()
    metric = quantus.ROAD(noise=0.0, normalise=False, **ROAD, **QUIET)
    found = road_of(model, images, maps, targets)
    theirs = list(ask(metric, model, images, maps, targets=targets, batch_size=4).values())
    np.testing.assert_allclose(theirs, found[:4].mean(0), atol=LIMIT)
    assert not np.allclose(theirs, found.mean(0), atol=LIMIT)


def test_road_on_colour_images_with_maps_of_one_channel_fails_in_quantus_only() -> None:
    model, images, maps = SmallNet().eval(), pictures(3), random_maps(3)
    metric = quantus.ROAD(noise=0.0, normalise=False, **ROAD, **QUIET)
    with pytest.raises((IndexError, ValueError)):
        ask(metric, model, images, maps)
    assert np.isfinite(road_of(model, images, maps, TARGETS)).all()


def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
    return np.square(inputs).mean(1, keepdims=True)


ZERO = [("max_sensitivity", "MaxSensitivity"), ("pixel_flipping", "PixelFlipping")]


@pytest.mark.parametrize(("name", "peer"), ZERO)
def test_zero_maps_stop_quantus_or_get_numbers_and_have_a_status_here(name: str, peer: str) -> None:
    model, images, maps = SmallNet().eval(), pictures(3), random_maps(3)
    maps[1] = 0
    metric = getattr(quantus, peer)(normalise=False, **QUIET)
    with pytest.raises(AssertionError):
        ask(metric, model, images, torch.zeros_like(maps), explain_func=explain)
    theirs = np.array(ask(metric, model, images, maps, explain_func=explain))
    assert not np.isnan(theirs[1]).any()  # a curve of a map without any order, or infinity
    values, statuses = evaluate(
        name,
        maps=maps,
        model=model,
        images=images,
        targets=TARGETS,
        explainer=lambda images, _: images.square().mean(1),
        softmax=True,
        return_status=True,
    )
    assert statuses == ["ok", "zero", "ok"]
    assert np.isnan(values).tolist() == [False, True, False]


def test_quantus_takes_a_sparse_map_for_less_sparse_than_it_is() -> None:
    """It adds 1e-7 to each of 50,176 pixels, as much as 0.5 % of the only one that has any."""
    maps = torch.zeros(1, 224, 224)
    maps[0, 3, 5] = 1
    metric = quantus.Sparseness(abs=True, normalise=True, **QUIET)
    (theirs,) = ask(metric, SmallNet(), torch.zeros(1, 3, 224, 224), maps, targets=TARGETS[:1])
    exact = 1 - 1 / 224**2
    assert evaluate("sparseness", maps=maps)[0] == pytest.approx(exact, abs=1e-6)
    assert exact - theirs > 0.004


def test_quantus_ranks_equally_relevant_pixels_by_their_place() -> None:
    """All but one pixel are equally relevant: a quarter of them lies in any quarter."""
    maps, masks = torch.full((2, 16, 16), 0.5), torch.zeros(2, 16, 16, dtype=torch.bool)
    masks[0, :4], masks[1, 12:], maps[:, 8, 8] = True, True, 0.0
    metric = quantus.RelevanceRankAccuracy(abs=False, normalise=False, **QUIET)
    images = torch.zeros(2, 3, 16, 16)
    given: Any = {"s_batch": masks[:, None].numpy(), "targets": TARGETS[:2]}
    theirs = ask(metric, SmallNet(), images, maps, **given)
    batch = Batch(maps, masks=masks.float())
    assert METRICS["relevance_rank"](batch, None).values.tolist() == pytest.approx([64 / 255] * 2)
    assert abs(theirs[0] - theirs[1]) > 0.5


def test_quantus_removes_equally_relevant_pixels_by_their_place() -> None:
    """Of a map with a single relevant pixel nothing says which of the others go first."""

    class Upper(nn.Module):
        """Class 1 is how bright the upper half is."""

        def forward(self, images: Tensor) -> Tensor:
            bright = images[:, :, : images.shape[2] // 2].mean((1, 2, 3))
            return torch.stack([1 - bright, bright], 1)

    images, maps = torch.ones(1, 1, 16, 16), torch.zeros(1, 16, 16)
    maps[0, 0, 0] = 1
    metric = quantus.PixelFlipping(
        features_in_step=128, perturb_baseline=0.0, normalise=False, abs=False, **QUIET
    )
    given: Any = {"images": images, "targets": [1], "softmax": False, "steps": 2}
    ours = curves("pixel_flipping", maps=maps, model=Upper(), **given)[0]
    theirs = ask(metric, Upper(), images, maps, targets=np.array([1]), softmax=False)[0]
    assert ours[1] == pytest.approx(0.5, abs=0.15)  # half of the pixels, half of the score
    assert abs(theirs[0] - 0.5) > 0.3
