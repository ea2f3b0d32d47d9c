"""All of LATEC's metrics of one map together, and metrics and methods of a volume beside the floor.

ResNet18 at 224 pixels. Quantus measures fourteen of the twenty: it has no insertion and deletion,
its continuity is another metric, ROAD and IROF fail on colour images, and sufficiency compares maps
of a batch. Infidelity is captum's, because that of Quantus takes minutes.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import pytest
import torch
from captum.metrics import infidelity
from torch import Tensor

from pasta import explain as explain_by
from pasta.benchmark.catalog import all_metrics
from pasta.explanations.settings import MethodsParams
from pasta.explanations.volume import VOLUME
from pasta.metrics.api import Inputs, Wanted, cost, measure
from pasta.metrics.forward import forward_rows
from pasta.models.resnet_3d import ScaledResNet3d
from tests.benchmarks.conftest import Table
from tests.benchmarks.test_robustness import (
    FLOOR,
    LAYER,
    MODEL,
    QUANTUS,
    QUIET,
    SIZE,
    TARGETS,
    draw_images,
    explain,
    explain_func,
)

STEP, SAMPLES, DRAWS = 3 * SIZE * SIZE // 48, 5, 50
IMAGE = draw_images()[:1]
CLASS = MODEL(IMAGE).argmax(1).detach()
MAPS = explain(IMAGE, CLASS)
ENTRIES = MAPS[:, None].expand(-1, 3, -1, -1).contiguous()
OPTIONS: dict[str, dict[str, Any]] = {
    "faithfulness_correlation": {"subsets": 100, "features": 224},
    "faithfulness_estimate": {"features": STEP},
    "monotonicity_correlation": {"features": STEP, "samples": 10},
    "latec_pixel_flipping": {"features": STEP},
    "region_perturbation": {"patch": 14, "regions": 10},
    "insertion": {"steps": 48, "features": None},
    "deletion": {"steps": 48, "features": None},
    "irof": {"segments": 50},
    "road": {"percentages": list(range(1, 100, 4))},
    "infidelity": {"samples": DRAWS},
    "relative_representation_stability": {"layer": LAYER},
    **{
        name: {"samples": SAMPLES}
        for name in ("local_lipschitz", "max_sensitivity", "relative_input_stability",
                     "relative_output_stability")
    },
}  # fmt: skip
OPTIONS["relative_representation_stability"] |= {"samples": SAMPLES}
PEERS: dict[str, dict[str, Any]] = {
    "FaithfulnessCorrelation": {"nr_runs": 100, "subset_size": 224},
    "FaithfulnessEstimate": {"features_in_step": STEP},
    "MonotonicityCorrelation": {"features_in_step": STEP, "nr_samples": 10},
    "PixelFlipping": {"features_in_step": STEP},
    "RegionPerturbation": {"patch_size": 14, "regions_evaluation": 10},
    "LocalLipschitzEstimate": {"nr_samples": SAMPLES},
    "MaxSensitivity": {"nr_samples": SAMPLES},
    "RelativeInputStability": {"nr_samples": SAMPLES},
    "RelativeOutputStability": {"nr_samples": SAMPLES},
    "RelativeRepresentationStability": {"nr_samples": SAMPLES, "layer_names": [LAYER]},
    "Sparseness": {},
    "Complexity": {},
    "EffectiveComplexity": {},
}


def ask_library(name: str) -> None:
    metric = getattr(QUANTUS, name)(**PEERS[name], **QUIET)
    given: Any = {"x_batch": IMAGE.numpy(), "y_batch": CLASS.numpy(), "channel_first": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric(model=MODEL, a_batch=ENTRIES.abs().numpy(), explain_func=explain_entries,
               softmax=not name.startswith("Relative"), **given)  # fmt: skip


def explain_entries(model: Any, inputs: Any, targets: Any, **more: Any) -> Any:
    return explain_func(model, inputs, targets, **more).repeat(3, 1)


def ask_captum() -> None:
    def noise(images: Tensor) -> tuple[Tensor, Tensor]:
        drawn = 0.005 * torch.randn_like(images)
        return drawn, images - drawn

    with torch.inference_mode():
        infidelity(MODEL, noise, IMAGE, ENTRIES, target=CLASS, n_perturb_samples=DRAWS,
                   max_examples_per_batch=forward_rows(IMAGE, None), normalize=True)  # fmt: skip


LACKING = ("INS", "DEL", "IROF", "ROAD", "SUF", "CON")  # in Quantus


def test_metrics_of_one_map_together(table: Table) -> None:
    """Fourteen metrics that the libraries have, too, and all twenty: both sides make about the same
    number of passes, which take the time on a processor, whether they come in batches or not."""
    every = {one.code: Wanted(one.key, OPTIONS.get(one.key, {})) for one in all_metrics()}
    shared = [one for code, one in every.items() if code not in LACKING]

    def theirs() -> None:
        for name in PEERS:
            ask_library(name)
        ask_captum()

    def ours(wanted: list[Wanted]) -> None:
        measure(wanted, Inputs(MAPS, IMAGE, CLASS, None, MODEL, explain), softmax=True)

    explain(IMAGE, TARGETS[:1])
    table.compare(
        f"{len(shared)} metrics of one map together",
        "Quantus and captum, one by one",
        theirs,
        lambda: ours(shared),
        more_right="statuses, ties, any number of axes",
    )
    started = time.process_time()
    ours(list(every.values()))
    print(f"all {len(every)} together: {time.process_time() - started:.1f} s")


SIDE = 28
VOLUME_OPTIONS: dict[str, dict[str, Any]] = {
    "faithfulness_correlation": {"subsets": 100, "features": 56},
    "faithfulness_estimate": {"features": 56},
    "monotonicity_correlation": {"features": 392, "samples": 10},
    "latec_pixel_flipping": {"features": 56},
    "region_perturbation": {"patch": 4, "regions": 20},
    "insertion": {"features": 50, "filling": "noise"},
    "deletion": {"features": 50},
    "infidelity": {"samples": DRAWS},
}


def make_volume(width: int = 16) -> tuple[Any, Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = ScaledResNet3d(width, (1, 1, 1, 1), 3, 1, video_stem=False).eval()
    random = torch.Generator().manual_seed(1)
    return network, torch.rand(1, 1, SIDE, SIDE, SIDE, generator=random)


@pytest.mark.parametrize("name", list(VOLUME_OPTIONS))
def test_a_metric_of_a_volume_beside_the_floor(table: Table, name: str) -> None:
    options = VOLUME_OPTIONS[name]
    passes = cost(name, 1, shape=(1, SIDE, SIDE, SIDE), **options).forward_passes
    model, volume = make_volume(64 if passes < 100 else 16)  # few passes of a slim one take no time
    target, rows = model(volume).argmax(1), forward_rows(volume, None)
    given = Inputs(volume[:, 0], volume, target, None, model, None, {}, VOLUME)

    def floor() -> None:
        with torch.inference_mode():
            for start in range(0, passes, rows):
                model(volume.expand(min(rows, passes - start), -1, -1, -1, -1).contiguous())

    def ours() -> None:
        measure([Wanted(name, options)], replace(given, memory={}), softmax=True)

    table.compare(f"{name} of a volume, {passes} passes", "forward passes alone", floor, ours,
                  more_right=FLOOR, times=2)  # fmt: skip


@pytest.mark.parametrize("name", ["occlusion", "integrated_gradients"])
def test_a_method_on_a_volume_beside_the_floor(table: Table, name: str) -> None:
    model, volume = make_volume()
    windows, steps = 7**3, 30
    options: Any = {
        "occlusion": {"window_pixels": 4, "stride_pixels": 4},
        "integrated_gradients": {"steps": steps},
    }

    settings = MethodsParams.model_validate(options)

    def floor() -> None:
        if name == "occlusion":
            with torch.inference_mode():
                for start in range(0, windows + 1, 64):
                    number = min(64, windows + 1 - start)
                    model(volume.expand(number, -1, -1, -1, -1).contiguous())
            return
        copies = volume.expand(steps, -1, -1, -1, -1).contiguous().requires_grad_()
        torch.autograd.grad(model(copies)[:, 0].sum(), copies)

    def ours() -> None:
        explain_by(model, volume, [0], [name], settings=settings, modality=VOLUME)

    table.compare(f"{name} on a volume", "its passes alone", floor, ours, more_right=FLOOR,
                  times=2)  # fmt: skip
