"""Metrics beside Quantus with the same settings: ResNet50 at 224 pixels, two maps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import quantus
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchvision.models import resnet50

from pasta.explanations.image import impute
from pasta.metrics.api import Inputs, Wanted, curves, evaluate, measure
from tests.benchmarks.conftest import Table

QUANTUS: Any = quantus  # its types do not show the metrics
SIZE = 224
QUIET = {"disable_warnings": True, "display_progressbar": False}
RAW: dict[str, Any] = {"normalise": False, "abs": False, "return_aggregate": False}
TARGETS = np.array([0, 1])
STEPS, RUNS, PIXELS, SAMPLES = 12, 20, 1000, 5
STEP = 3 * SIZE * SIZE // STEPS  # features, that is channels of pixels
MAP_METRICS: list[tuple[str, str, bool, str]] = [
    ("sparseness", "Sparseness", True, "exact for sparse maps"),
    ("entropy", "Complexity", True, ""),
    ("effective_complexity", "EffectiveComplexity", True, ""),
    ("pointing_game", "PointingGame", False, ""),
    ("relevance_mass", "RelevanceMassAccuracy", False, ""),
    ("relevance_rank", "RelevanceRankAccuracy", False, "equal pixels count by their mean"),
]


def make_network() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return resnet50(num_classes=10).eval()


class Grey(nn.Module):
    """The same network for images of one channel."""

    def __init__(self) -> None:
        super().__init__()
        self.network = make_network()

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.network(images.expand(-1, 3, -1, -1))
        return outputs


def draw_smooth(number: int, channels: int, cells: int, seed: int) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    coarse = torch.rand(number, channels, cells, cells, generator=random)
    return interpolate(coarse, (SIZE, SIZE), mode="bicubic", align_corners=False)


IMAGES = draw_smooth(2, 3, 40, 1).clamp(0, 1)
MAPS = draw_smooth(2, 1, 14, 2)[:, 0].clamp_min(0)
MASKS = draw_smooth(2, 1, 5, 4)[:, 0] > 0.5


def ask_quantus(
    metric: Any, model: Any, images: Tensor = IMAGES, maps: Tensor = MAPS, **more: Any
) -> Any:
    """A direct call with all samples in one batch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(
            model=model,
            x_batch=images.numpy(),
            y_batch=more.pop("targets", TARGETS),
            a_batch=maps[:, None].numpy().copy(),
            channel_first=True,
            softmax=True,
            **more,
        )


def make_flipping() -> Any:
    return QUANTUS.PixelFlipping(features_in_step=STEP, perturb_baseline=0.0, **RAW, **QUIET)


def make_correlation() -> Any:
    return QUANTUS.FaithfulnessCorrelation(
        nr_runs=RUNS, subset_size=3 * PIXELS, perturb_baseline=0.0, **RAW, **QUIET
    )


def test_pixel_flipping(table: Table) -> None:
    model, metric = make_network(), make_flipping()
    given: Any = {"model": model, "images": IMAGES, "targets": TARGETS, "softmax": True}
    table.compare(
        f"pixel flipping, {STEPS} steps (curves)",
        "Quantus",
        lambda: np.array(ask_quantus(metric, model)),
        lambda: curves("pixel_flipping", maps=MAPS, **given, steps=STEPS)[:, 1:],
        more_right="zero maps and ties; one line beside deletion, which Quantus lacks",
    )


