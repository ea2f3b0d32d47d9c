"""Methods that read concepts' parts directly from the model: linear heads and Gaussians."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.catalog import METHODS
from pasta.explanations.methods.self_explaining import linear_contributions, reference
from pasta.models.base import ConceptModel
from pasta.models.clip import FOLDER, open_model, save_clip
from pasta.models.clip_concepts import ClipLinearRecipe, LaboRecipe
from pasta.models.concept_bottleneck import ConceptBottleneckRecipe, LinearHead
from pasta.models.data import TrainingData
from pasta.models.settings import (
    ClipLinearParams,
    ConceptBottleneckParams,
    LaboParams,
    XnesylParams,
)
from pasta.models.xnesyl import XnesylRecipe
from tests.explanations.small_concepts import (
    SmallModel,
    asked,
    assert_independent_of_batch_and_order,
    gaussians,
    images_of,
    linear,
    only_concept_two,
    random_scores,
)
from tests.models.clip_data import SIZE, drawn_data, silent
from tests.models.concept_data import SLIM, gradient, planted

LINEAR = ("xnesyl", "clip_linear", "labo")


@pytest.fixture(scope="module")
def clip_data(tmp_path_factory: pytest.TempPathFactory) -> TrainingData:
    root: Path = tmp_path_factory.mktemp("clip")
    save_clip(open_model("pasta-tiny", None, SIZE, seed=5)[0], root / FOLDER)
    return drawn_data(root, "catsdogscars", (12, 6, 6))


@pytest.fixture(scope="module")
def squares() -> TrainingData:
    return planted(48, 6, 3, 6)


def clip_model(name: str, data: TrainingData) -> ConceptModel:
    settings: Any = {
        "clip_linear": ClipLinearParams(inverse_penalty=(1.0,)),
        "labo": LaboParams(per_class=3, discriminability=1.0, coverage=0.2, inverse_penalty=(1.0,)),
    }[name]
    recipe: Any = {"clip_linear": ClipLinearRecipe, "labo": LaboRecipe}[name]
    model: ConceptModel = recipe.build(data, settings)
    recipe.fit(model, data, settings, silent)
    return model.eval()


def xnesyl_model(data: TrainingData) -> ConceptModel:
    settings = XnesylParams(
        backbone=SLIM,
        channels=32,
        convolutions=1,
        levels=1,
        training=gradient(1),
        penalty=1e-3,
        threshold=0.05,
    )
    model = XnesylRecipe.build(data, settings)
    model.head.load_state_dict(linear(len(model.concepts), len(model.classes)).state_dict())
    return model.eval()


def bottleneck(data: TrainingData, score: Any, unseen: float) -> ConceptModel:
    settings = ConceptBottleneckParams(
        backbone=SLIM, training=gradient(1), head="sequential", score=score, penalty=1e-3
    )
    model = ConceptBottleneckRecipe.build(data, settings)
    model.extractor.unseen.fill_(unseen)
    return model.eval()


def assert_complete(key: str, model: ConceptModel, images: Tensor) -> Tensor:
    """Contributions and the target's bias sum to the target's logit, for every class."""
    contributions = torch.zeros(0)
    with torch.no_grad():
        logits = model(images)
    for target in range(len(model.classes)):
        targets = torch.full((len(images),), target)
        contributions = METHODS[key](asked(model, images, targets))
        assert contributions.dtype == torch.float32
        assert contributions.shape == (len(images), len(model.concepts))
        bias: Any = model.head.bias
        total = contributions.sum(1) + bias.detach()[target]
        torch.testing.assert_close(total, logits[:, target], rtol=1e-5, atol=1e-5)
    return contributions


@pytest.mark.parametrize("key", LINEAR)
@pytest.mark.parametrize("kind", ["linear", "head"])
def test_contributions_and_bias_sum_to_the_logit(key: str, kind: str) -> None:
    head = linear(7, 3)
    if kind == "head":
        fitted = LinearHead(7, 3)
        fitted.load_state_dict(head.state_dict())
        head = fitted
    assert_complete(key, SmallModel(head, 7, 3), images_of(random_scores(5, 7)))


def test_x_nesyl_is_complete_on_the_real_model(squares: TrainingData) -> None:
    model = xnesyl_model(squares)
    assert torch.equal(reference(model), torch.zeros(len(model.concepts)))
    contributions = assert_complete("xnesyl", model, squares.images(squares.rows("test")))
    assert float(contributions.abs().max()) > 0


@pytest.mark.parametrize("key", ["clip_linear", "labo"])
def test_clip_models_are_complete_and_only_chosen_concepts_contribute(
    key: str, clip_data: TrainingData
) -> None:
    model: Any = clip_model(key, clip_data)
    assert torch.equal(reference(model), torch.zeros(len(model.concepts)))
    contributions = assert_complete(key, model, clip_data.images(clip_data.rows("test")))
    assert float(contributions.abs().max()) > 0
    if key == "labo":
        unchosen = ~model.chosen.any(0)
        assert bool(unchosen.any())
        assert not contributions[:, unchosen].any()


def test_an_image_as_usual_gets_no_contributions_from_clip(clip_data: TrainingData) -> None:
    model: Any = clip_model("clip_linear", clip_data)
    with torch.no_grad():
        features = model.extractor.encoder(clip_data.images(clip_data.rows("train")))
        scores = model.extractor.scores(features).mean(0, keepdim=True)
    usual = linear_contributions(model.head, scores, torch.tensor([0]), reference(model))
    assert float(usual.abs().max()) < 1e-4


@pytest.mark.parametrize(("score", "expected"), [("logit", -4.0), ("probability", 0.01798621)])
def test_a_bottlenecks_reference_is_what_it_says_of_unseen_concepts(
    score: str, expected: float, squares: TrainingData
) -> None:
    model: Any = bottleneck(squares, score, -4.0)
    model.extractor.seen.fill_(False)
    neutral = reference(model)
    torch.testing.assert_close(neutral, torch.full_like(neutral, expected))
    with torch.no_grad():
        scores = model.concept_scores(squares.images(squares.rows("test")))
    torch.testing.assert_close(scores, neutral.expand_as(scores))


def test_contributions_are_measured_against_the_reference(squares: TrainingData) -> None:
    model = bottleneck(squares, "logit", -4.0)
    head, neutral, scores = linear(5, 3), reference(model), random_scores(6, 5).float()
    targets = torch.arange(6) % 3
    contributions = linear_contributions(head, scores, targets, neutral)
    with torch.no_grad():
        gained = (head(scores) - head(neutral))[torch.arange(6), targets]
    torch.testing.assert_close(contributions.sum(1), gained, rtol=1e-5, atol=1e-5)
    assert not linear_contributions(head, neutral[None], targets[:1], neutral).any()


def test_contributions_need_a_linear_head() -> None:
    model = SmallModel(gaussians(4, 2).float(), 4, 2)
    with pytest.raises(PastaError, match="linear head, not a GaussianHead"):
        METHODS["labo"](asked(model, images_of(random_scores(1, 4))))


@pytest.mark.parametrize("key", [*LINEAR, "clip_qda"])
def test_what_the_head_does_not_look_at_gets_nothing(key: str) -> None:
    model = SmallModel(only_concept_two(key, 5), 5, 2)
    attributions = METHODS[key](asked(model, images_of(random_scores(6, 5))))
    others = [0, 1, 3, 4]
    assert not attributions[:, others].any()
    assert bool((attributions[:, 2].abs() > 0.1).all())


@pytest.mark.parametrize("key", [*LINEAR, "clip_qda"])
def test_results_do_not_depend_on_batch_or_order(key: str) -> None:
    head = gaussians(6, 3).float() if key == "clip_qda" else linear(6, 3)
    assert_independent_of_batch_and_order(
        key, SmallModel(head, 6, 3), images_of(random_scores(5, 6))
    )
