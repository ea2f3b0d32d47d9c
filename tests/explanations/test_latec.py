"""The seventeen methods of LATEC: readings, references, grids, volumes, clouds and families."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import timm
import torch
from captum.attr import Lime
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torchvision.models import efficientnet_b0, resnet18

from pasta import explain
from pasta.errors import PastaError
from pasta.explanations.attribution import of_places
from pasta.explanations.base import METHODS, Given, View
from pasta.explanations.engine import Work, attributions, computed
from pasta.explanations.entries import enlarge, stretch
from pasta.explanations.grids import seen_energy
from pasta.explanations.latec import LETTERS, Input, methods_for, settings_of_table_7
from pasta.explanations.methods.lime import lasso, width_kernel
from pasta.explanations.methods.shap import lone_coalitions
from pasta.explanations.modality import Modality
from pasta.explanations.rescale import mean_difference
from pasta.explanations.settings import MethodsParams
from pasta.explanations.spatial import grid_labels
from pasta.readings import Reading
from tests.explanations.families import lively, transformer, transformer_view
from tests.explanations.networks import SmallNet, pictures, small_view
from tests.explanations.test_gradients import Linear, asked, gained
from tests.explanations.test_lrp import calibrated

torch.set_num_threads(1)
ATTENTION = ("raw_attention", "attention_rollout", "lrp_attention")
CAMS = ("gradcam", "scorecam", "gradcam++")
OTHERS = (
    *("occlusion", "lime", "shap", "saliency", "input_x_gradient", "guided_backprop"),
    *("integrated_gradients", "expected_gradients", "deeplift", "deeplift_shap", "lrp"),
)
SEVENTEEN = (*OTHERS, *CAMS, *ATTENTION)
READINGS: tuple[Reading, ...] = ("corrected", "paper", "released")
REFERENCES = pictures(3, 32, seed=9)


def params(reading: Reading = "corrected", **changes: dict[str, Any]) -> MethodsParams:
    """LATEC's settings, but small."""
    shared = [name for name in SEVENTEEN if name != "gradcam++"]
    sections: dict[str, dict[str, Any]] = {name: {"reading": reading} for name in shared}
    small: dict[str, dict[str, Any]] = {
        "occlusion": {"window_pixels": 8, "stride_pixels": 4},
        "lime": {"segmenter": "grid", "cell": 8, "samples": 10, "score": "logit"},
        "shap": {"segmenter": "grid", "cell": 8, "samples": 10, "score": "logit"},
        "integrated_gradients": {"steps": 4},
        "expected_gradients": {"samples": 5},
    }
    for name, section in (*small.items(), *changes.items()):
        sections[name] = sections[name] | section
    return MethodsParams.model_validate(sections)


def given(key: str, view: View, images: Tensor, settings: MethodsParams, **rest: Any) -> Tensor:
    targets = torch.arange(len(images))
    rest = {"references": REFERENCES.to(images), **rest}
    return computed(Given(view, images, targets, dict(settings), **rest), key)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("key", SEVENTEEN)
def test_maps_have_places_and_those_of_latec_entries_that_are_not_negative(
    key: str, reading: Reading
) -> None:
    images = pictures(2, 32)
    found = given(key, transformer_view(), images, params(reading))
    assert found.isfinite().all() and found.any()
    if reading == "corrected":
        assert found.shape == (2, 32, 32)
        signed = METHODS.entry(key).metadata["sign"] == "signed"
        assert (found.min() < 0) == signed
    else:
        assert found.shape == (2, 3, 32, 32) and found.min() >= 0
    parts = Work(
        transformer_view(), lambda part: images[part], torch.arange(2), params(reading),
        batch_size=1, references=REFERENCES,
    )  # fmt: skip
    raw = np.concatenate([part.raw for part in attributions(parts, [key])])
    np.testing.assert_allclose(raw, found, rtol=1e-3, atol=1e-4 * float(found.abs().max()))


