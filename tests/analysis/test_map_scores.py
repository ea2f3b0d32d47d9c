"""Scores of maps against masks: equal to slow literal formulas, and what must hold for any."""

from __future__ import annotations

from typing import Any

import krippendorff
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from analysis.map_scores import SCORES, agreement_of_layers, ceiling, score_maps

Array = NDArray[Any]


def random_pair(seed: int, ties: bool = False, size: int = 14) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(size, size)).astype(np.float32)
    mask = np.clip(np.round(rng.normal(2, 3, size=(size, size))), 0, 9) / 10
    return (np.round(values, 1) if ties else values), mask


def literal(values: Array, mask: Array) -> dict[str, float]:
    """The definitions, pixel by pixel and threshold by threshold, in double precision."""
    x, m = values.astype(np.float64).ravel(), mask.ravel() / mask.max()
    s = (x - x.min()) / (x.max() - x.min())
    on, inside, n = m >= 0.5, m > 0, len(x)
    found: dict[str, float] = {
        "agreement": 1 - float(np.mean([abs(a - b) for a, b in zip(s, m, strict=True)])),
        "false_positive": float(np.mean(s[~inside])),
        "false_negative": float(np.mean(np.abs(s - m)[inside])),
        "pointing": float(any(on[i] for i in range(n) if x[i] == x.max())),
        "mass": float(np.maximum(x, 0)[on].sum() / np.maximum(x, 0).sum()),
        "nss": float(np.mean(((s - s.mean()) / s.std())[on])),
        "correlation": float(pearsonr(s, m).statistic),
        "rank_correlation": float(spearmanr(s, m).statistic),
    }
    p, q = s / s.sum(), m / m.sum()
    found["similarity"] = sum(min(a, b) for a, b in zip(p, q, strict=True))
    epsilon = float(np.finfo(np.float64).eps)
    found["divergence"] = sum(
        b * np.log(epsilon + b / (a + epsilon)) for a, b in zip(p, q, strict=True)
    )
    steps = np.unique(s)
    overlap = [np.sum((s >= t) & on) / np.sum((s >= t) | on) for t in steps]
    found["iou_best"] = float(max(overlap))
    found["iou_mean"] = float(sum(np.diff(steps) * overlap[1:]))
    hits, false = [0.0], [0.0]
    for threshold in sorted(set(s[on]), reverse=True):  # Judd: at the fixated values
        hits.append(float(np.mean(s[on] >= threshold)))
        false.append(float(np.mean(s[~on] >= threshold)))
    found["auc"] = float(np.trapezoid([*hits, 1.0], [*false, 1.0]))
    return found


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_score_equals_its_literal_definition(seed: int, ties: bool) -> None:
    values, mask = random_pair(seed, ties)
    found = score_maps(values[None], mask[None]).iloc[0]
    expected = literal(values, mask)
    assert set(expected) == set(SCORES)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-10, abs=1e-12), name


def test_a_map_equal_to_the_mask_scores_one_and_an_inverted_one_as_computed_by_hand() -> None:
    mask = np.array([[0.0, 0.0], [0.25, 1.0]])
    found = score_maps(np.stack([mask, 1 - mask]), mask[None], which=[0, 0])
    same, inverted = found.iloc[0], found.iloc[1]
    ones = ["agreement", "iou_best", "pointing", "auc", "correlation", "similarity"]
    assert same[[*ones, "rank_correlation"]].tolist() == pytest.approx([1] * 7)
    assert same[["false_positive", "false_negative", "divergence"]].tolist() == pytest.approx(
        [0, 0, 0], abs=1e-12
    )
    # |1 - 0|, |1 - 0|, |0.75 - 0.25|, |0 - 1|
    assert inverted["agreement"] == pytest.approx(1 - 3.5 / 4)
    assert inverted["false_positive"] == 1
    assert inverted["false_negative"] == pytest.approx((0.5 + 1) / 2)
    assert inverted["pointing"] == 0
    assert inverted["auc"] == 0.5  # one marked pixel, the last: Judd's curve has no point between
    assert inverted["similarity"] == pytest.approx(
        0.2
    )  # of shares 0, 0, 0.2, 0.8 and 4/11, 4/11, 3/11, 0
    assert inverted["correlation"] == pytest.approx(-1)
    assert inverted["iou_best"] == pytest.approx(1 / 4)  # every pixel chosen, one is marked


