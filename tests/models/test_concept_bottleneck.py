"""The concept bottleneck model and the parts it shares with others."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import nn

from pasta.errors import PastaError
from pasta.models.base import MODELS
from pasta.models.concept_bottleneck import ConceptBottleneck, ConceptBottleneckRecipe, LinearHead
from pasta.models.data import TrainingData
from pasta.models.resnet import ResNetClassifier
from pasta.models.settings import BackboneParams, ConceptBottleneckParams, ResNetParams
from pasta.models.training import accuracy, concept_auc, mean_auc, seen_concepts
from tests.models.concept_data import CONCEPTS, FULL, SLIM, gradient, planted, quiet

UNSEEN = CONCEPTS.index("never")


def settings(epochs: int = 1, backbone: BackboneParams = SLIM) -> ConceptBottleneckParams:
    return ConceptBottleneckParams(
        backbone=backbone, training=gradient(epochs), head="sequential", score="logit", penalty=1e-3
    )


def trained(data: TrainingData, chosen: ConceptBottleneckParams) -> ConceptBottleneck:
    model = ConceptBottleneckRecipe.build(data, chosen)
    ConceptBottleneckRecipe.fit(model, data, chosen, quiet)
    return model


@pytest.fixture(scope="module")
def data() -> TrainingData:
    return planted(48, 120, 24, 36)


@pytest.fixture(scope="module")
def model(data: TrainingData) -> ConceptBottleneck:
    return trained(data, settings(6))


def test_it_is_registered() -> None:
    entry = MODELS.entry("concept_bottleneck")
    assert entry.value == ConceptBottleneckRecipe
    assert entry.metadata["title"] == "ConceptBottleneck"


def test_planted_concepts_and_classes_are_learned(
    data: TrainingData, model: ConceptBottleneck
) -> None:
    assert concept_auc(model, data, "test") > 0.95
    assert accuracy(model, data, "test") > 0.9


def test_the_halves_make_the_whole(data: TrainingData, model: ConceptBottleneck) -> None:
    images = data.images(data.rows("test")[:8])
    with torch.inference_mode():
        whole, scores = model(images), model.concept_scores(images)
        assert scores.shape == (8, len(CONCEPTS))
        torch.testing.assert_close(model.classify(scores), whole)
        torch.testing.assert_close(model.probabilities(images).sum(1), torch.ones(8))


def test_a_concept_that_never_occurs_is_constant_and_harmless(
    data: TrainingData, model: ConceptBottleneck
) -> None:
    with torch.inference_mode():
        scores = model.concept_scores(data.images(data.rows("test")))
    assert torch.unique(scores[:, UNSEEN]).numel() == 1
    assert float(scores[0, UNSEEN]) == pytest.approx(-np.log(241))
    assert not model.head.weight[:, UNSEEN].any()


def test_it_gets_no_gradient(data: TrainingData) -> None:
    model = ConceptBottleneckRecipe.build(data, settings()).train()
    model.extractor.seen.copy_(seen_concepts(data))
    total = model.extractor.logits(data.images(data.rows("train")[:4])).sum()
    total.backward()  # type: ignore[no-untyped-call]
    units = model.extractor.network.fc
    assert isinstance(units, nn.Linear)
    gradient_of_units = units.weight.grad
    assert gradient_of_units is not None
    assert not gradient_of_units[UNSEEN].any()
    assert gradient_of_units[:UNSEEN].any(1).all()


def test_batches_do_not_matter(data: TrainingData, model: ConceptBottleneck) -> None:
    images = data.images(data.rows("test")[:6])
    with torch.inference_mode():
        alone = torch.cat([model(image[None]) for image in images])
        torch.testing.assert_close(alone, model(images), rtol=1e-4, atol=1e-4)


def test_the_same_seed_gives_the_same_weights() -> None:
    small = planted(32, 24, 6, 6)
    torch.manual_seed(1)
    first = trained(small, settings(2)).saved_state()
    torch.manual_seed(2)
    second = trained(small, settings(2)).saved_state()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_independent_learns_from_annotations(data: TrainingData) -> None:
    chosen = settings(1).model_copy(update={"head": "independent", "score": "probability"})
    model = trained(data, chosen)
    with torch.inference_mode():
        predicted = model.classify(data.presence).argmax(1)
        scores = model.concept_scores(data.images(data.rows("test")))
    assert torch.equal(predicted, data.labels)
    assert float(scores.min()) >= 0
    assert float(scores.max()) <= 1


def test_independent_needs_probabilities() -> None:
    values = settings().model_dump()
    with pytest.raises(ValidationError, match="needs score 'probability'"):
        ConceptBottleneckParams.model_validate({**values, "head": "independent"})


def test_it_starts_from_the_trained_classifier(data: TrainingData) -> None:
    shape = SLIM.model_dump(exclude={"start", "frozen"})
    size = ResNetParams.model_validate({**shape, "training": gradient(1)})
    classifier = ResNetClassifier(data.classes, size)
    start = SLIM.model_copy(update={"start": "resnet50", "frozen": 2})
    with pytest.raises(PastaError, match="trained resnet50"):
        trained(data, settings(1, start))
    data.shared["resnet50"] = classifier
    before = {name: value.clone() for name, value in classifier.network.state_dict().items()}
    after = trained(data, settings(1, start)).extractor.network.state_dict()
    frozen = [name for name in before if name.startswith(("conv1", "bn1", "layer1"))]
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    assert not torch.equal(before["layer2.0.conv1.weight"], after["layer2.0.conv1.weight"])
    unchanged = classifier.network.state_dict()
    assert all(torch.equal(before[name], unchanged[name]) for name in before)


def test_the_full_size_takes_a_step() -> None:
    small = planted(224, 2, 1, 1)
    model = ConceptBottleneckRecipe.build(small, settings(1, FULL))
    before = model.extractor.network.layer4[0].conv1.weight.clone()
    history = ConceptBottleneckRecipe.fit(model, small, settings(1, FULL), quiet)
    assert np.isfinite(history.curves["loss"]).all()
    assert not torch.equal(before, model.extractor.network.layer4[0].conv1.weight)


def test_the_head_is_logistic_regression() -> None:
    random = torch.Generator().manual_seed(0)
    scores, labels = torch.randn(90, 4, generator=random), torch.arange(90) % 3
    scores[:, 0] += labels
    head = LinearHead(4, 3)
    head.fit(scores, labels, penalty=0.01)
    scaled = (scores - scores.mean(0)) / scores.std(0, unbiased=False)
    reference = LogisticRegression(C=1 / (0.01 * 90), tol=1e-8, max_iter=1000)
    expected = reference.fit(scaled.numpy(), labels.numpy()).predict_proba(scaled.numpy())
    np.testing.assert_allclose(head(scores).softmax(1).detach().numpy(), expected, atol=1e-3)


def test_mean_auc_agrees_with_scikit_learn() -> None:
    random = torch.Generator().manual_seed(0)
    scores = torch.rand(50, 3, generator=random)
    presence = (torch.rand(50, 3, generator=random) < 0.4).float()
    presence[:, 2] = 0  # says nothing and is left out
    expected = roc_auc_score(presence[:, :2].numpy(), scores[:, :2].numpy())
    assert mean_auc(scores, presence) == pytest.approx(expected)
