"""What LATEC's faithfulness metrics must do: extremes, statuses, traps of the released code, and
values equal to those of Quantus where it is right."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest
import quantus as peer
import torch
from torch import Tensor, nn

from pasta.metrics.api import CHUNK, Inputs, Wanted, cost, curves, evaluate, measure
from pasta.metrics.base import METRICS, Batch, Cost
from pasta.metrics.forward import scorer_of
from pasta.metrics.own.correlation import correlate_subsets, score_falls
from pasta.metrics.settings import DEFAULTS
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import bright_points, random_maps
from tests.metrics.latec_oracles import CLOUD, KINDS, SmallNetOf

quantus: Any = peer  # its types do not show the metrics
READINGS = ["paper", "released", "corrected"]
TARGETS = np.array([1, 3, 0])


class Logits(nn.Module):
    """Class 1 is a weighted sum of all entries."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = nn.Buffer(weights)

    def forward(self, inputs: Tensor) -> Tensor:
        total = (inputs * self.weights).flatten(1).sum(1)
        return torch.stack([-total, total], 1)


# With these a removed feature is 0, and a step is few of the entries.
LINEAR: dict[str, dict[str, Any]] = {
    "faithfulness_correlation": {
        "features": 20,
        "answer": "logit",
        "filling": "centre",
        "subsets": 30,
    },
    "faithfulness_estimate": {"features": 14, "filling": "centre"},
    "monotonicity_correlation": {"features": 14, "samples": 1, "low": 0.0, "high": 0.0},
    "latec_pixel_flipping": {"features": 14, "filling": "centre"},
    "region_perturbation": {"patch": 2, "regions": 6, "low": 0.0, "high": 0.0},
    "insertion": {"features": 14, "filling": "centre"},
    "deletion": {"features": 14, "filling": "centre"},
    "irof": {"segments": 9, "filling": "centre"},
}


EVEN = {"image": (3, 12, 12), "volume": (1, 6, 6, 6), "cloud": (3, 28)}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(LINEAR))
def test_what_a_linear_model_adds_up_is_the_best_map_and_its_reverse_the_worst(
    name: str, kind: str
) -> None:
    # Segments of the same size: IROF orders them by their mean and not by their sum.
    modality, shape = KINDS[kind][0], EVEN[kind]
    random = torch.Generator().manual_seed(7)
    places = torch.rand(shape[1:], generator=random).square()
    weights = (places + 0.01 * torch.rand(shape, generator=random)) / math.prod(shape)
    right = weights * torch.ones(shape)  # the image is 1 everywhere
    others = torch.rand(20, *shape, generator=random)
    maps = torch.cat([right[None], -right[None], others])
    if shape[0] == 1:
        maps = maps[:, 0]
    values = evaluate(
        name,
        maps=maps,
        model=Logits(2 * weights),
        images=torch.ones(len(maps), *shape),
        targets=[1] * len(maps),
        softmax=True,
        modality=modality,
        **LINEAR[name],
    )
    if METRICS.entry(name).metadata["direction"] == "lower":
        values = -values
    assert np.isfinite(values).all()
    assert values[0] >= max(values[2:]) and values[1] <= min(values[2:])
    if name != "irof":  # of few segments others may find the best order by chance
        assert values[0] > max(values[2:]) and values[1] < min(values[2:])
    if name in ("faithfulness_correlation", "faithfulness_estimate", "monotonicity_correlation"):
        np.testing.assert_allclose(np.abs(values[:2]), 1, atol=1e-4)


