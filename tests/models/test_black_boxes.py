"""The black boxes: real classes at full size, exact explanations, repeatable training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from bcos.models import pretrained
from pydantic import ValidationError
from torchvision.models import efficientnet_b0, resnet50, vgg19, vit_b_16

from pasta.errors import PastaError
from pasta.explanations.api import explain
from pasta.explanations.catalog import techniques
from pasta.models.base import MODELS, BlackBox
from pasta.models.bcos import RELEASED, BcosClassifier, load_released_weights
from pasta.models.catalog import ORDER
from pasta.models.checkpoint import LoadContext
from pasta.models.data import TrainingData
from pasta.models.efficientnet import scaled_efficientnet
from pasta.models.resnet import ResNetClassifier, ScaledResNet, take_over
from pasta.models.settings import BcosParams, EfficientNetParams, GradientParams, VggParams
from pasta.models.training import fit_black_box, outputs, train
from pasta.models.vgg import HEAD, ScaledVgg
from pasta.models.vit import TransformerClassifier
from tests.conftest import ROOT
from tests.models.small import profile, silent, tiny_data

BLACK_BOXES = ("resnet50", "vit_b_16", "resnet50_bcos")
VGG = [one for one in techniques() if one.backbone == "vgg19"]  # those that people compare in HA


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrainingData:
    data = tiny_data(tmp_path_factory.mktemp("black_boxes"))
    data.shared["resnet50"] = built("resnet50", data).eval()
    return data


def built(name: str, data: Any) -> Any:
    keys = (key for key, dataset in data.params.groups.items() if dataset == data.name)
    sections = (getattr(data.params.models[key], name) for key in keys)
    return MODELS[name].build(data, next(own for own in sections if own is not None))


def quick(**changes: Any) -> GradientParams:
    values = {"epochs": 2, "learning_rate": 0.003, "batch_size": 8, "weight_decay": 0.0}
    rest = {"patience": 9, "small_share": 0.0, "small_size": 32}
    return GradientParams(**{**values, **rest, **changes})


def test_the_full_width_is_torchvisions_resnet50() -> None:
    ours = ScaledResNet(64, (3, 4, 6, 3), 1000).state_dict()
    theirs = resnet50().state_dict()
    assert {name: value.shape for name, value in ours.items()} == {
        name: value.shape for name, value in theirs.items()
    }
    network = ScaledResNet(64, (3, 4, 6, 3), 1000)
    network.load_state_dict(theirs)
    reference = resnet50()
    reference.load_state_dict(theirs)
    image = torch.rand(1, 3, 64, 64)
    torch.testing.assert_close(network.eval()(image), reference.eval()(image))


def paper_context() -> LoadContext:
    params = profile("paper_p2")
    return LoadContext("monumai", ("a", "b", "c", "d"), (), 224, 0, params, ROOT)


@pytest.mark.parametrize("name", BLACK_BOXES)
def test_full_size_classes_take_a_step_and_predict_at_224_pixels(name: str) -> None:
    model: BlackBox = built(name, paper_context())
    images, labels = torch.rand(2, 3, 224, 224), torch.tensor([0, 3])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.nn.functional.cross_entropy(model.train()(images), labels).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    with torch.inference_mode():
        probabilities = model.eval().probabilities(images)
    assert probabilities.shape == (2, 4)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(2))


def test_the_full_size_transformer_is_torchvisions() -> None:
    model: TransformerClassifier = built("vit_b_16", paper_context())
    ours = {name: value.shape for name, value in model.network.state_dict().items()}
    theirs = {name: value.shape for name, value in vit_b_16(num_classes=4).state_dict().items()}
    assert ours == theirs and model.token_grid == (14, 14)


def test_the_full_size_efficientnet_is_torchvisions() -> None:
    settings = profile("paper_latec").models["oct"].efficientnet_b0
    assert settings is not None and not settings.keep_head
    ours, theirs = scaled_efficientnet(settings, 4).eval(), efficientnet_b0(num_classes=4).eval()
    theirs.load_state_dict(ours.state_dict())
    image = torch.rand(1, 3, 64, 64)
    torch.testing.assert_close(ours(image), theirs(image))


def test_the_slim_efficientnet_learns(data: TrainingData) -> None:
    model = built("efficientnet_b0", data)
    assert sum(value.numel() for value in model.parameters()) < 60_000
    images = data.images(data.rows("test")[:2])
    assert model.eval()(images).shape == (2, len(data.classes))
    (layer,) = model.cam_layers()
    seen: list[torch.Size] = []
    hook = layer.register_forward_hook(lambda *call: seen.append(call[2].shape))
    model(images)
    hook.remove()
    assert len(seen[0]) == 4 and min(seen[0][2:]) >= 2
    settings = EfficientNetParams(training=quick(epochs=1))
    history = MODELS["efficientnet_b0"].fit(model, data, settings, silent)
    assert len(history.curves["validation"]) == 1


def test_the_network_of_human_attention_is_torchvisions_vgg19_and_takes_steps(
    data: TrainingData,
) -> None:
    params = profile("paper_ha")
    settings = params.models["catsdogscars-vgg19"].vgg19
    assert settings is not None and params.attention.backbone == "vgg19"
    with torch.device("meta"):
        ours, theirs = ScaledVgg(settings, 1000).state_dict(), vgg19().state_dict()
    assert {key: one.shape for key, one in ours.items()} == {
        key: one.shape for key, one in theirs.items()
    }
    changes = {"width": 4, "hidden": 16, "weights": "random", "training": quick(epochs=1)}
    small = settings.model_copy(update=changes)
    model = MODELS["vgg19"].build(data, small)
    before = model.network.classifier[6].weight.detach().clone()
    history = MODELS["vgg19"].fit(model, data, small, silent)
    assert len(history.curves["validation"]) == 1
    assert not torch.equal(before, model.network.classifier[6].weight)
    images = data.images(data.rows("test")[:2])
    found = explain(model.eval(), images, methods=[one.method for one in VGG])
    assert all(maps.shape == images[:, 0].shape for maps in found.values())
    assert {one.key for one in VGG} == {"gradcam/vgg19", "lime/vgg19"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("vgg19", VggParams(width=2, hidden=8, training=quick(epochs=1))),
        ("efficientnet_b0", EfficientNetParams(dropout=0.5, training=quick(epochs=1))),
    ],
)
def test_dropout_does_not_depend_on_what_was_drawn_before(
    name: str, settings: Any, data: TrainingData
) -> None:
    states = []
    for _ in range(2):
        torch.rand(3)  # somebody else draws from torch's own state
        model = MODELS[name].build(data, settings)
        MODELS[name].fit(model, data, settings, silent)
        states.append(model.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_all_layers_but_the_last_are_taken_over_from_weights_of_other_classes() -> None:
    settings = VggParams(width=2, hidden=4)
    source, own = (ScaledVgg(settings, outputs).state_dict() for outputs in (5, 2))
    network = ScaledVgg(settings, 2)
    network.load_state_dict(own)
    take_over(network, source, [HEAD])
    for key, value in network.state_dict().items():
        wanted = own if key.startswith(f"{HEAD}.") else source
        assert torch.equal(value, wanted[key]), key
    with pytest.raises(PastaError, match="of another architecture"):
        take_over(network, source, [])


@pytest.mark.parametrize("name", BLACK_BOXES)
def test_cam_layers_have_a_map_worth_looking_at(name: str, data: TrainingData) -> None:
    model: BlackBox = built(name, data).eval()
    seen: list[torch.Tensor] = []
    (layer,) = model.cam_layers()
    hook = layer.register_forward_hook(lambda *call: seen.append(call[2]))
    model(data.images(data.rows("test")[:2]))
    hook.remove()
    if model.token_grid is None:
        assert seen[0].ndim == 4 and min(seen[0].shape[2:]) >= 2
    else:
        assert seen[0].shape[1] == model.token_grid[0] * model.token_grid[1] + 1


def test_contributions_of_bcos_sum_to_the_logit(data: TrainingData) -> None:
    model: BcosClassifier = built("resnet50_bcos", data).eval()
    images = data.images(data.rows("test"))
    targets = torch.arange(len(images)) % len(data.classes)
    with torch.no_grad():
        logits = model(images).gather(1, targets[:, None])[:, 0]
    total = model.contributions(images, targets).sum((1, 2))
    total += model.network.logit_layer.logit_bias
    torch.testing.assert_close(total, logits, atol=1e-4, rtol=1e-4)


def test_bcos_begins_with_the_filters_of_the_resnet(data: TrainingData) -> None:
    model: BcosClassifier = built("resnet50_bcos", data)
    source: ResNetClassifier = data.shared["resnet50"]
    model.take_over(source.network)
    first = source.network.conv1.weight
    torch.testing.assert_close(model.network.conv1.linear.weight, torch.cat([first, -first], 1))
    deep = model.network.layer3[0].conv2.linear.weight
    torch.testing.assert_close(deep, source.network.layer3[0].conv2.weight)


@pytest.mark.parametrize("name", RELEASED)
def test_bcos_begins_with_the_authors_imagenet_weights(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, addresses, shapes and input statistics are those of the package."""
    theirs = getattr(pretrained, name)(pretrained=False).eval()
    address = pretrained.URLS[RELEASED[name][0]][RELEASED[name][1]]
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    file = tmp_path / "hub/checkpoints" / address.rpartition("/")[2]
    file.parent.mkdir(parents=True)
    torch.save(theirs.state_dict(), file)
    model: BcosClassifier = built("resnet50_bcos", paper_context())
    load_released_weights(model.network, name)
    # What is ours has to do with the number of classes: the last layer and the constant behind it.
    model.network.fc, model.network.logit_layer = theirs.fc, theirs.logit_layer
    pixels = torch.randint(0, 256, (3, 224, 224), dtype=torch.uint8)
    steps = theirs.transform.transforms.transforms
    seen = steps[-1](pixels / 255)  # AddInverse, after nothing but a division
    names = [type(step).__name__ for step in steps]
    assert "Normalize" not in names and names[-1] == "AddInverse"
    with torch.no_grad():
        torch.testing.assert_close(model.eval()(pixels[None] / 255), theirs(seen[None]))