def test_max_sensitivity(table: Table) -> None:
    """The same explainer on both sides takes most of the time, and nothing can be saved there."""
    model = make_network()

    def explain(images: Tensor, targets: Tensor) -> Tensor:
        images.requires_grad_()
        scores = model(images).gather(1, targets[:, None]).sum()
        return torch.autograd.grad(scores, images)[0].abs().sum(1)

    def explain_func(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
        return explain(torch.as_tensor(inputs), torch.as_tensor(targets))[:, None].numpy()

    maps = explain(IMAGES.clone(), torch.from_numpy(TARGETS))
    given: Any = {"maps": maps, "images": IMAGES, "targets": TARGETS, "explainer": explain}
    metric = QUANTUS.MaxSensitivity(nr_samples=SAMPLES, lower_bound=0.2, **RAW, **QUIET)
    table.compare(
        f"MaxSensitivity, {SAMPLES} samples (other draws)",
        "Quantus",
        lambda: ask_quantus(metric, model, maps=maps, explain_func=explain_func),
        lambda: evaluate("max_sensitivity", **given, samples=SAMPLES),
        more_right="zero maps; the same noise for all methods, in any batch",
    )


@pytest.mark.parametrize(("name", "peer", "absolute", "why"), MAP_METRICS)
def test_metrics_of_the_map(table: Table, name: str, peer: str, absolute: bool, why: str) -> None:
    metric = getattr(QUANTUS, peer)(abs=absolute, normalise=absolute, **QUIET)
    ours: Any = {} if absolute else {"masks": MASKS}
    theirs: Any = {} if absolute else {"s_batch": MASKS[:, None].numpy()}
    table.compare(
        name,
        "Quantus",
        lambda: ask_quantus(metric, None, **theirs),
        lambda: evaluate(name, maps=MAPS, **ours),
        more_right=why,
        times=5,
    )


def test_road_on_grey_images(table: Table) -> None:
    """Quantus cannot do it on colour images with maps of one channel."""
    model, images, percentages = Grey().eval(), IMAGES[:, :1], [5, 35, 65, 95]
    given: Any = {"maps": MAPS, "model": model, "images": images, "targets": TARGETS}
    metric = QUANTUS.ROAD(percentages=percentages, noise=0.01, normalise=False, **QUIET)
    table.compare(
        f"ROAD, {len(percentages)} steps, grey images",
        "Quantus",
        lambda: list(ask_quantus(metric, model, images).values()),
        lambda: curves("road", **given, percentages=percentages).mean(0),
        more_right="colour images, all batches",
    )


def test_imputation(table: Table) -> None:
    """Shares from 5 to 95 percent, as metrics take them, of a smooth and a rough map."""
    function = QUANTUS.AVAILABLE_PERTURBATION_FUNCTIONS["noisy_linear_imputation"]
    removed = [
        value >= value.flatten().quantile(1 - share)
        for value in (draw_smooth(1, 1, cells, 3)[0, 0] for cells in (7, SIZE))
        for share in np.arange(0.05, 1, 0.3)
    ]
    exact = IMAGES[0].double().numpy()
    numbers = [step.flatten().nonzero()[:, 0].numpy() for step in removed]
    table.compare(
        "imputation of ROAD, 8 shares",
        "Quantus",
        lambda: np.stack([function(arr=exact, indices=part, noise=0.0) for part in numbers]),
        lambda: torch.cat([impute(IMAGES[:1], step[None]) for step in removed]).numpy(),
        times=2,
    )


@pytest.mark.parametrize("name", ["faithfulness correlation", "pixel flipping and deletion"])
def test_maps_of_one_image_share_what_they_ask(table: Table, name: str) -> None:
    """Quantus asks for each map alone. Ours asks about the subsets of faithfulness correlation
    once, and pixel flipping and deletion share a curve, which in Quantus is counted once."""
    model, number, memory = make_network(), 5, dict[Any, Any]()
    maps = draw_smooth(number, 1, 14, 5)[:, 0].clamp_min(0)
    image, target = IMAGES[:1], TARGETS[:1]
    metric, wanted = make_flipping(), [Wanted(one, {"steps": STEPS}) for one in
                                       ("pixel_flipping", "deletion")]  # fmt: skip
    if name == "faithfulness correlation":
        options = {"subsets": RUNS, "share": PIXELS / SIZE**2}
        metric, wanted = make_correlation(), [Wanted("faithfulness_correlation", options)]

    def theirs() -> None:
        for one in maps:
            ask_quantus(metric, model, image, one[None], targets=target)

    def ours() -> None:
        for one in maps:
            measure(
                wanted, Inputs(one[None], image, target, None, model, memory=memory), softmax=True
            )

    why = "Quantus has no deletion" if "deletion" in name else ""
    what = f"{name}, {number} maps of an image"
    table.compare(what, "Quantus", theirs, ours, more_right=why)
