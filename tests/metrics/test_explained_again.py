"""Metrics that explain noisy copies again: oracles, extremes, and what they share."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pytest
import torch
from captum.metrics import sensitivity_max
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.metrics.api import Inputs, Wanted, cost, evaluate, measure
from pasta.metrics.base import Cost
from tests.metrics.known import Floats
from tests.metrics.rooms import (
    CLASSES,
    MODALITIES,
    SHAPES,
    Bent,
    Remembering,
    draw,
    explain_brightness,
)

Reading = Literal["paper", "released", "corrected"]
READINGS: tuple[Reading, ...] = ("paper", "released", "corrected")
NAMES = (
    "local_lipschitz",
    "max_sensitivity",
    "relative_input_stability",
    "relative_output_stability",
    "relative_representation_stability",
)
SAMPLES, NUMBER, FLOOR = 4, 3, 0.01
TARGETS = [0, 2, 3]
LAYERED = "relative_representation_stability"


def size(values: Floats) -> float:
    """The Euclidean norm, term by term."""
    return float(np.sqrt(sum(float(value) ** 2 for value in values.ravel())))


def by_largest(one: Floats) -> Floats:
    found: Floats = one / np.abs(one).max()
    return found


def by_second_moment(one: Floats) -> Floats:
    found: Floats = one / np.sqrt(np.mean(one**2))
    return found


def change(before: Floats, after: Floats, reading: Reading) -> float:
    """The norm of the relative change, feature by feature."""
    largest = np.abs(before).max()
    total = 0.0
    for old, new in zip(before.ravel(), after.ravel(), strict=True):
        divisor = max(abs(old), FLOOR * largest) if reading == "corrected" else old or 1e-6
        total += ((old - new) / divisor) ** 2
    return float(np.sqrt(total))


def oracle(
    name: str, reading: Reading, one: Floats, again: list[Floats], x: Floats, xs: Floats, net: Bent
) -> float:
    """The value of one input by the definition, from its map and those of its copies."""
    exact = Bent(x.shape).double()
    exact.load_state_dict(net.state_dict())

    def outputs(values: Floats) -> Floats:
        found: Floats = exact(torch.from_numpy(values)[None])[0].detach().numpy()
        return found

    def hidden(values: Floats) -> Floats:
        found: Floats = exact.hidden(torch.from_numpy(values)[None].flatten(1))[0].detach().numpy()
        return found

    found = []
    for other, copy in zip(again, xs, strict=True):
        if name == "local_lipschitz":
            found.append(size(by_largest(other) - by_largest(one)) / size(copy - x))
        elif name == "max_sensitivity" and reading == "corrected":
            found.append(size(other - one) / size(one))
        elif name == "max_sensitivity":
            apart = size(by_largest(other) - by_largest(one))
            found.append(apart / (size(x) if reading == "released" else 1))
        else:
            scale = by_second_moment if reading == "released" else by_largest
            above = change(scale(one), scale(other), reading)
            below = {
                "relative_input_stability": lambda copy=copy: change(x, copy, reading),
                "relative_output_stability": lambda copy=copy: size(outputs(x) - outputs(copy)),
                LAYERED: lambda copy=copy: change(hidden(x), hidden(copy), reading),
            }[name]()
            found.append(above / below)
    return max(found)


@pytest.mark.parametrize("kind", list(SHAPES))
@pytest.mark.parametrize("entries", [False, True])
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_definition(
    name: str, reading: Reading, entries: bool, kind: str
) -> None:
    inputs, network, explainer = draw(kind), Bent(SHAPES[kind]), Remembering(entries)
    maps = explain_brightness(inputs, entries)
    options: dict[str, Any] = {"reading": reading, "samples": SAMPLES, "modality": MODALITIES[kind]}
    if name == LAYERED:
        options |= {"layer": "hidden", "uniform": 0.5}  # so that some units awake
    given: Any = {"maps": maps, "images": inputs, "targets": TARGETS, "explainer": explainer}
    found = evaluate(name, **given, model=network, **options)
    exact = inputs.double().numpy()
    for number in range(NUMBER):
        copies = explainer.of(number, SAMPLES)
        again = list(explain_brightness(copies, entries))
        one = explain_brightness(exact[number : number + 1], entries)[0]
        expected = oracle(name, reading, one, again, exact[number], copies, network)
        assert found[number] == pytest.approx(expected, rel=1e-3), number
        first = (copies - exact[number]).reshape(SAMPLES, -1)[:, 0]
        assert np.all(first == 0) == (reading == "released")


@pytest.mark.parametrize(
    ("name", "options", "low", "high", "deviation"),
    [
        ("local_lipschitz", {}, -0.3, 0.3, 0.1),
        ("local_lipschitz", {"noise": "shared"}, -0.2, 0.2, None),
        ("max_sensitivity", {"reading": "paper"}, -0.2, 0.2, None),
        ("relative_input_stability", {}, -0.2, 0.2, None),
        ("relative_input_stability", {"reading": "paper"}, 0.02, 0.2, None),
        ("relative_output_stability", {"reading": "released"}, 0.02, 0.2, None),
        (LAYERED, {}, -0.05, 0.05, None),
        (LAYERED, {"reading": "paper"}, 0.0, 0.05, None),
        (LAYERED, {"noise": "shared", "shared": 0.3}, -0.3, 0.3, None),
    ],
)
def test_noise_is_what_the_readings_say(
    name: str, options: dict[str, Any], low: float, high: float, deviation: float | None
) -> None:
    inputs, explainer = draw("image"), Remembering()
    maps, network = explain_brightness(inputs, False), Bent(SHAPES["image"])
    given: Any = {"maps": maps, "images": inputs, "targets": TARGETS, "model": network}
    layer: Any = {"layer": "hidden"} if name == LAYERED else {}
    evaluate(name, **given, explainer=explainer, samples=SAMPLES, **options, **layer)
    noise = torch.cat(explainer.copies) - inputs.repeat_interleave(SAMPLES, 0)
    if deviation is not None:
        assert float(noise.std()) == pytest.approx(deviation, rel=0.03)
        assert noise.abs().max() > 3 * deviation
        return
    if options.get("reading") == "released":
        noise = noise.flatten(1)[:, 1:]
    width = high - low
    assert low - 1e-6 <= noise.min() <= low + 0.02 * width
    assert high - 0.02 * width <= noise.max() <= high + 1e-6


@pytest.mark.parametrize("entries", [False, True])
def test_max_sensitivity_is_that_of_captum(entries: bool) -> None:
    inputs, explainer = draw("image"), Remembering(entries)
    maps = explain_brightness(inputs, entries)
    given: Any = {"maps": maps, "images": inputs, "targets": TARGETS, "explainer": explainer}
    found = evaluate("max_sensitivity", **given, samples=SAMPLES)
    copies = torch.cat(explainer.copies)

    def explain(images: Any) -> Any:
        if isinstance(images, tuple):
            return tuple(explain_brightness(one, entries) for one in images)
        return explain_brightness(images, entries)

    expected = sensitivity_max(
        explain, inputs, perturb_func=lambda _: copies, n_perturb_samples=SAMPLES
    )
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", NAMES)
def test_a_constant_explainer_is_perfectly_robust(name: str, reading: Reading) -> None:
    maps = explain_brightness(draw("image"), False)

    def constant(images: Tensor, targets: Tensor) -> Tensor:
        found: Tensor = maps[[TARGETS.index(int(one)) for one in targets]]
        return found

    given: Any = {"maps": maps, "images": draw("image"), "targets": TARGETS, "reading": reading}
    layer: Any = {"layer": "hidden"} if name == LAYERED else {}
    found = evaluate(name, **given, **layer, explainer=constant, model=Bent(SHAPES["image"]))
    assert found.tolist() == [0, 0, 0]


def test_the_lipschitz_constant_of_a_linear_explainer() -> None:
    """Maps are three times the input, and their largest value is thirty whatever the input: the
    slope is a tenth, but for the feature with the largest value, which has noise and no change."""
    inputs = draw("image")[:, :1]

    def explainer(images: Tensor, _targets: Tensor) -> Tensor:
        maps = 3 * images[:, 0]
        maps[:, 0, 0] = 30
        return maps

    given: Any = {"images": inputs, "targets": TARGETS, "explainer": explainer}
    for options in ({}, {"gaussian": 0.01, "samples": 9}, {"noise": "shared"}):
        found = evaluate("local_lipschitz", **given, **options)
        assert np.all(found < 0.1)
        np.testing.assert_allclose(found, 0.1, rtol=0.02)


def test_the_unit_of_a_map_does_not_matter() -> None:
    inputs = draw("image")
    for name in NAMES:
        layer: Any = {"layer": "hidden"} if name == LAYERED else {}
        values = [
            evaluate(
                name,
                images=inputs,
                targets=TARGETS,
                explainer=lambda images, _, unit=unit: unit * explain_brightness(images, False),
                model=Bent(SHAPES["image"]),
                **layer,
            )
            for unit in (1.0, 1024.0)
        ]
        np.testing.assert_allclose(values[0], values[1], rtol=1e-6)


def test_where_a_map_is_zero_a_single_feature_decides_unless_it_is_corrected() -> None:
    inputs = 0.5 + draw("image", 1) / 4

    def explainer(images: Tensor, _targets: Tensor) -> Tensor:
        maps = images[:, 0].clone()
        maps[:, 0, 0] = (images[:, 2, 0, 0] - inputs[0, 2, 0, 0]).abs() / 100  # 0 without noise
        return maps

    def ask(reading: Reading, given: Tensor) -> float:
        options: Any = {"reading": reading, "noise": "shared", "samples": 3}
        maps = explainer(inputs, torch.zeros(1))

        def explain(images: Tensor, targets: Tensor) -> Tensor:
            return torch.where(given, explainer(images, targets), maps)

        asked: Any = {"maps": maps, "images": inputs, "targets": [0], "explainer": explain}
        return float(evaluate("relative_input_stability", **asked, **options)[0])

    everything = torch.ones(12, 12, dtype=torch.bool)
    only = torch.zeros(12, 12, dtype=torch.bool)
    only[0, 0] = True
    for reading in ("paper", "released"):
        assert ask(reading, only) == pytest.approx(ask(reading, everything), rel=0.5)
    assert ask("corrected", only) < 0.1 * ask("corrected", everything)


STILL: dict[str, str] = {
    "relative_output_stability": "constant output",
    LAYERED: "constant representation",
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("name", NAMES)
def test_there_is_never_a_number_from_nothing(name: str, reading: Reading) -> None:
    inputs, network = draw("image"), Bent(SHAPES["image"])
    maps = explain_brightness(inputs, False)
    maps[1] = 0

    def explainer(images: Tensor, targets: Tensor) -> Tensor:
        found: Tensor = explain_brightness(images, False)
        found[targets == 3] = torch.nan
        return found

    given: Any = {"maps": maps, "images": inputs, "targets": TARGETS, "return_status": True}
    options: Any = {"reading": reading, **({"layer": "hidden"} if name == LAYERED else {})}
    values, statuses = evaluate(name, **given, **options, model=network, explainer=explainer)
    assert statuses == ["ok", "zero", "nan explanation"]
    assert np.isfinite(values).tolist() == [True, False, False]
    network.get_parameter("hidden.0.weight").data.zero_()
    _, statuses = evaluate(name, **given, **options, model=network, explainer=explainer)
    assert statuses == [STILL.get(name, "ok"), "zero", "nan explanation"]


def test_copies_that_change_nothing_are_left_out_or_divided_by_next_to_nothing() -> None:
    """A network that sees one pixel, and steps: its outputs change for some copies only."""

    def steps(images: Tensor) -> Tensor:
        seen = (images[:, 0, 0, 0] > 0.5).float()
        return torch.stack([1 - seen, seen], 1)

    inputs, explainer = draw("image", 1) + 0.5 - draw("image", 1)[:, :, :1, :1], Remembering()
    given: Any = {"maps": explain_brightness(inputs, False), "images": inputs, "targets": [0]}
    given |= {"model": steps, "explainer": explainer, "samples": 6}
    found = evaluate("relative_output_stability", **given)
    copies = explainer.of(0, 6)
    moved = copies[:, 0, 0, 0] > 0.5
    assert 0 < moved.sum() < 6
    assert found[0] < 1e4
    paper = evaluate("relative_output_stability", **given, reading="paper", noise="shared")
    assert paper[0] > 1e6


def test_outputs_that_differ_by_rounding_are_constant() -> None:
    def rounded(images: Tensor) -> Tensor:
        last = 1e-5 * images.mean((1, 2, 3))
        return 1000 + last[:, None] * torch.arange(CLASSES)

    inputs = 20 * draw("image")
    given: Any = {"images": inputs, "targets": TARGETS, "explainer": Remembering()}
    given |= {"model": rounded, "return_status": True, "shared": 50.0, "noise": "shared"}
    found, statuses = evaluate("relative_output_stability", **given)
    assert statuses == ["constant output"] * 3 and np.isnan(found).all()


def together(wanted: list[Wanted], seen: list[int], **more: Any) -> Any:
    inputs, network = draw("image"), Bent(SHAPES["image"])

    def explainer(images: Tensor, _targets: Tensor) -> Tensor:
        seen.append(len(images))
        found: Tensor = explain_brightness(images, False)
        return found

    maps = explain_brightness(inputs, False)
    given = Inputs(maps, inputs, TARGETS, None, network, explainer)
    return measure(wanted, given, **more)


@pytest.mark.parametrize("reading", READINGS)
def test_all_five_share_their_copies_if_they_are_told_to(reading: Reading) -> None:
    def choose(name: str, samples: int) -> Wanted:
        shared: Any = {} if name == "max_sensitivity" else {"noise": "shared"}
        layer: Any = {"layer": "hidden"} if name == LAYERED else {}
        return Wanted(name, {"samples": samples, "reading": reading, **shared, **layer})

    wanted = [choose(name, 3 + place) for place, name in enumerate(NAMES)]
    seen: list[int] = []
    found = together(wanted, seen, batch_size=4)
    assert sum(seen) == NUMBER * 7 and max(seen) == 4  # those of the metric with the most
    whole = Cost()
    for one in wanted:
        whole |= cost(one.name, NUMBER, **one.options)
    assert whole.explanations == sum(seen)
    for one, measured in zip(wanted, found, strict=True):
        [alone] = together([one], [])
        np.testing.assert_allclose(measured.values, alone.values, rtol=1e-6)


def test_by_default_the_input_and_output_stabilities_share_those_of_max_sensitivity() -> None:
    seen: list[int] = []
    together([Wanted(name, {"samples": 2}) for name in NAMES[1:4]], seen)
    assert sum(seen) == NUMBER * 2
    together([Wanted(name, {"samples": 2}) for name in NAMES[:2]], seen)
    assert sum(seen) == NUMBER * 2 * 3


def test_never_more_copies_than_allowed_are_in_memory() -> None:
    seen: list[int] = []
    together([Wanted("local_lipschitz", {"samples": 50})], seen, batch_size=2)
    assert set(seen) == {2} and sum(seen) == 150


def test_a_layer_that_is_not_there_is_an_error_that_names_the_nearest() -> None:
    inputs = draw("image")
    maps, network = explain_brightness(inputs, False), Bent(SHAPES["image"])
    given: Any = {"maps": maps, "images": inputs, "targets": TARGETS, "explainer": Remembering()}
    with pytest.raises(PastaError, match="Bent has no layer 'hiden'"):
        evaluate(LAYERED, **given, model=network, layer="hiden")
    network.spare = nn.Linear(1, 1)
    with pytest.raises(PastaError, match="the layer 'spare' has no part in the model's answer"):
        evaluate(LAYERED, **given, model=network, layer="spare")
    with pytest.raises(PastaError, match=re.escape("name the target layer")):
        evaluate(LAYERED, **given, model=network)  # it has no maps to find
    with pytest.raises(PastaError, match="looks at a layer: the model is a function"):
        evaluate(LAYERED, **given, model=lambda images: torch.zeros(len(images), CLASSES))


def test_without_a_name_the_layer_is_that_of_the_cam_methods() -> None:
    from tests.explanations.networks import SmallNet

    network, inputs = SmallNet().eval(), draw("image")
    given: Any = {"images": inputs, "targets": TARGETS, "explainer": Remembering()}
    found = evaluate(LAYERED, **given, model=network)
    np.testing.assert_array_equal(found, evaluate(LAYERED, **given, model=network, layer="active"))
    other = evaluate(LAYERED, **given, model=network, layer="first")
    assert not np.allclose(found, other)


def test_methods_share_what_the_model_says_of_noisy_copies() -> None:
    inputs, network, asked = draw("image"), Bent(SHAPES["image"]), list[int]()
    network.register_forward_hook(lambda _module, given, _outputs: asked.append(len(given[0])))
    memory: dict[Any, Any] = {}
    for unit in (1.0, 2.0):
        maps = unit * explain_brightness(inputs, False)
        given = Inputs(maps, inputs, TARGETS, None, network, Remembering(), memory)
        options: list[dict[str, Any]] = [{}, {"layer": "head"}]
        pairs = zip(NAMES[3:], options, strict=True)
        measure([Wanted(name, {"samples": 2, **own}) for name, own in pairs], given)
        asked.append(0)
    first, second = (sum(part) for part in (asked[: asked.index(0)], asked[asked.index(0) :]))
    assert first == 1 + 2 * NUMBER * (1 + 2) and second == 1  # a look at the model
