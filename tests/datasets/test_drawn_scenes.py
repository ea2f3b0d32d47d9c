"""Monuments and indoor scenes: geometry, vocabulary, purity and an uninformative background."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pasta.datasets.drawn import coco, facades, monumai
from pasta.datasets.drawn.canvas import Canvas, pose
from pasta.datasets.drawn.sketch import draw_sketch, read_sketches
from pasta.datasets.drawn.source import draw
from pasta.datasets.records import Record
from pasta.datasets.vocabulary import vocabulary

DATASETS = ("monumai", "coco")
SIZE = 48
COUNT = 480


@cache
def records(dataset: str) -> tuple[Record, ...]:
    return tuple(draw(dataset, 7, index, SIZE) for index in range(COUNT))


def radii(points: NDArray[np.float64], x: float, y: float) -> NDArray[np.float64]:
    return np.hypot(points[:, 0] - x, points[:, 1] - y)


# --- geometry -----------------------------------------------------------------------------------


def test_rounded_arch_lies_on_a_circle() -> None:
    assert np.allclose(radii(facades.rounded(), 0, 0), 1)


def test_horseshoe_is_widest_above_its_springing() -> None:
    arch = facades.horseshoe(0.6)
    assert np.allclose(np.abs(arch[[0, -1], 0]), 1)
    assert np.allclose(arch[[0, -1], 1], 0)
    assert arch[:, 0].max() == pytest.approx(1 / np.cos(0.6), rel=1e-2)
    assert arch[arch[:, 0].argmax(), 1] < -0.3


@pytest.mark.parametrize("sharpness", [0.2, 0.6, 1.0])
def test_pointed_arch_is_two_arcs_that_meet_at_an_angle(sharpness: float) -> None:
    arch = facades.pointed(sharpness)
    middle = len(arch) // 2
    assert np.allclose(radii(arch[: middle + 1], sharpness, 0), 1 + sharpness)
    assert np.allclose(radii(arch[middle:], -sharpness, 0), 1 + sharpness)
    # each arc is perpendicular to its radius at the crown, so the apex has this angle
    expected = 2 * np.arccos(sharpness / (1 + sharpness))
    left, right = arch[middle - 1] - arch[middle], arch[middle + 1] - arch[middle]
    cosine = left @ right / np.linalg.norm(left) / np.linalg.norm(right)
    assert np.pi - np.arccos(cosine) == pytest.approx(np.pi - expected, abs=0.15)


def test_equilateral_pointed_arch_has_an_apex_as_high_as_the_triangle() -> None:
    assert facades.pointed(1.0)[:, 1].min() == pytest.approx(-np.sqrt(3))


def test_ogee_turns_both_ways_on_each_side() -> None:
    left = facades.ogee()[: facades.STEPS // 2 + 1]
    steps = np.diff(left, axis=0)
    turning = steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0]
    signs = np.sign(turning[np.abs(turning) > 1e-9])
    assert (np.diff(signs) != 0).sum() == 1


@pytest.mark.parametrize("lobes", [3, 5, 7, 9])
def test_lobed_arch_has_as_many_lobes_as_asked(lobes: int) -> None:
    distance = radii(facades.lobed(lobes), 0, 0)
    peaks = (distance[1:-1] > distance[:-2]) & (distance[1:-1] >= distance[2:])
    assert peaks.sum() == lobes


def test_trefoil_has_two_cusps_and_three_lobes() -> None:
    arch = facades.trefoil()
    steps = np.diff(arch, axis=0)
    turning = steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0]
    inward = turning < -1e-6  # a lobe turns right all along; only cusps turn left
    cusps = np.flatnonzero(inward) + 1
    assert len(cusps) == 2
    assert arch[cusps, 0].sum() == pytest.approx(0, abs=1e-9)
    assert np.allclose(arch[:, 0], -arch[::-1, 0])


def test_flat_arch_is_level_and_its_stones_are_wedges() -> None:
    inner = facades.flat()
    assert np.allclose(inner[:, 1], 0)
    stones = facades.voussoirs(inner, inner * (1.4, 1) + (0, -0.6), 9)
    assert len(stones) == 9
    for stone in stones:
        low, high = stone[np.isclose(stone[:, 1], 0)], stone[stone[:, 1] < -0.5]
        assert np.ptp(high[:, 0]) > np.ptp(low[:, 0])


def test_extrados_lies_outside_the_intrados() -> None:
    for arch in (make() for make in facades.ARCHES.values()):
        centre = arch[:, 1].min() * 0.45
        grown = radii(facades.ring(arch, 0.3), 0, centre) - radii(arch, 0, centre)
        assert np.allclose(grown, 0.3)


def test_pediments() -> None:
    segment = facades.segmental_pediment(0.5)
    assert segment[:, 1].min() == pytest.approx(-0.5)
    assert np.allclose(radii(segment, 0, 0.75), 1.25)
    left, right = facades.broken_pediment(curved=False)
    assert left[:, 0].max() == pytest.approx(-0.3)
    assert right[:, 0].min() == pytest.approx(0.3)
    assert facades.triangular_pediment(0.4)[:, 1].min() == -0.4


def test_solomonic_column_swings_as_often_as_asked() -> None:
    outline = facades.solomonic(turns=4)
    left = outline[: len(outline) // 2]
    right = outline[len(outline) // 2 :][::-1]
    middle = (left[:, 0] + right[:, 0]) / 2
    crossings = (np.diff(np.sign(middle[np.abs(middle) > 1e-9])) != 0).sum()
    assert crossings == 7  # four full waves cross the axis seven times between their ends


# --- objects ------------------------------------------------------------------------------------


def test_every_object_has_a_sketch_and_a_class() -> None:
    concepts = set(vocabulary("coco").concepts)
    assert set(read_sketches()) == concepts
    cast = {name for one in coco.SCENES.values() for name in (*one.anchors, *one.companions)}
    assert cast | set(coco.COMMON) == concepts
    assert tuple(coco.SCENES) == vocabulary("coco").classes
    assert set(monumai.STYLES) == set(vocabulary("monumai").classes)


@pytest.mark.parametrize("concept", vocabulary("coco").concepts)
def test_object_is_seen_and_stays_in_its_box(concept: str) -> None:
    sketch = read_sketches()[concept]
    assert max(sketch.stand.width, sketch.stand.height) == pytest.approx(1.0)
    canvas = Canvas(100, vocabulary("coco"))
    with canvas.placed(pose(0.2, 0.2, 0.6)):
        draw_sketch(canvas, sketch, np.random.default_rng(0))
    _, _, (region,) = canvas.finish()
    assert region.concept == concept
    tolerance = 0.03
    assert region.box.x0 >= 0.2 - tolerance
    assert region.box.y0 >= 0.2 - tolerance
    assert region.box.x1 <= 0.2 + 0.6 * sketch.stand.width + tolerance
    assert region.box.y1 <= 0.2 + 0.6 * sketch.stand.height + tolerance
    # it fills its box both ways, and its paint hardly strays from its mask
    assert region.box.x1 - region.box.x0 > 0.6 * sketch.stand.width * 0.6
    assert region.box.y1 - region.box.y0 > 0.6 * sketch.stand.height * 0.7
    assert region.box.y1 > 0.2 + 0.6 * sketch.stand.height - 0.05  # its foot stands on the ground
    painted = (np.asarray(canvas.colours) != 127).any(2)
    masked = np.asarray(canvas.instances) > 0
    assert (painted & ~masked).sum() < 0.03 * masked.sum()


# --- whole pictures -----------------------------------------------------------------------------


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_concept_occurs_and_every_picture_shows_two(dataset: str) -> None:
    shown = [{region.concept for region in record.regions} for record in records(dataset)]
    assert set().union(*shown) == set(vocabulary(dataset).concepts)
    assert min(len(concepts) for concepts in shown) >= 2


@pytest.mark.parametrize("dataset", DATASETS)
def test_no_shared_concept_decides_a_class(dataset: str) -> None:
    """No concept is in all pictures of a class, and several are shared between classes."""
    classes: dict[str, list[str]] = {}
    for record in records(dataset):
        for concept in sorted({region.concept for region in record.regions}):
            classes.setdefault(concept, []).append(record.label)
    per_class = COUNT / len(vocabulary(dataset).classes)
    assert sum(len(set(labels)) > 1 for labels in classes.values()) >= 5
    assert max(labels.count(name) for labels in classes.values() for name in labels) < per_class


@pytest.mark.parametrize("dataset", DATASETS)
def test_regions_agree_with_parts(dataset: str) -> None:
    values = vocabulary(dataset)
    for record in records(dataset)[:60]:
        seen = {values.concepts[value - 1] for value in np.unique(record.parts) if value}
        assert seen == {region.concept for region in record.regions}
        for region in record.regions:
            x0, y0, x1, y1 = (round(edge * SIZE) for edge in region.box)
            assert (record.parts[y0:y1, x0:x1] == values.value(region.concept)).any()


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("size", [48, 96, 224])
def test_drawing_is_pure_and_works_at_any_size(dataset: str, size: int) -> None:
    first, again = draw(dataset, 1, 5, size), draw(dataset, 1, 5, size)
    assert first.image.shape == (size, size, 3)
    assert np.array_equal(first.image, again.image)
    assert np.array_equal(first.parts, again.parts)
    assert first.regions == again.regions
    assert not np.array_equal(first.image, draw(dataset, 2, 5, size).image)


@pytest.mark.parametrize("dataset", DATASETS)
def test_large_things_are_large(dataset: str) -> None:
    widest = [
        max(max(r.box.x1 - r.box.x0, r.box.y1 - r.box.y0) for r in record.regions)
        for record in records(dataset)
    ]
    assert np.median(widest) > 0.35


def background(record: Record) -> NDArray[np.float64]:
    """Mean colour and contrast of what is no concept."""
    pixels = record.image[record.parts == 0].astype(np.float64)
    return np.concatenate([pixels.mean(0), pixels.std(0)])


@pytest.mark.parametrize("dataset", DATASETS)
def test_background_does_not_tell_the_class(dataset: str) -> None:
    features = np.stack([background(record) for record in records(dataset)])
    labels = np.array([record.label for record in records(dataset)])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    accuracy = cross_val_score(model, features, labels, cv=6).mean()
    chance = 1 / len(vocabulary(dataset).classes)
    deviation = np.sqrt(chance * (1 - chance) / len(labels))
    assert accuracy < chance + 3.5 * deviation
