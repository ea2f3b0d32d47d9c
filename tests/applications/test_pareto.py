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
from torch import Tensor

from pasta import store, tables
from pasta.applications.pareto import agreement, average, on_front, place, run_pareto
from pasta.applications.prepared.faithfulness import (
    chosen_pixels,
    correlate,
    measure_drops,
    settings_of,
)
from pasta.applications.scores import METRIC, read_faithfulness
from pasta.config import Params, load_params
from pasta.errors import PastaError
from pasta.layout import Group
from tests.applications.made_up import measured, random_scores, scored, settings

torch.set_num_threads(1)
SIDE = 12
NUMBER = st.sampled_from([0.0, 0.25, 0.5, 1.0, np.nan])


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


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed))


def params(subsets: int, seed: int = 0) -> Params:
    whole = load_params()
    own = whole.applications.model_copy(update={"subsets": subsets})
    seeds = whole.seeds.model_copy(update={"measuring": seed})
    return whole.model_copy(update={"applications": own, "seeds": seeds})


def probabilities(images: Tensor) -> Tensor:
    """A model whose first output is a mean of weighted pixels, from 0 to 1."""
    weights = drawn(3, SIDE, SIDE, seed=5)
    value = (images * weights).mean((1, 2, 3))
    return torch.stack([value, 1 - value], 1)


def faithfulness(image: Tensor, target: int, maps: np.ndarray, given: Params) -> Any:
    drops = measure_drops(probabilities, image[None], torch.tensor([target]), ["a"], given)
    return correlate(maps, drops[0], given, "a")


def test_what_a_linear_model_uses_is_wholly_faithful_and_its_opposite_is_not() -> None:
    image = drawn(3, SIDE, SIDE, seed=1)
    used = (image * drawn(3, SIDE, SIDE, seed=5)).sum(0).double().numpy()
    maps = np.stack([used, -used, 3 * used + 5, np.ones_like(used)])
    values, why = faithfulness(image, 0, maps, params(30))
    np.testing.assert_allclose(values[:3], [1, -1, 1], atol=1e-3)
    assert np.isnan(values[3])
    assert why == ["ok", "ok", "ok", "constant relevance"]


def test_a_model_that_nothing_moves_has_no_faithfulness() -> None:
    values, why = faithfulness(
        torch.zeros(3, SIDE, SIDE), 0, drawn(1, SIDE, SIDE).numpy(), params(10)
    )
    assert np.isnan(values[0])
    assert why == ["constant output"]


def test_it_is_the_correlation_of_the_papers_formula() -> None:
    image, given_ = drawn(3, SIDE, SIDE, seed=1), params(25, seed=3)
    maps = drawn(2, SIDE, SIDE, seed=2).numpy()
    found, _ = faithfulness(image, 1, maps, given_)
    whole = float(probabilities(image[None])[0, 1])
    subsets = chosen_pixels(SIDE * SIDE, settings_of(given_), 3, "a")
    assert subsets.shape == (25, round(0.02 * SIDE * SIDE))
    for number, one in enumerate(maps):
        sums, drops = [], []
        for chosen in subsets:
            without = image.clone().view(3, -1)
            without[:, chosen] = 0
            sums.append(float(one.ravel()[chosen].astype(np.float64).sum()))
            drops.append(whole - float(probabilities(without.view_as(image)[None])[0, 1]))
        assert found[number] == pytest.approx(np.corrcoef(sums, drops)[0, 1], abs=1e-4)


def test_a_map_has_the_same_faithfulness_alone_and_among_others() -> None:
    image, maps = drawn(3, SIDE, SIDE, seed=1), drawn(4, SIDE, SIDE, seed=2).numpy()
    together, _ = faithfulness(image, 0, maps, params(20))
    for number in range(4):
        alone, _ = faithfulness(image, 0, maps[[number]], params(20))
        assert alone[0] == together[number]


def write_values(folder: Path, scores: pd.DataFrame, metric: str, values: Any) -> list[Group]:
    group = Group("coco", "coco", folder)
    rows = [
        {"sample_id": sample, "metric": metric, "variant": "", "value": value,
         "direction": "higher", "status": "ok"}
        for sample, value in zip(scores["sample_id"], values, strict=True)
    ]  # fmt: skip
    columns = [name for name in tables.METRIC_VALUES.columns if name in rows[0]]
    frame = pd.DataFrame(rows)[columns].reindex(columns=list(tables.METRIC_VALUES.columns))
    frame = frame.assign(**({"seconds": 0.0} if "seconds" in frame else {}))
    store.write(frame, group.metrics / "metric_values.parquet", tables.METRIC_VALUES)
    return [group]


def test_faithfulness_is_read_as_it_was_measured(tmp_path: Path) -> None:
    scores = random_scores(3)
    values = np.linspace(-1, 1, len(scores))
    groups = write_values(tmp_path, scores.iloc[:-1], METRIC, values[:-1])
    found = read_faithfulness(scores, groups, ["resnet50"])
    assert list(found) == ["sample_id", "faithfulness", "why"]
    np.testing.assert_array_equal(found["faithfulness"][:-1], values[:-1])
    assert np.isnan(found["faithfulness"].iloc[-1]) and found["why"].iloc[-1] == "not measured"


def test_a_metric_that_is_not_measured_is_named_with_the_stage_that_measures(
    tmp_path: Path,
) -> None:
    scores = random_scores(3)
    groups = write_values(tmp_path, scores, "sparseness", np.zeros(len(scores)))
    with pytest.raises(PastaError, match=r"metrics\.names and `dvc repro measure`"):
        read_faithfulness(scores, groups, ["resnet50"])


def test_faithfulness_of_a_classifier_without_maps_is_an_error() -> None:
    with pytest.raises(PastaError, match="no saliency map of clip_qda"):
        read_faithfulness(random_scores(3), [], ["clip_qda"])
