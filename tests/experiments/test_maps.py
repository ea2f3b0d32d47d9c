"""The conditions' maps: the control, methods against literal formulas, faithfulness of all."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pasta.errors import PastaError
from pasta.experiments.control import bottom_up
from pasta.experiments.maps import explain_condition_names, explain_images, measure_maps
from pasta.models.base import BlackBox
from pasta.models.data import as_tensor
from pasta.studies.prediction.settings import CONDITIONS, PRINTED, MapParams

SIZE = 32
SETTINGS = MapParams(steps=8, samples=4, deletion_steps=4, budget=32)


class Small(BlackBox):
    """A convolution whose second class grows with the square of the first channel."""

    def __init__(self) -> None:
        super().__init__(("a", "b"))
        self.convolution = nn.Conv2d(3, 2, 3, padding=1, bias=False)
        with torch.no_grad():
            values = torch.linspace(-1, 1, self.convolution.weight.numel())
            self.convolution.weight.copy_(values.reshape(self.convolution.weight.shape))

    def forward(self, images: Tensor) -> Tensor:
        """Mean squares."""
        found: Tensor = self.convolution(images)
        return found.square().mean((2, 3))

    def cam_layers(self) -> list[nn.Module]:
        """The only one."""
        return [self.convolution]


def pictures() -> np.ndarray:
    pixels = np.full((2, SIZE, SIZE, 3), 120, np.uint8)
    pixels[:, 4:12, 18:26] = (220, 60, 40)
    pixels[1, 20:28, 4:12] = (40, 60, 220)
    return pixels


@pytest.fixture(scope="module")
def maps() -> dict[str, np.ndarray]:
    return dict(explain_images(Small(), pictures(), np.array([0, 1]), CONDITIONS, SETTINGS, 0))


def test_every_condition_but_the_baseline_has_a_map_of_each_image(
    maps: dict[str, np.ndarray],
) -> None:
    assert set(maps) == {*CONDITIONS, PRINTED} - {"baseline"}
    for shown in maps.values():
        assert shown.shape == (2, SIZE, SIZE) and np.isfinite(shown).all()
        assert np.abs(shown).max() <= 1 + 1e-6


def test_the_control_looks_at_what_stands_out_and_not_at_the_model() -> None:
    shown = bottom_up(pictures())[0]
    assert shown.min() == 0 and shown.max() == 1
    inside = shown[2:14, 16:28].mean()
    assert inside > 3 * shown[16:, :].mean()


def test_the_control_of_an_even_image_is_nothing_and_light_does_not_move_it() -> None:
    assert not bottom_up(np.full((1, SIZE, SIZE, 3), 90, np.uint8)).any()
    dark = (pictures() // 2).astype(np.uint8)
    one, other = bottom_up(pictures()), bottom_up(dark)
    assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.98


def test_integrated_gradients_are_the_trapezoid_of_the_papers_formula(
    maps: dict[str, np.ndarray],
) -> None:
    model, image = Small().double(), as_tensor(pictures()[:1]).double()
    total = torch.zeros_like(image)
    steps = SETTINGS.steps
    for number, share in enumerate(np.linspace(0, 1, steps)):
        point = (share * image).requires_grad_()
        (gradient,) = torch.autograd.grad(model(point)[0, 0], point)
        total += gradient / (steps - 1) / (2 if number in (0, steps - 1) else 1)
    literal = (image * total).sum(1)[0].detach().numpy()
    expected = literal / np.abs(literal).max()
    assert maps["integrated_gradients"][0] == pytest.approx(expected, abs=1e-3)


def test_the_printed_gradient_times_input_takes_the_norm_of_the_gradient(
    maps: dict[str, np.ndarray],
) -> None:
    model, image = Small().double(), as_tensor(pictures()[:1]).double().requires_grad_()
    (gradient,) = torch.autograd.grad(model(image)[0, 0], image)
    norm = gradient.square().sum(1).sqrt()
    literal = (image.sum(1) * norm)[0].detach().numpy()
    assert maps[PRINTED][0] == pytest.approx(literal / np.abs(literal).max(), abs=1e-4)
    assert maps[PRINTED].min() >= 0  # nothing speaks against a class there


def test_every_map_is_measured_the_control_too(maps: dict[str, np.ndarray]) -> None:
    found = measure_maps(Small(), pictures(), np.array([0, 1]), dict(maps), SETTINGS, 0)
    assert set(found["condition"]) == set(maps)
    assert set(found["metric"]) == {"faithfulness", "insertion", "sparseness", "entropy"}
    faithful = found[found["metric"] == "faithfulness"]["value"]
    assert faithful.between(0, 1).all()


def test_an_empty_map_has_a_status_and_no_number(maps: dict[str, np.ndarray]) -> None:
    empty = {"control": np.zeros((2, SIZE, SIZE), np.float32)}
    found = measure_maps(Small(), pictures(), np.array([0, 1]), empty, SETTINGS, 0)
    assert (found["status"] == "zero").all() and found["value"].isna().all()


def test_an_unknown_method_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(PastaError, match="gradcam"):
        explain_condition_names(["baseline", "gradcm"])
