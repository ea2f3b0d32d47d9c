"""The part detector and X-NeSyL."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision.models.detection.image_list import ImageList
from torchvision.ops import box_iou

from pasta.models.base import MODELS
from pasta.models.data import TrainingData
from pasta.models.settings import BackboneParams, XnesylParams
from pasta.models.training import accuracy, concept_auc
from pasta.models.xnesyl import FINEST_STRIDE, NOTHING, PartBoxes, Xnesyl, XnesylRecipe, part_boxes
from tests.models.concept_data import CONCEPTS, FULL, SLIM, gradient, planted, quiet

UNSEEN = CONCEPTS.index("never")


def settings(epochs: int = 1, backbone: BackboneParams = SLIM, levels: int = 1) -> XnesylParams:
    return XnesylParams(
        backbone=backbone,
        channels=32,
        convolutions=1,
        levels=levels,
        training=gradient(epochs),
        penalty=1e-3,
        threshold=0.05,
    )


def trained(data: TrainingData, chosen: XnesylParams) -> Xnesyl:
    model = XnesylRecipe.build(data, chosen)
    XnesylRecipe.fit(model, data, chosen, quiet)
    return model


@pytest.fixture(scope="module")
def data() -> TrainingData:
    return planted(48, 120, 24, 36)


@pytest.fixture(scope="module")
def model(data: TrainingData) -> Xnesyl:
    return trained(data, settings(10))


def test_it_is_registered() -> None:
    entry = MODELS.entry("xnesyl")
    assert entry.value == XnesylRecipe
    assert entry.metadata["title"] == "X-NeSyL"


def test_planted_concepts_and_classes_are_learned(data: TrainingData, model: Xnesyl) -> None:
    assert concept_auc(model, data, "test") > 0.95
    assert accuracy(model, data, "test") > 0.9


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


def test_the_halves_make_the_whole(data: TrainingData, model: Xnesyl) -> None:
    images = data.images(data.rows("test")[:8])
    with torch.inference_mode():
        whole, scores = model(images), model.concept_scores(images)
        assert scores.shape == (8, len(CONCEPTS))
        torch.testing.assert_close(model.classify(scores), whole)


def test_a_concept_that_never_occurs_is_constant_and_harmless(
    data: TrainingData, model: Xnesyl
) -> None:
    images = data.images(data.rows("test"))
    with torch.inference_mode():
        scores = model.concept_scores(images)
    assert not scores[:, UNSEEN].any()
    assert not model.head.weight[:, UNSEEN].any()
    assert all(UNSEEN not in concepts for _, concepts, _ in model.detect(images))


def test_batches_do_not_matter(data: TrainingData, model: Xnesyl) -> None:
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


@pytest.mark.parametrize("levels", [1, 3, 5])
def test_batched_targets_give_the_loss_of_torchvision(levels: int) -> None:
    data = planted(64, 12, 3, 3)
    detector = XnesylRecipe.build(data, settings(levels=levels)).extractor.eval()
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
    maps = list(detector.fcos.backbone(images).values())
    anchors = detector.fcos.anchor_generator(ImageList(images, [(64, 64)] * 12), maps)
    counts = [level.shape[2] * level.shape[3] for level in maps]
    terms = detector.fcos.compute_loss(targets, detector.fcos.head(maps), anchors, counts)
    torch.testing.assert_close(detector.loss(images, boxes), sum(terms.values()))


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


def test_the_full_size_takes_a_step() -> None:
    small = planted(224, 2, 1, 1)
    full = settings(1, FULL, levels=5).model_copy(update={"channels": 256, "convolutions": 4})
    model = XnesylRecipe.build(small, full)
    before = model.extractor.fcos.backbone.network.layer4[0].conv1.weight.clone()
    history = XnesylRecipe.fit(model, small, full, quiet)
    assert np.isfinite(history.curves["loss"]).all()
    assert not torch.equal(before, model.extractor.fcos.backbone.network.layer4[0].conv1.weight)
