"""Pareto fronts, and faithfulness correlations that share their forward passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from pasta.applications.faithful import METRIC, measure_stored
from pasta.applications.pareto import agreement, average, on_front, place, run_pareto
from pasta.applications.prepared.falls import chosen_pixels, faithfulness
from pasta.errors import PastaError
from pasta.explanations.base import View
from tests.applications.made_up import measured, random_scores, scored, settings

torch.set_num_threads(1)
SIDE = 12
NUMBER = st.sampled_from([0.0, 0.25, 0.5, 1.0, np.nan])
NOTHING: Any = None  # parameters, for what must not look at them


@given(st.lists(st.tuples(NUMBER, NUMBER), max_size=9))
def test_the_front_is_what_no_other_point_beats(points: list[tuple[float, float]]) -> None:
    first, second = ([pair[axis] for pair in points] for axis in (0, 1))
    found = on_front(np.array(first), np.array(second))
    for number, (x, y) in enumerate(points):
        beaten = any(a >= x and b >= y and (a > x or b > y) for a, b in points)
        assert found[number] == (np.isfinite(x) and np.isfinite(y) and not beaten)


def test_a_staircase_is_all_front_and_a_chain_has_one_end() -> None:
    steps = np.arange(5.0)
    assert on_front(steps, -steps).all()
    assert on_front(steps, steps).tolist() == [False] * 4 + [True]
    assert on_front(np.zeros(3), np.zeros(3)).all()  # equal points are on it together


def test_fronts_are_those_of_each_image() -> None:
    scores = scored([[0.9, 0.1, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4]])
    values = measured(scores).assign(faithfulness=[0.1, 0.9, 0.0, 0.5, 0.0, 0.1, 0.2, 0.3])
    placed = place(scores, values).set_index("sample_id")["on_front"]
    assert sorted(placed.index[placed]) == [
        "coco/0000/eigencam/resnet50",
        "coco/0000/gradcam/resnet50",
        "coco/0000/lime/resnet50",
        "coco/0001/eigencam/resnet50",
    ]


def test_means_and_shares_of_techniques() -> None:
    scores = random_scores(10)
    placed = place(scores, measured(scores))
    places = average(placed, 100, 0).set_index("technique")
    for technique, own in placed.groupby("technique"):
        row: Any = places.loc[str(technique)]
        assert row["n"] == 10
        assert row["score"] == pytest.approx(own["score"].mean())
        assert row["faithfulness"] == pytest.approx(own["faithfulness"].mean())
        assert row["front_share"] == pytest.approx(own["on_front"].mean())
        assert row["score_low"] < row["score"] < row["score_high"]
    assert places["on_front"].any()


def test_missing_values_are_counted_and_not_on_a_front() -> None:
    scores = random_scores(6)
    values = measured(scores)
    values.loc[values.index % 4 == 0, "faithfulness"] = np.nan
    tables = run_pareto(scores, values, settings(), 0)
    row = tables["places"].set_index("technique").loc["gradcam/resnet50"]
    assert (row["n"], row["without_value"], row["on_front"]) == (0, 6, False)


def test_agreement_is_one_where_both_rank_alike() -> None:
    scores = random_scores(8)
    wide = pd.concat(
        [scores, scores.assign(sample_id=scores["sample_id"] + "x", good=2 + scores["good"])],
        ignore_index=True,
    )
    alike = measured(wide).assign(faithfulness=wide["good"] ** 3)
    [row] = agreement(place(wide, alike), 100, 0).to_dict("records")
    assert (row["n"], row["estimate"], row["low"]) == (8, pytest.approx(1), pytest.approx(1))
    [few] = agreement(place(scores, measured(scores)), 100, 0).to_dict("records")
    assert (few["n"], few["without_value"]) == (0, 8)  # four explanations give no rank correlation


class Sum(nn.Module):
    """Class 0 is a weighted sum of the pixels."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weights = nn.Parameter(weights, requires_grad=False)

    def forward(self, images: Tensor) -> Tensor:
        total = (images.double() * self.weights).sum((1, 2, 3))
        return torch.stack([total, -total], 1)


