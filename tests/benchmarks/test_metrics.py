"""Our metrics beside Quantus with the same settings in the same run: ResNet18, 224 pixels, 4 maps.

Each line has the time of Quantus called directly on all samples at once, that of ours, their ratio,
the largest difference of the values, and the time of the same metric of Quantus by its name
``quantus/...``, one sample per call. Where forward passes are nearly all the work, the floor is
their number times the time of one in a batch. Both sides have one thread and are measured by the
processor's time. The last lines are what Quantus cannot do: several metrics of several maps of one
image share their forward passes. Nothing here fails.

Where one metric of one map per image is as fast in Quantus (pixel flipping, faithfulness
correlation, MaxSensitivity, all limited by the model), ours is there for what it shares and for
what it does with maps that Quantus refuses or orders by the place of pixels:

- faithfulness correlation asks the model once for all maps of an image, ten times as fast for ten;
- pixel flipping is one line beside the curve of deletion, which Quantus does not have;
- MaxSensitivity meets the same noise for all methods, which explain a copy together.

Measured on 2 shared cores (ratios to Quantus): pixel flipping 1.03, faithfulness correlation 0.98
for one map an image and 10.5 for ten, MaxSensitivity 1.10, sparseness 2.6, entropy 23, effective
complexity 42, pointing game 19, relevance mass 22, relevance rank 3.1, ROAD 3.1, imputation 4.0,
all of them for ten maps of an image 2.3. By name Quantus takes 0.9 to 1.2 times a direct call.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import quantus
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchvision.models import resnet18

from pasta.explanations.image import impute
from pasta.metrics.api import Inputs, Wanted, cost, curves, evaluate, measure
from pasta.metrics.forward import forward_rows
from tests.metrics.known import sparse_solve

QUANTUS: Any = quantus  # its types do not show the metrics
Array = NDArray[Any]
Call = Callable[[], Any]
SIZE, NUMBER = 224, 4
QUIET = {"disable_warnings": True, "display_progressbar": False}
RAW: dict[str, Any] = {"normalise": False, "abs": False, "return_aggregate": False}
TARGETS = np.array([0, 1, 2, 3])
STEP = 3584  # features, that is channels of pixels: 42 steps
STEPS = 3 * SIZE * SIZE // STEP
RUNS, PIXELS, SAMPLES = 40, 1000, 10


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Both sides on one core, whatever else the machine does with the others."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def measure_time(call: Call, times: int = 2) -> tuple[float, Any]:
    """Least seconds of the processor's time, and the last result."""
    best, result = float("inf"), None
    for _ in range(times):
        started = time.process_time()
        result = call()
        best = min(best, time.process_time() - started)
    return best, result


def make_network() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return resnet18(num_classes=10).eval()


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


IMAGES = draw_smooth(NUMBER, 3, 40, 1).clamp(0, 1)
MAPS = draw_smooth(NUMBER, 1, 14, 2)[:, 0]
MASKS = draw_smooth(NUMBER, 1, 5, 4)[:, 0] > 0.5


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