def test_unknown_bcos_weights_are_named_before_anything_is_downloaded() -> None:
    model: BcosClassifier = built("resnet50_bcos", paper_context())
    with pytest.raises(PastaError, match="Did you mean 'resnet50_long'"):
        load_released_weights(model.network, "resnet50_lon")
    with pytest.raises(ValidationError, match="need start 'scratch'"):
        BcosParams(weights="resnet50", start="resnet50")


def test_the_stem_of_the_transformer_begins_as_the_resnet(data: TrainingData) -> None:
    model: TransformerClassifier = built("vit_b_16", data)
    source: ResNetClassifier = data.shared["resnet50"]
    model.network.conv_proj.take_over(source.network)
    ours = model.network.conv_proj.stages["layer3"].state_dict()
    torch.testing.assert_close(ours, source.network.layer3.state_dict())


@pytest.mark.parametrize("name", BLACK_BOXES)
def test_the_same_seed_gives_the_same_network(name: str, data: TrainingData) -> None:
    def trained() -> dict[str, torch.Tensor]:
        model = built(name, data)
        fit_black_box(model, data, quick(), name, silent)
        return dict(model.state_dict())

    first, second = trained(), trained()
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_predictions_do_not_depend_on_batches(data: TrainingData) -> None:
    model = data.shared["resnet50"]
    rows = data.rows("test")
    whole = outputs(model.probabilities, data, rows)
    other = outputs(model.probabilities, data, rows, batch_size=3)
    torch.testing.assert_close(other, whole, atol=1e-5, rtol=1e-4)
    assert torch.equal(other.argmax(1), whole.argmax(1))


