"""The experiments of the profile `paper_mp`: its networks, from class folders to maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import ResNet50_Weights, resnet50

from pasta.config import Params
from pasta.errors import PastaError
from pasta.experiments.classifiers import PairData, TorchvisionPair, make_classifier, predict
from pasta.experiments.maps import explain_images, measure_maps
from pasta.experiments.run import gather, make_experiment
from pasta.models.base import Normalise
from pasta.models.data import as_tensor
from pasta.studies.prediction.settings import (
    CONDITIONS,
    PRINTED,
    ExperimentParams,
    MapParams,
    PoolParams,
    PredictionParams,
)
from pasta.studies.prediction.shown import Shown
from tests.models.small import profile

PAPER = profile("paper_mp")
SIZE, TESTED = 32, 24


def photograph(light: bool, seed: int) -> Image.Image:
    """Spots on a light or a dark ground, a little larger than it is shown."""
    rng = np.random.default_rng([seed, light])
    ground = np.array([225, 235, 245] if light else [60, 40, 20])
    pixels = ground + rng.normal(0, 25, (SIZE + 8, SIZE + 12, 3))
    row, column = rng.integers(0, SIZE - 8, 2)
    pixels[row : row + 12, column : column + 12] = rng.integers(0, 256, 3)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def write_photographs(folder: Path, classes: tuple[str, str], always: bool) -> None:
    """Class folders: in training the ground tells the class, in the test only if ``always``."""
    for part, number in (("train", 12), ("test", TESTED // 2)):
        for label, name in enumerate(classes):
            (folder / part / name).mkdir(parents=True)
            for one in range(number):
                told = always or part == "train"
                light = label == 0 if told else one % 2 == 0
                photograph(light, 100 * label + one).save(folder / part / name / f"{one}.png")


def small(name: str) -> Params:
    """The profile with the experiment's own names, at sizes for seconds."""
    own = PAPER.prediction.experiments[name]
    assert own.source == "files" and own.size == 224
    # The paper's rates and epochs are for networks that have learned; these start at random.
    epochs = 1 if own.architecture == "vgg16" else 15
    changes = {"epochs": epochs, "learning_rate": 0.001, "batch_size": 4, "patience": epochs}
    settings = {
        **own.model_dump(),
        "root": "photographs",
        "size": SIZE,
        "weights": own.weights if own.outputs else "random",
        "train": 20,
        "validation": 4,
        "candidates": TESTED,
        "training": own.training.model_copy(update=changes),
    }
    study = PredictionParams(
        experiments={name: ExperimentParams(**settings)},
        conditions=PAPER.prediction.conditions,
        maps=MapParams(steps=2, samples=2, deletion_steps=2, patch=0.5, budget=64),
        pool=PoolParams(training=4, test=4),
    )
    return PAPER.model_copy(update={"prediction": study})


def make(name: str, root: Path, always: bool = False) -> dict[str, float]:
    params = small(name)
    classes = params.prediction.experiments[name].classes
    assert classes is not None
    write_photographs(root / "photographs", classes, always)
    return make_experiment(name, params, root, root / "out", root / "figure.jpg")


def store_weights(home: Path, names: tuple[int, int]) -> None:
    """A ResNet50 that tells a light ground from a dark one by two of its thousand classes, in the
    place where torchvision keeps what it has downloaded."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = resnet50(weights=None).eval()
    trunk = torch.nn.Sequential(*list(network.children())[:-1], torch.nn.Flatten())
    pictures = [photograph(light, 7).resize((SIZE, SIZE)) for light in (True, False)]
    pixels = np.stack([np.asarray(one) for one in pictures])
    with torch.no_grad():
        light, dark = trunk(Normalise()(as_tensor(pixels)))
        apart = light - dark
        for one, sign in zip(names, (1, -1), strict=True):
            network.fc.weight[one] = sign * apart
            network.fc.bias[one] = -sign * apart @ (light + dark) / 2
    folder = home / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save(network.state_dict(), folder / Path(ResNet50_Weights.IMAGENET1K_V1.url).name)


@pytest.mark.parametrize(
    ("name", "network"), [("biased", "GoogLeNet"), ("hard", "VGG"), ("useless", "ResNet")]
)
def test_the_profile_names_torchvisions_networks(name: str, network: str) -> None:
    settings = PAPER.prediction.experiments[name]
    with torch.device("meta"):
        model = TorchvisionPair(("a", "b"), settings)
        assert type(model.network).__name__ == network
        assert model(torch.empty(2, 3, 224, 224)).shape == (2, 2)
    (layer,) = model.cam_layers()
    assert layer in set(model.network.modules())


@pytest.mark.parametrize("name", ["biased", "useless"])
def test_an_experiment_is_made_of_class_folders_with_the_network_of_the_profile(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    own = PAPER.prediction.experiments[name]
    if own.outputs is not None:
        store_weights(tmp_path / "torch", own.outputs)
    found = make(name, tmp_path)
    shown = Shown(name, tmp_path / "out")
    about = shown.about
    assert about["architecture"] == own.architecture
    assert ("epochs" in about) == (own.outputs is None)  # its own classes need no training
    pool = shown.pool
    assert pool.groupby(["shown", "right"]).size().tolist() == [2, 2, 2, 2]
    assert pool["phase"].value_counts().to_dict() == {"training": 4, "test": 4}
    for condition in (*CONDITIONS[1:], PRINTED):
        maps = shown.maps(condition)
        assert maps is not None and maps.shape[1:] == (SIZE, SIZE)
        assert np.isfinite(maps).all(), condition
        # a CAM is cut off at zero: nothing may be left of that of a network that hardly learned
        assert maps[:8].any() or condition == "gradcam", condition
    assert set(shown.metrics["condition"]) == {*CONDITIONS[1:], PRINTED}
    assert 0 <= found["faithfulness_saliency"] <= 1
    assert (tmp_path / "figure.jpg").stat().st_size > 1000


def test_vgg16_is_trained_on_class_folders_explained_and_measured(tmp_path: Path) -> None:
    """An epoch from random weights names one class: that there are both is asked of the others."""
    params = small("hard")
    settings = params.prediction.experiments["hard"]
    assert settings.architecture == "vgg16" and settings.classes is not None
    write_photographs(tmp_path / "photographs", settings.classes, always=False)
    found = gather("hard", settings, params, tmp_path)
    images = (found.learned, found.labels, found.validation)
    data = PairData("hard", found.classes, *images, 0, params, tmp_path)
    model, facts = make_classifier(settings, data, learns=True)
    # torchvision's 138,357,544, with a head of two classes in the place of a thousand
    assert facts["epochs"] == 1 and facts["parameters"] == 138_357_544 - 998 * (4_096 + 1)
    predicted = predict(model, found.candidates[:2]).argmax(1)
    study = params.prediction
    maps = explain_images(
        model, found.candidates[:2], predicted, ("gradcam", "occlusion"), study.maps, 0
    )
    values = measure_maps(model, found.candidates[:2], predicted, maps, study.maps, 0)
    assert all(one.shape == (2, SIZE, SIZE) and one.any() for one in maps.values())
    assert values["value"].notna().all() and set(values["condition"]) == set(maps)


def test_a_network_that_is_never_wrong_is_refused_with_what_to_change(tmp_path: Path) -> None:
    with pytest.raises(PastaError, match=r"biased: .* the model is too good: give it more") as said:
        make("biased", tmp_path, always=True)
    assert " wrong predictions of class " in str(said.value)
    assert "of 24 candidates" in str(said.value)
    assert not (tmp_path / "out").exists()
