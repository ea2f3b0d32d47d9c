"""Infidelity: the definition, what is best, and captum."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import torch
from captum.metrics import infidelity as peer
from torch import Tensor, nn

from pasta.metrics.api import Inputs, Wanted, evaluate, measure
from tests.metrics.known import Floats
from tests.metrics.rooms import MODALITIES, SHAPES, Bent, Linear, draw, explain_brightness

Reading = Literal["paper", "released", "corrected"]
READINGS: tuple[Reading, ...] = ("paper", "released", "corrected")
TARGETS = [0, 2, 3]
SAMPLES = 8


class Listening(nn.Module):
    """Keeps what the network is asked."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network, self.asked = network, list[Tensor]()

    def forward(self, inputs: Tensor) -> Tensor:
        self.asked.append(inputs.clone())
        outputs: Tensor = self.network(inputs)
        return outputs

    def copies(self, samples: int) -> Tensor:
        """All noisy copies (n * samples, ...): what was asked last."""
        every = torch.cat(self.asked)
        return every[-len(TARGETS) * samples :]


def definition(reading: Reading, one: Floats, noise: Floats, falls: Floats) -> float:
    """From the map, the noise on each of its features and the falls of the score."""
    if reading == "paper":
        one = one / np.abs(one).max()
    products = np.array([float((one * each).sum()) for each in noise])
    beta = 1.0
    if reading == "corrected":
        beta = max(0.0, float(np.mean(products * falls) / np.mean(products**2)))
    return float(np.mean((beta * products - falls) ** 2))


@pytest.mark.parametrize("kind", list(SHAPES))
@pytest.mark.parametrize("entries", [False, True])
@pytest.mark.parametrize("reading", READINGS)
def test_values_are_those_of_the_definition(reading: Reading, entries: bool, kind: str) -> None:
    inputs, model = draw(kind), Listening(Bent(SHAPES[kind]))
    maps = explain_brightness(inputs, entries) - 0.2
    found = evaluate(
        "infidelity",
        maps=maps,
        images=inputs,
        targets=TARGETS,
        model=model,
        modality=MODALITIES[kind],
        samples=SAMPLES,
        gaussian=0.3,
        reading=reading,
    )
    copies = model.copies(SAMPLES).double().view(3, SAMPLES, *SHAPES[kind])
    exact = Bent(SHAPES[kind]).double()
    for number, target in enumerate(TARGETS):
        noise = inputs[number].double() - copies[number]
        if not entries:
            np.testing.assert_allclose(noise, noise[:, :1].expand_as(noise), atol=1e-6)
            noise = noise[:, 0]
        assert float(noise.std()) == pytest.approx(0.3, rel=0.1)
        with torch.no_grad():
            before = exact(inputs[number : number + 1].double())[0, target]
            falls = before - exact(copies[number])[:, target]
        one = maps[number].double().numpy()
        expected = definition(reading, one, noise.numpy(), falls.numpy())
        assert found[number] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", list(SHAPES))
@pytest.mark.parametrize("entries", [False, True])
def test_the_gradient_of_a_linear_model_has_no_infidelity(entries: bool, kind: str) -> None:
    """As it is in the released reading, and in any unit in the corrected one."""
    model = Linear(SHAPES[kind])
    maps = model.weight[TARGETS] if entries else model.weight[TARGETS].sum(1)
    given: Any = {"images": draw(kind), "targets": TARGETS, "model": model}
    given |= {"modality": MODALITIES[kind], "gaussian": 0.1}
    for reading, unit in (("released", 1.0), ("corrected", 1.0), ("corrected", 1e-3)):
        found = evaluate("infidelity", maps=unit * maps, **given, reading=reading)
        np.testing.assert_allclose(found, 0, atol=1e-10)
        other = evaluate("infidelity", maps=maps.roll(1, -1), **given, reading=reading)
        assert np.all(other > 0.01)
    # in the paper's reading only where the largest weight is one
    assert np.all(evaluate("infidelity", maps=maps, **given, reading="paper") > 0.01)


