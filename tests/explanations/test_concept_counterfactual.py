"""CLIP-QDA-sample: the smallest change of one concept that changes the decision."""

from __future__ import annotations

import math
from itertools import product

import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.base import METHODS
from pasta.explanations.methods.self_explaining import NEAREST, counterfactuals
from pasta.models.clip_concepts import GaussianHead
from tests.explanations.small_concepts import (
    SmallModel,
    asked,
    gaussians,
    images_of,
    linear,
    only_concept_two,
    random_scores,
)


def scanned(head: GaussianHead, scores: Tensor, target: int, concept: int) -> tuple[float, float]:
    """Walk away from the image in small steps, both ways at once, until the target is won or lost;
    then halve the last step again and again."""
    step, steps = 0.002, 20_000
    axis = torch.nn.functional.one_hot(torch.tensor(concept), len(scores)).double()

    def wins(changes: Tensor) -> Tensor:
        winners: Tensor = head(scores + changes[:, None] * axis).argmax(1)
        return winners == target

    start = bool(wins(torch.zeros(1).double()))
    walk = torch.arange(1, steps + 1).double() * step
    ways = torch.stack([wins(walk), wins(-walk)]) != start
    if not bool(ways.any()):
        return math.inf, 0.0
    first = int(ways.any(0).nonzero()[0])
    direction = 1.0 if bool(ways[0, first]) else -1.0
    near, far = float(walk[first]) - step, float(walk[first])
    for _ in range(40):
        middle = (near + far) / 2
        crossed = bool(wins(torch.tensor([direction * middle], dtype=torch.double))) != start
        near, far = (near, middle) if crossed else (middle, far)
    # Winning by more of it, or losing by less of it: more of it is better.
    return direction * far, direction if not start else -direction


def test_changes_are_those_that_a_slow_walk_finds() -> None:
    kinds = set()
    for spread in (1.0, 0.3):
        head, scores = gaussians(4, 3, spread=spread), random_scores(4, 4)
        winners = head(scores).argmax(1).tolist()
        for target in range(3):
            change, sign = counterfactuals(head, scores, torch.full((4,), target))
            for image, concept in product(range(4), range(4)):
                found = float(change[image, concept]), float(sign[image, concept])
                expected = scanned(head, scores[image], target, concept)
                if abs(found[0]) > 40:  # farther than the walk goes
                    assert expected == (math.inf, 0.0)
                else:
                    assert found == pytest.approx(expected, abs=1e-8)
                kinds.add((winners[image] == target, found[1]))
    # The walk has met all there is: from inside and outside, both signs and none.
    assert kinds == set(product((True, False), (-1.0, 0.0, 1.0)))


def test_the_decision_changes_at_the_border_and_not_before() -> None:
    head, scores = gaussians(12, 9, spread=0.5), random_scores(8, 12)
    numbers = torch.arange(8)
    targets = torch.where(numbers < 4, head(scores).argmax(1), numbers)
    won = head(scores).argmax(1) == targets
    assert bool(won.any()) and not bool(won.all())
    change, sign = counterfactuals(head, scores, targets)
    assert bool(change.isfinite().any(1).all())

    def wins(part: float) -> Tensor:
        moves = torch.diag_embed(torch.where(change.isfinite(), change, 0) * part)
        logits: Tensor = head((scores[:, None] + moves).flatten(0, 1))
        return logits.argmax(1).reshape(8, 12) == targets[:, None]

    stays = won[:, None].expand(8, 12)
    assert torch.equal(wins(1 - 1e-7), stays)
    assert torch.equal(wins(1 + 1e-7), stays ^ change.isfinite())
    assert torch.equal(sign == 0, ~change.isfinite())


def test_two_classes_that_differ_in_one_concept() -> None:
    model = SmallModel(only_concept_two("clip_qda", 4), 4, 2)
    scores = torch.tensor([[0.3, -1.0, 0.5, 2.0], [0.3, -1.0, -0.25, 2.0]])  # the border is at 0
    images = images_of(scores)
    inside = METHODS["clip_qda"](asked(model, images, [1, 0]))
    # Less of it would lose class 1; more of it would lose class 0.
    expected = torch.tensor([[0, 0, 1 / 0.5, 0], [0, 0, -1 / 0.25, 0]])
    torch.testing.assert_close(inside, expected, rtol=1e-5, atol=0)
    # Seen from the class that is not predicted: more wins class 1, less wins class 0.
    outside = METHODS["clip_qda"](asked(model, images, [0, 1]))
    torch.testing.assert_close(outside, -expected, rtol=1e-5, atol=0)


def test_a_narrow_class_inside_a_wide_one() -> None:
    head = GaussianHead(2, 2).double()
    head.whitening[1, 0, 0] = 0.5  # the second class is twice as wide along the first concept
    head.offsets[1] = math.log(0.5)
    border = math.sqrt(8 * math.log(2) / 3)  # where t² / 2 = t² / 8 + log 2
    scores = torch.tensor([[0.5, 1.0], [-0.5, 1.0], [3.0, 1.0]]).double()
    change, sign = counterfactuals(head, scores, torch.zeros(3, dtype=torch.long))
    expected = torch.tensor([border - 0.5, 0.5 - border, border - 3]).double()
    torch.testing.assert_close(change[:, 0], expected)
    assert sign[:, 0].tolist() == [-1, 1, -1]  # the narrow class is at low scores, or at high ones
    assert change[:, 1].tolist() == [math.inf] * 3
    assert sign[:, 1].tolist() == [0] * 3


def test_gaussians_of_one_shape_have_straight_borders() -> None:
    head = gaussians(5, 2)
    head.whitening[1], head.offsets[1] = head.whitening[0], head.offsets[0]
    scores = random_scores(4, 5)
    change, _ = counterfactuals(head, scores, torch.zeros(4, dtype=torch.long))
    precision = head.whitening[0] @ head.whitening[0].T
    slope = precision @ (head.means[0] - head.means[1])
    logits = head(scores)
    expected = -(logits[:, 0] - logits[:, 1])[:, None] / slope
    torch.testing.assert_close(change, expected, rtol=1e-8, atol=0)


def test_rivals_that_are_the_same_do_not_hide_the_way_in() -> None:
    head = gaussians(6, 3, seed=4, spread=0.3)
    both = GaussianHead(6, 4).double()
    for name in ("means", "whitening", "offsets"):
        part: Tensor = getattr(head, name)
        getattr(both, name).copy_(torch.cat([part, part[2:]]))  # the last class twice
    scores = random_scores(40, 6)
    for target in (0, 1):
        targets = torch.full((40,), target)
        torch.testing.assert_close(
            counterfactuals(both, scores, targets), counterfactuals(head, scores, targets)
        )


def test_an_image_on_the_border_has_large_finite_attributions() -> None:
    model = SmallModel(only_concept_two("clip_qda", 3), 3, 2)
    attributions = METHODS["clip_qda"](asked(model, images_of(torch.zeros(1, 3)), [1]))
    torch.testing.assert_close(attributions, torch.tensor([[0, 0, 1 / NEAREST]]))


def test_counterfactuals_need_gaussians() -> None:
    model = SmallModel(linear(4, 2), 4, 2)
    with pytest.raises(PastaError, match="Gaussian head, not a Linear"):
        METHODS["clip_qda"](asked(model, images_of(random_scores(1, 4))))
