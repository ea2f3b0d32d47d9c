"""Models of volumes and point clouds: shapes, symmetries, the papers' sizes, training, devices."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torchvision.models import efficientnet_b0
from torchvision.models.video import r3d_18

from pasta import compute, explain
from pasta.datasets.build import build_dataset
from pasta.datasets.drawn.source import DrawnSource
from pasta.datasets.stored import open_dataset
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError
from pasta.explanations.settings import MethodsParams
from pasta.layout import Group
from pasta.models import checkpoint, pct, training
from pasta.models.base import MODELS, BlackBox
from pasta.models.catalog import models_of
from pasta.models.checkpoint import LoadContext
from pasta.models.data import TrainingData
from pasta.models.efficientnet_3d import ScaledEfficientNet3d
from pasta.models.pct import PctClassifier
from pasta.models.points import find_nearest, sample_farthest, take_points
from pasta.models.resnet_3d import ScaledResNet3d
from pasta.models.settings import EfficientNet3dParams, ModelsParams
from pasta.models.suite import open_data, require_modality, train_group
from tests.conftest import ROOT
from tests.models.small import DEVICES, profile, silent

VOLUME_MODELS = ("resnet18_3d", "efficientnet_b0_3d", "simple3dformer")
CLOUD_MODELS = ("pointnet", "dgcnn", "pct")
SOLIDS = VOLUME_MODELS + CLOUD_MODELS
SIDE, POINTS = 14, 96
SMALL: dict[str, dict[str, Any]] = {
    "resnet18_3d": {"width": 4},
    "efficientnet_b0_3d": {"stem": 4, "stages": [[1, 3, 1, 4, 1], [3, 3, 2, 6, 2]], "last": 8},
    "simple3dformer": {"layers": 2, "hidden": 16, "mlp": 16, "stem": 4},
    "pointnet": {"width": 8, "feature_transform": True},
    "dgcnn": {"widths": [8, 8], "features": 16, "hidden": [8], "neighbours": 6},
    "pct": {"embedding": 8, "stages": [[32, 8, 16], [16, 6, 16]], "features": 16, "hidden": [8]},
}  # fmt: skip


def settings(name: str, **changes: Any) -> Any:
    given = {**SMALL[name], "training": {"epochs": 2, "learning_rate": 0.01, "batch_size": 8}}
    return getattr(ModelsParams.model_validate({name: {**given, **changes}}), name)


def context(name: str) -> LoadContext:
    words = vocabulary("adrenal" if name in VOLUME_MODELS else "furniture")
    size = SIDE if name in VOLUME_MODELS else POINTS
    return LoadContext(words.dataset, words.classes, words.concepts, size, 0, profile(), ROOT)


def built(name: str, **changes: Any) -> BlackBox:
    model: BlackBox = MODELS[name].build(context(name), settings(name, **changes))
    return model.eval()


def lively(name: str) -> BlackBox:
    """A model whose batch norms and transforms have seen something: not the identity."""
    model = built(name)
    random = torch.Generator().manual_seed(1)
    for value in model.state_dict().values():
        if value.is_floating_point():
            value.add_(0.1 * torch.rand(value.shape, generator=random))
    return model


def inputs(name: str, number: int = 2) -> Tensor:
    random = torch.Generator().manual_seed(0)
    shape = (1, SIDE, SIDE, SIDE) if name in VOLUME_MODELS else (3, POINTS)
    return torch.rand(number, *shape, generator=random)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TrainingData]:
    found = {}
    for dataset, size in (("adrenal", SIDE), ("furniture", POINTS)):
        folder = tmp_path_factory.mktemp(dataset)
        source = DrawnSource(dataset, 0, (16, 8, 8))
        build_dataset(dataset, source, source.items(), size, folder)
        found[dataset] = TrainingData(open_dataset(folder), 0, profile(), ROOT)
    return found


def data_for(name: str, data: dict[str, TrainingData]) -> TrainingData:
    return data["adrenal" if name in VOLUME_MODELS else "furniture"]


def test_models_are_those_of_their_modality() -> None:
    assert models_of("volume") == VOLUME_MODELS
    assert models_of("point cloud") == CLOUD_MODELS
    assert "resnet50" in models_of("image") and not set(SOLIDS) & set(models_of("image"))


@pytest.mark.parametrize("name", SOLIDS)
def test_an_input_has_the_same_logits_in_any_batch_and_each_time(name: str) -> None:
    model, given = lively(name), inputs(name, 3)
    with torch.no_grad():
        whole = model(given)
        assert whole.shape == (3, len(model.classes)) and whole.isfinite().all()
        assert torch.equal(whole, model(given))
        torch.testing.assert_close(model(given[1:2]), whole[1:2], atol=1e-5, rtol=1e-5)
        assert whole.std(0).max() > 1e-6


@pytest.mark.parametrize("name", SOLIDS)
def test_activations_are_modules_that_are_used_once(name: str) -> None:
    model, calls = built(name), []
    kinds = (nn.ReLU, nn.LeakyReLU, nn.SiLU, nn.GELU, nn.Sigmoid, nn.Softmax)
    found = [module for module in model.modules() if isinstance(module, kinds)]
    for module in found:
        module.register_forward_hook(lambda module, *_: calls.append(module))
    with torch.no_grad():
        model(inputs(name))
    assert found and sorted(map(id, calls)) == sorted(map(id, found))


@pytest.mark.parametrize("name", SOLIDS)
def test_cam_layers_have_places(name: str) -> None:
    model, seen = built(name), []
    (layer,) = model.cam_layers()
    layer.register_forward_hook(lambda *call: seen.append(call[2]))
    given = inputs(name)
    model(given)
    shape = tuple(seen[0].shape)
    if model.token_grid is not None:
        assert shape[:2] == (2, math.prod(model.token_grid) + 1) and len(model.token_grid) == 3
    elif name in VOLUME_MODELS:
        assert len(shape) == 5 and min(shape[2:]) >= 2
    else:
        places = model.places_of_tokens(given) if isinstance(model, PctClassifier) else given
        assert shape[2:] == places.shape[2:]


@pytest.mark.parametrize("name", CLOUD_MODELS)
def test_permuting_the_points_permutes_the_map_and_leaves_the_logits(name: str) -> None:
    model, cloud = lively(name).double(), inputs(name).double()
    order = torch.randperm(POINTS, generator=torch.Generator().manual_seed(3))

    def gradient(points: Tensor) -> tuple[Tensor, Tensor]:
        points = points.clone().requires_grad_()
        logits = model(points)
        (found,) = torch.autograd.grad(logits[:, 1].sum(), points)
        return logits.detach(), found

    (logits, plain), (again, permuted) = gradient(cloud), gradient(cloud[:, :, order])
    torch.testing.assert_close(logits, again)
    torch.testing.assert_close(plain[:, :, order], permuted)
    assert plain.abs().max() > 1e-8


B0 = ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
      (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1))  # fmt: skip
TURNABLE = [
    *("saliency", "input_x_gradient", "guided_backprop", "integrated_gradients", "deeplift"),
    *("occlusion", "gradcam", "gradcam++", "scorecam", "lrp"),
]


@pytest.mark.parametrize("axes", [(1, 2), (1, 3), (2, 3)], ids=str)
def test_turning_a_volume_turns_the_maps_of_an_equivariant_network(axes: tuple[int, int]) -> None:
    """A network whose filters look alike from all sides, with odd sides at every stride."""
    model = lively("resnet18_3d")
    for module in model.modules():
        if isinstance(module, nn.Conv3d):
            module.weight.data = module.weight.data.mean((2, 3, 4), keepdim=True).expand_as(
                module.weight
            )
    volume = torch.rand(1, 1, 17, 17, 17, generator=torch.Generator().manual_seed(0))
    turned = volume.rot90(1, (axes[0] + 1, axes[1] + 1))
    settings = MethodsParams.model_validate({"occlusion": {"window_pixels": 5, "stride_pixels": 4}})
    layer = model.cam_layers()[0]
    before, after = (
        explain(
            model, given, [0], TURNABLE, target_layer=layer, modality="volume", settings=settings
        )
        for given in (volume, turned)
    )
    for name in TURNABLE:
        expected = np.rot90(before[name], 1, axes)
        assert np.ptp(expected) > 0, name
        np.testing.assert_allclose(after[name], expected, atol=2e-4, err_msg=name)


def slow_farthest(points: list[list[float]], number: int) -> list[int]:
    middle = [sum(axis) / len(axis) for axis in zip(*points, strict=True)]
    chosen = [max(range(len(points)), key=lambda one: math.dist(points[one], middle))]
    while len(chosen) < number:
        chosen.append(
            max(
                range(len(points)),
                key=lambda one: min(math.dist(points[one], points[two]) for two in chosen),
            )
        )
    return chosen


def test_samples_and_neighbours_are_those_of_a_slow_search() -> None:
    clouds = torch.rand(2, 3, 40, generator=torch.Generator().manual_seed(0)).double()
    sampled = sample_farthest(clouds, 7)
    for cloud, found in zip(clouds, sampled, strict=True):
        assert found.tolist() == slow_farthest(cloud.T.tolist(), 7)
    queries = take_points(clouds, sampled)
    places = find_nearest(queries, clouds, 5)
    for row in range(2):
        points = clouds[row].T.tolist()
        for place, found in enumerate(places[row]):
            query = queries[row, :, place].tolist()
            order = sorted(range(40), key=lambda one: math.dist(points[one], query))
            assert found.tolist() == order[:5]
    torch.testing.assert_close(queries[1, :, 3], clouds[1, :, sampled[1, 3]])


def test_a_cloud_with_too_few_points_is_an_error_and_duplicates_are_none() -> None:
    with pytest.raises(PastaError, match="a cloud has 20 points, the model samples 32"):
        built("pct")(torch.rand(1, 3, 20))
    same = torch.ones(2, 3, POINTS)
    for name in CLOUD_MODELS:
        assert lively(name)(same).isfinite().all()


def test_cubes_must_fill_the_volume() -> None:
    with pytest.raises(PastaError, match="cubes of 5 voxels do not fill a side of 14"):
        built("simple3dformer", patch=5)


def test_the_full_width_is_torchvisions_r3d_18() -> None:
    theirs, ours = r3d_18(), ScaledResNet3d(64, (2, 2, 2, 2), 400, 3, video_stem=True)
    ours.load_state_dict(theirs.state_dict())
    video = torch.rand(1, 3, 2, 8, 8)
    torch.testing.assert_close(ours.eval()(video), theirs.eval()(video))


def test_the_stages_of_b0_are_torchvisions_with_a_third_axis() -> None:
    own = EfficientNet3dParams(stem=32, stages=B0, last=1280)
    with torch.device("meta"):
        ours = [one.shape for one in ScaledEfficientNet3d(own, 1000, 3).parameters()]
        theirs = [one.shape for one in efficientnet_b0().parameters()]
    lifted = [(*shape, shape[-1]) if len(shape) == 4 else tuple(shape) for shape in theirs]
    assert [tuple(shape) for shape in ours] == lifted


def test_b0_in_three_dimensions_has_as_many_parameters_as_that_of_timm_3d() -> None:
    """Golden: efficientnet_b0 of timm-3d 1.0.1, one channel, 11 classes; equal outputs, too."""
    own = EfficientNet3dParams(stem=32, stages=B0, last=1280)
    with torch.device("meta"):
        network = ScaledEfficientNet3d(own, 11, 1)
    assert sum(one.numel() for one in network.parameters()) == 4_702_471


def test_volumes_are_mirrored_along_their_width_and_clouds_at_x_0() -> None:
    flipped = torch.tensor([True, False])
    volumes, clouds = inputs("resnet18_3d"), inputs("pct")
    found = training.mirrored(volumes, flipped)
    assert torch.equal(found[0], volumes[0].flip(3)) and torch.equal(found[1], volumes[1])
    found = training.mirrored(clouds, flipped)
    assert torch.equal(found[0, 0], -clouds[0, 0]) and torch.equal(found[0, 1:], clouds[0, 1:])
    assert torch.equal(found[1], clouds[1])


@pytest.mark.parametrize("name", SOLIDS)
def test_batches_are_what_is_stored(name: str, data: dict[str, TrainingData]) -> None:
    own = data_for(name, data)
    batch, stored = own.images(own.rows("test")[:2]), own.dataset.pixels[own.rows("test")[:2]]
    expected = torch.from_numpy(stored.copy()).movedim(-1, 1)
    torch.testing.assert_close(batch, expected / (255 if name in VOLUME_MODELS else 1))


@pytest.mark.parametrize("name", ["resnet18_3d", "pointnet"])
def test_training_can_be_repeated_and_stored(
    name: str, data: dict[str, TrainingData], tmp_path: Path
) -> None:
    own, found = data_for(name, data), []
    for _ in range(2):
        model = MODELS[name].build(own, settings(name))
        history = MODELS[name].fit(model, own, settings(name), silent)
        assert len(history.curves["loss"]) == 2
        found.append(training.outputs(model, own, own.rows("test")))
    assert torch.equal(*found)
    card = {
        "model": name,
        "dataset": own.name,
        "classes": list(own.classes),
        "image_size": own.size,
        "seed": 0,
        "settings": settings(name).model_dump(mode="json"),
    }
    checkpoint.save(model, tmp_path, card)
    again, _ = checkpoint.load(tmp_path, profile(), ROOT)
    assert torch.equal(found[0], training.outputs(again, own, own.rows("test")))


@pytest.mark.parametrize("where", DEVICES)
@pytest.mark.parametrize("name", SOLIDS)
def test_a_step_of_training_stays_on_its_device(
    name: str, where: str, data: dict[str, TrainingData]
) -> None:
    own = data_for(name, data)
    placed = TrainingData(own.dataset, 0, own.params, ROOT, where=torch.device(where))
    model = MODELS[name].build(placed, settings(name))
    compute.place(model, placed.where)
    model.train()
    optimizer, _ = training.optimizer_of(model, settings(name).training, 16)
    rows, images = next(placed.batches(placed.rows("train"), 4))

    def loss(images: Tensor, rows: Tensor, _: Tensor) -> Tensor:
        return cross_entropy(model(images), placed.labels[rows].to(images.device))

    flipped = torch.tensor([True, False, True, False])
    value = training.step(loss, optimizer, images, rows, flipped, placed.size)
    gradients = [one.grad for one in model.parameters() if one.grad is not None]
    assert len(gradients) == len(list(model.parameters()))
    assert all(one.device.type == where for one in (value, images, *gradients, *model.buffers()))


def test_a_model_of_another_modality_is_refused(tmp_path: Path) -> None:
    section = ModelsParams.model_validate({"pointnet": {}})
    with pytest.raises(PastaError, match=r"models\.a\.pointnet is a model of the modality 'point"):
        require_modality(Group("a", "adrenal", tmp_path), section)
    require_modality(Group("a", "faces", tmp_path), section)


def test_attention_lies_at_the_points_of_its_tokens_in_any_order() -> None:
    model, clouds = lively("pct"), inputs("pct", 1)
    assert isinstance(model, PctClassifier)
    places = model.places_of_tokens(clouds)
    attention = torch.zeros(1, 16, 16)
    attention[:, :, 3] = 1  # all queries look at one token
    found = model.place_attention(attention, clouds)
    assert found.shape == (1, POINTS)
    near = (clouds[0] - places[0, :, 3:4]).norm(dim=0)
    assert found[0].argmax() == near.argmin() and found[0].max() == pytest.approx(1)
    assert found[0, near.argmax()] == 0
    order = torch.randperm(POINTS, generator=torch.Generator().manual_seed(0))
    again = model.place_attention(attention, clouds[:, :, order])
    torch.testing.assert_close(again, found[:, order])


def test_a_random_start_as_released_makes_the_output_no_function_of_the_cloud(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The released PCT begins farthest point sampling at any point of the cloud."""
    model, cloud = lively("pct"), inputs("pct", 1)

    def ask() -> list[Tensor]:
        with torch.no_grad():
            return [model(cloud) for _ in range(3)]

    ours = ask()
    assert torch.equal(ours[0], ours[1]) and torch.equal(ours[0], ours[2])
    random = torch.Generator().manual_seed(0)

    def released(points: Tensor, number: int) -> Tensor:
        chosen = [int(torch.randint(points.shape[2], (), generator=random))]
        while len(chosen) < number:
            apart = (points[0, :, :, None] - points[0][:, None, chosen]).square().sum(0)
            chosen.append(int(apart.min(1).values.argmax()))
        return torch.tensor([chosen])

    monkeypatch.setattr(pct, "sample_farthest", released)
    theirs = ask()
    assert not torch.allclose(theirs[0], theirs[1]) or not torch.allclose(theirs[0], theirs[2])


