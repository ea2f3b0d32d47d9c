"""Concept bottleneck and X-NeSyL: what both promise, and what each does on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from torch import nn
from torchvision.models.detection.image_list import ImageList
from torchvision.ops import box_iou

from pasta.errors import PastaError
from pasta.models.base import MODELS, silent
from pasta.models.concept_bottleneck import ConceptBottleneckRecipe, LinearHead
from pasta.models.data import TrainingData
from pasta.models.resnet import ResNetClassifier
from pasta.models.settings import (
    BackboneParams,
    ConceptBottleneckParams,
    ResNetParams,
    XnesylParams,
)
from pasta.models.training import accuracy, concept_auc, mean_auc, seen_concepts
from pasta.models.xnesyl import FINEST_STRIDE, NOTHING, PartBoxes, Xnesyl, XnesylRecipe, part_boxes
from tests.models.concept_data import CONCEPTS, FULL, SLIM, gradient, planted

UNSEEN = CONCEPTS.index("never")
both = pytest.mark.parametrize("name", ["concept_bottleneck", "xnesyl"])


def bottleneck(epochs: int = 1, backbone: BackboneParams = SLIM) -> ConceptBottleneckParams:
    return ConceptBottleneckParams(
        backbone=backbone, training=gradient(epochs), head="sequential", score="logit", penalty=1e-3
    )


def detector(epochs: int = 1, backbone: BackboneParams = SLIM, levels: int = 1) -> XnesylParams:
    return XnesylParams(
        backbone=backbone,
        channels=32,
        convolutions=1,
        levels=levels,
        training=gradient(epochs),
        penalty=1e-3,
        threshold=0.05,
    )


SETTINGS: dict[str, Any] = {"concept_bottleneck": bottleneck, "xnesyl": detector}


def trained(name: str, data: TrainingData, chosen: Any) -> Any:
    model = MODELS[name].build(data, chosen)
    MODELS[name].fit(model, data, chosen, silent)
    return model


@pytest.fixture(scope="module")
def data() -> TrainingData:
    return planted(48, 120, 24, 36)


@pytest.fixture(scope="module")
def models(data: TrainingData) -> dict[str, Any]:
    return {
        "concept_bottleneck": trained("concept_bottleneck", data, bottleneck(6)),
        "xnesyl": trained("xnesyl", data, detector(10)),
    }


@pytest.fixture
def model(models: dict[str, Any], request: pytest.FixtureRequest) -> Any:
    """The model that the test names, else the detector."""
    named = getattr(request.node, "callspec", None)
    return models[named.params.get("name", "xnesyl") if named else "xnesyl"]


@both
def test_planted_concepts_and_classes_are_learned(
    name: str, data: TrainingData, model: Any
) -> None:
    assert concept_auc(model, data, "test") > 0.95
    assert accuracy(model, data, "test") > 0.9


@both
def test_the_halves_make_the_whole_whatever_the_batches(
    name: str, data: TrainingData, model: Any
) -> None:
    images = data.images(data.rows("test")[:8])
    with torch.inference_mode():
        whole, scores = model(images), model.concept_scores(images)
        assert scores.shape == (8, len(CONCEPTS))
        torch.testing.assert_close(model.classify(scores), whole)
        torch.testing.assert_close(model.probabilities(images).sum(1), torch.ones(8))
        alone = torch.cat([model(image[None]) for image in images])
        torch.testing.assert_close(alone, whole, rtol=1e-4, atol=1e-4)


@both
def test_a_concept_that_never_occurs_is_constant_and_harmless(
    name: str, data: TrainingData, model: Any
) -> None:
    images = data.images(data.rows("test"))
    with torch.inference_mode():
        (score,) = set(model.concept_scores(images)[:, UNSEEN].tolist())
    assert score == (0 if name == "xnesyl" else pytest.approx(-np.log(241)))
    assert not model.head.weight[:, UNSEEN].any()
    if name == "xnesyl":
        assert all(UNSEEN not in concepts for _, concepts, _ in model.detect(images))


@both
def test_the_same_seed_gives_the_same_weights(name: str) -> None:
    small = planted(32, 24, 6, 6)
    torch.manual_seed(1)
    first = trained(name, small, SETTINGS[name](2)).saved_state()
    torch.manual_seed(2)
    second = trained(name, small, SETTINGS[name](2)).saved_state()
    assert all(torch.equal(first[key], second[key]) for key in first)


@both
def test_the_full_size_takes_a_step(name: str) -> None:
    small, full = planted(224, 2, 1, 1), SETTINGS[name](1, FULL)
    if name == "xnesyl":
        full = full.model_copy(update={"levels": 5, "channels": 256, "convolutions": 4})
    model: Any = MODELS[name].build(small, full)
    inner = model.extractor if name == "concept_bottleneck" else model.extractor.fcos.backbone
    before = inner.network.layer4[0].conv1.weight.clone()
    history = MODELS[name].fit(model, small, full, silent)
    assert np.isfinite(history.curves["loss"]).all()
    assert not torch.equal(before, inner.network.layer4[0].conv1.weight)


def test_an_unseen_concept_gets_no_gradient(data: TrainingData) -> None:
    model = ConceptBottleneckRecipe.build(data, bottleneck()).train()
    model.extractor.seen.copy_(seen_concepts(data))
    total = model.extractor.logits(data.images(data.rows("train")[:4])).sum()
    total.backward()  # type: ignore[no-untyped-call]
    units = model.extractor.network.fc
    assert isinstance(units, nn.Linear)
    gradient_of_units = units.weight.grad
    assert gradient_of_units is not None
    assert not gradient_of_units[UNSEEN].any()
    assert gradient_of_units[:UNSEEN].any(1).all()


def test_independent_learns_from_annotations(data: TrainingData) -> None:
    chosen = bottleneck(1).model_copy(update={"head": "independent", "score": "probability"})
    model = trained("concept_bottleneck", data, chosen)
    with torch.inference_mode():
        predicted = model.classify(data.presence).argmax(1)
        scores = model.concept_scores(data.images(data.rows("test")))
    assert torch.equal(predicted, data.labels)
    assert float(scores.min()) >= 0
    assert float(scores.max()) <= 1


def test_independent_needs_probabilities() -> None:
    values = bottleneck().model_dump()
    with pytest.raises(ValidationError, match="needs score 'probability'"):
        ConceptBottleneckParams.model_validate({**values, "head": "independent"})


def test_it_starts_from_the_trained_classifier(data: TrainingData) -> None:
    shape = SLIM.model_dump(exclude={"start", "frozen"})
    size = ResNetParams.model_validate({**shape, "training": gradient(1)})
    classifier = ResNetClassifier(data.classes, size)
    start = SLIM.model_copy(update={"start": "resnet50", "frozen": 2})
    with pytest.raises(PastaError, match="trained resnet50"):
        trained("concept_bottleneck", data, bottleneck(1, start))
    data.shared["resnet50"] = classifier
    before = {name: value.clone() for name, value in classifier.network.state_dict().items()}
    after = trained("concept_bottleneck", data, bottleneck(1, start)).extractor.network.state_dict()
    frozen = [name for name in before if name.startswith(("conv1", "bn1", "layer1"))]
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    assert not torch.equal(before["layer2.0.conv1.weight"], after["layer2.0.conv1.weight"])
    unchanged = classifier.network.state_dict()
    assert all(torch.equal(before[name], unchanged[name]) for name in before)


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


def test_boxes_lie_on_the_squares(data: TrainingData, model: Xnesyl) -> None:
    rows = data.rows("test")
    truth = part_boxes(data, 0)
    overlaps = []
    for row, (boxes, concepts, scores) in zip(rows, model.detect(data.images(rows)), strict=True):
        assert torch.equal(scores, scores.sort(descending=True).values)
        for concept in truth.concepts[row][truth.concepts[row] != NOTHING]:
            own = truth.corners[row][truth.concepts[row] == concept]
            found = boxes[concepts == concept][:1]
            overlaps.append(float(box_iou(found, own).max()) if len(found) else 0.0)
    assert np.mean(overlaps) > 0.5


def test_the_best_score_is_that_of_the_best_detection(data: TrainingData, model: Xnesyl) -> None:
    fcos = model.extractor.fcos
    images = data.images(data.rows("test")[:6])
    usual = fcos.score_thresh, fcos.topk_candidates, fcos.detections_per_img
    fcos.score_thresh, fcos.topk_candidates, fcos.detections_per_img = 0.0, 10**6, 10**6
    with torch.inference_mode():
        detections, scores = model.detect(images), model.concept_scores(images)
    fcos.score_thresh, fcos.topk_candidates, fcos.detections_per_img = usual
    for (_, concepts, found), expected in zip(detections, scores, strict=True):
        for concept in range(len(CONCEPTS) - 1):
            torch.testing.assert_close(found[concepts == concept].max(), expected[concept])


def test_scores_have_a_gradient(data: TrainingData, model: Xnesyl) -> None:
    images = data.images(data.rows("test")[:2]).requires_grad_()
    model(images)[:, 0].sum().backward()  # over all classes the weights cancel
    assert images.grad is not None
    assert bool(images.grad.isfinite().all())
    assert bool(images.grad.abs().amax((1, 2, 3)).gt(0).all())


@pytest.mark.parametrize("levels", [1, 3, 5])
def test_batched_targets_give_the_loss_of_torchvision(levels: int) -> None:
    data = planted(64, 12, 3, 3)
    network = XnesylRecipe.build(data, detector(levels=levels)).extractor.eval()
    random = torch.Generator().manual_seed(levels)
    first = torch.rand(12, 7, 2, generator=random) * 50
    sides = torch.rand(12, 7, 2, generator=random) ** 2 * 40 + 1
    concepts = torch.randint(0, 4, (12, 7), generator=random)
    concepts[:, 5:] = NOTHING
    concepts[0] = NOTHING  # an image without any box
    boxes = PartBoxes(torch.cat([first, first + sides], 2), concepts)
    targets = [
        {"boxes": corners[names != NOTHING], "labels": names[names != NOTHING]}
        for corners, names in zip(boxes.corners, concepts, strict=True)
    ]
    images = data.images(data.rows("train"))
    maps = list(network.fcos.backbone(images).values())
    anchors = network.fcos.anchor_generator(ImageList(images, [(64, 64)] * 12), maps)
    counts = [level.shape[2] * level.shape[3] for level in maps]
    terms = network.fcos.compute_loss(targets, network.fcos.head(maps), anchors, counts)
    torch.testing.assert_close(network.loss(images, boxes), sum(terms.values()))


def test_boxes_follow_their_images_into_the_mirror(data: TrainingData) -> None:
    boxes, rows = part_boxes(data, 0), torch.tensor([0, 1])
    taken = boxes.take(rows, torch.tensor([False, True]), data.size)
    assert torch.equal(taken.corners[0], boxes.corners[0])
    image = data.images(rows)[1].flip(2)
    left, top, right, bottom = taken.corners[1, 0].round().int().tolist()
    inside = image[:, top:bottom, left:right].flatten(1)
    assert float(inside.std(1).max()) < 1e-3  # a square of one colour, wholly inside its box


def test_small_boxes_reach_a_location(data: TrainingData) -> None:
    wide = part_boxes(data, 2 * FINEST_STRIDE)
    sides = (wide.corners[..., 2:] - wide.corners[..., :2])[wide.concepts != NOTHING]
    assert float(sides.min()) >= 2 * FINEST_STRIDE
