"""Errors come before any work and say what was expected; single bad samples get a status."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.metrics.api import Inputs, cost, curves, evaluate, get_settings, measure
from pasta.metrics.base import Cost, variant_name
from pasta.metrics.catalog import METRICS
from pasta.metrics.runner import list_wanted
from pasta.metrics.settings import DEFAULTS, FaithfulnessParams, MeasureParams
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import WeightedSum, distinct_weights, random_maps

# Metrics of a set of maps have their own tests of single maps without a value.
SINGLE = [entry.key for entry in METRICS.entries() if not entry.metadata["whole_set"]]
WITH_MODEL = [name for name in SINGLE if "model" in METRICS.entry(name).metadata["needs"]]


# Where the defaults are made for larger images or more of them.
SMALL: dict[str, dict[str, Any]] = {
    "monotonicity_correlation": {"features": 48},
    "neighbour_sufficiency": {"threshold": 1.0},
}


class Refusing(nn.Module):
    """A model that must not be asked."""

    def forward(self, images: Tensor) -> Tensor:
        raise AssertionError(f"{len(images)} images are work")


def given(number: int = 2) -> dict[str, Any]:
    return {
        "maps": random_maps(number),
        "images": pictures(number),
        "targets": [0] * number,
        "masks": (torch.arange(256).reshape(16, 16) % 3 > 0).float().expand(number, -1, -1),
        "explainer": lambda images, _: images.mean(1),
        "model": SmallNet(),
        "softmax": True,
    }


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_says_what_it_needs_if_it_is_missing(name: str) -> None:
    for need in METRICS.entry(name).metadata["needs"]:
        without = {**given(), need: None}
        if need == "layers":
            function: Any = {**given(), "model": lambda images: images.mean((2, 3))}
            with pytest.raises(PastaError, match=f"{name} looks at a layer: the model is a func"):
                evaluate(name, **{**function, "softmax": None})
            continue
        again = "explainer" in METRICS.entry(name).metadata["needs"]
        if need == "targets" or (need == "maps" and again):
            if need == "targets":
                without["model"] = None
            else:
                continue  # the explainer gives them
        with pytest.raises(PastaError, match=f"{name} needs "):
            evaluate(name, **without)


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_gives_one_value_in_its_span_per_sample(name: str) -> None:
    values, statuses = evaluate(name, **given(3), **SMALL.get(name, {}), return_status=True)
    low, high = METRICS.entry(name).metadata["span"]
    assert statuses == ["ok"] * 3
    assert values.shape == (3,)
    assert ((low <= values) & (values <= high)).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"maps": random_maps(2, 8)}, "the maps have 8 x 8 pixels and the images 16 x 16"),
        ({"maps": random_maps(3)}, "there are 3 maps and 2 images"),
        ({"maps": torch.rand(2, 2, 16, 16)}, "the maps have 2 channels and the images 3"),
        ({"maps": torch.rand(2, 3, 3, 16, 16)}, "one number per pixel"),
        ({"maps": torch.rand(0, 16, 16)}, "there are no samples"),
        ({"images": torch.zeros(2, 3, 16, 16, dtype=torch.uint8)}, "the images are torch.uint8"),
        ({"targets": [0]}, "there are 2 maps and 1 targets"),
        ({"targets": [0.0, 1.0]}, "expected one class number"),
        ({"batch_size": 0}, "the batch size is 0"),
        ({"stepps": 3}, "no option 'stepps'. Did you mean 'steps'"),
        ({"steps": 0}, "steps is 0, expected"),
        ({"filling": "white"}, "filling is 'white', expected"),
    ],
)
def test_what_does_not_fit_is_an_error_before_the_model_is_asked(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(PastaError, match=words):
        evaluate("deletion", **{**given(), "model": Refusing(), **change})


def test_images_that_are_loaded_late_must_fit_too() -> None:
    images = pictures(20)
    cases: list[tuple[Any, str]] = [
        (lambda part: images[part][:3], "3 images were loaded for the samples 0 to 15, expected"),
        (
            lambda part: images[part] if part.stop < 17 else pictures(part.stop - part.start, 8),
            "the maps have 16 x 16 pixels and the images 8 x 8",
        ),
        (
            lambda part: images[part] * (torch.nan if part.stop > 16 else 1),
            "images 16 to 19 hold NaN or infinity",
        ),
    ]
    for load, words in cases:
        with pytest.raises(PastaError, match=words):
            evaluate("deletion", **{**given(20), "images": load}, steps=1)
    with pytest.raises(PastaError, match="nobody knows how many"):
        unknown = {"maps": None, "targets": None, "images": lambda part: images[part]}
        evaluate("max_sensitivity", **{**given(20), **unknown})


def test_a_model_that_cannot_take_the_images_is_an_error_that_names_their_size() -> None:
    with pytest.raises(PastaError, match="the model cannot take images of 1 x 16 x 16"):
        evaluate("deletion", **{**given(), "images": pictures(2)[:, :1]})


def test_an_inverted_map_is_measured_as_it_is_and_worse() -> None:
    weights = distinct_weights(16)
    change = {"model": WeightedSum(weights), "softmax": None, "images": torch.ones(2, 3, 16, 16)}
    maps = torch.stack([weights, -weights])
    options = {**given(), **change, "maps": maps, "targets": [1, 1]}
    for name in ("faithfulness", "insertion", "pixel_flipping", "faithfulness_correlation"):
        more: Any = {"perturbation": "black"} if name == "faithfulness" else {"filling": "black"}
        values, statuses = evaluate(name, **options, **more, return_status=True)
        assert statuses == ["ok", "ok"]
        assert values[0] > values[1]


def test_masks_must_fit_too() -> None:
    with pytest.raises(PastaError, match="the masks 8 x 8"):
        evaluate("iou", maps=random_maps(2), masks=torch.ones(2, 8, 8))
    with pytest.raises(PastaError, match="other numbers than 0 to 1"):
        evaluate("iou", maps=random_maps(2), masks=2 * torch.ones(2, 16, 16))


def test_an_unknown_metric_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(PastaError, match="Did you mean 'sparseness'"):
        evaluate("sparsness", maps=random_maps(1))


def test_maps_with_nan_are_an_error_that_names_them_or_a_status_if_asked() -> None:
    maps = random_maps(20)
    maps[17, 0, 0] = torch.nan
    with pytest.raises(PastaError, match="1 of 20 maps hold NaN or infinity: 17"):
        evaluate("deletion", **{**given(20), "maps": maps, "model": Refusing()})
    values, statuses = evaluate(
        "deletion", **{**given(20), "maps": maps}, steps=2, return_status=True
    )
    assert [number for number, status in enumerate(statuses) if status == "nan"] == [17]
    assert np.isnan(values).nonzero()[0].tolist() == [17]


@pytest.mark.parametrize("name", SINGLE)
def test_maps_that_a_metric_refuses_have_a_status_and_no_value(name: str) -> None:
    maps = random_maps(4)
    maps[0], maps[1], maps[2, 0, 0] = 0, 0.4, torch.nan
    flat = "constant" if "constant" in METRICS.entry(name).metadata["refuses"] else "ok"
    options = {**given(4), **SMALL.get(name, {}), "maps": maps}
    values, statuses = evaluate(name, **options, return_status=True)
    empty = "ok" if name == "max_sensitivity_absolute" else "zero"  # what is far from zero is far
    assert statuses == [empty, flat, "nan", "ok"]
    assert np.isnan(values).tolist() == [empty != "ok", flat != "ok", True, False]


@pytest.mark.parametrize("name", ["faithfulness", "insertion", "deletion"])
def test_logits_where_probabilities_are_needed_are_an_error_that_says_what_to_do(name: str) -> None:
    with pytest.raises(PastaError, match="softmax=True"):
        evaluate(name, **{**given(), "softmax": None})
    as_they_are = evaluate(name, **{**given(), "softmax": False})
    assert not np.allclose(as_they_are, evaluate(name, **given()))


def test_probabilities_need_no_softmax() -> None:
    model = WeightedSum(distinct_weights(16))
    values = evaluate("deletion", **{**given(), "model": model, "softmax": None})
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (lambda n: torch.full((n, 3), torch.nan), "outputs are not finite"),
        (lambda n: torch.ones(n, 1), "one class only"),
        (torch.ones, "expected \\(1, classes\\)"),
        (lambda n: [1.0] * n, "returns list for one image"),
    ],
)
def test_outputs_that_cannot_be_used_are_an_error(outputs: Any, words: str) -> None:
    with pytest.raises(PastaError, match=words):
        evaluate("deletion", **{**given(), "model": lambda images: outputs(len(images))})


def test_a_target_that_the_model_does_not_have_is_an_error() -> None:
    with pytest.raises(PastaError, match="a target is 4, but the model has 4 classes"):
        evaluate("deletion", **{**given(), "targets": [0, 4]})


# Continuity never shows the image as it is, and a function has no layers.
SHOWING = sorted({*WITH_MODEL} - {"continuity", "relative_representation_stability"})


@pytest.mark.parametrize("name", SHOWING)
def test_a_model_that_fails_on_perturbed_images_only_gives_a_status(name: str) -> None:
    known = pictures(2)

    def model(images: Tensor) -> Tensor:
        outputs = torch.tensor([[0.4, 0.6]]).repeat(len(images), 1)
        for number, image in enumerate(images):
            outputs[number] += 0.1 * image.mean() * torch.tensor([1, -1])
            if (image[:, :4, :4] - known[1, :, :4, :4]).abs().max() < 1e-6:
                outputs[number] = torch.nan  # the second image, as long as its corner is whole
        return outputs

    change = {"model": model, "images": known, "softmax": None, **SMALL.get(name, {})}
    values, statuses = evaluate(name, **{**given(), **change}, return_status=True)
    assert statuses == ["ok", "nan output"]
    assert np.isnan(values).tolist() == [False, True]


def test_the_model_is_left_as_it_was_found() -> None:
    for training in (True, False):
        model = SmallNet().train(training)
        evaluate("deletion", **{**given(), "model": model})
        assert model.training is training
        with pytest.raises(PastaError):
            evaluate("deletion", **{**given(), "model": model, "softmax": None})
        assert model.training is training


def test_without_targets_the_predicted_classes_are_explained() -> None:
    model = SmallNet().eval()
    with torch.no_grad():
        predicted = model(pictures(2)).argmax(1)
    one = evaluate("deletion", **{**given(), "model": model, "targets": None})
    other = evaluate("deletion", **{**given(), "model": model, "targets": predicted})
    np.testing.assert_array_equal(one, other)


class Counting(nn.Module):
    """Counts the images it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.network, self.seen = SmallNet(), 0

    def forward(self, images: Tensor) -> Tensor:
        self.seen += len(images)
        outputs: Tensor = self.network(images)
        return outputs


