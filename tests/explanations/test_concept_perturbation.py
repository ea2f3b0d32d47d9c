"""LIME, SHAP and RISE on concept scores."""

from __future__ import annotations

from itertools import product
from math import factorial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import Tensor, nn

from pasta.explanations.base import METHODS, Given, View
from pasta.explanations.methods.concept_perturbation import (
    kept_minus_hidden,
    lime_masks,
    lime_weights,
    masked_probabilities,
    rise_masks,
)
from pasta.explanations.methods.lime import ridge
from pasta.explanations.methods.self_explaining import reference
from pasta.models.base import torch_generator
from pasta.models.concept_bottleneck import ConceptBottleneckRecipe, LinearHead
from pasta.models.settings import ConceptBottleneckParams
from tests.explanations.small_concepts import (
    PERTURBATION,
    SETTINGS,
    SmallModel,
    asked,
    assert_independent_of_batch_and_order,
    gaussians,
    images_of,
    linear,
    random_scores,
)
from tests.models.concept_data import SLIM, gradient, planted


def gaussian_model(concepts: int = 6, classes: int = 3) -> SmallModel:
    return SmallModel(gaussians(concepts, classes).float(), concepts, classes)


def every_mask(concepts: int) -> Tensor:
    return torch.tensor(list(product([False, True], repeat=concepts)))


def with_settings(key: str, **changes: Any) -> dict[str, Any]:
    return {**SETTINGS, key: SimpleNamespace(**{**vars(SETTINGS[key]), **changes})}


def by_hand(given: Given, image: int, mask: Tensor) -> float:
    """The target's probability with some concepts hidden, one image and mask at a time."""
    model = given.view.require_concepts()
    scores = given.concept_scores[image].clone()
    for concept, kept in enumerate(mask.tolist()):
        if not kept:
            scores[concept] = 0.0
    with torch.no_grad():
        return float(model.head(scores[None]).softmax(1)[0, given.targets[image]])


@pytest.mark.parametrize("key", PERTURBATION)
def test_results_do_not_depend_on_batch_or_order(key: str) -> None:
    assert_independent_of_batch_and_order(key, gaussian_model(9), images_of(random_scores(4, 9)))


@pytest.mark.parametrize("key", PERTURBATION)
def test_chance_comes_from_the_seed_alone(key: str) -> None:
    model, images = gaussian_model(9), images_of(random_scores(2, 9))
    first, same, other = (METHODS[key](asked(model, images, seed=seed)) for seed in (1, 1, 2))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert first.dtype == torch.float32
    assert first.shape == (2, 9)


@pytest.mark.parametrize("key", PERTURBATION)
def test_only_the_concept_that_the_head_looks_at_matters(key: str) -> None:
    head = LinearHead(6, 2)
    head.weight.data[:, 2] = torch.tensor([-1.0, 1.0])
    scores = random_scores(5, 6)
    scores[:, 2] = torch.tensor([2.0, -2.0, 1.0, -1.0, 2.5])
    settings = with_settings("rise_cbm", masks=4000)
    given = asked(SmallModel(head, 6, 2), images_of(scores), [1] * 5, settings=settings)
    attributions = METHODS[key](given)
    whole = (2 * scores[:, 2]).sigmoid().float() - 0.5  # what hiding the concept changes
    # A penalty shrinks LIME a little; RISE's other concepts differ from 0 by chance.
    near = {"lime_cbm": 0.05, "shap_cbm": 1e-6, "rise_cbm": 0.05}[key]
    assert float((attributions[:, 2] / whole - 1).abs().max()) < near
    others = attributions[:, [0, 1, 3, 4, 5]].abs().amax(1)
    assert bool((others < near * whole.abs()).all())


@pytest.mark.parametrize("key", PERTURBATION)
def test_the_sign_follows_the_target(key: str) -> None:
    model = SmallModel(linear(5, 2), 5, 2)
    images = images_of(random_scores(3, 5))
    for_first, for_second = (METHODS[key](asked(model, images, [k] * 3)) for k in (0, 1))
    torch.testing.assert_close(for_first, -for_second, rtol=1e-4, atol=1e-5)  # p and 1 - p


# What runs