@pytest.mark.parametrize("reading", READINGS)
def test_road_is_smallest_for_the_weights_and_largest_for_reversed_weights(reading: str) -> None:
    image, weights = bright_points()
    maps = torch.stack([weights, -weights]) + 1e-3 * random_maps(2, 12)
    entries = maps[:, None].expand(-1, 3, -1, -1)

    class Points(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            seen = (images.mean(1) * weights).sum((1, 2)) / weights.sum()
            return torch.stack([0.5 - seen, seen - 0.5], 1)

    given: Any = {
        "images": image.expand(2, -1, -1, -1),
        "model": Points(),
        "targets": [1, 1],
        "percentages": [12, 20, 40, 60],
        "reading": reading,
    }
    values = evaluate("road", maps=entries, **given)
    assert values.tolist() == [0, 1 if reading == "corrected" else 3]
    np.testing.assert_array_equal(values, evaluate("road", maps=maps, **given))


@pytest.mark.parametrize("name", ["faithfulness_estimate", "monotonicity_correlation"])
def test_answers_that_never_change_have_a_status_and_no_value(name: str) -> None:
    given: Any = {"maps": random_maps(1, 8), "images": torch.rand(1, 3, 8, 8), "targets": [1]}
    for tiny in (0.0, 1e-9):  # the latter changes by rounding only

        def model(images: Tensor, tiny: float = tiny) -> Tensor:
            return torch.tensor([[0.3, 0.7]]) + tiny * images.flatten(1).sum(1, keepdim=True)

        values, statuses = evaluate(name, **given, model=model, features=20, return_status=True)
        assert np.isnan(values).all() and statuses == ["constant output"]


def test_groups_that_are_all_alike_have_a_status_and_no_value() -> None:
    given: Any = {"images": pictures(1, 8), "targets": [1], "model": SmallNet(), "softmax": True}
    for name in ("faithfulness_estimate", "monotonicity_correlation"):
        found = evaluate(
            name, maps=random_maps(1, 8), **given, features=10**6, return_status=True
        )  # one group
        assert np.isnan(found[0]).all() and found[1] == ["constant relevance"]


def test_areas_need_two_steps() -> None:
    given: Any = {"maps": random_maps(1), "images": pictures(1), "targets": [1]}
    given |= {"model": SmallNet(), "softmax": True, "return_status": True}
    asked: dict[str, dict[str, Any]] = {
        "latec_pixel_flipping": {"features": 10**6},
        "insertion": {"features": 3 * 100},  # two inner points at least, three steps
        "region_perturbation": {"patch": 8, "regions": 3},
        "road": {"percentages": [50]},
    }
    asked["deletion"] = {"features": 3 * 200}
    for name, options in asked.items():
        values, statuses = evaluate(name, **given, **options, reading="released")
        enough = name in ("insertion", "region_perturbation")
        assert statuses == (["ok"] if enough else ["too few steps"]), name
        assert np.isfinite(values).tolist() == [enough]
    values, statuses = evaluate(
        "region_perturbation", **given, patch=16, regions=1, reading="paper"
    )
    assert statuses == ["too few steps"]
    fine = evaluate("region_perturbation", **given, patch=16, regions=1)
    assert fine[1] == ["ok"]


def test_a_probability_of_zero_has_no_shares() -> None:
    def model(images: Tensor) -> Tensor:
        return torch.tensor([[0.0, 1.0]]).repeat(len(images), 1)

    values, statuses = evaluate(
        "irof",
        maps=random_maps(1),
        images=pictures(1),
        targets=[0],
        model=model,
        return_status=True,
    )
    assert np.isnan(values).all() and statuses == ["zero probability"]


class Watching(nn.Module):
    """Keeps the images it sees."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network, self.seen = network, list[Tensor]()

    def forward(self, images: Tensor) -> Tensor:
        self.seen.append(images.clone())
        outputs: Tensor = self.network(images)
        return outputs

    def changed(self, image: Tensor) -> Tensor:
        """Which entries of the image are not as they were in any copy."""
        found: Tensor = (torch.cat(self.seen) != image).any(0)
        return found


@pytest.mark.parametrize("kind", list(KINDS))
def test_released_irof_touches_one_channel_or_slice_and_the_others_touch_all(kind: str) -> None:
    modality, shape = KINDS[kind]
    image = torch.rand(1, *shape, generator=torch.Generator().manual_seed(0))
    maps = torch.rand(1, *shape[-len(modality.axes) :])
    changed = {}
    for reading in READINGS:
        model = Watching(SmallNetOf(len(modality.axes), shape[0]))
        evaluate(
            "irof",
            maps=maps,
            images=image,
            targets=[1],
            model=model,
            softmax=True,
            modality=modality,
            reading=reading,
            segments=4,
        )
        changed[reading] = model.changed(image[0])
    first = torch.zeros(shape, dtype=torch.bool)
    if kind == "volume":
        first[0, 0] = True  # the first slice
    else:
        first[0] = True  # the first channel: red, or x
    assert torch.equal(changed["released"], first)
    assert changed["paper"].all() and changed["corrected"].all()


@pytest.mark.parametrize("reading", READINGS)
def test_one_random_number_stands_in_a_whole_region_or_group_only_in_the_released_reading(
    reading: str,
) -> None:
    image = pictures(1)
    given: Any = {"maps": random_maps(1), "targets": [1], "softmax": True}
    asked: dict[str, dict[str, Any]] = {
        "region_perturbation": {"patch": 4, "regions": 1, "low": 2.0, "high": 3.0},
        "monotonicity_correlation": {"features": 90, "samples": 1, "low": 2.0, "high": 3.0},
    }
    for name, options in asked.items():
        model = Watching(SmallNet())
        evaluate(name, images=image, model=model, **given, **options, reading=reading)
        copies = [copy for copy in torch.cat(model.seen) if bool((copy >= 2).any())]
        assert copies
        for copy in copies:
            values = copy[copy >= 2]
            assert len(values) >= 16
            assert len(values.unique()) == (1 if reading == "released" else len(values))


def test_released_insertion_shows_a_pixel_with_the_first_of_its_entries() -> None:
    image, maps = torch.full((1, 3, 4, 4), 0.5), torch.zeros(1, 3, 4, 4)
    maps[0] = -torch.arange(48.0).view(3, 4, 4)  # the first channel comes first
    given: Any = {"maps": maps, "images": image, "targets": [1], "features": 16}
    steps = {}
    for reading in READINGS:
        model = Watching(SmallNet())
        given |= {"model": model, "softmax": True, "filling": "centre", "reading": reading}
        curves("insertion", **given)
        steps[reading] = [int((copy > 0).sum()) for copy in torch.cat(model.seen)[1:]]
    assert steps == {
        "paper": [0, 16, 32, 48],
        "released": [0, 48, 48, 48],
        "corrected": [0, 16, 32, 48],
    }


def test_released_road_takes_all_of_x_from_clouds_after_a_third() -> None:
    cloud = torch.rand(1, 3, 30, generator=torch.Generator().manual_seed(0))
    counts = {}
    for reading in READINGS:
        model = Watching(SmallNetOf(1, 3))
        evaluate(
            "road",
            maps=torch.rand(1, 30),
            images=cloud,
            targets=[1],
            model=model,
            modality=CLOUD,
            imputation="noise",
            percentages=[10, 40],
            reading=reading,
        )
        counts[reading] = [(copy != cloud[0]).sum(1).tolist() for copy in torch.cat(model.seen)[1:]]
    whole = [[3, 3, 3], [12, 12, 12]]
    assert counts == {"paper": whole, "released": [[9, 0, 0], [30, 0, 0]], "corrected": whole}


# Six maps of three pixels: two pairs that are alike, one far from all, and one of zeros.
SET = torch.tensor(
    [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 0.0, 1.0], [0.0, 0.2, 2.0], [0.3, 3.0, 0.3], [0, 0, 0]]
)


def classes_from_corner(images: Tensor) -> Tensor:
    """The class is the first number of the image."""
    return nn.functional.one_hot(images.flatten(1)[:, 0].long(), 3).float()


def neighbours(classes: list[int], maps: Tensor = SET, **options: Any) -> tuple[Any, list[str]]:
    images = torch.zeros(len(classes), 3, 1, maps.shape[1])
    images[:, 0, 0, 0] = torch.tensor(classes).float()
    return evaluate(
        "neighbour_sufficiency",
        maps=maps[:, None],
        images=images,
        model=classes_from_corner,
        distance=options.pop("distance", "squared"),
        threshold=options.pop("threshold", 0.1),
        return_status=True,
        **options,
    )


def test_neighbours_by_hand() -> None:
    """Of maps divided by their maximum, (1, 0, 0) and (1, 1/9, 0) are 0.01 apart, (0, 0, 1) and
    (0, .1, 1) too, and the farthest are (1, 0, 0) and (0, .1, 1): 2.01."""
    values, statuses = neighbours([0, 0, 1, 2, 1, 1])
    assert statuses == ["ok"] * 4 + ["no neighbour", "zero"]
    np.testing.assert_array_equal(values, [1, 1, 0, 0, np.nan, np.nan])
    every, statuses = neighbours([0, 0, 1, 2, 1, 1], threshold=1.0)
    assert statuses == ["ok"] * 5 + ["zero"]
    np.testing.assert_allclose(every, [1 / 4, 1 / 4, 1 / 4, 0, 1 / 4, np.nan])


def test_maps_as_they_are_have_other_neighbours_and_none_is_zero() -> None:
    """Not divided by their maximum, (0, 0, 1) and (0, .2, 2) are 1.04 apart and the farthest are
    (0, .2, 2) and (.3, 3, .3): 10.82. The map of zeros is 1 from its neighbours."""
    values, statuses = neighbours([0, 0, 1, 2, 1, 1], threshold=0.095, reading="paper")
    assert statuses == ["ok"] * 6
    np.testing.assert_allclose(values, [1 / 2, 1 / 2, 1 / 1, 0, 0, 1 / 3], atol=1e-12)


def test_a_feature_that_never_varies_takes_all_neighbours_in_the_released_reading_only() -> None:
    flat = torch.cat([SET[:5], torch.ones(5, 1)], 1)
    options: Any = {"distance": "standardised", "threshold": 1.0, "maps": flat}
    classes = [0, 0, 1, 1, 1]
    assert neighbours(classes, reading="released", **options)[0].tolist() == [0] * 5
    for reading in ("paper", "corrected"):
        values, statuses = neighbours(classes, reading=reading, **options)
        assert statuses == ["ok"] * 5 and (values > 0).all()


def test_all_maps_of_a_set_are_compared_whatever_else_is_measured_and_in_any_order() -> None:
    number = 2 * CHUNK + 3
    maps, images = random_maps(number), pictures(number)
    maps = 0.1 * maps + random_maps(2, seed=1)[torch.arange(number) % 2]
    model = SmallNet(seed=1).eval()
    with torch.no_grad():
        model.head.bias.sub_(model(images).mean(0))
    inputs = Inputs(maps, images, model=model)
    wanted = [Wanted("deletion", {"steps": 2}), Wanted("neighbour_sufficiency")]
    one, found = measure(wanted, inputs, softmax=True)
    alone = evaluate("neighbour_sufficiency", maps=maps, images=images, model=model)
    np.testing.assert_array_equal(found.values, alone)
    assert np.isfinite(one.values).all() and found.statuses == ["ok"] * number
    order = torch.randperm(number, generator=torch.Generator().manual_seed(0))
    mixed = evaluate("neighbour_sufficiency", maps=maps[order], images=images[order], model=model)
    np.testing.assert_allclose(mixed, alone[order.numpy()], rtol=1e-12)
    with torch.no_grad():
        classes = model(images).argmax(1)
    half = classes[::2]
    expected = (half[:, None] == half).sum(1) - 1
    np.testing.assert_allclose(alone[::2], expected / (len(half) - 1))


class Sizes(nn.Module):
    """Counts how many images it gets at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.network, self.batches = SmallNet(), Counter[int]()

    def forward(self, images: Tensor) -> Tensor:
        self.batches[len(images)] += 1
        outputs: Tensor = self.network(images)
        return outputs


@pytest.mark.parametrize(
    "name",
    ["faithfulness_estimate", "monotonicity_correlation", "latec_pixel_flipping"]
    + ["insertion", "deletion", "region_perturbation", "irof"],
)
def test_copies_of_several_images_fill_batches_and_are_never_all_there(name: str) -> None:
    model = Sizes()
    few: dict[str, Any] = {} if name in ("region_perturbation", "irof") else {"features": 60}
    evaluate(
        name,
        maps=random_maps(3),
        images=pictures(3),
        targets=[0, 1, 2],
        model=model,
        softmax=True,
        batch_size=8,
        **few,
    )
    batches = model.batches
    batches[1] -= 1  # the look at the model
    full = batches.pop(8)
    assert full >= 3
    assert sum(batches.values()) <= 2  # what is left of the copies, and the images as they are


def test_what_metrics_ask_alike_is_asked_once() -> None:
    wanted = [
        Wanted("faithfulness_estimate", {"features": 90}),
        Wanted("faithfulness_correlation", {"features": 90, "answer": "logit", "subsets": 5}),
        Wanted("monotonicity_correlation", {"features": 90, "samples": 2}),
        Wanted("region_perturbation", {"patch": 4}),
        Wanted("latec_pixel_flipping", {"features": 50, "filling": "centre"}),
        Wanted("pixel_flipping", {"features": 50, "filling": "centre"}),
        Wanted("deletion", {"features": 50, "filling": "centre"}),
        Wanted("deletion", {"features": 50, "filling": "centre", "reading": "paper"}),
    ]
    model = Sizes()
    given = Inputs(random_maps(3), pictures(3), [0, 1, 2], model=model)
    measure(wanted, given, softmax=True)
    together = Cost()
    for one in wanted:
        together |= cost(one.name, 3, shape=(3, 16, 16), **one.options)
    assert sum(size * times for size, times in model.batches.items()) == 1 + together.forward_passes
    groups, steps = math.ceil(256 / 30), math.ceil(256 / 17)
    assert together.forward_passes == 3 * (1 + groups + 5 + 1 + 2 * groups + 10 + 1 + steps)


def test_the_seed_changes_what_is_drawn() -> None:
    given: Any = {"images": pictures(2), "targets": [0, 1], "model": SmallNet(), "softmax": True}
    for name in ("monotonicity_correlation", "region_perturbation"):
        few: Any = {"features": 30} if name[0] == "m" else {"patch": 4}
        one, again, other = (
            evaluate(name, maps=random_maps(2), **given, **few, seed=seed) for seed in (0, 0, 1)
        )
        np.testing.assert_array_equal(one, again)
        assert not np.allclose(one, other)


QUIET = {"disable_warnings": True, "display_progressbar": False}
RAW: dict[str, Any] = {"normalise": False, "abs": False, "return_aggregate": False}


def ask_quantus(metric: Any, model: nn.Module, images: Tensor, maps: Tensor, softmax: bool) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(
            model=model.eval(),
            x_batch=images.numpy(),
            y_batch=TARGETS,
            a_batch=maps.numpy().copy(),
            channel_first=True,
            softmax=softmax,
        )


def entries(seed: int = 11) -> tuple[SmallNet, Tensor, Tensor]:
    """A network, images and maps with a number for each entry, some of them negative."""
    random = torch.Generator().manual_seed(seed)
    return SmallNet(), pictures(3, 12), torch.rand(3, 3, 12, 12, generator=random) - 0.3


def test_faithfulness_estimate_is_that_of_quantus() -> None:
    model, images, maps = entries()
    metric = quantus.FaithfulnessEstimate(
        features_in_step=16, perturb_baseline="black", **RAW, **QUIET
    )
    expected = ask_quantus(metric, model, images, maps, softmax=False)
    given: Any = {"model": model, "images": images, "targets": TARGETS, "softmax": True}
    found = evaluate("faithfulness_estimate", maps=maps, **given, features=16)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_monotonicity_correlation_is_that_of_quantus() -> None:
    model, images, maps = entries()
    metric = quantus.MonotonicityCorrelation(
        features_in_step=16, nr_samples=2, perturb_baseline=0.25, **RAW, **QUIET
    )
    expected = ask_quantus(metric, model, images, maps, softmax=True)
    given: Any = {"model": model, "images": images, "targets": TARGETS, "softmax": True}
    given |= {"features": 16, "samples": 2, "low": 0.25, "high": 0.25}
    for reading in READINGS:
        found = evaluate("monotonicity_correlation", maps=maps, **given, reading=reading)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_pixel_flipping_is_that_of_quantus() -> None:
    model, images, maps = entries()
    metric = quantus.PixelFlipping(features_in_step=16, perturb_baseline="black", **RAW, **QUIET)
    expected = np.array(ask_quantus(metric, model, images, maps, softmax=True))
    given: Any = {"model": model, "images": images, "targets": TARGETS, "softmax": True}
    given |= {"features": 16, "reading": "released"}
    found = evaluate("latec_pixel_flipping", maps=maps, **given)
    np.testing.assert_allclose(found, np.trapezoid(expected), atol=1e-5)


def test_region_perturbation_of_a_grid_is_that_of_quantus() -> None:
    model, images, maps = entries()
    metric = quantus.RegionPerturbation(
        patch_size=4, regions_evaluation=5, perturb_baseline=0.25, **RAW, **QUIET
    )
    expected = np.array(ask_quantus(metric, model, images, maps, softmax=True))
    given: Any = {"model": model, "images": images, "targets": TARGETS, "softmax": True}
    given |= {"patch": 4, "regions": 5, "low": 0.25, "high": 0.25}
    found = curves("region_perturbation", maps=maps, **given)
    np.testing.assert_allclose(found[:, 1:], expected, atol=1e-6)


def test_faithfulness_correlation_is_that_of_quantus_for_the_same_subsets() -> None:
    model, images, maps = entries()
    drawn = list[Any]()

    def blacken(arr: Any, indices: Any, **_: Any) -> Any:
        drawn.append(indices)
        changed = arr.copy()
        np.put_along_axis(changed, indices, arr.min(1, keepdims=True), 1)
        return changed

    metric = quantus.FaithfulnessCorrelation(
        nr_runs=20, subset_size=30, perturb_func=blacken, **RAW, **QUIET
    )
    state = np.random.get_state()  # noqa: NPY002 (what Quantus draws from)
    expected = ask_quantus(metric, model, images, maps, softmax=False)
    np.random.set_state(state)  # noqa: NPY002
    batch = Batch(
        maps,
        rows=16,
        images=images,
        targets=torch.from_numpy(TARGETS),
        scorer=scorer_of(model.eval(), images, True, False),
    )
    settings = DEFAULTS.faithfulness_correlation.model_copy(
        update={"filling": "minimum", "answer": "logit"}
    )
    subsets = list(torch.from_numpy(np.stack(drawn, 1)))
    found = correlate_subsets(batch, subsets, score_falls(batch, settings, subsets))
    np.testing.assert_allclose(found.values.numpy(), expected, atol=1e-4)


def test_neighbour_sufficiency_is_that_of_quantus() -> None:
    """Its squared distance fails: it hands over a variance."""
    random = torch.Generator().manual_seed(2)
    model, images, maps = SmallNet(seed=2), pictures(12, 12), torch.rand(12, 12, 12)
    maps = maps + 2 * torch.rand(12, 1, 1, generator=random)
    with torch.no_grad():
        model.head.bias.sub_(model(images).mean(0))
    metric = quantus.Sufficiency(
        threshold=0.7, distance_func="seuclidean", normalise=False, abs=False, **QUIET
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = metric(
            model=model.eval(),
            x_batch=images.numpy(),
            y_batch=np.zeros(12, int),
            a_batch=maps[:, None].numpy(),
            channel_first=True,
        )
    found = evaluate(
        "neighbour_sufficiency",
        maps=maps,
        images=images,
        model=model,
        threshold=0.7,
        reading="paper",
    )
    assert 0 < np.mean(expected) < 1
    np.testing.assert_allclose(found, expected, atol=1e-12)