@pytest.mark.parametrize("name", list(METRICS))
def test_the_cost_is_what_is_really_computed(name: str) -> None:
    model, explained = Counting(), 0

    def explainer(images: Tensor, targets: Tensor) -> Tensor:
        nonlocal explained
        explained += len(images)
        return images.mean(1)

    # The search for a layer that is not named is a pass, too.
    named: Any = {"layer": "network.last"} if name.startswith("relative_repr") else {}
    evaluate(name, **{**given(3), "model": model, "explainer": explainer}, **named)
    expected = cost(name, images=3, shape=(3, 16, 16), **named)
    look = 1 if "model" in METRICS.entry(name).metadata["needs"] else 0
    passes = model.seen - look
    if name == "irof":  # as many as an image has segments, which are about as many as asked for
        assert 0.5 * expected.forward_passes < passes < 1.5 * expected.forward_passes
        passes = expected.forward_passes
    assert (passes, explained) == (expected.forward_passes, expected.explanations)


def test_metrics_together_cost_what_they_do_not_share() -> None:
    """All that the parameters list, in all variants, on the same maps."""
    settings = MeasureParams(faithfulness=FaithfulnessParams(thresholds=(20, 50), step=10))
    wanted = [one for one in list_wanted(settings) if one.name != "faithfulness_correlation"]
    model, explained = Counting(), 0

    def explainer(images: Tensor, targets: Tensor) -> Tensor:
        nonlocal explained
        explained += len(images)
        return images.mean(1)

    everything: Any = {**given(3), "model": model, "explainer": explainer}
    softmax = everything.pop("softmax", None)
    measure(wanted, Inputs(everything.pop("maps"), **everything), base=settings, softmax=softmax)
    together = Cost()
    for one in wanted:
        together |= cost(one.name, 3, settings, (3, 16, 16), **one.options)
    assert (model.seen - 1, explained) == (together.forward_passes, together.explanations)
    assert together.imputations == 3 * 2 * 5  # both sides, five shares of pixels


