"""Metrics compute where the model is: on the device ``meta``, which refuses tensors of another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.explanations import image as image_module
from pasta.explanations.image import impute
from pasta.metrics.api import Inputs, evaluate, get_settings
from pasta.metrics.base import Batch, Result
from pasta.metrics.catalog import METRICS
from pasta.metrics.forward import Scorer, precise
from pasta.metrics.removal import rank_map
from tests.explanations.networks import SmallNet, pictures
from tests.metrics.known import random_maps

META = torch.device("meta")
NUMBER, SIZE = 3, 16
# Shares of removed pixels are imputed by a sparse factorisation in main memory, so that the values
# of the images have to be there; their tests give it made-up ones.
NEED_VALUES = ("road", "road_least")
# How many segments an image has is known from its values only, and with it the number of passes.
# Scores against masks of attention are made in main memory, where sorting is much quicker.
NEVER = ("irof", *(name for name in METRICS if name.startswith("attention_")))
_FILLINGS = [
    {"filling": filling} for filling in ("black", "mean", "blur", "minimum", "centre", "noise")
]
_READINGS = ("paper", "released", "corrected")
_PERTURBED = [
    {"perturbation": kind, "reading": reading, "step": 30}
    for kind in ("uniform", "gaussian", "black", "road")
    for reading in ("text", "published")
]
READINGS = ("paper", "released", "corrected")
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "sufficiency": _PERTURBED,
    "necessity": _PERTURBED,
    "faithfulness": _PERTURBED,
    "pixel_flipping": _FILLINGS,
    "deletion": _FILLINGS,
    "insertion": _FILLINGS,
    "faithfulness_correlation": [{**one, "subsets": 4} for one in _FILLINGS],
    "road": [{"percentages": [10, 60]}],
    "faithfulness_estimate": [{**one, "features": 90} for one in _FILLINGS],
    "monotonicity_correlation": [{"features": 90, "reading": one} for one in _READINGS],
    "latec_pixel_flipping": [{"features": 90, "reading": one} for one in _READINGS],
    "region_perturbation": [{"patch": 5, "regions": 3, "reading": one} for one in _READINGS],
    "neighbour_sufficiency": [
        {"distance": distance, "reading": reading}
        for distance in ("standardised", "squared")
        for reading in _READINGS
    ],
    "road_least": [{"percentages": [10, 60]}],
    "max_sensitivity": [
        {"noise": noise, "relative": relative, "samples": 2}
        for noise in ("uniform", "gaussian")
        for relative in (True, False)
    ],
    "local_lipschitz": [{"reading": reading, "samples": 2} for reading in READINGS],
    "continuity": [{"reading": reading, "steps": 3, "part": 8} for reading in READINGS],
    "relative_input_stability": [{"reading": reading, "samples": 2} for reading in READINGS],
    "relative_output_stability": [{"reading": reading, "samples": 2} for reading in READINGS],
    "relative_representation_stability": [
        {"reading": reading, "samples": 2, "layer": "last"} for reading in READINGS
    ],
    "infidelity": [{"reading": reading, "samples": 2} for reading in READINGS],
    "pointing_game": [{"tolerance": 0.0}, {"tolerance": 2.0}],
}
CASES = [
    (name, options) for name in METRICS for options in OPTIONS.get(name, [{}]) if name not in NEVER
]
IDS = [f"{name}-{'-'.join(map(str, options.values()))}" for name, options in CASES]


def needs_values(name: str, options: dict[str, Any]) -> bool:
    return name in NEED_VALUES or options.get("perturbation") == "road"


def explainer(images: Tensor, targets: Tensor) -> Tensor:
    return images.square().mean(1) * (1 + targets[:, None, None])


def batch_on(device: torch.device) -> Batch:
    network = SmallNet().eval().to(device)
    batch = Batch(
        random_maps(NUMBER, SIZE).to(device),
        rows=4,
        images=pictures(NUMBER, SIZE).to(device),
        targets=torch.tensor([0, 1, 2], device=device),
        masks=(random_maps(NUMBER, SIZE, seed=9) > 0.7).float().to(device),
        scorer=Scorer(network, lambda logits: logits.softmax(1), 4, network),
        explainer=explainer,
    )
    batch.digests = ["a", "b", "c"]  # of the images, which have no values here
    return batch


def computed(name: str, options: dict[str, Any], device: torch.device) -> Result:
    return METRICS[name](batch_on(device), get_settings(name, options))


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_the_core_of_a_metric_stays_on_the_device(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if needs_values(name, options):
        monkeypatch.setattr(image_module, "to_numpy", _made_up)
    found = computed(name, options, META)
    tensors = [found.values, *found.why.values()]
    tensors += [] if found.curves is None else [found.curves]
    assert {one.device for one in tensors} == {META}
    assert found.values.shape == (NUMBER,) and found.values.dtype == torch.float64


def _made_up(tensor: Tensor) -> Any:
    kind = bool if tensor.dtype == torch.bool else np.float32
    return np.random.default_rng(0).random(tuple(tensor.shape)).round().astype(kind)


@pytest.mark.parametrize("name", NEED_VALUES)
def test_imputation_is_the_only_thing_that_needs_values(name: str) -> None:
    with pytest.raises(NotImplementedError, match="meta"):
        computed(name, OPTIONS[name][0], META)


def test_a_tensor_on_another_device_would_be_found() -> None:
    batch = batch_on(META)
    batch.masks = torch.ones(NUMBER, SIZE, SIZE)
    with pytest.raises(RuntimeError, match="device"):
        METRICS["relevance_mass"](batch, None)


def test_inputs_follow_the_model_then_the_images_then_the_maps() -> None:
    maps, images = random_maps(NUMBER, SIZE), pictures(NUMBER, SIZE)
    masks = maps > 0.5
    here = torch.device("cpu")
    elsewhere = Inputs(maps, images, [0, 1, 2], masks, SmallNet().to(META))
    part = slice(0, 2)
    for found in (
        elsewhere.maps_of(part),
        elsewhere.images_of(part),
        elsewhere.targets_of(part),
        elsewhere.masks_of(part),
    ):
        assert found.device == META and len(found) == 2
    assert Inputs(maps, lambda rows: images[rows], model=SmallNet().to(META)).device == META
    assert Inputs(maps, images.to(META), model=explainer).device == META
    assert Inputs(maps.to(META)).device == META
    assert Inputs(maps.numpy(), model=torch.nn.Identity()).device == here
    assert Inputs(maps, images, model=SmallNet()).part(part).device == here


def test_what_is_random_is_drawn_in_main_memory_and_moved() -> None:
    assert rank_map(torch.empty(4, 5, device=META), torch.Generator()).device == META
    state = torch.get_rng_state()
    computed("necessity", {"perturbation": "gaussian"}, META)
    assert torch.equal(torch.get_rng_state(), state)


def test_imputed_images_go_back_to_where_they_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_module, "to_numpy", _made_up)
    removed = torch.empty(2, 8, 8, dtype=torch.bool, device=META)
    found = impute(torch.empty(2, 3, 8, 8, device=META), removed)
    assert found.device == META and found.dtype == torch.float32


def test_devices_without_double_precision_hand_over_to_main_memory() -> None:
    apple: Any = SimpleNamespace(device=SimpleNamespace(type="mps"), cpu=lambda: torch.ones(2))
    assert precise(apple).dtype == torch.float64
    assert precise(torch.ones(2, device=META)).device == META


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_values_on_a_gpu_are_those_of_the_processor(name: str, options: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "maps": random_maps(NUMBER, SIZE),
        "images": pictures(NUMBER, SIZE),
        "masks": random_maps(NUMBER, SIZE, seed=9) > 0.7,
        "targets": [0, 1, 2],
        "softmax": True,
        "explainer": explainer,
        **options,
    }
    network = SmallNet().eval()
    here = evaluate(name, model=network, **given)
    there = evaluate(name, model=network.to("cuda"), **given)
    np.testing.assert_allclose(there, here, atol=1e-3, rtol=1e-3)