class TestExpectedGradients:
    def samples(self, settings: MethodsParams, network: nn.Module, image: Tensor) -> Tensor:
        """Each sample of one image, literally, from the same draws."""
        one = Given(View(network), image[None], torch.tensor([1]))
        generator, samples = one.generator(0, "expected_gradients"), []
        number, noise = settings.expected_gradients.samples, settings.expected_gradients.noise
        chosen = torch.randint(3, (number,), generator=generator)
        share = torch.rand(number, 1, 1, 1, generator=generator, dtype=torch.double)
        more = torch.randn(number, *image.shape, generator=generator, dtype=torch.double)
        for place in range(number):
            reference = REFERENCES.to(image)[chosen[place], :, :16, :16]
            end = image + noise * more[place]
            point = (reference + share[place] * (end - reference))[None].requires_grad_()
            (gradient,) = torch.autograd.grad(network(point)[0, 1], point)
            samples.append(gradient[0] * (end - reference))
        return torch.stack(samples)

    @pytest.mark.parametrize("reading", READINGS)
    def test_the_readings_differ_in_where_they_cut(self, reading: Reading) -> None:
        network = SmallNet().double().eval().requires_grad_(False)
        settings, images = params(reading), pictures(2).double()
        request = asked(network, images, [1, 1], settings)
        request.references = REFERENCES[:, :, :16, :16].double()
        found = METHODS["expected_gradients"](request)
        for image, map_ in zip(images, found, strict=True):
            samples = self.samples(settings, network, image)
            expected = {
                "corrected": samples.mean(0).sum(0),
                "paper": samples.mean(0).relu(),
                "released": samples.relu().mean(0),
            }[reading]
            torch.testing.assert_close(map_, expected)

    def test_many_samples_sum_to_the_difference_from_the_mean_reference(self) -> None:
        network = SmallNet().eval()
        images, references = pictures(1), 0.1 * REFERENCES[:, :, :16, :16]
        settings = params(expected_gradients={"samples": 3000, "noise": 0.0})
        request = asked(network, images, [1], settings, references=references)
        found = METHODS["expected_gradients"](request).sum()
        with torch.no_grad():
            expected = (network(images) - network(references).mean(0))[0, 1]
        assert float(found) == pytest.approx(float(expected), rel=0.05)


@pytest.mark.parametrize("reading", READINGS)
def test_deeplift_shap_is_the_mean_over_references_and_cut_as_its_reading_says(
    reading: Reading,
) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(576, 3)
    )
    network = network.double().eval().requires_grad_(False)
    images, references = pictures(2).double(), REFERENCES[:, :, :16, :16].double()
    settings = params(reading, deeplift_shap={"references": 2})
    found = METHODS["deeplift_shap"](
        asked(network, images, [0, 2], settings, references=references)
    )
    targets = torch.tensor([0, 2])
    each = torch.stack(
        [mean_difference(network, images, targets, one[None]) for one in references[:2]]
    )
    expected = {
        "corrected": each.mean(0).sum(1),
        "paper": each.mean(0).relu(),
        "released": each.relu().mean(0),
    }[reading]
    torch.testing.assert_close(found, expected)
    if reading == "corrected":
        with torch.no_grad():
            gain = network(images) - network(references[:2]).mean(0)
        torch.testing.assert_close(found.sum((1, 2)), gain[[0, 1], targets])


def test_gradients_are_cut_as_the_readings_say() -> None:
    network, images = Linear(), pictures(2, 8)
    weight = network.weight.detach()[[2, 0]]
    for reading in READINGS:
        settings = params(reading)
        vanilla = METHODS["saliency"](asked(network, images, [2, 0], settings))
        times = METHODS["input_x_gradient"](asked(network, images, [2, 0], settings))
        if reading == "corrected":
            torch.testing.assert_close(vanilla, weight.abs().amax(1))
            torch.testing.assert_close(times, (images * weight).sum(1))
        else:
            entries = weight.abs() if reading == "released" else weight.relu()
            torch.testing.assert_close(vanilla, entries)
            torch.testing.assert_close(times, (images * weight).relu())


