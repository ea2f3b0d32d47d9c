"""The nine criteria equal P1's Appendix D written out slowly, and know their extremes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pasta.embedding.augmented import variance
from pasta.embedding.handcrafted import (
    NAMES,
    accuracies,
    complexity,
    coordinates,
    features,
    handcrafted_features,
    identity,
    stratified_folds,
)
from pasta.seeds import generator
from tests.embedding.small import NUMBER, change_map, settings, write_group

CHOSEN = settings().handcrafted
LABELS = np.array(["cat", "dog", "cat", "dog", "cat", "dog"])


def test_the_variance_is_equation_16() -> None:
    values = generator(0, "variance").normal(size=(3, 2, 4))
    found = variance(values)
    for row in range(2):
        per_pixel = []
        for pixel in range(4):
            mine = [float(values[aug, row, pixel]) for aug in range(3)]
            per_pixel.append(sum(v**2 for v in mine) / 3 - sum(mine) ** 2 / 9)
        mean = np.mean([abs(float(v)) for v in values[:, row].ravel()])
        assert found[row] == pytest.approx(np.mean(per_pixel) / mean, abs=1e-12)


def test_an_explanation_that_never_changes_has_no_variance() -> None:
    still = np.repeat(generator(0, "still").uniform(size=(1, 2, 5)), 3, axis=0)
    np.testing.assert_allclose(variance(still), 0, atol=1e-15)
    assert np.isnan(variance(np.zeros((2, 1, 3))))[0]  # 0 / 0 is no number


def test_the_complexity_is_the_share_of_the_largest_eigenvalues() -> None:
    values = generator(0, "complexity").normal(size=(7, 20))
    points = coordinates(values)
    eigenvalues = np.sort(np.linalg.eigvalsh(np.cov(values.T)))[::-1]
    for rank in (1, 3, 6, 100):
        expected = eigenvalues[:rank].sum() / eigenvalues.sum()
        assert complexity(points, rank) == pytest.approx(expected, abs=1e-10)


def test_coordinates_keep_all_distances_in_fewer_dimensions() -> None:
    values = generator(0, "distances").normal(size=(5, 30))
    points = coordinates(values)
    assert points.shape == (5, 4)
    for first in range(5):
        for second in range(5):
            before = np.linalg.norm(values[first] - values[second])
            assert np.linalg.norm(points[first] - points[second]) == pytest.approx(before)


def test_explanations_on_a_line_need_one_component_and_equal_ones_none() -> None:
    line = np.outer(np.arange(4.0), np.array([1.0, 2.0, 3.0]))
    assert complexity(coordinates(line), 1) == pytest.approx(1)
    assert complexity(coordinates(np.ones((4, 3))), 1) == 1
    same = np.repeat(np.ones((1, 6, 3)), 3, axis=0)
    assert np.isfinite(features(same, LABELS, np.ones(6, bool), CHOSEN)).all()


def test_classes_far_apart_are_told_by_every_classifier() -> None:
    centre = np.where(LABELS == "cat", -5.0, 5.0)[:, None]
    points = coordinates(centre + generator(0, "apart").normal(0, 0.1, (6, 3)))
    assert accuracies(points, LABELS, CHOSEN) == [1.0, 1.0, 1.0]


def test_explanations_that_do_not_depend_on_the_class_are_told_by_chance() -> None:
    labels = np.array(["cat", "dog"] * 100)
    points = coordinates(generator(0, "chance").normal(size=(200, 3)))
    assert all(0.35 < value < 0.65 for value in accuracies(points, labels, CHOSEN))


def test_a_class_with_one_image_counts_as_an_error() -> None:
    labels = np.array(["cat", "dog", "car"])
    points = coordinates(np.diag([1.0, 2.0, 3.0]))
    assert accuracies(points, labels, CHOSEN) == [0.0, 0.0, 0.0]


def test_the_order_of_explanations_does_not_matter_to_a_single_class() -> None:
    points = coordinates(generator(0, "one").normal(size=(4, 3)))
    assert accuracies(points, np.array(["cat"] * 4), CHOSEN) == [1.0, 1.0, 1.0]


def test_folds_spread_every_class() -> None:
    folds = stratified_folds(LABELS, 3)
    for label in ("cat", "dog"):
        assert sorted(folds[label == LABELS]) == [0, 1, 2]


def test_explanations_that_are_not_ok_have_no_features_and_no_influence() -> None:
    values = generator(0, "ok").uniform(size=(3, 6, 8))
    ok = np.array([True, True, False, True, True, True])
    values[:, 2] = np.nan
    found = features(values, LABELS, ok, CHOSEN)
    assert np.isnan(found[2]).all()
    without = features(values[:, ok], LABELS[ok], ok[ok], CHOSEN)
    assert np.array_equal(found[ok], without)
    assert np.isnan(features(values, LABELS, np.zeros(6, bool), CHOSEN)).all()


def test_a_copy_without_numbers_makes_only_its_variances_missing() -> None:
    values = generator(0, "copies").uniform(size=(3, 6, 8))
    values[1, 4] = np.nan  # the light copy
    found = features(values, LABELS, np.ones(6, bool), CHOSEN)
    missing = [NAMES[column] for column in np.flatnonzero(np.isnan(found[4]))]
    assert missing == ["variance_first", "variance_third"]
    assert np.isfinite(np.delete(found, 4, axis=0)).all()


def test_features_of_a_technique_follow_its_explanations(tmp_path: Path) -> None:
    group = write_group(tmp_path)
    before = handcrafted_features(group, CHOSEN)
    assert set(before) == {"gradcam.resnet50", "lime.vit_b_16", "clip_qda.clip_qda"}
    for values in before.values():
        assert values.shape == (NUMBER, len(NAMES))
        assert np.isfinite(values).all()
    change_map(group, NUMBER)  # a light copy
    after = handcrafted_features(group, CHOSEN)
    changed = after["gradcam.resnet50"] != before.pop("gradcam.resnet50")
    assert np.argwhere(changed).tolist() == [[0, 0], [0, 2]]
    assert all(np.array_equal(after[name], values) for name, values in before.items())


def test_other_settings_mean_other_features() -> None:
    other = CHOSEN.model_copy(update={"ranks": (1, 2, 4)})
    assert identity(other)["md5"] != identity(CHOSEN)["md5"]