class Counted(nn.Module):
    """A head that remembers how many rows it was given each time."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head
        self.rows: list[int] = []

    def forward(self, scores: Tensor) -> Tensor:
        self.rows.append(len(scores))
        logits: Tensor = self.head(scores)
        return logits


@pytest.mark.parametrize("key", PERTURBATION)
@pytest.mark.parametrize("budget", [3, 25, 1000])
def test_rows_of_several_images_share_passes_within_the_budget(key: str, budget: int) -> None:
    head = Counted(linear(12, 2))
    given = asked(SmallModel(head, 12, 2), images_of(random_scores(3, 12)), [0, 1, 1])
    given.budget = budget
    METHODS[key](given)
    rows = head.rows
    extra = 2 if key == "shap_cbm" else 0  # all concepts, and none
    assert sum(rows) == 3 * (200 + extra)
    assert rows[:-1] == [16 * budget] * (len(rows) - 1)
    assert rows[-1] <= 16 * budget


def test_masked_probabilities_are_those_of_one_row_at_a_time() -> None:
    model = gaussian_model(4)
    given = asked(model, images_of(random_scores(2, 4)), [0, 2])
    masks = [every_mask(4), every_mask(4)[3:8]]  # images may have different numbers of masks
    found = masked_probabilities(given, masks)
    for image, part in enumerate(masks):
        expected = [by_hand(given, image, mask) for mask in part]
        assert found[image].tolist() == pytest.approx(expected, abs=1e-6)


def test_the_views_own_probabilities_are_explained() -> None:
    model, images = gaussian_model(5), images_of(random_scores(2, 5))
    view = View(model, concepts=model, to_probabilities=lambda logits: (3 * logits).softmax(1))
    targets = torch.tensor([0, 1])
    found = METHODS["shap_cbm"](Given(view, images, targets, SETTINGS)).sum(1)
    with torch.no_grad():
        image, nothing = (
            (3 * model.classify(scores)).softmax(1)[[0, 1], targets]
            for scores in (model.concept_scores(images), torch.zeros(2, 5))
        )
    torch.testing.assert_close(found, image - nothing, rtol=0, atol=1e-6)


@pytest.mark.parametrize("score", ["logit", "probability"])
def test_concepts_that_a_bottleneck_has_never_seen_get_nothing(score: Any) -> None:
    data = planted(48, 6, 3, 6)
    settings = ConceptBottleneckParams(
        backbone=SLIM, training=gradient(1), head="sequential", score=score, penalty=1e-3
    )
    model = ConceptBottleneckRecipe.build(data, settings).eval()
    model.head.load_state_dict(linear(5, 3).state_dict())
    model.extractor.unseen.fill_(-3.0)
    model.extractor.seen[4] = False
    given = asked(model, data.images(data.rows("test")))
    attributions = METHODS["shap_cbm"](given)
    assert float(attributions[:, 4].abs().max()) < 1e-6
    assert float(attributions[:, :4].abs().max()) > 1e-3
    with torch.no_grad():
        logits = model.classify(torch.stack([*given.concept_scores, reference(model)]))
    probabilities = logits.softmax(1)[:, given.targets]
    lost = probabilities[:-1].diagonal() - probabilities[-1]
    torch.testing.assert_close(attributions.sum(1), lost, rtol=0, atol=1e-5)


# LIME


@pytest.mark.parametrize("penalty", [0.01, 1.0, 30.0])
def test_lime_is_scikit_learns_weighted_ridge(penalty: float) -> None:
    settings = with_settings("lime_cbm", penalty=penalty)
    given = asked(gaussian_model(8), images_of(random_scores(2, 8)), settings=settings)
    found = METHODS["lime_cbm"](given)
    for image in range(2):
        masks = lime_masks(200, 8, given.generator(image, "lime_cbm"))
        assert bool(masks[0].all())
        values = [by_hand(given, image, mask) for mask in masks]
        hidden = (~masks).sum(1).double().numpy()
        distances, width = np.sqrt(hidden), 0.75 * np.sqrt(8)
        weights = np.sqrt(np.exp(-(distances**2) / width**2))
        peer = Ridge(alpha=penalty).fit(masks.double().numpy(), values, sample_weight=weights)
        np.testing.assert_allclose(found[image].numpy(), peer.coef_, atol=1e-5)


def test_lime_agrees_with_the_authors_package() -> None:
    lime_base: Any = pytest.importorskip("lime.lime_base")
    masks = lime_masks(150, 7, torch_generator(0, "lime"))
    values = torch.rand(150, generator=torch_generator(1, "lime"), dtype=torch.double)
    width = 0.75 * np.sqrt(7)
    peer = lime_base.LimeBase(lambda distances: np.sqrt(np.exp(-(distances**2) / width**2)))
    data, distances = masks.double().numpy(), (~masks).sum(1).double().sqrt().numpy()
    _, slopes, _, _ = peer.explain_instance_with_data(
        data, values[:, None].numpy(), distances, 0, 7, feature_selection="none"
    )
    found = ridge(masks.double()[None], values[None], lime_weights(masks, 0.75)[None], 1.0)[0]
    assert found.tolist() == pytest.approx([slope for _, slope in sorted(slopes)], abs=1e-10)


# SHAP


def test_shap_gives_exact_shapley_values_of_few_concepts() -> None:
    concepts = 5
    given = asked(gaussian_model(concepts), images_of(random_scores(2, concepts)), [0, 1])
    found = METHODS["shap_cbm"](given)
    for image, concept in product(range(2), range(concepts)):
        exact = 0.0
        for mask in every_mask(concepts):
            if not mask[concept]:
                size, joined = int(mask.sum()), mask.clone()
                joined[concept] = True
                weight = factorial(size) * factorial(concepts - size - 1) / factorial(concepts)
                exact += weight * (by_hand(given, image, joined) - by_hand(given, image, mask))
        assert float(found[image, concept]) == pytest.approx(exact, abs=1e-5)


@pytest.mark.parametrize("samples", [20, 200, 2000])
def test_shap_sums_to_what_hiding_everything_changes(samples: int) -> None:
    model, images = gaussian_model(12), images_of(random_scores(4, 12))
    given = asked(model, images, settings=with_settings("shap_cbm", samples=samples))
    found = METHODS["shap_cbm"](given).sum(1)
    ends = torch.tensor([[True], [False]]).expand(2, 12)
    expected = [by_hand(given, k, ends[0]) - by_hand(given, k, ends[1]) for k in range(4)]
    assert found.tolist() == pytest.approx(expected, abs=1e-5)


# RISE


def test_rise_is_the_papers_importance_up_to_one_affine_map() -> None:
    keep, count = 0.3, 200
    model, images = gaussian_model(7), images_of(random_scores(3, 7))
    given = asked(model, images, settings=with_settings("rise_cbm", keep=keep))
    found = METHODS["rise_cbm"](given)
    for image in range(3):
        masks = rise_masks(count, 7, keep, given.generator(image, "rise_cbm"))
        values = torch.tensor([by_hand(given, image, mask) for mask in masks]).double()
        importance = torch.zeros(7).double()
        for mask, value in zip(masks, values, strict=True):
            importance += value * mask.double() / (count * keep)
        expected = (importance - values.mean()) / (1 - keep)
        torch.testing.assert_close(found[image], expected.float(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("keep", "kept"), [(0.5, 20), (0.13, 5), (0.001, 1), (0.999, 39)])
def test_rise_keeps_every_concept_equally_often(keep: float, kept: int) -> None:
    masks = rise_masks(40, 15, keep, torch_generator(0, "rise"))
    assert masks.sum(0).tolist() == [kept] * 15
    assert len(torch.unique(masks.T, dim=0)) > 1


def test_rise_on_all_masks_is_the_mean_marginal_effect() -> None:
    masks = every_mask(4)
    values = torch.rand(16, generator=torch_generator(0, "rise"), dtype=torch.double)
    found = kept_minus_hidden(masks, values)
    for concept in range(4):
        worth = {tuple(mask.tolist()): float(v) for mask, v in zip(masks, values, strict=True)}
        effects = [
            worth[(*mask[:concept], True, *mask[concept + 1 :])] - value
            for mask, value in worth.items()
            if not mask[concept]
        ]
        assert float(found[concept]) == pytest.approx(np.mean(effects))