def test_cams_of_latec_are_enlarged_repeated_and_stretched() -> None:
    images = pictures(2)
    small = METHODS["gradcam"](Given(small_view(), images, torch.tensor([0, 1])))
    large = interpolate(small.relu()[:, None], (16, 16), mode="bilinear")
    paper = given("gradcam", small_view(), images, params("paper"))
    torch.testing.assert_close(paper, large.expand(2, 3, 16, 16))
    released = given("gradcam", small_view(), images, params("released"))
    low, high = large.amin((1, 2, 3), keepdim=True), large.amax((1, 2, 3), keepdim=True)
    stretched = ((large - low) / (high - low)).nan_to_num()  # one map is zero
    torch.testing.assert_close(released, stretched.expand(2, 3, 16, 16))
    assert released[0].any() or released[1].any()
    tokens = pictures(2, 32)
    view = transformer_view()
    signed = METHODS["gradcam"](Given(view, tokens, torch.tensor([0, 1])))
    absolute = interpolate(signed.abs()[:, None], (32, 32), mode="bilinear")
    found = given("gradcam", view, tokens, params("paper"))
    torch.testing.assert_close(found, absolute.expand(2, 3, 32, 32))


def test_scorecam_of_latec_masks_in_blocks() -> None:
    images, view = pictures(1), small_view(double=True)
    images = images.double()
    found = given("scorecam", view, images, params("paper"))
    with torch.no_grad():
        maps = Given(view, images, torch.tensor([0])).passed.activations[0]
        scores = []
        for channel in maps:
            mask = interpolate(channel[None, None], (16, 16), mode="nearest")
            mask = (mask - mask.min()) / (mask.max() - mask.min() + 1e-7)
            scores.append(view.network(images * mask)[0, 0])
        weights = torch.stack(scores).softmax(0)
    expected = (weights[:, None, None] * maps).sum(0).relu()
    expected = interpolate(expected[None, None], (16, 16), mode="bilinear")
    torch.testing.assert_close(found, expected.expand(1, 3, 16, 16).float())