def linear(weights: Tensor) -> View:
    return View(Sum(weights), to_probabilities=lambda logits: logits)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def test_what_a_linear_model_uses_is_wholly_faithful_and_its_opposite_is_not() -> None:
    weights, image = drawn(3, SIDE, SIDE).double() - 0.5, drawn(3, SIDE, SIDE, seed=1)
    used = (image.double() * weights).sum(0).numpy()
    maps = np.stack([used, -used, 3 * used + 5, np.ones_like(used)])
    values, why = faithfulness(linear(weights), image, 0, maps, 30, 0, "a")
    np.testing.assert_allclose(values[:3], [1, -1, 1], atol=1e-5)
    assert np.isnan(values[3])
    assert why == ["ok", "ok", "ok", "constant relevance"]


def test_a_model_that_nothing_moves_has_no_faithfulness() -> None:
    image = drawn(3, SIDE, SIDE)
    maps = drawn(1, SIDE, SIDE).numpy()
    values, why = faithfulness(linear(torch.zeros(3, SIDE, SIDE)), image, 0, maps, 10, 0, "a")
    assert np.isnan(values[0])
    assert why == ["constant output"]


def test_it_is_the_correlation_of_the_papers_formula() -> None:
    weights, image = drawn(3, SIDE, SIDE).double() - 0.5, drawn(3, SIDE, SIDE, seed=1)
    view = linear(weights)
    maps = drawn(2, SIDE, SIDE, seed=2).numpy()
    found, _ = faithfulness(view, image, 1, maps, 25, 3, "b")
    whole = float(view.logits(image[None])[0, 1])
    for number, one in enumerate(maps):
        sums, falls = [], []
        for chosen in chosen_pixels(SIDE * SIDE, 25, 3, "b"):
            without = image.clone().view(3, -1)
            without[:, chosen] = 0
            sums.append(float(one.ravel()[chosen].astype(np.float64).sum()))
            falls.append(whole - float(view.logits(without.view_as(image)[None])[0, 1]))
        assert found[number] == pytest.approx(np.corrcoef(sums, falls)[0, 1], abs=1e-4)


def test_a_map_has_the_same_faithfulness_alone_and_among_others() -> None:
    view, image = linear(drawn(3, SIDE, SIDE)), drawn(3, SIDE, SIDE, seed=1)
    maps = drawn(4, SIDE, SIDE, seed=2).numpy()
    together, _ = faithfulness(view, image, 0, maps, 20, 0, "a")
    for number in range(4):
        alone, _ = faithfulness(view, image, 0, maps[[number]], 20, 0, "a")
        assert alone[0] == together[number]


def test_maps_of_another_size_than_the_image_are_an_error() -> None:
    view = linear(drawn(3, SIDE, SIDE))
    with pytest.raises(PastaError, match="the maps are"):
        faithfulness(view, drawn(3, SIDE, SIDE), 0, np.zeros((1, 4, 4)), 5, 0, "a")


def test_known_values_are_not_measured_again() -> None:
    scores = random_scores(3)
    values = np.linspace(-1, 1, len(scores))
    known = pd.DataFrame(
        {"sample_id": scores["sample_id"], "metric": METRIC, "value": values, "status": "ok"}
    )
    other = known.assign(metric="sparseness", value=9.0)
    nowhere = [Path("nowhere/coco")]  # there is no model to measure with
    found = measure_stored(scores, nowhere, ["resnet50"], NOTHING, 5, pd.concat([other, known]))
    np.testing.assert_array_equal(found.set_index("sample_id")["faithfulness"], values)


def test_faithfulness_of_a_classifier_without_maps_is_an_error() -> None:
    with pytest.raises(PastaError, match="no saliency map of clip_qda"):
        measure_stored(random_scores(3), [], ["clip_qda"], NOTHING, 5)
