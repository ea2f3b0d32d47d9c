"""Values do not depend on how samples are batched, ordered or measured together; memory is flat."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.metrics.api import CHUNK, Inputs, Wanted, evaluate, measure
from pasta.metrics.catalog import METRICS
from tests.conftest import ROOT
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import random_maps

NETWORK = SmallNet().eval()
NUMBER = CHUNK + 3  # more than are in memory at a time
FEW: dict[str, dict[str, Any]] = {
    "sufficiency": {"thresholds": [9, 30]},
    "necessity": {"thresholds": [9, 30], "perturbation": "uniform"},
    "faithfulness": {"thresholds": [9, 30], "perturbation": "gaussian"},
    "road": {"percentages": [5, 50, 95]},
    "road_least": {"percentages": [5, 50, 95]},
    "pixel_flipping": {"steps": 5},
    "deletion": {"steps": 5},
    "insertion": {"steps": 5},
    "faithfulness_correlation": {"subsets": 5},
    "faithfulness_estimate": {"features": 90},
    "monotonicity_correlation": {"features": 90, "samples": 3},
    "region_perturbation": {"patch": 5, "regions": 4},
    "irof": {"segments": 9},
    "neighbour_sufficiency": {"threshold": 0.97},
    "max_sensitivity": {"samples": 3},
    "local_lipschitz": {"samples": 3},
    "continuity": {"steps": 5, "part": 8},
    "relative_input_stability": {"samples": 3},
    "relative_output_stability": {"samples": 3, "uniform": 2.0},
    "relative_representation_stability": {"samples": 3},
    "infidelity": {"samples": 5, "gaussian": 0.5},
}

# A correlation of tiny changes of the output shows the rounding of the model.
CORRELATIONS = ("faithfulness_correlation", "faithfulness_estimate", "monotonicity_correlation")


def given() -> dict[str, Any]:
    maps = random_maps(NUMBER)
    maps[2] = 0
    maps[5:7] = (maps[5:7] * 4).round()  # with ties
    masks = random_maps(NUMBER, seed=9) > 0.7
    return {"maps": maps, "images": pictures(NUMBER), "masks": masks, "targets": [1] * NUMBER}


def explainer(images: Tensor, targets: Tensor) -> Tensor:
    return images.square().mean(1) * (1 + targets[:, None, None])


@pytest.mark.parametrize("name", list(METRICS))
def test_any_batch_size_gives_the_same_values(name: str) -> None:
    found = [
        evaluate(
            name,
            **given(),
            model=NETWORK,
            explainer=explainer,
            softmax=True,
            batch_size=size,
            **FEW.get(name, {}),
        )
        for size in (1, 3, 7, 1000, None)
    ]
    limit = 1e-4 if name in CORRELATIONS else 1e-6
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=limit, rtol=1e-5)


@pytest.mark.parametrize("name", list(METRICS))
def test_values_belong_to_samples_not_to_places(name: str) -> None:
    order = np.random.default_rng(0).permutation(NUMBER)
    samples = given()
    mixed: dict[str, Any] = {
        key: (values[order] if isinstance(values, Tensor) else values)
        for key, values in samples.items()
    }
    options: Any = {**FEW.get(name, {}), "model": NETWORK, "softmax": True, "explainer": explainer}
    one, other = evaluate(name, **samples, **options), evaluate(name, **mixed, **options)
    limit = 1e-4 if name in CORRELATIONS else 1e-6
    np.testing.assert_allclose(other, one[order], atol=limit, rtol=1e-5)


def test_the_seed_changes_what_is_random_and_nothing_else() -> None:
    options: dict[str, Any] = {**given(), "model": NETWORK, "softmax": True, "explainer": explainer}
    explaining = ("max_sensitivity", "local_lipschitz", "relative_representation_stability")
    for name in ("necessity", "faithfulness_correlation", "infidelity", *explaining):
        few = FEW[name]
        first, again, other = (evaluate(name, **options, **few, seed=seed) for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        assert not np.allclose(first, other, equal_nan=True)
    state = torch.get_rng_state()
    evaluate("necessity", **options)
    assert torch.equal(torch.get_rng_state(), state)


def test_metrics_measured_together_are_those_measured_alone_and_share_passes() -> None:
    seen = 0

    def model(images: Tensor) -> Tensor:
        nonlocal seen
        seen += len(images)
        with torch.no_grad():
            outputs: Tensor = NETWORK(images)
        return outputs

    thresholds = {"thresholds": [9, 30]}
    wanted = [
        Wanted(name, {**thresholds, "reading": reading})
        for name in ("sufficiency", "necessity", "faithfulness")
        for reading in ("text", "published")
    ] + [Wanted("sparseness")]
    samples = {key: value for key, value in given().items() if key != "masks"}
    found = measure(wanted, Inputs(**samples, model=model), softmax=True)
    assert seen == 1 + (NUMBER - 1) * (1 + 2 * 15)  # a look, and no pass twice
    for one, of in zip(found, wanted, strict=True):
        alone, statuses = evaluate(
            of.name, **samples, model=model, softmax=True, return_status=True, **of.options
        )
        np.testing.assert_array_equal(one.values, alone)
        assert one.statuses == statuses
        assert (one.seconds > 0).all()
    assert [one.variant for one in found[:2]] == ["road text", "road published"]


def test_images_may_be_loaded_when_they_are_due() -> None:
    samples, asked = given(), list[slice]()

    def load(part: slice) -> Tensor:
        asked.append(part)
        loaded: Tensor = samples["images"][part]
        return loaded

    whole = evaluate("deletion", **samples, model=NETWORK, softmax=True, steps=2)
    late = evaluate("deletion", **{**samples, "images": load}, model=NETWORK, softmax=True, steps=2)
    np.testing.assert_array_equal(whole, late)
    assert max(part.stop - part.start for part in asked) == CHUNK


SCRIPT = """
import resource, sys
import numpy as np, torch
from pasta.metrics.api import evaluate
from tests.explanations.networks import SmallNet, pictures

torch.set_num_threads(1)
number = int(sys.argv[1])

class Maps:  # as a file has them: a few are read at a time
    shape = (number, 96, 96)
    def __len__(self): return number
    def __getitem__(self, part):
        return np.random.default_rng(part.start).random((part.stop - part.start, 96, 96))
    def __array__(self, *_, **__): raise AssertionError("all maps at once")

values = evaluate("faithfulness", maps=Maps(), model=SmallNet(), softmax=True, thresholds=[9],
                  images=lambda part: pictures(part.stop - part.start, 96, seed=part.start),
                  targets=[0] * number, batch_size=16)
assert values.shape == (number,) and np.isfinite(values).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(number: int) -> int:
    command = [sys.executable, "-c", SCRIPT, str(number)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_a_hundred_and_sixty_samples_need_as_much_memory_as_sixteen() -> None:
    assert peak(160) < 1.1 * peak(16)