@pytest.mark.parametrize(
    ("windows", "strides", "counts"), [(8, 4, (3, 3)), ([8, 4], [8, 4], (2, 4)), (6, None, (5, 5))]
)
def test_occlusion_takes_pixels(windows: Any, strides: Any, counts: tuple[int, int]) -> None:
    network, images = SmallNet().eval(), pictures(1)
    section = {"window_pixels": windows, "stride_pixels": strides}
    found = {
        reading: METHODS["occlusion"](
            asked(network, images, [2], params(reading, occlusion=section))
        )
        for reading in READINGS
    }
    drops, times = torch.zeros(16, 16), torch.zeros(16, 16)
    sides = windows if isinstance(windows, list) else [windows] * 2
    steps = strides if isinstance(strides, list) else [strides or sides[0] // 2] * 2
    with torch.no_grad():
        for down in range(counts[0]):
            for right in range(counts[1]):
                rows = slice(down * steps[0], down * steps[0] + sides[0])
                columns = slice(right * steps[1], right * steps[1] + sides[1])
                hidden = images.clone()
                hidden[:, :, rows, columns] = 0
                drops[rows, columns] += float((network(images) - network(hidden))[0, 2])
                times[rows, columns] += 1
    torch.testing.assert_close(found["corrected"][0], drops / times, rtol=1e-3, atol=1e-6)
    expected = (drops.relu() / times).expand(1, 3, 16, 16)
    torch.testing.assert_close(found["released"], expected, rtol=1e-3, atol=1e-6)
    torch.testing.assert_close(found["paper"], found["released"])


def test_a_wrong_number_of_window_sides_is_an_error() -> None:
    settings = params(occlusion={"window_pixels": [4, 4, 4]})
    with pytest.raises(PastaError, match="window_pixels has 3 numbers, expected one for each of 2"):
        METHODS["occlusion"](asked(SmallNet(), pictures(1), [0], settings))


class Cells(nn.Module):
    """Class 1 is a weighted sum of all values, another weight for each cell."""

    def __init__(self, size: tuple[int, ...], side: int) -> None:
        super().__init__()
        labels = grid_labels(size, side)
        random = torch.Generator().manual_seed(0)
        self.worth = torch.randn(int(labels.max()) + 1, generator=random)
        self.weights = self.worth[labels]

    def forward(self, inputs: Tensor) -> Tensor:
        total = (inputs * self.weights).flatten(1).sum(1)
        return torch.stack([-total, total], 1)


SHAPES = [(3, 16, 16), (1, 8, 8, 8), (3, 24)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reading", READINGS)
def test_lime_and_kernel_shap_find_the_worth_of_cells(
    shape: tuple[int, ...], reading: Reading
) -> None:
    """Of a weighted sum of ones each cell gets its weight times its places."""
    network, inputs = Cells(shape[1:], 4).eval(), torch.ones(1, *shape)
    labels = grid_labels(shape[1:], 4)
    places = torch.bincount(labels.flatten()) * shape[0]
    settings = params(
        reading,
        lime={"cell": 4, "samples": 150, "penalty": 1e-6},
        shap={"cell": 4, "samples": 150},
    )
    request = asked(network, inputs, [1], settings)
    expected = network.worth * places
    lime, shap = METHODS["lime"](request)[0], METHODS["shap"](request)[0]
    if reading == "corrected":
        torch.testing.assert_close(lime, expected[labels], rtol=1e-3, atol=1e-3)
        each = (expected / torch.bincount(labels.flatten()))[labels]
        torch.testing.assert_close(shap, each, rtol=1e-3, atol=1e-3)
        assert float(shap.sum()) == pytest.approx(float(network(inputs)[0, 1]), rel=1e-3)
    else:
        cut = expected.relu()[labels].expand(shape)
        torch.testing.assert_close(lime, cut, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(shap, cut, rtol=1e-3, atol=1e-3)


def test_channels_of_a_cell_can_be_features_of_their_own() -> None:
    """LATEC's released LIME on clouds: one feature for each coordinate."""
    network = Cells((6,), 1).eval()
    inputs = torch.tensor([1.0, 2.0, 3.0]).view(1, 3, 1).expand(1, 3, 6).contiguous()
    section = {"cell": 1, "samples": 200, "penalty": 1e-7, "channels_apart": True}
    settings = params("released", lime=section)
    found = METHODS["lime"](asked(network, inputs, [1], settings))[0]
    expected = (inputs[0] * network.worth).relu()
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_the_released_kernel_is_captums_and_sizes_are_drawn_by_shapleys() -> None:
    images = pictures(1).double()
    labels = grid_labels((16, 16), 8)
    rows = torch.tensor([[True, False, True, True], [False, False, True, False]])
    weights = width_kernel(1 - seen_energy(images[0], labels, rows).sqrt(), 1.0)
    lime = Lime(SmallNet().eval())
    expected = []
    for row in rows:
        seen = images * row[labels]
        similarity: Any = lime.similarity_func
        expected.append(float(similarity(images, seen, row[None].double(), kernel_width=1.0)))
    np.testing.assert_allclose(weights, expected, rtol=1e-6)
    masks = lone_coalitions(4, 400, torch.Generator().manual_seed(0))
    sizes = masks.sum(1)
    assert sizes.min() == 1 and sizes.max() == 3
    share = [1 / (size * (4 - size)) for size in (1, 2, 3)]
    drawn = torch.bincount(sizes)[1:4] / 400
    np.testing.assert_allclose(drawn, np.array(share) / sum(share), atol=0.07)


def test_lasso_minimises_its_objective() -> None:
    random = torch.Generator().manual_seed(0)
    rows = torch.randint(0, 2, (1, 30, 5), generator=random).double()
    values = torch.randn(1, 30, generator=random).double()
    weights = torch.rand(1, 30, generator=random).double()
    slopes = lasso(rows, values, weights, 0.01)[0]

    def cost(slope: Tensor) -> float:
        share = weights[0] / weights.sum()
        rest = values[0] - rows[0] @ slope
        rest = rest - share @ rest  # the best intercept
        return float(share @ rest.square() / 2 + 0.01 * slope.abs().sum())

    for number in range(5):
        for step in (-1e-3, 1e-3):
            moved = slopes.clone()
            moved[number] += step
            assert cost(moved) > cost(slopes)


class Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.active = nn.Conv3d(1, 4, 3, padding=1), nn.ReLU()
        self.last, self.again = nn.Conv3d(4, 6, 3, 2, padding=1), nn.ReLU()
        self.head = nn.Linear(6, 4)

    def forward(self, volumes: Tensor) -> Tensor:
        maps = self.again(self.last(self.active(self.first(volumes))))
        found: Tensor = self.head(maps.mean((2, 3, 4)) + maps.amax((2, 3, 4)))
        return found


class Clouds(nn.Module):
    """Neighbours are gathered, and the largest counts."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm, self.active = nn.Conv1d(3, 6, 1), nn.BatchNorm1d(6), nn.ReLU()
        self.edge, self.again, self.head = nn.Conv2d(12, 8, 1), nn.ReLU(), nn.Linear(8, 4)

    def forward(self, clouds: Tensor) -> Tensor:
        values = self.active(self.norm(self.first(clouds)))
        with torch.no_grad():
            near = torch.cdist(clouds.mT, clouds.mT).topk(4, largest=False).indices
        flat = near.flatten(1)[:, None].expand(-1, values.shape[1], -1)
        around = values.gather(2, flat).view(*values.shape, 4)
        middle = values[..., None].expand_as(around)
        edges = self.again(self.edge(torch.cat([around - middle, middle], 1))).amax(3)
        found: Tensor = self.head(edges.amax(2))
        return found


def resize(maps: Tensor, size: tuple[int, ...]) -> Tensor:
    return enlarge(maps, size)


VOLUME = Modality("v", ("depth", "height", "width"), 1, load=torch.from_numpy, resize=resize)
CLOUD = Modality("c", ("points",), 3, load=torch.from_numpy, resize=resize)
SMALL_CELLS: dict[str, dict[str, Any]] = {
    "lime": {"cell": 2, "penalty": 1e-3},
    "shap": {"cell": 2},
    "occlusion": {"window_pixels": 3, "stride_pixels": 2},
}


@pytest.mark.parametrize("reading", READINGS)
def test_volumes_are_explained_by_all_methods_without_attention(reading: Reading) -> None:
    network, volumes = Volumes(), torch.rand(2, 1, 8, 6, 4)
    maps = explain(
        network, volumes, [0, 1], (*OTHERS, *CAMS), "last", settings=params(reading, **SMALL_CELLS),
        modality=VOLUME, references=torch.rand(3, 1, 8, 6, 4),
    )  # fmt: skip
    for name, found in maps.items():
        shape = (2, 8, 6, 4) if reading == "corrected" else (2, 1, 8, 6, 4)
        assert found.shape == shape and np.isfinite(found).all() and found.any(), name


@pytest.mark.parametrize("reading", READINGS)
def test_clouds_are_explained_and_permuted_points_permute_the_map(reading: Reading) -> None:
    network, clouds = Clouds().eval(), torch.rand(2, 3, 10)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(2))
    settings = params(
        reading,
        lime={"cell": 1, "penalty": 1e-3},
        shap={"cell": 1},
        occlusion={"window_pixels": 1, "stride_pixels": 1},
    )
    options: dict[str, Any] = {"settings": settings, "modality": CLOUD}
    options["references"] = torch.rand(3, 3, 1).expand(3, 3, 10)  # the same in any order
    maps = explain(network, clouds, [0, 1], OTHERS, **options)
    turned = explain(network, clouds[:, :, order], [0, 1], OTHERS, **options)
    random = ("lime", "shap", "expected_gradients")  # draws know the input
    for name, found in maps.items():
        shape = (2, 10) if reading == "corrected" else (2, 3, 10)
        assert found.shape == shape and np.isfinite(found).all(), name
        if name not in random:
            np.testing.assert_allclose(turned[name], found[..., order], atol=1e-4, err_msg=name)


def test_a_volume_of_depth_one_has_the_maps_of_the_image() -> None:
    class Flat(nn.Module):
        def __init__(self, image: nn.Conv2d) -> None:
            super().__init__()
            self.last = nn.Conv3d(3, 4, (1, 3, 3), padding=(0, 1, 1))
            self.last.weight.data = image.weight.data[:, :, None]
            self.last.bias = image.bias
            self.active = nn.ReLU()

        def forward(self, volumes: Tensor) -> Tensor:
            maps: Tensor = self.active(self.last(volumes))
            return maps.square().mean((2, 3, 4))

    class Image(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.last, self.active = nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()

        def forward(self, images: Tensor) -> Tensor:
            maps: Tensor = self.active(self.last(images))
            return maps.square().mean((2, 3))

    network, images = Image(), pictures(2, 8)
    flat, volumes = Flat(network.last), images[:, :, None]
    volume = Modality("v", VOLUME.axes, 3, load=torch.from_numpy, resize=resize)
    names = tuple(one for one in (*OTHERS, *CAMS) if one not in ("lime", "shap"))
    references = pictures(2, 8, seed=6)
    settings = params(occlusion={"window_pixels": 4, "stride_pixels": 2})
    two = explain(network, images, [0, 1], names, "last", settings=settings, references=references)
    three = explain(
        flat, volumes, [0, 1], names, "last", settings=settings, modality=volume,
        references=references[:, :, None],
    )  # fmt: skip
    for name in names:
        if name != "expected_gradients":  # draws know the shape of the noise
            np.testing.assert_allclose(three[name][:, 0], two[name], atol=1e-4, err_msg=name)


def test_released_gradcam_plus_plus_sums_over_two_of_three_axes() -> None:
    """The trap of the released code: what it normalises by depends on the last axis."""
    volumes, network = torch.rand(1, 1, 8, 8, 8), Volumes().eval()
    view = View(network, network.last)
    shared = Given(view, volumes, torch.tensor([0])).passed
    a, g = shared.activations, shared.gradients

    def literal(axes: tuple[int, ...]) -> Tensor:
        mass = a.sum(axes, keepdim=True)
        weights = (g**2 / (2 * g**2 + mass * g**3 + 1e-6) * g.relu()).sum((2, 3, 4), keepdim=True)
        return (weights * a).sum(1).relu()

    found = given("gradcam++", view, volumes, params("released"), modality=VOLUME)
    large = interpolate(literal((2, 3))[:, None], (8, 8, 8), mode="nearest")
    torch.testing.assert_close(found, stretch(large))
    corrected = METHODS["gradcam++"](Given(view, volumes, torch.tensor([0])))
    torch.testing.assert_close(corrected.relu(), literal((2, 3, 4)))
    assert not torch.allclose(literal((2, 3)), literal((2, 3, 4)))


def deit() -> nn.Module:
    torch.manual_seed(0)
    made: Any = timm.create_model("deit_tiny_patch16_224", img_size=32, num_classes=5, depth=2)
    return lively(made)


@pytest.mark.parametrize(
    ("make", "attends"),
    [
        (lambda: lively(resnet18(num_classes=5)), False),
        (lambda: calibrated(efficientnet_b0(num_classes=5)), False),
        (deit, True),
        (transformer, True),
    ],
    ids=["resnet", "efficientnet", "deit", "vit"],
)
def test_every_family_is_explained_by_all_that_apply(
    make: Callable[[], nn.Module], attends: bool
) -> None:
    torch.manual_seed(0)
    names = [*OTHERS, "gradcam", "gradcam++", *(ATTENTION if attends else ())]
    settings = params(
        occlusion={"window_pixels": 16, "stride_pixels": 16},
        lime={"cell": 16, "samples": 4},
        shap={"cell": 16, "samples": 4},
        expected_gradients={"samples": 2},
        deeplift_shap={"references": 2},
    )
    found = explain(make(), pictures(1, 32), [1], names, settings=settings, references=REFERENCES)
    for name in names:
        assert np.isfinite(found[name]).all() and found[name].shape == (1, 32, 32), name
        cam_without_rise = name in ("gradcam", "gradcam++")  # 1 x 1 maps show nothing
        assert found[name].any() or cam_without_rise, name


def test_references_are_asked_for_before_any_work() -> None:
    calls: list[int] = []
    network = SmallNet()
    network.register_forward_hook(lambda *_: calls.append(1))
    with pytest.raises(PastaError, match="Expected Gradients compares with other inputs"):
        explain(network, pictures(1), [0], ["saliency", "expected_gradients"])
    with pytest.raises(PastaError, match=r"shape \(3, 3, 32, 32\), expected \(m, 3, 16, 16\)"):
        explain(network, pictures(1), [0], ["deeplift_shap"], references=REFERENCES)
    with pytest.raises(PastaError, match=r"references are torch.uint8, expected floats"):
        explain(
            network, pictures(1), [0], ["deeplift_shap"],
            references=np.zeros((1, 3, 16, 16), np.uint8),
        )  # fmt: skip
    assert calls == []
    work = Work(View(network), lambda part: pictures(1)[part], torch.tensor([0]), params())
    with pytest.raises(PastaError, match="DeepLIFT SHAP compares with other inputs"):
        list(attributions(work, ["deeplift_shap"]))
    with pytest.raises(PastaError, match="GradCAM looks at a layer, and this model has none"):
        list(attributions(work, ["gradcam"]))


def test_gradients_of_the_input_are_computed_once_for_all_methods() -> None:
    network, passes = SmallNet(), list[int]()
    network.register_forward_hook(lambda *args: passes.append(len(args[2])))
    request = asked(network, pictures(3), [0, 1, 2])
    METHODS["saliency"](request)
    METHODS["input_x_gradient"](request)
    assert passes == [3]


def test_the_parameters_of_table_7_are_settings() -> None:
    assert tuple(LETTERS.values()) == methods_for("image", attention=True)
    assert all(key in METHODS for key in LETTERS.values())
    kinds: tuple[Input, ...] = ("image", "volume", "cloud")
    for kind in kinds:
        for reading in READINGS:
            found = settings_of_table_7(kind, reading)
            assert found.lrp.reading == found.gradcam.reading == found.saliency.reading == reading
    image, cloud = settings_of_table_7("image"), settings_of_table_7("cloud", "paper")
    assert (image.occlusion.window_pixels, image.occlusion.stride_pixels) == (50, 25)
    assert (image.lime.cell, image.lime.samples, image.lime.surrogate) == (16, 10, "lasso")
    assert (cloud.lime.surrogate, cloud.lime.penalty) == ("ridge", 4.0)
    assert cloud.expected_gradients.samples == 16 and image.integrated_gradients.steps == 30
    assert settings_of_table_7("cloud", "released").lime.penalty == 1.0


def test_integrated_gradients_are_the_sum_at_the_places_of_gauss_and_legendre() -> None:
    network = SmallNet().double().eval().requires_grad_(False)
    images = pictures(1).double()
    places, weights = np.polynomial.legendre.leggauss(30)
    total = torch.zeros_like(images)
    for place, weight in zip((1 + places) / 2, weights / 2, strict=True):
        point = (images * place).requires_grad_()
        total += weight * torch.autograd.grad(network(point)[0, 1], point)[0]
    steps = {"integrated_gradients": {"steps": 30}}
    for reading, expected in {
        "corrected": (total * images).sum(1),
        "paper": (total * images).relu(),
        "released": (total * images).relu(),
    }.items():
        settings = MethodsParams.model_validate(
            {"integrated_gradients": steps["integrated_gradients"] | {"reading": reading}}
        )
        found = METHODS["integrated_gradients"](asked(network, images, [1], settings))
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    whole = gained(network, images, [1])
    found = METHODS["integrated_gradients"](
        asked(network, images, [1], MethodsParams.model_validate(steps))
    )
    torch.testing.assert_close(found.sum((1, 2)), whole, rtol=0.05, atol=1e-5)


def test_maps_of_the_pipeline_have_one_value_for_each_place() -> None:
    entries = np.arange(12.0).reshape(1, 3, 2, 2)
    np.testing.assert_array_equal(of_places(entries, 2), entries.sum(1))
    np.testing.assert_array_equal(of_places(entries[:, 0], 2), entries[:, 0])


def test_a_modality_may_split_its_inputs_otherwise() -> None:
    """Groups of points, for instance, instead of points that stand side by side in memory."""

    @dataclass(frozen=True)
    class Grouped(Modality):
        split: Callable[[tuple[int, ...], int], Tensor] | None = None

    kind = Grouped(
        "g", ("points",), 3, load=torch.from_numpy, resize=resize,
        split=lambda size, side: torch.arange(size[0]) % side,
    )  # fmt: skip
    request = asked(Clouds(), torch.rand(1, 3, 8), [1], params(lime={"cell": 2}), modality=kind)
    found = METHODS["lime"](request)[0]
    assert torch.unique(found[::2]).numel() == torch.unique(found[1::2]).numel() == 1
    assert found[0] != found[1]