def test_training_stops_early_and_keeps_the_best_epoch(data: TrainingData) -> None:
    network = torch.nn.Linear(1, 1)
    scores = iter([0.2, 0.8, 0.5, 0.4, 0.3, 0.9])
    kept: list[float] = []

    def validate() -> float:
        kept.append(float(network.weight.detach()))
        return next(scores)

    def loss(images: torch.Tensor, rows: torch.Tensor, flipped: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = network(images.mean((1, 2, 3))[:, None]).square().mean()
        return value

    settings = quick(epochs=6, patience=3)
    history = train(
        network, data, settings, loss=loss, validate=validate, purpose="x", progress=silent
    )
    assert history.best_epoch == 2 and len(history.curves["validation"]) == 5
    assert float(network.weight.detach()) == kept[1]


def test_small_epochs_see_small_images_and_are_not_kept(data: TrainingData) -> None:
    network = torch.nn.Linear(1, 1)
    sizes: list[int] = []

    def loss(images: torch.Tensor, rows: torch.Tensor, flipped: torch.Tensor) -> torch.Tensor:
        sizes.append(images.shape[-1])
        value: torch.Tensor = network(images.mean((1, 2, 3))[:, None]).square().mean()
        return value

    scores = iter([0.9, 0.1])
    settings = quick(epochs=2, small_share=0.5, small_size=32, batch_size=24)
    history = train(
        network, data, settings, loss=loss, validate=lambda: next(scores), purpose="x",
        progress=silent,
    )  # fmt: skip
    assert sizes == [32, 48] and history.best_epoch == 2


def test_a_loss_that_is_no_number_stops_the_training(data: TrainingData) -> None:
    network = torch.nn.Linear(1, 1)

    def loss(images: torch.Tensor, rows: torch.Tensor, flipped: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = network(images.mean((1, 2, 3))[:, None]).sum()
        return value * float("nan")

    with pytest.raises(PastaError, match="not a number in epoch 1"):
        train(network, data, quick(), loss=loss, validate=lambda: 0.0, purpose="x", progress=silent)


def test_every_model_of_the_papers_is_there_with_its_source() -> None:
    assert set(profile().models["monumai"].backbones) <= set(ORDER)
    for name in ORDER:
        metadata = MODELS.entry(name).metadata
        assert metadata["title"] and metadata["doi"].startswith("10.")
