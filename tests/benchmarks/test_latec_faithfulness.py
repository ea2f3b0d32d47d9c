"""LATEC's faithfulness metrics beside Quantus with the same settings, and beside the floor: as many
forward passes of the same batches, and nothing else. ResNet50 at 224 pixels, two maps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pasta.metrics.api import cost, curves, evaluate
from pasta.metrics.forward import forward_rows
from tests.benchmarks.conftest import Table
from tests.benchmarks.test_metrics import (
    IMAGES,
    MAPS,
    QUANTUS,
    QUIET,
    RAW,
    SIZE,
    make_network,
)

# Quantus takes steps that divide the number of pixels only, and broadcasts maps without channels.
STEP, GROUP = SIZE * SIZE // 4, SIZE * SIZE // 2
ENTRIES = (MAPS[:, None] * IMAGES).contiguous()
OPTIONS: dict[str, dict[str, Any]] = {
    "faithfulness_estimate": {"features": STEP, "filling": "centre", "answer": "score"},
    "monotonicity_correlation": {"features": GROUP, "samples": 3, "low": 0.0, "high": 0.0},
    "latec_pixel_flipping": {"features": STEP, "filling": "centre"},
    "region_perturbation": {"patch": 56, "regions": 6, "low": 0.0, "high": 0.0},
    "insertion": {"features": STEP, "filling": "blur", "kernel": 15},
}
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "faithfulness_estimate": ("FaithfulnessEstimate", {"features_in_step": STEP}),
    "monotonicity_correlation": (
        "MonotonicityCorrelation",
        {"features_in_step": GROUP, "nr_samples": 3},
    ),
    "latec_pixel_flipping": ("PixelFlipping", {"features_in_step": STEP}),
    "region_perturbation": ("RegionPerturbation", {"patch_size": 56, "regions_evaluation": 6}),
}
CURVES = ("latec_pixel_flipping", "region_perturbation")


def predicted(model: Any) -> Tensor:
    """Quantus 0.6 has an error where the probability of one of several images is below 1e-5."""
    with torch.inference_mode():
        classes: Tensor = model(IMAGES).argmax(1)
    return classes


def ask_quantus(metric: Any, model: Any, targets: Tensor) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(
            model=model,
            x_batch=IMAGES.numpy(),
            y_batch=targets.numpy(),
            a_batch=ENTRIES.numpy().copy(),
            channel_first=True,
            softmax=True,
        )


def ask_ours(name: str, model: Any, targets: Tensor) -> Any:
    given: Any = {"model": model, "images": IMAGES, "targets": targets, "softmax": True}
    if name in CURVES:
        return curves(name, maps=ENTRIES, **given, **OPTIONS[name])[:, 1:]
    return evaluate(name, maps=ENTRIES, **given, **OPTIONS[name])


@pytest.mark.parametrize("name", list(PEERS))
def test_beside_quantus(table: Table, name: str) -> None:
    model, (peer, options) = make_network(), PEERS[name]
    targets = predicted(model)
    metric = getattr(QUANTUS, peer)(perturb_baseline=0.0, **options, **RAW, **QUIET)
    table.compare(
        f"{name}, {passes_of(name)} passes",
        "Quantus",
        lambda: np.array(ask_quantus(metric, model, targets)),
        lambda: ask_ours(name, model, targets),
        more_right="ties, maps without channels, statuses, any number of axes",
    )


@pytest.mark.parametrize("name", list(OPTIONS))
def test_beside_the_floor(table: Table, name: str) -> None:
    """A ratio of 1 / 1.3 = 0.77 would be thirty percent above it; the look at the model before any
    work is one pass more."""
    model, rows, passes = make_network(), forward_rows(IMAGES, None), passes_of(name)
    targets = predicted(model)

    def floor() -> None:
        with torch.inference_mode():
            for start in range(0, passes, rows):
                number = min(rows, passes - start)
                model(IMAGES[torch.arange(number) % len(IMAGES)])

    table.compare(
        f"{name}, {passes} passes",
        "forward passes alone",
        floor,
        lambda: (ask_ours(name, model, targets), None)[1],
        more_right="the floor cannot be beaten",
        times=2,
    )


def passes_of(name: str) -> int:
    """Of both images; as if each entry were a pixel, because maps have a number for each."""
    shape = (1, 3 * SIZE, SIZE)
    return cost(name, len(IMAGES), shape=shape, **OPTIONS[name]).forward_passes