@pytest.mark.parametrize("seed", range(5))
def test_both_errors_make_the_whole_one_weighted_by_the_share_of_the_object(seed: int) -> None:
    values, mask = random_pair(seed)
    rng = np.random.default_rng(seed)
    objects = (mask > 0) | (rng.random(mask.shape) < 0.2)
    found = score_maps(values[None], mask[None], objects=objects[None]).iloc[0]
    share = objects.mean()
    parts = share * found["false_negative"] + (1 - share) * found["false_positive"]
    assert parts == pytest.approx(1 - found["agreement"], abs=1e-12)


def test_disjoint_maps_have_no_agreement_only_if_they_cover_the_image_together() -> None:
    mask = np.zeros((4, 4))
    mask[:2] = 1
    whole, part = 1 - mask, np.zeros((4, 4))
    part[3] = 1
    found = score_maps(np.stack([whole, part]), mask[None], which=[0, 0])["agreement"]
    assert found.tolist() == [0, 0.25]


def test_scores_do_not_change_with_scale_and_order_of_the_maps() -> None:
    pairs = [random_pair(seed) for seed in range(5)]
    maps, masks = (np.stack(parts) for parts in zip(*pairs, strict=True))
    found = score_maps(maps, masks)
    again = score_maps(maps[::-1] * 4, masks * 3, which=[4, 3, 2, 1, 0])
    np.testing.assert_allclose(again[list(SCORES)].to_numpy()[::-1], found[list(SCORES)], 1e-6)


def test_what_has_no_score_says_why_and_leaves_the_others_alone() -> None:
    values, mask = random_pair(0)
    broken = values.copy()
    broken[0, 0] = np.nan
    maps = np.stack([values, broken, np.ones_like(values), values])
    found = score_maps(maps, np.stack([mask, np.zeros_like(mask)]), which=[0, 0, 0, 1])
    assert found["status"].tolist() == ["ok", "nan", "constant", "empty mask"]
    assert found.loc[1:, list(SCORES)].isna().all(axis=None)
    alone = score_maps(values[None], mask[None])
    assert found.loc[[0]].equals(alone)
    everything = score_maps(values[None], np.ones((1, *mask.shape))).iloc[0]
    assert np.isnan(everything["auc"]) and np.isnan(everything["false_positive"])
    assert everything["status"] == "ok"


@pytest.mark.parametrize(
    ("masks", "which", "words"),
    [
        (np.ones((1, 3, 3)), [0], "the size"),
        (np.ones((1, 2, 2)), [1], "beyond"),
        (-np.ones((1, 2, 2)), [0], "negative"),
        (np.full((1, 2, 2), np.nan), [0], "not finite"),
    ],
)
def test_what_does_not_fit_is_an_error(masks: Array, which: list[int], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        score_maps(np.ones((1, 2, 2)), masks, which=which)


def test_words_are_scored_as_pixels_are() -> None:
    found = score_maps([[0.1, 0.9, 0.0, 0.5]], [[0.0, 1.0, 0.0, 0.5]])
    assert found["auc"].tolist() == [1] and found["pointing"].tolist() == [1]


@pytest.mark.parametrize("seed", range(3))
def test_agreement_of_layers_is_that_of_a_library_and_of_all_pairs(seed: int) -> None:
    layers = np.random.default_rng(seed).random((5, 8, 8)) < 0.3
    found = agreement_of_layers(layers)
    flat = layers.reshape(5, -1)
    alpha = krippendorff.alpha(flat.astype(int), level_of_measurement="nominal")
    pairs = [
        (flat[a] & flat[b]).sum() / (flat[a] | flat[b]).sum()
        for a in range(5)
        for b in range(a + 1, 5)
    ]
    assert found["alpha"] == pytest.approx(alpha) and found["iou"] == pytest.approx(np.mean(pairs))


def test_one_person_has_no_agreement_and_no_ceiling() -> None:
    assert np.isnan(agreement_of_layers(np.ones((1, 4, 4)))["iou"])
    assert ceiling(np.ones((1, 4, 4))).empty


def test_the_ceiling_holds_each_person_against_the_others_alone() -> None:
    layers = np.zeros((3, 4, 4))
    layers[:, :2] = 1
    layers[2, 3] = 1
    found = ceiling(layers)
    others = (layers[0] + layers[1]) / 2
    expected = score_maps(layers[[2]], others[None])
    assert found["agreement"][2] == expected["agreement"][0] == 0.75