def measure_pass(model: nn.Module, images: Tensor) -> float:
    """Seconds of one image in a batch of the size that suits this machine."""
    rows = forward_rows(images, None)
    batch = images.repeat(-(-rows // len(images)), 1, 1, 1)[:rows]
    with torch.inference_mode():
        model(batch)
        return measure_time(lambda: model(batch), 5)[0] / rows


def print_line(
    name: str,
    theirs: Call,
    ours: Call,
    by_name: Call | None = None,
    floor: Callable[[], float] | None = None,
    times: int = 2,
    note: str = "",
) -> None:
    """Measure both sides and print a line of the table."""
    slow, expected = measure_time(theirs, times)
    fast, found = measure_time(ours, times)
    difference = np.abs(np.asarray(found, float) - np.asarray(expected, float)).max()
    line = f"\n{name:<28}{slow:9.4f} s {fast:9.4f} s {slow / fast:8.2f}x   {difference:.1e}"
    if by_name is not None:
        line += f"   by name {measure_time(by_name, times)[0]:.4f} s"
    if floor is not None:
        line += f"   {fast / floor():.2f}x the floor"
    print(line + (f"   ({note})" if note else ""), end="", flush=True)


def test_title() -> None:
    print(f"\n{'metric':<28}{'Quantus':>11} {'ours':>11} {'ratio':>9}   difference", end="")


def test_pixel_flipping() -> None:
    model = make_network()
    given: Any = {"model": model, "images": IMAGES, "targets": TARGETS, "softmax": True}
    metric = QUANTUS.PixelFlipping(features_in_step=STEP, perturb_baseline=0.0, **RAW, **QUIET)
    passes = cost("pixel_flipping", NUMBER, steps=STEPS).forward_passes
    options: Any = {"features_in_step": STEP, "perturb_baseline": 0.0, "normalise": False}
    print_line(
        f"pixel flipping, {STEPS} steps",
        lambda: np.array(ask_quantus(metric, model)),
        lambda: curves("pixel_flipping", maps=MAPS, **given, steps=STEPS)[:, 1:],
        lambda: evaluate("quantus/PixelFlipping", maps=MAPS, **given, **options),
        lambda: passes * measure_pass(model, IMAGES),
        note="curves; Quantus may end a step within a pixel",
    )


def test_faithfulness_correlation() -> None:
    model = make_network()
    metric = QUANTUS.FaithfulnessCorrelation(
        nr_runs=RUNS, subset_size=3 * PIXELS, perturb_baseline=0.0, **RAW, **QUIET
    )
    options: Any = {"subsets": RUNS, "share": PIXELS / SIZE**2}
    own: Any = {"nr_runs": RUNS, "subset_size": 3 * PIXELS, "perturb_baseline": 0.0}
    given: Any = {"model": model, "images": IMAGES, "targets": TARGETS, "softmax": True}
    passes = cost("faithfulness_correlation", NUMBER, **options).forward_passes
    print_line(
        f"faithfulness corr., {RUNS} subsets",
        lambda: ask_quantus(metric, model),
        lambda: evaluate("faithfulness_correlation", maps=MAPS, **given, **options),
        lambda: evaluate("quantus/FaithfulnessCorrelation", maps=MAPS, **given, **own),
        lambda: passes * measure_pass(model, IMAGES),
        note="other draws",
    )


def test_max_sensitivity() -> None:
    """The same explainer on both sides takes most of the time, and nothing can be saved there."""
    model = make_network()

    def explain(images: Tensor, targets: Tensor) -> Tensor:
        images.requires_grad_()
        scores = model(images).gather(1, targets[:, None]).sum()
        return torch.autograd.grad(scores, images)[0].abs().sum(1)

    def explain_func(model: Any, inputs: Any, targets: Any, **_: Any) -> Array:
        return explain(torch.as_tensor(inputs), torch.as_tensor(targets))[:, None].numpy()

    maps = explain(IMAGES.clone(), torch.from_numpy(TARGETS))
    given: Any = {"maps": maps, "images": IMAGES, "targets": TARGETS, "explainer": explain}
    metric = QUANTUS.MaxSensitivity(nr_samples=SAMPLES, lower_bound=0.2, **RAW, **QUIET)
    print_line(
        f"MaxSensitivity, {SAMPLES} samples",
        lambda: ask_quantus(metric, model, maps=maps, explain_func=explain_func),
        lambda: evaluate("max_sensitivity", **given, samples=SAMPLES),
        lambda: evaluate("quantus/MaxSensitivity", **given, model=model, nr_samples=SAMPLES),
        note="other draws",
    )


MAP_METRICS: list[tuple[str, str, dict[str, Any]]] = [
    ("sparseness", "Sparseness", {"abs": True, "normalise": True}),
    ("entropy", "Complexity", {"abs": True, "normalise": True}),
    ("effective_complexity", "EffectiveComplexity", {"abs": True, "normalise": True}),
    ("pointing_game", "PointingGame", {"abs": False, "normalise": False}),
    ("relevance_mass", "RelevanceMassAccuracy", {"abs": False, "normalise": False}),
    ("relevance_rank", "RelevanceRankAccuracy", {"abs": False, "normalise": False}),
]


@pytest.mark.parametrize(("name", "peer", "options"), MAP_METRICS)
def test_metrics_of_the_map(name: str, peer: str, options: dict[str, Any]) -> None:
    metric, maps = getattr(QUANTUS, peer)(**options, **QUIET), MAPS.clamp_min(0)
    more: Any = {"masks": MASKS} if name in ("pointing_game",) or "relevance" in name else {}
    theirs: Any = {"s_batch": MASKS[:, None].numpy()} if more else {}
    print_line(
        name,
        lambda: ask_quantus(metric, None, maps=maps, **theirs),
        lambda: evaluate(name, maps=maps, **more),
        lambda: evaluate(f"quantus/{peer}", maps=maps, **more, **options),
        times=5,
    )


def test_road_on_grey_images() -> None:
    """Quantus cannot do it on colour images with maps of one channel."""
    model, images, percentages = Grey().eval(), IMAGES[:, :1], [5, 35, 65, 95]
    given: Any = {"maps": MAPS, "model": model, "images": images, "targets": TARGETS}
    metric = QUANTUS.ROAD(percentages=percentages, noise=0.01, normalise=False, **QUIET)
    print_line(
        f"ROAD, {len(percentages)} steps",
        lambda: list(ask_quantus(metric, model, images).values()),
        lambda: curves("road", **given, percentages=percentages).mean(0),
        lambda: evaluate("quantus/ROAD", **given, percentages=percentages, normalise=False),
        note="means over maps; other draws",
    )


@pytest.mark.parametrize("cells", [7, SIZE])
def test_imputation_against_a_sparse_solve_per_image_and_step(cells: int) -> None:
    """Steps from 5 to 95 percent, as a faithfulness metric takes them, on smooth and rough maps.

    The sparse solve is that of Quantus, which is that of ROAD's authors. If the matrix is put
    together at once instead of entry by entry, little but elimination is left.
    """
    function = QUANTUS.AVAILABLE_PERTURBATION_FUNCTIONS["noisy_linear_imputation"]
    shares = np.arange(0.05, 1, 0.1)
    value = draw_smooth(1, 1, cells, 3)[0, 0]
    removed = torch.stack([value >= value.flatten().quantile(1 - share) for share in shares])
    image = IMAGES[:1]
    exact = image[0].double().numpy()
    numbers = [step.flatten().nonzero()[:, 0].numpy() for step in removed]
    print_line(
        f"imputation, {'smooth' if cells < SIZE else 'rough'} map",
        lambda: np.stack([function(arr=exact, indices=part, noise=0.0) for part in numbers]),
        lambda: torch.cat([impute(image, step[None]) for step in removed]).numpy(),
        times=1,
    )
    bare, _ = measure_time(lambda: [sparse_solve(exact, step.numpy()) for step in removed], 1)
    print(f"   bare solve {bare:.2f} s", end="")


def test_many_maps_of_one_image_share_what_they_ask() -> None:
    """All metrics that both sides have of ten maps of an image, and deletion beside pixel flipping.

    Quantus asks for each map and metric alone. Ours asks about the subsets of faithfulness
    correlation once, and pixel flipping and deletion share a curve; in Quantus the curve of pixel
    flipping is counted once for both.
    """
    model, number = make_network(), 10
    maps = draw_smooth(number, 1, 14, 5)[:, 0].clamp_min(0)
    image, mask, target = IMAGES[:1], MASKS[:1], TARGETS[:1]
    flipping = QUANTUS.PixelFlipping(features_in_step=STEP, perturb_baseline=0.0, **RAW, **QUIET)
    correlation = QUANTUS.FaithfulnessCorrelation(
        nr_runs=RUNS, subset_size=3 * PIXELS, perturb_baseline=0.0, **RAW, **QUIET
    )
    simple = [getattr(QUANTUS, peer)(**options, **QUIET) for _, peer, options in MAP_METRICS]
    asked = [
        Wanted("pixel_flipping", {"steps": STEPS}),
        Wanted("deletion", {"steps": STEPS}),
        Wanted("faithfulness_correlation", {"subsets": RUNS, "share": PIXELS / SIZE**2}),
    ]
    asked += [Wanted(name) for name, _, _ in MAP_METRICS]

    def ask_one_by_one(metrics: list[Any]) -> None:
        for one in maps:
            for metric in metrics:
                more = {"targets": target, "s_batch": mask[:, None].numpy()}
                ask_quantus(metric, model, image, one[None], **more)

    def ask_together(wanted: list[Wanted]) -> None:
        memory: dict[Any, Any] = {}
        for one in maps:
            inputs = Inputs(one[None], image, target, mask, model, memory=memory)
            measure(wanted, inputs, softmax=True)

    for title, metrics, wanted in (
        ("faithfulness correlation", [correlation], asked[2:3]),
        ("pixel flipping (deletion)", [flipping], asked[:2]),
        ("all of them", [flipping, correlation, *simple], asked),
    ):
        theirs, _ = measure_time(lambda one=metrics: ask_one_by_one(one), 1)  # type: ignore[misc]
        ours, _ = measure_time(lambda one=wanted: ask_together(one), 1)  # type: ignore[misc]
        print(f"\n{number} maps of an image: {title:<28}{theirs:8.2f} s {ours:8.2f} s ", end="")
        print(f"{theirs / ours:6.2f}x", end="", flush=True)
    print()
