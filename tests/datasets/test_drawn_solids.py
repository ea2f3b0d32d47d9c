"""Drawn volumes and point clouds: what they show, exactly where, and how they are stored."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pasta import store
from pasta.datasets.build import build_dataset, flat_view, input_size
from pasta.datasets.drawn.clouds import (
    OBJECTS,
    Shape,
    draw_cloud,
    normalise_points,
    sample_surface,
    surface_areas,
)
from pasta.datasets.drawn.source import DrawnSource, draw
from pasta.datasets.drawn.volumes import ORGANS, VOLUMES, draw_volume, ellipsoid, tube
from pasta.datasets.records import Record
from pasta.datasets.stored import PARTS, PIXELS, open_dataset
from pasta.datasets.vocabulary import VOCABULARIES, vocabulary
from pasta.errors import InputError
from pasta.seeds import generator
from tests.models.small import profile

SIZES = {"vessel": 28, "adrenal": 28, "organ": 28, "furniture": 256, "traffic": 256, "faces": 256}
every = pytest.mark.parametrize("dataset", SIZES)
VOLUME_SIDE = 28


@cache
def drawings(dataset: str, count: int = 24) -> list[Record]:
    return [draw(dataset, 0, index, SIZES[dataset]) for index in range(count)]


def spatial(dataset: str, size: int) -> tuple[int, ...]:
    return (size,) * 3 if dataset in VOLUMES else (size,)


@every
def test_values_and_parts_have_the_form_of_their_modality(dataset: str) -> None:
    for record in drawings(dataset):
        size = spatial(dataset, SIZES[dataset])
        assert record.parts.shape == size and record.parts.dtype == np.uint8
        if dataset in VOLUMES:
            assert record.image.shape == (*size, 1) and record.image.dtype == np.uint8
        else:
            assert record.image.shape == (*size, 3) and record.image.dtype == np.float32
            assert np.linalg.norm(record.image, axis=1).max() < 1.1


@every
def test_a_drawing_depends_on_its_arguments_only(dataset: str) -> None:
    forwards = drawings(dataset)
    for index in (5, 0, 3):
        again = draw(dataset, 0, index, SIZES[dataset])
        assert again.image.tobytes() == forwards[index].image.tobytes()
        assert again.parts.tobytes() == forwards[index].parts.tobytes()
        assert again.regions == forwards[index].regions
    other = draw(dataset, 1, 0, SIZES[dataset])
    assert other.image.tobytes() != forwards[0].image.tobytes()


@every
def test_every_concept_is_drawn_and_has_its_region(dataset: str) -> None:
    words = vocabulary(dataset)
    seen = set()
    for record in drawings(dataset):
        shown = {words.concepts[value - 1] for value in np.unique(record.parts) if value}
        assert shown == {region.concept for region in record.regions}
        assert all(0 <= side <= 1 for region in record.regions for side in region.box)
        seen |= shown
    assert seen == set(words.concepts)


def test_every_class_has_its_drawing() -> None:
    assert set(ORGANS) == set(vocabulary("organ").classes)
    classes = {*vocabulary("furniture").classes, *vocabulary("traffic").classes}
    assert set(OBJECTS) == classes
    assert set(SIZES) <= set(VOCABULARIES)


@pytest.mark.parametrize(("dataset", "plain", "other"), [
    ("vessel", "vessel", "aneurysm"), ("adrenal", "normal", "mass"),
])  # fmt: skip
def test_two_classes_differ_in_the_deciding_part_alone(
    dataset: str, plain: str, other: str
) -> None:
    words = vocabulary(dataset)
    deciding = words.value(words.concepts[-1])
    for index in range(4):
        (first, before), (second, after) = (
            draw_volume(words, label, generator(3, index), VOLUME_SIDE) for label in (plain, other)
        )
        part = after == deciding
        assert not (before == deciding).any() and part.sum() > 20
        assert np.array_equal(before[~part], after[~part])
        changed = (first != second)[..., 0]
        rim = np.zeros_like(part)  # a border voxel is covered by less than half
        for axis in range(3):
            for step in (-1, 1):
                rim |= np.roll(part, step, axis)
        for axis in range(3):
            for step in (-1, 1):
                rim |= np.roll(rim, step, axis)
        assert changed[part].mean() > 0.3
        assert not changed[~(part | rim)].any()


@pytest.mark.parametrize(("label", "concept"), [
    ("open_mouth", "mouth"), ("pout", "mouth"), ("raised_brows", "brow"),
    ("puffed_cheeks", "cheek"),
])  # fmt: skip
def test_an_expression_moves_the_points_of_its_part_alone(label: str, concept: str) -> None:
    words = vocabulary("faces")
    (rest, parts), (moved, same) = (
        draw_cloud(words, name, generator(0, "pair"), 512) for name in ("neutral", label)
    )
    assert np.array_equal(parts, same)
    distance = np.linalg.norm(moved - rest, axis=1)
    inside = parts == words.value(concept)
    assert np.median(distance[inside]) > 0.03
    # a triangle at the border of the part has one corner in it
    assert np.quantile(distance[~inside], 0.85) < 1e-6


@pytest.mark.parametrize("dataset", VOLUMES)
def test_twice_the_voxels_show_the_same_volume(dataset: str) -> None:
    words = vocabulary(dataset)
    for index in range(2):
        label = words.classes[index]
        small, large = (
            draw_volume(words, label, generator(0, index), size)[1] for size in (28, 56)
        )
        assert abs((small > 0).mean() - (large > 0).mean()) < 0.02
        # the part in the middle of eight fine voxels is one of theirs
        fine = large.reshape(28, 2, 28, 2, 28, 2).transpose(0, 2, 4, 1, 3, 5).reshape(28**3, 8)
        assert (fine == small.reshape(-1, 1)).any(1).mean() > 0.99


def test_more_points_show_the_same_shape() -> None:
    words = vocabulary("furniture")
    few, many = (draw_cloud(words, "table", generator(0, "size"), n) for n in (256, 2048))
    shares = [np.bincount(parts, minlength=12) / len(parts) for _, parts in (few, many)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.05)


def slow_tube(point: NDArray[Any], path: NDArray[Any], radii: NDArray[Any]) -> float:
    """The least distance to many balls along a path."""
    found = []
    for first, last, start, end in zip(path[:-1], path[1:], radii[:-1], radii[1:], strict=True):
        for share in np.linspace(0, 1, 400):
            middle = first + share * (last - first)
            wide = start + share * (end - start)
            found.append((float(np.linalg.norm(point - middle)), wide))
    # as drawn: the nearest place on each segment counts, not the deepest ball
    nearest = [min(found[i : i + 400]) for i in range(0, len(found), 400)]
    return float(min(distance - wide for distance, wide in nearest))


def test_distances_from_tubes_and_balls_are_those_of_a_slow_search() -> None:
    random = np.random.default_rng(0)
    path, radii = random.uniform(-1, 1, (4, 3)), random.uniform(0.05, 0.3, 4)
    points = random.uniform(-1, 1, (20, 3))
    found = tube(points, path, radii)
    expected = [slow_tube(point, path, radii) for point in points]
    np.testing.assert_allclose(found, expected, atol=5e-3)
    ball = ellipsoid(points, (0.1, 0, 0), 0.5)
    np.testing.assert_allclose(ball, np.linalg.norm(points - (0.1, 0, 0), axis=1) - 0.5, atol=1e-5)


def test_points_lie_on_their_surface_and_are_spread_by_area() -> None:
    shape = Shape(vocabulary("furniture"))
    shape.box("top", (0, 0, 0), (2, 2, 2))
    shape.sheet("back", [(0, 5, 0), (1, 5, 0), (1, 5, 1), (0, 5, 1)])
    corners, faces, values = shape.mesh()
    assert surface_areas(corners, faces).sum() == pytest.approx(25)
    points, chosen = sample_surface(corners, faces, 5000, np.random.default_rng(0))
    box = points[values[chosen] == shape.vocabulary.value("top")]
    np.testing.assert_allclose(np.abs(box).max(1), 1, atol=1e-9)
    assert len(box) / 5000 == pytest.approx(24 / 25, abs=0.01)
    assert np.abs(box.mean(0)).max() < 0.05
    moved = normalise_points(points)
    assert np.linalg.norm(moved, axis=1).max() == pytest.approx(1)
    np.testing.assert_allclose(moved.mean(0), 0, atol=1e-9)


@pytest.mark.parametrize(("dataset", "size"), [("adrenal", 12), ("faces", 64)])
def test_a_built_dataset_is_what_was_drawn(dataset: str, size: int, tmp_path: Path) -> None:
    source = DrawnSource(dataset, 0, (5, 5, 5))
    build_dataset(dataset, source, source.items(), size, tmp_path)
    data = open_dataset(tmp_path)
    assert data.pixels.shape[:-1] == data.parts.shape == (15, *spatial(dataset, size))
    seventh = draw(dataset, 0, 7, size)
    assert np.array_equal(data.pixels[7], seventh.image)
    assert np.array_equal(data.parts[7], seventh.parts)
    concepts = data.concepts().set_index(["image_id", "concept"])
    for concept in data.vocabulary.concepts:
        share = (seventh.parts == data.vocabulary.value(concept)).mean()
        assert concepts.loc[("0007", concept), "share"] == pytest.approx(share)
        assert concepts.loc[("0007", concept), "present"] == (share > 0)


def test_an_array_of_another_form_is_not_opened(tmp_path: Path) -> None:
    source = DrawnSource("faces", 0, (5, 5, 5))
    build_dataset("faces", source, source.items(), 32, tmp_path)
    store.write_array(np.zeros((15, 32, 4), np.float32), tmp_path / PIXELS)
    with pytest.raises(InputError, match="15 x any x 3"):
        open_dataset(tmp_path)
    store.write_array(np.zeros((15, 32, 3), np.float32), tmp_path / PIXELS)
    store.write_array(np.zeros((15, 31), np.uint8), tmp_path / PARTS)
    with pytest.raises(InputError, match="15 x 32"):
        open_dataset(tmp_path)


def test_the_size_of_inputs_is_that_of_the_section_or_the_usual_one() -> None:
    params = profile()
    section = next(iter(params.datasets.values()))
    known = {"vessel": section, "faces": section, "monumai": section}
    own = params.model_copy(update={"datasets": known})
    sizes = [input_size(name, own) for name in known]
    assert sizes == [28, 1024, params.image_size]
    small = section.model_copy(update={"size": 56})
    assert input_size("vessel", own.model_copy(update={"datasets": {"vessel": small}})) == 56


@every
def test_pictures_of_a_dataset_show_its_parts(dataset: str) -> None:
    record = drawings(dataset)[1]
    image, parts = flat_view(record.image, record.parts)
    assert image.shape == (*parts.shape, 3) and image.dtype == parts.dtype == np.uint8
    assert {0} < set(np.unique(parts)) <= {0, *np.unique(record.parts)}
    assert np.ptp(image) > 50
    picture = draw("monumai", 0, 0, 32)
    assert flat_view(picture.image, picture.parts)[0] is picture.image
