"""The drawn datasets: what they show, how they are built, and what they must not tell."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pasta.datasets.drawn import coco, facades, monumai
from pasta.datasets.drawn.canvas import Canvas, pose
from pasta.datasets.drawn.sketch import draw_sketch, read_sketches
from pasta.datasets.drawn.source import (
    PAINTERS,
    TELLTALE,
    choose_biased_colour,
    choose_colour,
    draw,
    label_of,
    random_stand,
)
from pasta.datasets.records import Record
from pasta.datasets.vocabulary import vocabulary
from pasta.seeds import generator

SIZE = 48
OBJECTS, SCENES = ("catsdogscars", "pascalpart"), ("monumai", "coco")
PLAIN = ("bottle", "tvmonitor", "pottedplant")  # two parts each, of which a bush may hide one
every = pytest.mark.parametrize("dataset", OBJECTS + SCENES)
scenes = pytest.mark.parametrize("dataset", SCENES)


@cache
def drawings(dataset: str, count: int, color_bias: float = 0.0) -> list[Record]:
    """The first drawings of a dataset, small."""
    return [draw(dataset, 0, index, SIZE, color_bias) for index in range(count)]


def accuracy(features: NDArray[np.float64], labels: list[str]) -> float:
    """How well a linear model tells the class from a few numbers it has not been fitted on."""
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    guesses = cross_val_predict(model, features, labels, cv=4)
    return float(np.mean(guesses == np.array(labels)))


def luck(labels: list[str]) -> float:
    """What guessing reaches at best: chance plus three standard deviations."""
    chance = 1 / len(set(labels))
    return chance + 3 * float(np.sqrt(chance * (1 - chance) / len(labels)))


def border_colours(record: Record) -> NDArray[np.float64]:
    """Mean colour of eight stretches of the border, leaving out whatever is part of the object."""
    image = np.where(record.parts[:, :, None] == 0, record.image.astype(np.float64), np.nan)
    edge, half = SIZE // 12, SIZE // 2
    bands = (image[:edge], image[-edge:], image[:, :edge].swapaxes(0, 1),
             image[:, -edge:].swapaxes(0, 1))  # fmt: skip
    pieces = [piece for band in bands for piece in (band[:, :half], band[:, half:])]
    seen = [np.nanmean(piece.reshape(-1, 3), axis=0) for piece in pieces]
    return np.asarray(np.nan_to_num(np.concatenate(seen), nan=127.0), dtype=np.float64)


def coat_colour(record: Record) -> NDArray[np.float64]:
    """The usual colour of torso or bodywork, whatever stripes, seams and bumpers are on it."""
    names = vocabulary("catsdogscars")
    trunk = np.isin(record.parts, [names.value("torso"), names.value("bodywork")])
    return np.asarray(np.median(record.image[trunk], axis=0), dtype=np.float64)


def background(record: Record) -> NDArray[np.float64]:
    """Mean colour and contrast of what is no concept."""
    pixels = record.image[record.parts == 0].astype(np.float64)
    return np.concatenate([pixels.mean(0), pixels.std(0)])


@every
def test_every_concept_is_drawn(dataset: str) -> None:
    shown = {region.concept for record in drawings(dataset, 480) for region in record.regions}
    wanted = set(vocabulary(dataset).concepts)
    assert shown <= wanted if dataset == "catsdogscars" else shown == wanted


def test_every_class_and_object_has_its_drawing() -> None:
    assert set(TELLTALE) == set(vocabulary("catsdogscars").classes)
    assert set(PAINTERS) == set(vocabulary("pascalpart").classes)
    concepts = set(vocabulary("coco").concepts)
    assert set(read_sketches()) == concepts
    cast = {name for one in coco.SCENES.values() for name in (*one.anchors, *one.companions)}
    assert cast | set(coco.COMMON) == concepts
    assert tuple(coco.SCENES) == vocabulary("coco").classes
    assert set(monumai.STYLES) == set(vocabulary("monumai").classes)


@every
def test_every_image_shows_its_parts(dataset: str) -> None:
    for record in drawings(dataset, 480 if dataset in SCENES else 96):
        least = 2 if dataset in SCENES else 1 if record.label in PLAIN else 3
        assert len({region.concept for region in record.regions}) >= least, record.label
        if dataset in OBJECTS:
            assert 0.05 < (record.parts > 0).mean() < 0.75, record.label


@every
def test_regions_agree_with_the_part_array(dataset: str) -> None:
    names = vocabulary(dataset)
    for record in drawings(dataset, 480)[:64]:
        shown = {names.concepts[value - 1] for value in np.unique(record.parts) if value}
        assert shown == {region.concept for region in record.regions}
        for region in record.regions:
            left, top, right, bottom = (round(side * SIZE) for side in region.box)
            inside = record.parts[top:bottom, left:right] == names.value(region.concept)
            for side in (inside[0], inside[-1], inside[:, 0], inside[:, -1]):
                assert side.any(), (record.label, region)


@every
def test_a_drawing_depends_on_its_arguments_only(dataset: str) -> None:
    indices = range(20)
    forwards = {index: draw(dataset, 3, index, SIZE) for index in indices}
    for index in reversed(indices):
        again = draw(dataset, 3, index, SIZE)
        assert again.image.tobytes() == forwards[index].image.tobytes()
        assert again.parts.tobytes() == forwards[index].parts.tobytes()
        assert again.regions == forwards[index].regions
    assert draw(dataset, 4, 0, SIZE).image.tobytes() != forwards[0].image.tobytes()


@every
@pytest.mark.parametrize("size", [96, 224])
def test_any_size_works_and_shows_the_same_picture(dataset: str, size: int) -> None:
    record, small = draw(dataset, 0, 6, size), draw(dataset, 0, 6, SIZE)
    assert record.image.shape == (size, size, 3)
    assert record.parts.shape == (size, size)
    assert abs((record.parts > 0).mean() - (small.parts > 0).mean()) < 0.02


@every
def test_the_background_does_not_tell_the_class(dataset: str) -> None:
    records = drawings(dataset, 480)
    labels = [record.label for record in records]
    describe = border_colours if dataset in OBJECTS else background
    features = np.stack([describe(record) for record in records])
    assert accuracy(features, labels) < luck(labels)


def test_colour_tells_the_class_only_when_biased() -> None:
    for bias, telling in ((0.0, False), (1.0, True)):
        records = drawings("catsdogscars", 240, bias)
        labels = [record.label for record in records]
        features = np.stack([coat_colour(record) for record in records])
        reached = accuracy(features, labels)
        assert reached > 0.9 if telling else reached < luck(labels), bias


def test_without_bias_all_classes_draw_their_colours_alike() -> None:
    for item in range(50):
        chosen = {
            choose_biased_colour(label, generator(0, item), 0.0)
            for label in vocabulary("catsdogscars").classes
        }
        assert len(chosen) == 1


def test_pascalpart_ignores_the_colour_bias() -> None:
    plain, biased = (draw("pascalpart", 0, 5, SIZE, bias) for bias in (0.0, 1.0))
    assert plain.image.tobytes() == biased.image.tobytes()


def test_what_stands_in_front_hides_parts() -> None:
    """Without the foreground some images show more of the object, and none shows less."""
    hidden = 0
    for index in range(40):
        whole, seen = _parts_without_foreground(index), draw("pascalpart", 0, index, SIZE).parts
        assert not ((seen > 0) & (seen != whole)).any()
        hidden += bool(((seen == 0) & (whole > 0)).any())
    assert 4 <= hidden <= 36


def _parts_without_foreground(index: int) -> NDArray[np.uint8]:
    """The part array of a drawing before anything is put in front of the object."""
    canvas = Canvas(SIZE, vocabulary("pascalpart"))
    label = label_of("pascalpart", index)
    rng = generator(0, "draw", "pascalpart", index)
    colour = choose_colour(label, rng)
    _, place, thing, _, _ = rng.spawn(5)
    with canvas.placed(random_stand(place)):
        PAINTERS[label](canvas, thing, colour)
    return canvas.finish()[1]


@scenes
def test_no_shared_concept_decides_a_class(dataset: str) -> None:
    """No concept is in all pictures of a class, and several are shared between classes."""
    classes: dict[str, list[str]] = {}
    for record in drawings(dataset, 480):
        for concept in sorted({region.concept for region in record.regions}):
            classes.setdefault(concept, []).append(record.label)
    per_class = 480 / len(vocabulary(dataset).classes)
    assert sum(len(set(labels)) > 1 for labels in classes.values()) >= 5
    assert max(labels.count(name) for labels in classes.values() for name in labels) < per_class


@scenes
def test_large_things_are_large(dataset: str) -> None:
    widest = [
        max(max(r.box.x1 - r.box.x0, r.box.y1 - r.box.y0) for r in record.regions)
        for record in drawings(dataset, 480)
    ]
    assert np.median(widest) > 0.35


def radii(points: NDArray[np.float64], x: float, y: float) -> NDArray[np.float64]:
    return np.hypot(points[:, 0] - x, points[:, 1] - y)


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
