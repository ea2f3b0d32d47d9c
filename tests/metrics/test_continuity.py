"""Continuity: the definition, what is best, and what the released code does to the image."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from torch import Tensor, nn

from pasta.metrics.api import Inputs, Wanted, evaluate, measure
from pasta.metrics.base import Batch
from pasta.metrics.own.continuity import ContinuityParams, make_moves, rank_rows
from tests.metrics.known import Floats
from tests.metrics.rooms import MODALITIES, SHAPES, Bent, Remembering, draw, explain_brightness

Reading = Literal["paper", "released", "corrected"]
READINGS: tuple[Reading, ...] = ("paper", "released", "corrected")
TARGETS = [0, 2, 3]
STEPS = 7
PART = {"cloud": 3, "image": 4, "volume": 3}


def parts_of(kind: str, released: bool) -> list[tuple[Any, ...]]:
    """The places of each part, written down."""
    side, size = PART[kind], SHAPES[kind][1:]
    if kind == "cloud" and released:
        return [(slice(start, start + 1),) for start in range(0, size[0], side)]
    starts = [range(0, length, side) for length in size]
    found = np.stack(np.meshgrid(*starts, indexing="ij"), -1).reshape(-1, len(size))
    return [tuple(slice(start, start + side) for start in place) for place in found.tolist()]


def definition(reading: Reading, kind: str, again: Floats, curve: Floats) -> float:
    """From the maps of the moved copies (steps, [channels,] *spatial) and the outputs."""
    values = []
    for part in parts_of(kind, reading == "released"):
        sums = []
        for one in again:
            whole = one / max(float(np.abs(one).max()), 1e-30)
            inside = whole[(..., *part)]
            if reading == "released":
                inside = inside / (np.abs(inside).max() + 1e-13)
            sums.append(float(inside.sum()))
        if np.ptp(sums) < 1e-6:
            values += [0.0] if reading == "released" else []
        else:
            measure_of: Any = spearmanr if reading == "released" else pearsonr
            values.append(float(measure_of(sums, curve)[0]))
    return float(np.mean(values))


@pytest.mark.parametrize("kind", list(SHAPES))
@pytest.mark.parametrize("entries", [False, True])
@pytest.mark.parametrize("reading", READINGS)
def test_values_are_those_of_the_definition(reading: Reading, entries: bool, kind: str) -> None:
    inputs, explainer = draw(kind), Remembering(entries)
    found = evaluate(
        "continuity",
        maps=explain_brightness(inputs, entries),
        images=inputs,
        targets=TARGETS,
        explainer=explainer,
        model=Bent(SHAPES[kind]),
        modality=MODALITIES[kind],
        steps=STEPS,
        part=PART[kind],
        reading=reading,
    )
    exact = Bent(SHAPES[kind]).double()
    for number, target in enumerate(TARGETS):
        copies = explainer.of(number, STEPS)
        with torch.no_grad():
            curve = exact(torch.from_numpy(copies))[:, target].numpy()
        expected = definition(reading, kind, explain_brightness(copies, entries), curve)
        assert found[number] == pytest.approx(expected, abs=1e-5)


def moves(kind: str, reading: Reading, steps: int = STEPS) -> Floats:
    batch = Batch(draw(kind).sum(1), images=draw(kind), modality=MODALITIES[kind])
    settings = ContinuityParams(reading=reading, steps=steps)
    found: Floats = make_moves(batch, 0, settings).build(slice(0, steps)).numpy()
    return found


@pytest.mark.parametrize("kind", ["image", "volume"])
def test_in_the_released_reading_the_first_step_leaves_a_constant_image(kind: str) -> None:
    """With the sizes of LATEC: 50,176 pixels in 20 steps are 2,508, and the image is 224 wide."""
    steps = 3  # 48 of 12 pixels, and 72 of 6
    for one in moves(kind, "released", steps):
        assert len(set(one.ravel().tolist())) == 1 and 0 <= one.min() <= 1
    for reading in READINGS[::2]:
        assert len(set(moves(kind, reading, steps)[0].ravel().tolist())) > 10
    large = torch.rand(1, 3, 224, 224)
    batch = Batch(large[:, 0], images=large)
    first = make_moves(batch, 0, ContinuityParams(reading="released")).build(slice(0, 1))
    assert len(set(first.flatten().tolist())) == 1


def test_the_content_moves_by_shares_of_the_width_and_leaves_at_the_last_step() -> None:
    image = draw("image")[0].numpy()
    found = moves("image", "corrected", 12)
    for step, one in enumerate(found, 1):
        assert np.all(one[:, :, :step] == 0)
        np.testing.assert_array_equal(one[:, :, step:], image[:, :, : 12 - step])
    assert np.all(found[-1] == 0)
    np.testing.assert_array_equal(moves("cloud", "corrected"), moves("cloud", "released"))


class Left(nn.Module):
    """How bright the left half is speaks for the first class."""

    def forward(self, images: Tensor) -> Tensor:
        seen = images[..., :6].mean((1, 2, 3))
        return torch.stack([seen, -seen], 1)


def test_relevance_that_follows_the_output_is_best_and_that_flees_from_it_worst() -> None:
    inputs = draw("image")
    batch: dict[str, Any] = {"images": inputs, "targets": [0, 0, 0], "model": Left(), "part": 6}

    def follow(images: Tensor, _targets: Tensor, sign: float = 1.0) -> Tensor:
        maps = torch.zeros(len(images), 12, 12)
        maps[:, 0, 0] = sign * images[..., :6].mean((1, 2, 3))
        maps[:, 11, 11] = 1  # the largest value
        return maps

    for sign in (1.0, -1.0):
        found = evaluate(
            "continuity",
            **batch,
            explainer=lambda images, targets, sign=sign: follow(images, targets, sign),
        )
        np.testing.assert_allclose(found, sign, atol=1e-5)


def constant(images: Tensor, _targets: Tensor) -> Tensor:
    return torch.arange(144.0).view(1, 12, 12).expand(len(images), 12, 12)


def broken(images: Tensor, _targets: Tensor) -> Tensor:
    found: Tensor = explain_brightness(images, False)
    return torch.where(images.mean((1, 2, 3))[:, None, None] == 0, torch.nan, found)


@pytest.mark.parametrize("reading", READINGS)
def test_there_is_never_a_number_from_nothing(reading: Reading) -> None:
    """A constant explainer does not follow the output: it has no correlation with anything."""
    inputs, network = draw("image"), Bent(SHAPES["image"])
    maps = explain_brightness(inputs, False)
    maps[0] = 0
    given: Any = {"maps": maps, "images": inputs, "targets": TARGETS, "return_status": True}
    given |= {"reading": reading, "part": 4, "steps": 5}
    _, statuses = evaluate("continuity", **given, model=network, explainer=constant)
    assert statuses == ["zero", "constant relevance", "constant relevance"]
    if reading != "released":  # where no image is black
        values, statuses = evaluate("continuity", **given, model=network, explainer=broken)
        assert statuses == ["zero", "nan explanation", "nan explanation"]
        assert np.isnan(values).all()
    nn.init.zeros_(network.head.weight)
    _, statuses = evaluate("continuity", **given, model=network, explainer=Remembering())
    assert statuses == ["zero", "constant output", "constant output"]


def test_a_part_without_relevance_is_left_out_and_counts_as_zero_in_the_released_reading() -> None:
    def corner(images: Tensor, targets: Tensor) -> Tensor:
        found = constant(images, targets).clone()
        found[:, :6, :6] += 10 * explain_brightness(images, False)[:, :6, :6]
        found[:, 11, 11] = 1000
        return found

    given: Any = {"images": draw("image"), "targets": TARGETS, "model": Bent(SHAPES["image"])}
    given |= {"explainer": corner, "steps": 3, "part": 6}
    whole = evaluate("continuity", **given, reading="released")
    assert np.all(np.abs(whole) <= 0.25 + 1e-9) and np.any(whole != 0)
    assert np.any(np.abs(evaluate("continuity", **given)) > 0.25)


def test_ranks_are_means_where_values_are_equal() -> None:
    found = rank_rows(torch.tensor([[0.5, 0.2, 0.5, 0.9], [1.0, 1.0, 1.0, 0.0]]))
    assert found.tolist() == [[2.5, 1, 2.5, 4], [3, 3, 3, 1]]


def test_what_the_model_says_is_remembered_for_other_maps() -> None:
    inputs, network, asked = draw("image"), Bent(SHAPES["image"]), list[int]()
    network.register_forward_hook(lambda _module, given, _outputs: asked.append(len(given[0])))
    memory: dict[Any, Any] = {}
    for _ in range(2):
        given = Inputs(inputs.sum(1), inputs, TARGETS, None, network, Remembering(), memory)
        measure([Wanted("continuity", {"steps": 4})], given)
    assert sum(asked) == 2 * 1 + 3 * 4  # two looks
