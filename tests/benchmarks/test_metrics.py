"""Metrics against Quantus with the same settings in the same run: ResNet18, 224 pixels, 4 images.

Where forward passes are nearly all the work, the floor is their number times the time of one in a
batch. Each test prints the ratio to Quantus and to the floor; both sides have one thread and are
measured by the processor's time. Quantus batches over images too and spends nearly all its time in
the same forward passes, so that little can be gained there.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchvision.models import resnet18

from pasta.metrics.api import cost, curves, evaluate
from pasta.metrics.forward import forward_rows
from pasta.metrics.removal import impute
from tests.metrics.known import sparse_solve

Array = NDArray[Any]
SIZE, NUMBER = 224, 4
FLOOR = 1.3  # times the floor, at most
QUIET = {"disable_warnings": True, "display_progressbar": False}
TARGETS = np.array([0, 1, 2, 3])


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Both sides on one core, whatever else the machine does with the others."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the processor's time, and the result: with one thread that is the work, also on a
    machine that others use."""
    started = time.process_time()
    result = call()
    return time.process_time() - started, result


def network() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return resnet18(num_classes=10).eval()


class Grey(nn.Module):
    """The same network for images of one channel."""

    def __init__(self) -> None:
        super().__init__()
        self.network = network()

    def forward(self, images: Tensor) -> Tensor:
        outputs: Tensor = self.network(images.expand(-1, 3, -1, -1))
        return outputs


def smooth(number: int, channels: int, cells: int, seed: int) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    coarse = torch.rand(number, channels, cells, cells, generator=random)
    return interpolate(coarse, (SIZE, SIZE), mode="bicubic", align_corners=False)


IMAGES = smooth(NUMBER, 3, 40, 1).clamp(0, 1)
MAPS = smooth(NUMBER, 1, 14, 2)[:, 0]


