"""LATEC's robustness metrics beside captum, Quantus and their floor: ResNet18 at 224 pixels.

The floor of a metric is the time of its passes through the model in batches, and of its maps.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import quantus
import torch
from captum.metrics import infidelity
from torch import Tensor
from torchvision.models import resnet18

from pasta.metrics.api import Inputs, Wanted, evaluate, measure
from pasta.metrics.forward import forward_rows
from tests.benchmarks.conftest import Table

QUANTUS: Any = quantus  # its types do not show the metrics
SIZE, SAMPLES, DRAWS, STEPS = 224, 4, 50, 6
TARGETS = torch.tensor([0, 1])
QUIET = {"disable_warnings": True, "display_progressbar": False}
LAYER = "layer4.1.conv2"
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "local_lipschitz": ("LocalLipschitzEstimate", {}),
    "relative_input_stability": ("RelativeInputStability", {}),
    "relative_output_stability": ("RelativeOutputStability", {}),
    "relative_representation_stability": (
        "RelativeRepresentationStability",
        {"layer_names": [LAYER]},
    ),
}
FLOOR = "wanted is at most 1.3 times the floor, a ratio of 0.77"


def make_network() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return resnet18(num_classes=10).eval()


def draw_images() -> Tensor:
    return torch.rand(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(1))


MODEL, IMAGES = make_network(), draw_images()
ROWS = forward_rows(IMAGES, None)


def explain(images: Tensor, targets: Tensor) -> Tensor:
    """Input times gradient, a number for each pixel."""
    with torch.enable_grad():
        images = images.clone().requires_grad_()
        scores = MODEL(images).gather(1, targets[:, None]).sum()
        return (torch.autograd.grad(scores, images)[0] * images).sum(1).detach()


def explain_func(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
    given = torch.as_tensor(np.asarray(inputs)).view(len(targets), 3, SIZE, SIZE)
    return explain(given, torch.as_tensor(targets))[:, None].numpy()


MAPS = explain(IMAGES, TARGETS)
GIVEN: Any = {"maps": MAPS, "images": IMAGES, "targets": TARGETS, "model": MODEL}


def ask_model(passes: int) -> None:
    """So many images, in batches."""
    with torch.inference_mode():
        for start in range(0, passes, ROWS):
            MODEL(IMAGES[:1].expand(min(ROWS, passes - start), -1, -1, -1).contiguous())


def explain_copies(number: int) -> None:
    """So many images, in batches."""
    for start in range(0, number, ROWS):
        count = min(ROWS, number - start)
        explain(IMAGES[:1].expand(count, -1, -1, -1), TARGETS[:1].expand(count))


def ask_quantus(name: str, samples: int) -> Any:
    kind, options = PEERS[name]
    metric = getattr(QUANTUS, kind)(nr_samples=samples, **options, **QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(
            model=MODEL,
            x_batch=IMAGES.numpy(),
            y_batch=TARGETS.numpy(),
            a_batch=MAPS[:, None].numpy().copy(),
            explain_func=explain_func,
            channel_first=True,
            softmax=False,
        )


def test_infidelity(table: Table) -> None:
    maps = MAPS[:, None].expand(-1, 3, -1, -1).contiguous()

    def noise(images: Tensor) -> tuple[Tensor, Tensor]:
        drawn = 0.005 * torch.randn_like(images)
        return drawn, images - drawn

    def theirs() -> None:
        with torch.inference_mode():
            given: Any = {"target": TARGETS, "n_perturb_samples": DRAWS, "normalize": True}
            infidelity(MODEL, noise, IMAGES, maps, max_examples_per_batch=ROWS, **given)

    given = {**GIVEN, "maps": maps}

    def ours() -> None:
        evaluate("infidelity", **given, samples=DRAWS)

    table.compare(
        f"infidelity, {DRAWS} draws (other draws)",
        "captum",
        theirs,
        ours,
        more_right="a status for constant outputs; all methods meet the same noise",
    )
    table.compare(
        f"infidelity, {DRAWS} draws", "floor", lambda: ask_model(2 * (DRAWS + 1)), ours,
        more_right=FLOOR,
    )  # fmt: skip


def test_infidelity_of_several_maps(table: Table) -> None:
    """Captum asks the model for each map, ours once for each image."""
    number, draws = 4, 20
    maps = [torch.roll(MAPS, 8 * step, -1) for step in range(number)]

    def theirs() -> None:
        def noise(images: Tensor) -> tuple[Tensor, Tensor]:
            drawn = 0.005 * torch.randn_like(images[:, :1]).expand_as(images)
            return drawn, images - drawn

        given: Any = {"target": TARGETS, "n_perturb_samples": draws, "normalize": True}
        for one in maps:
            each = one[:, None].expand(-1, 3, -1, -1) / 3  # the same on all channels
            with torch.inference_mode():
                infidelity(MODEL, noise, IMAGES, each, max_examples_per_batch=ROWS, **given)

    def ours() -> None:
        memory: dict[Any, Any] = {}
        for one in maps:
            given = Inputs(one, IMAGES, TARGETS, None, MODEL, None, memory)
            measure([Wanted("infidelity", {"samples": draws})], given)

    what = f"infidelity, {draws} draws, {number} maps of an image"
    table.compare(what, "captum", theirs, ours, more_right="the same noise for all methods")


@pytest.mark.parametrize("name", list(PEERS))
def test_explained_again(table: Table, name: str) -> None:
    """The explainer takes most of the time, and nothing can be saved there."""
    layer: Any = {"layer": LAYER} if name.startswith("relative_repr") else {}
    table.compare(
        f"{name}, {SAMPLES} samples (other draws)",
        "Quantus",
        lambda: ask_quantus(name, SAMPLES),
        lambda: evaluate(name, **GIVEN, explainer=explain, samples=SAMPLES, **layer),
        more_right="never depends on other images; zero maps",
    )


def test_all_that_explain_noisy_copies_again(table: Table) -> None:
    """Quantus explains the copies of each metric; ours once for all."""
    wanted = [Wanted("max_sensitivity", {"samples": SAMPLES})]
    for name in PEERS:
        layer: Any = {"layer": LAYER} if name.startswith("relative_repr") else {}
        wanted.append(Wanted(name, {"samples": SAMPLES, "noise": "shared", **layer}))

    def theirs() -> None:
        for name in PEERS:
            ask_quantus(name, SAMPLES)

    def ours() -> None:
        measure(wanted, Inputs(MAPS, IMAGES, TARGETS, None, MODEL, explain))

    def floor() -> None:
        explain_copies(2 * SAMPLES)
        ask_model(2 * 2 * (SAMPLES + 1))

    what = f"five metrics, {SAMPLES} shared noisy copies"
    table.compare(what, "Quantus (four)", theirs, ours, more_right="MaxSensitivity on top")
    table.compare(what, "floor", floor, ours, more_right=FLOOR)


def test_continuity(table: Table) -> None:
    """Quantus' metric of this name is another one."""

    def floor() -> None:
        explain_copies(2 * STEPS)
        ask_model(2 * STEPS)

    table.compare(
        f"continuity, {STEPS} steps",
        "floor",
        floor,
        lambda: evaluate("continuity", **GIVEN, explainer=explain, steps=STEPS),
        more_right=FLOOR,
    )