def test_every_metric_tells_what_there_is_to_know_about_it() -> None:
    for entry in METRICS.entries():
        about = entry.metadata
        assert about["title"] and about["doi"].startswith("10.")
        assert about["direction"] in ("higher", "lower")
        assert about["span"][0] < about["span"][1]
        assert (METRICS[entry.key].__doc__ or "").strip()
    name = variant_name("faithfulness", get_settings("faithfulness", {"perturbation": "black"}))
    assert name == "black text"
    assert variant_name("sparseness", None) == ""
    assert set(DEFAULTS.model_dump()) >= {
        section
        for entry in METRICS.entries()
        if isinstance(section := entry.metadata["settings"], str)
    }


def test_a_metric_without_curves_says_so() -> None:
    with pytest.raises(PastaError, match="sparseness does not look at curves"):
        curves("sparseness", maps=random_maps(1))


def test_metrics_of_pixels_refuse_maps_with_channels() -> None:
    with pytest.raises(PastaError, match="one number per pixel"):
        evaluate("iou", maps=torch.rand(2, 3, 16, 16), masks=torch.ones(2, 16, 16) > 0)


def test_a_cost_that_depends_on_the_size_asks_for_it() -> None:
    with pytest.raises(PastaError, match="depends on the size of the images"):
        cost("deletion", features=50)
    assert cost("deletion", 2, shape=(3, 16, 16), features=50).forward_passes == 2 * (1 + 16)