def ask(metric: Any, model: nn.Module, images: Tensor, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return metric(
            model=model,
            x_batch=images.numpy(),
            y_batch=TARGETS,
            a_batch=MAPS[:, None].numpy().copy(),
            channel_first=True,
            softmax=True,
            **more,
        )


def pass_seconds(model: nn.Module, images: Tensor) -> float:
    """Of one image in a batch of the size that suits this machine."""
    rows = forward_rows(images, None)
    batch = images.repeat(-(-rows // len(images)), 1, 1, 1)[:rows]
    with torch.inference_mode():
        model(batch)
        return min(timed(lambda: model(batch))[0] for _ in range(5)) / rows


def compared(
    name: str,
    theirs: Callable[[], Any],
    ours: Callable[[], Any],
    wanted: float,
    floor: Callable[[], float] | None = None,
) -> tuple[Any, Any]:
    """Both results, after the ratios were printed and checked; each side has its better time of
    two, and the floor is measured before and after ours."""
    slow = [timed(theirs) for _ in range(2)]
    floors = [floor()] if floor else []
    fast = [timed(ours) for _ in range(2)]
    floors += [floor()] if floor else []
    one, other = min(pair[0] for pair in slow), min(pair[0] for pair in fast)
    words = f"\n{name}: {one / other:.2f}x Quantus ({one:.3f} s and {other:.3f} s)"
    print(words + (f", {other / min(floors):.2f}x the floor" if floors else ""))
    assert one / other >= wanted
    if floors:
        assert other <= FLOOR * min(floors)
    return slow[0][1], fast[0][1]


def test_pixel_flipping_curves() -> None:
    quantus: Any = pytest.importorskip("quantus")
    model, step = network(), 3584  # features, that is channels of pixels: 42 steps
    steps = 3 * SIZE * SIZE // step
    metric = quantus.PixelFlipping(
        features_in_step=step, perturb_baseline=0.0, normalise=False, abs=False, **QUIET
    )
    given: Any = {"model": model, "images": IMAGES, "targets": TARGETS, "softmax": True}
    passes = cost("pixel_flipping", NUMBER, steps=steps).forward_passes
    expected, found = compared(
        f"pixel flipping, {steps} steps",
        lambda: np.array(ask(metric, model, IMAGES)),
        lambda: curves("pixel_flipping", maps=MAPS, **given, steps=steps),
        1.2,
        lambda: passes * pass_seconds(model, IMAGES),
    )
    # Quantus flips channels; where a step ends within a pixel, one pixel of 50176 differs.
    np.testing.assert_allclose(found[:, 1:], expected, atol=1e-3)


def test_faithfulness_correlation() -> None:
    quantus: Any = pytest.importorskip("quantus")
    model, runs, pixels = network(), 40, 1000
    metric = quantus.FaithfulnessCorrelation(
        nr_runs=runs,
        subset_size=3 * pixels,
        perturb_baseline=0.0,
        normalise=False,
        abs=False,
        return_aggregate=False,
        **QUIET,
    )
    options: Any = {"subsets": runs, "share": pixels / SIZE**2}
    given: Any = {"model": model, "images": IMAGES, "targets": TARGETS, "softmax": True}
    passes = cost("faithfulness_correlation", NUMBER, **options).forward_passes
    compared(
        f"faithfulness correlation, {runs} subsets",
        lambda: ask(metric, model, IMAGES),
        lambda: evaluate("faithfulness_correlation", maps=MAPS, **given, **options),
        1.2,
        lambda: passes * pass_seconds(model, IMAGES),
    )


def test_max_sensitivity() -> None:
    """The same explainer on both sides takes most of the time, and nothing can be saved there."""
    quantus: Any = pytest.importorskip("quantus")
    model, samples = network(), 10

    def gradients(images: Tensor, targets: Tensor) -> Tensor:
        images.requires_grad_()
        scores = model(images).gather(1, targets[:, None]).sum()
        return torch.autograd.grad(scores, images)[0].abs().sum(1)

    def explain(model: Any, inputs: Any, targets: Any, **_: Any) -> Array:
        found = gradients(torch.as_tensor(inputs), torch.as_tensor(targets))
        return found[:, None].numpy()

    def explained_seconds() -> float:
        rows = forward_rows(IMAGES, None)
        batch, targets = IMAGES.repeat(3, 1, 1, 1)[:rows], torch.zeros(rows, dtype=torch.long)
        best = min(timed(lambda: gradients(batch.clone(), targets))[0] for _ in range(3))
        return NUMBER * samples * best / rows

    metric = quantus.MaxSensitivity(
        nr_samples=samples, lower_bound=0.2, normalise=False, abs=False, **QUIET
    )
    compared(
        f"MaxSensitivity, {samples} samples",
        lambda: ask(metric, model, IMAGES, explain_func=explain),
        lambda: evaluate(
            "max_sensitivity",
            maps=MAPS,
            images=IMAGES,
            targets=TARGETS,
            explainer=gradients,
            samples=samples,
        ),
        1.05,
        explained_seconds,
    )


def test_sparseness() -> None:
    quantus: Any = pytest.importorskip("quantus")
    model = network()
    metric = quantus.Sparseness(abs=True, normalise=True, **QUIET)
    expected, found = compared(
        "sparseness",
        lambda: ask(metric, model, IMAGES),
        lambda: evaluate("sparseness", maps=MAPS),
        5.0,
    )
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_road_on_grey_images() -> None:
    """Quantus cannot do it on colour images with maps of one channel."""
    quantus: Any = pytest.importorskip("quantus")
    model, images, percentages = Grey().eval(), IMAGES[:, :1], [5, 35, 65, 95]
    metric = quantus.ROAD(percentages=percentages, noise=0.01, normalise=False, **QUIET)
    expected, found = compared(
        f"ROAD, {len(percentages)} steps",
        lambda: list(ask(metric, model, images).values()),
        lambda: curves(
            "road",
            maps=MAPS,
            model=model,
            images=images,
            targets=TARGETS,
            percentages=percentages,
        ),
        1.5,
    )
    np.testing.assert_allclose(found.mean(0), expected, atol=0.25)  # one image may turn by noise


@pytest.mark.parametrize("cells", [7, SIZE])
def test_imputation_against_a_sparse_solve_per_image_and_step(cells: int) -> None:
    """Steps from 5 to 95 percent, as a faithfulness metric takes them, on smooth and rough maps.

    The sparse solve is that of Quantus, which is that of ROAD's authors. If the matrix is put
    together at once instead of entry by entry, little but elimination is left.
    """
    quantus: Any = pytest.importorskip("quantus")
    function = quantus.functions.perturb_func.noisy_linear_imputation
    shares = np.arange(0.05, 1, 0.1)
    value = smooth(1, 1, cells, 3)[0, 0]
    removed = torch.stack([value >= value.flatten().quantile(1 - share) for share in shares])
    image = IMAGES[:1]
    exact = image[0].double().numpy()
    numbers = [step.flatten().nonzero()[:, 0].numpy() for step in removed]

    def ours() -> Tensor:
        return torch.cat([impute(image, step[None]) for step in removed])

    ours()
    slow, _ = timed(lambda: [function(arr=exact, indices=part, noise=0.0) for part in numbers])
    fast, found = min((timed(ours) for _ in range(5)), key=lambda pair: pair[0])
    bare, expected = timed(lambda: [sparse_solve(exact, step.numpy()) for step in removed])
    error = float(np.abs(found.numpy() - np.stack(expected)).max())
    print(
        f"\nimputation: {slow / fast:.1f}x the sparse solve of Quantus, {bare / fast:.1f}x a bare "
        f"one ({fast / len(shares):.4f} s a step), error {error:.1e}"
    )
    assert error < 1e-6
    assert slow / fast >= 2
