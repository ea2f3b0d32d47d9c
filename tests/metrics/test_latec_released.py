"""The released reading gives what the released code computed on the same inputs.

The numbers come from kjdhfg/LATEC@df854c7 with the fork of Quantus that it pins,
lukaskln/Quantus@119dd1d, run on these networks and inputs; what is random there was made a constant
by its settings.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from pasta.metrics.api import evaluate
from tests.metrics.latec_oracles import CLOUD, SmallNetOf

FOUND: dict[str, tuple[dict[str, Any], list[float]]] = {
    "faithfulness_estimate": ({"features": 16}, [-0.10087052, 0.28761872]),
    "monotonicity_correlation": (
        {"features": 16, "samples": 2, "low": 0.25, "high": 0.25},
        [-0.27655658, 0.25396825],
    ),
    "latec_pixel_flipping": ({"features": 16}, [0.16690920, 1.09002166]),
    "region_perturbation": (
        {"patch": 5, "regions": 4, "low": 0.25, "high": 0.25},
        [-0.02853292, -0.00210241],
    ),
    "insertion": (
        {"features": 25, "filling": "blur", "blur": 2.0, "kernel": 7},
        [0.01065150, 0.01673785],
    ),
    "deletion": ({"features": 25, "filling": "centre"}, [0.03438449, 0.08448971]),
    "irof": ({}, [-2.49183244, -59.69171904]),
}
ON_CLOUDS: list[tuple[str, dict[str, Any], list[float]]] = [
    (
        "region_perturbation",
        {"patch": 3, "regions": 4, "low": 0.25, "high": 0.25},
        [0.57924351, 0.03088558],
    ),
    (
        "region_perturbation",
        {"patch": 4, "regions": 9, "low": 0.25, "high": 0.25},
        [0.09494746, -0.43391863],
    ),
    ("deletion", {"features": 10, "filling": "centre"}, [0.79867545, 0.69978390]),
]


def drawn(*shape: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    return torch.rand(shape, generator=random), torch.rand(shape, generator=random)


@pytest.mark.parametrize("name", list(FOUND))
def test_values_of_images(name: str) -> None:
    images, maps = drawn(2, 3, 12, 12)
    model = SmallNetOf(2, 3).eval()
    options, expected = FOUND[name]
    with torch.no_grad():
        model.head.weight *= 4
    given: Any = {"images": images, "targets": [2, 0], "model": model, "softmax": True}
    if name != "faithfulness_estimate":  # which has one reading
        given["reading"] = "released"
    found = evaluate(name, maps=maps, **given, **options)
    assert found.tolist() == pytest.approx(expected, rel=1e-4, abs=2e-6)


@pytest.mark.parametrize(("name", "options", "expected"), ON_CLOUDS)
def test_values_of_clouds(name: str, options: dict[str, Any], expected: list[float]) -> None:
    clouds, maps = drawn(2, 3, 26)
    clouds, model = 2 * clouds - 1, SmallNetOf(1, 3).eval()
    with torch.no_grad():
        model.head.weight *= 4
        model.head.bias.sub_(0.97 * model(clouds).mean(0))
        targets = model(clouds).argmax(1)
    given: Any = {"images": clouds, "targets": targets, "model": model, "softmax": True}
    given |= {"modality": CLOUD, "reading": "released"}
    found = evaluate(name, maps=maps, **given, **options)
    assert found.tolist() == pytest.approx(expected, rel=1e-4, abs=2e-6)
