"""The models on top of the encoder, against open_clip, scikit-learn and brute force."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from pasta.errors import PastaError
from pasta.models.base import MODELS
from pasta.models.clip import FOLDER, open_model, prompts, save_clip
from pasta.models.clip_concepts import (
    Examples,
    Objective,
    fit_gaussians,
    fit_line,
    greedy,
)
from pasta.models.data import TrainingData
from pasta.models.settings import (
    ClipLinearParams,
    ClipQdaParams,
    ClipZeroShotParams,
    EncoderParams,
    LaboParams,
)
from tests.models.clip_data import SIZE, TEMPLATE, drawn_data, silent

SETTINGS: dict[str, Any] = {
    "clip_zero_shot": ClipZeroShotParams(),
    "clip_linear": ClipLinearParams(inverse_penalty=(0.1, 1.0)),
    "clip_qda": ClipQdaParams(shrinkage=(0.1, 0.5)),
    "labo": LaboParams(per_class=3, discriminability=1.0, coverage=0.2, inverse_penalty=(0.1, 1.0)),
}
CONCEPT_MODELS = ["clip_linear", "clip_qda", "labo"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrainingData:
    root: Path = tmp_path_factory.mktemp("clip")
    save_clip(open_model("pasta-tiny", None, SIZE, seed=5)[0], root / FOLDER)
    return drawn_data(root, "catsdogscars")


def fitted(name: str, data: TrainingData) -> Any:
    recipe = MODELS[name]
    model = recipe.build(data, SETTINGS[name])
    recipe.fit(model, data, SETTINGS[name], silent)
    return model.eval()


def test_a_model_may_have_another_encoder_than_the_shared_one(data: TrainingData) -> None:
    """Each sees by its own weights, and two that name the same encoder share one in memory."""
    own = EncoderParams(weights=str(data.root / "own.safetensors"), image_size=SIZE)
    save_clip(open_model("pasta-tiny", None, SIZE, seed=9)[0], data.root).rename(own.weights)
    shared = MODELS["clip_linear"].build(data, ClipLinearParams())
    zero_shot = MODELS["clip_zero_shot"].build(data, ClipZeroShotParams(encoder=own))
    concepts = MODELS["clip_linear"].build(data, ClipLinearParams(encoder=own))
    assert zero_shot.encoder is concepts.extractor.encoder
    assert zero_shot.encoder is not shared.extractor.encoder
    images = data.images(data.rows("test")[:2])
    theirs = open_model("pasta-tiny", own.weights, SIZE)[0]
    expected = theirs.encode_image(zero_shot.encoder.prepare(images), normalize=True)
    torch.testing.assert_close(zero_shot.encoder(images), expected)
    assert not torch.allclose(shared.extractor.encoder(images), expected)
    for model, settings in (
        (shared, ClipLinearParams()),
        (concepts, ClipLinearParams(encoder=own)),
    ):
        MODELS["clip_linear"].fit(model, data, settings, silent)
    assert not torch.allclose(shared.extractor.mean, concepts.extractor.mean)


def gaussian_examples(features: int = 4, classes: int = 3, count: int = 60) -> Examples:
    chance = torch.Generator().manual_seed(0)
    labels = torch.arange(count) % classes
    scores = torch.randn(count, features, generator=chance, dtype=torch.double)
    return Examples(scores * (1 + labels[:, None]) + labels[:, None], labels)


def test_zero_shot_logits_are_open_clips_own(data: TrainingData) -> None:
    model = fitted("clip_zero_shot", data)
    clip, tokenizer = open_model(
        "pasta-tiny", str(data.root / FOLDER / "weights.safetensors"), SIZE
    )
    images = data.images(data.rows("test"))
    tokens = tokenizer(prompts(data.classes, TEMPLATE))
    with torch.no_grad():
        expected, _ = clip.get_logits(model.encoder.normalise(images), tokens)
        found = model(images)
    assert float((found - expected).abs().max()) < 1e-6


def test_the_cam_layer_has_a_map_and_a_gradient(data: TrainingData) -> None:
    model = fitted("clip_zero_shot", data)
    maps: list[Tensor] = []
    handle = model.cam_layers()[0].register_forward_hook(lambda _, __, out: maps.append(out))
    model(data.images(data.rows("test")[:2]).requires_grad_())[:, 0].sum().backward()
    handle.remove()
    assert maps[0].shape[2:] == (SIZE // 16, SIZE // 16)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_checkpoints_leave_out_the_encoder_and_restore_the_rest(
    name: str, data: TrainingData
) -> None:
    model = fitted(name, data)
    state = model.saved_state()
    assert not [key for key in state if "encoder" in key]
    again = MODELS[name].build(data, SETTINGS[name])
    again.load_saved_state(state)
    images = data.images(data.rows("test"))
    with torch.no_grad():
        assert torch.equal(again.eval()(images), model(images))
    with pytest.raises(PastaError, match="another model"):
        again.load_saved_state({**state, "unknown": torch.zeros(1)})


@pytest.mark.parametrize("name", CONCEPT_MODELS)
def test_both_halves_composed_are_the_whole(name: str, data: TrainingData) -> None:
    model = fitted(name, data)
    images = data.images(data.rows("test")).requires_grad_()
    scores = model.concept_scores(images)
    assert scores.shape == (len(images), len(data.concepts))
    logits = model(images)
    assert torch.equal(model.classify(scores), logits)
    logits.sum().backward()
    assert images.grad is not None


@pytest.mark.parametrize("name", CONCEPT_MODELS)
def test_scores_are_standardised_on_the_training_images(name: str, data: TrainingData) -> None:
    with torch.no_grad():
        scores = fitted(name, data).concept_scores(data.images(data.rows("train")))
    assert torch.allclose(scores.mean(0), torch.zeros(len(data.concepts)), atol=1e-3)
    assert torch.allclose(scores.std(0), torch.ones(len(data.concepts)), atol=1e-3)


@pytest.mark.parametrize("name", CONCEPT_MODELS)
def test_fitting_twice_gives_the_same_numbers(name: str, data: TrainingData) -> None:
    first, second = fitted(name, data).saved_state(), fitted(name, data).saved_state()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
def test_qda_is_scikit_learns(shrinkage: float) -> None:
    train = gaussian_examples()
    oracle = QuadraticDiscriminantAnalysis(reg_param=shrinkage)
    oracle.fit(train.scores.numpy(), train.labels.numpy())
    found = fit_gaussians(train, 3, shrinkage)(train.scores).log_softmax(1)
    expected = torch.from_numpy(oracle.predict_log_proba(train.scores.numpy()))
    assert torch.allclose(found, expected, atol=1e-8)


def test_shrinkage_is_what_its_description_says() -> None:
    train, shrinkage = gaussian_examples(), 0.4
    found = fit_gaussians(train, 3, shrinkage)(train.scores)
    constant = train.scores.shape[1] / 2 * math.log(2 * math.pi)
    for label in range(3):
        chosen = train.scores[train.labels == label]
        covariance = (1 - shrinkage) * torch.from_numpy(np.cov(chosen.numpy().T, ddof=0))
        covariance += shrinkage * torch.eye(4, dtype=torch.double)
        gaussian: Any = torch.distributions.MultivariateNormal(chosen.mean(0), covariance)
        expected = gaussian.log_prob(train.scores) + math.log(len(chosen) / 60)
        assert torch.allclose(found[:, label] - constant, expected, atol=1e-6)


def test_a_class_with_one_image_has_no_gaussian() -> None:
    train = Examples(torch.randn(3, 2).double(), torch.tensor([0, 0, 1]))
    with pytest.raises(PastaError, match="class 1 has 1 training images"):
        fit_gaussians(train, 2, 0.1)


def test_the_linear_fit_is_scikit_learns() -> None:
    train = gaussian_examples()
    oracle = LogisticRegression(C=0.5, tol=1e-8, max_iter=2000)
    oracle.fit(train.scores.numpy(), train.labels.numpy())
    weight, bias = fit_line(train, 3, 0.5)
    assert np.allclose(weight, oracle.coef_, atol=1e-3)
    assert np.allclose(bias - bias.mean(), oracle.intercept_, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_greedy_choice_is_near_the_best_one(seed: int) -> None:
    chance = torch.Generator().manual_seed(seed)
    likeness = torch.rand(9, 9, generator=chance)
    objective = Objective(torch.rand(9, generator=chance), likeness, 0.5, 1.0)
    chosen = greedy(objective, 3)
    best = max(objective.worth(list(some)) for some in itertools.combinations(range(9), 3))
    assert len(set(chosen)) == 3
    assert best >= objective.worth(chosen) >= (1 - 1 / math.e) * best


def test_labo_gives_weight_to_chosen_concepts_only(data: TrainingData) -> None:
    model = fitted("labo", data)
    assert (model.chosen.sum(1) <= 3).all()
    chosen = model.chosen.any(0)
    assert 0 < int(chosen.sum()) < len(data.concepts)
    assert (model.head.weight[:, ~chosen] == 0).all()
    assert (model.head.weight[:, chosen] != 0).any()
    seen = data.presence[data.rows("train")].amax(0) > 0
    assert not (chosen & ~seen).any()