def test_the_unit_matters_unless_it_is_corrected() -> None:
    inputs, model = draw("image"), Bent(SHAPES["image"])
    maps = explain_brightness(inputs, True)
    given: Any = {"images": inputs, "targets": TARGETS, "model": model, "gaussian": 0.1}
    for reading in READINGS:
        one, other = (evaluate("infidelity", maps=u * maps, **given, reading=reading)
                      for u in (1.0, 64.0))  # fmt: skip
        assert np.allclose(one, other, rtol=1e-9) == (reading != "released")


def test_a_map_that_points_the_other_way_is_not_turned_round() -> None:
    """It is as bad as a map that says nothing: the mean square of the falls."""
    model = Linear(SHAPES["image"])
    given: Any = {"images": draw("image"), "targets": TARGETS, "model": model, "gaussian": 0.1}
    right, wrong = (evaluate("infidelity", maps=sign * model.weight[TARGETS], **given)
                    for sign in (1, -1))  # fmt: skip
    assert np.all(right < 1e-9) and np.all(wrong > 0.1)


def test_zero_maps_and_constant_answers_have_a_status() -> None:
    model, inputs = Bent(SHAPES["image"]), draw("image")
    maps = explain_brightness(inputs, False)
    maps[1] = 0
    given: Any = {"images": inputs, "targets": TARGETS, "model": model, "return_status": True}
    assert evaluate("infidelity", maps=maps, **given)[1] == ["ok", "zero", "ok"]
    nn.init.zeros_(model.head.weight)
    values, statuses = evaluate("infidelity", maps=maps, **given)
    assert statuses == ["constant output", "zero", "constant output"]
    assert np.isnan(values).all()


@pytest.mark.parametrize("normalise", [False, True])
def test_it_is_that_of_captum(normalise: bool) -> None:
    """``normalize`` is the corrected reading for maps that do not point the other way."""
    inputs, model = draw("image"), Listening(Bent(SHAPES["image"]))
    gradients = Linear(SHAPES["image"], seed=3).weight[TARGETS] * 0.02
    with torch.enable_grad():
        leaf = inputs.clone().requires_grad_()
        scores = model.network(leaf).gather(1, torch.tensor(TARGETS)[:, None]).sum()
        maps = torch.autograd.grad(scores, leaf)[0] + gradients
    found = evaluate(
        "infidelity",
        maps=maps,
        images=inputs,
        targets=TARGETS,
        model=model,
        samples=SAMPLES,
        gaussian=0.2,
        reading="corrected" if normalise else "released",
    )
    copies = model.copies(SAMPLES)

    def perturb(repeated: Tensor) -> tuple[Tensor, Tensor]:
        return repeated - copies, copies

    given: Any = {"target": torch.tensor(TARGETS), "n_perturb_samples": SAMPLES}
    expected = peer(model.network, perturb, inputs, maps, **given, normalize=normalise)
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-4)


def test_other_maps_of_the_same_images_ask_the_model_nothing_new() -> None:
    inputs, model, memory = draw("image"), Listening(Bent(SHAPES["image"])), dict[Any, Any]()
    found = []
    for maps in (explain_brightness(inputs, False), inputs.mean(1) + 0.1):
        model.asked.clear()
        given = Inputs(maps, inputs, TARGETS, None, model, None, memory)
        wanted = [Wanted("infidelity", {"reading": reading}) for reading in READINGS]
        found.append([one.values for one in measure(wanted, given)])
        alone = [evaluate(one.name, maps=maps, images=inputs, targets=TARGETS,
                          model=model.network, **one.options) for one in wanted]  # fmt: skip
        np.testing.assert_allclose(found[-1], alone, rtol=1e-9)
    assert sum(map(len, model.asked)) == 1  # a look at it