def test_relevance_returns_to_the_points_that_a_group_has_gathered() -> None:
    """The released PCT reshapes the relevance of groups to points, wherever these are."""
    cloud = torch.rand(1, 3, 8, generator=torch.Generator().manual_seed(0))
    places = torch.tensor([[[6, 7], [7, 5], [5, 6], [6, 7]]])  # four groups of two points
    relevance = torch.rand(1, 3, 4, 2, generator=torch.Generator().manual_seed(1))
    given = cloud.clone().requires_grad_()
    (ours,) = torch.autograd.grad(take_points(given, places), given, relevance)
    released = relevance.reshape(1, 3, 8)
    wanted = torch.zeros_like(cloud)
    for group, members in enumerate(places[0].tolist()):
        for place, point in enumerate(members):
            wanted[0, :, point] += relevance[0, :, group, place]
    torch.testing.assert_close(ours, wanted)
    assert not ours[:, :, :5].any() and released[:, :, :5].all()  # points of no group
    assert released.sum() == pytest.approx(float(ours.sum()))


def test_lrp_of_pct_gives_nothing_to_points_that_no_group_has() -> None:
    model: Any = MODELS["pct"].build(context("pct"), settings("pct", stages=[[8, 4, 16]])).eval()
    cloud = 2 * inputs("pct", 1) - 1
    (found,) = explain(model, cloud, [1], ["lrp"], modality="point cloud")["lrp"]
    chosen = sample_farthest(cloud, 8)
    near = find_nearest(take_points(cloud, chosen), cloud, 4)
    used = np.zeros(POINTS, bool)
    used[torch.cat([near.flatten(), chosen.flatten()]).numpy()] = True
    assert 0 < used.sum() < POINTS
    assert np.any(found[used]) and not np.any(found[~used])


def test_a_group_of_volumes_is_trained_stored_and_loaded(tmp_path: Path) -> None:
    group = Group("adrenal", "adrenal", tmp_path / "data")
    source = DrawnSource("adrenal", 0, (8, 4, 4))
    build_dataset("adrenal", source, source.items(), SIDE, group.images)
    section = ModelsParams.model_validate(
        {"simple3dformer": settings("simple3dformer").model_dump()}
    )
    params = profile().model_copy(update={"models": {"adrenal": section}})
    (trained,) = train_group(group, params, tmp_path)
    assert trained.name == "simple3dformer" and trained.card["image_size"] == SIDE
    model, _ = checkpoint.load(group.models / "simple3dformer", params, tmp_path)
    data = open_data(group, params, tmp_path)
    found = training.outputs(model.probabilities, data, data.rows("test")).numpy()
    np.testing.assert_allclose(found, trained.probabilities, atol=1e-6)
