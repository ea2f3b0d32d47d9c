"""MaxSensitivity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.metrics.api import evaluate
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import random_maps

NETWORK = SmallNet().eval()


def gradients(images: Tensor, targets: Tensor) -> Tensor:
    """A map that needs a backward pass."""
    images.requires_grad_()
    NETWORK(images).gather(1, targets[:, None]).sum().backward()
    found = images.grad
    assert found is not None
    return found.abs().sum(1)


class Seen:
    """The images themselves as maps, and a memory of what was asked."""

    def __init__(self) -> None:
        self.images: list[Tensor] = []
        self.targets: list[Tensor] = []

    def __call__(self, images: Tensor, targets: Tensor) -> np.ndarray[Any, Any]:
        self.images.append(images)
        self.targets.append(targets)
        return images.mean(1).numpy()


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
@pytest.mark.parametrize("relative", [True, False])
def test_it_is_the_largest_distance_over_the_noisy_copies(noise: str, relative: bool) -> None:
    images, seen = pictures(2), Seen()
    maps = images.mean(1)
    found = evaluate(
        "max_sensitivity",
        maps=maps,
        images=images,
        targets=[5, 6],
        explainer=seen,
        noise=noise,
        samples=4,
        uniform=0.3,
        gaussian=0.2,
        relative=relative,
    )
    copies, asked = torch.cat(seen.images).double(), torch.cat(seen.targets)
    assert asked.tolist() == [5] * 4 + [6] * 4
    for number in range(2):
        own = copies[4 * number : 4 * number + 4] - images[number]
        if noise == "uniform":
            assert 0.29 < own.abs().max() <= 0.3 + 1e-6
        else:
            assert own.std() == pytest.approx(0.2, rel=0.1)
        distances = [np.linalg.norm(one.mean(0)) for one in own.numpy()]
        whole = np.linalg.norm(maps[number].double().numpy()) if relative else 1
        assert found[number] == pytest.approx(max(distances) / whole, rel=1e-5)


def test_a_constant_explainer_has_no_sensitivity() -> None:
    maps = random_maps(3)

    def constant(images: Tensor, targets: Tensor) -> Tensor:
        return maps[targets]

    given: Any = {"images": pictures(3), "targets": [0, 1, 2], "explainer": constant}
    for relative in (True, False):
        found = evaluate("max_sensitivity", maps=maps, **given, relative=relative)
        assert found.tolist() == [0, 0, 0]


def test_explainers_may_use_gradients_and_give_the_first_maps_too() -> None:
    given: Any = {"images": pictures(3), "targets": [0, 1, 2], "explainer": gradients}
    maps = gradients(pictures(3), torch.tensor([0, 1, 2]))
    found = evaluate("max_sensitivity", **given)
    assert (found > 0).all()
    np.testing.assert_allclose(found, evaluate("max_sensitivity", maps=maps, **given), rtol=1e-5)


def test_a_zero_map_has_a_status_relative_to_itself_and_a_value_otherwise() -> None:
    given: Any = {
        "maps": torch.zeros(1, 16, 16),
        "images": pictures(1),
        "targets": [0],
        "explainer": Seen(),
        "return_status": True,
    }
    values, statuses = evaluate("max_sensitivity", **given)
    assert (statuses, np.isnan(values).tolist()) == (["zero"], [True])
    values, statuses = evaluate("max_sensitivity", **given, relative=False)
    assert statuses == ["ok"]
    assert values[0] > 0


def test_an_explainer_that_fails_on_a_copy_has_a_status_and_no_value() -> None:
    calls = iter([0.0, torch.nan])
    values, statuses = evaluate(
        "max_sensitivity",
        maps=random_maps(1),
        images=pictures(1),
        targets=[0],
        explainer=lambda images, _: images.mean(1) + next(calls),
        samples=2,
        batch_size=1,
        return_status=True,
    )
    assert (statuses, np.isnan(values).tolist()) == (["nan explanation"], [True])


def test_an_explainer_of_another_size_is_an_error() -> None:
    with pytest.raises(PastaError, match=r"the explainer returns \(\d+, 4, 4\), expected"):
        evaluate(
            "max_sensitivity",
            maps=random_maps(1),
            images=pictures(1),
            targets=[0],
            explainer=lambda images, _: images[:, 0, :4, :4],
        )
