"""The drawn animals, vehicles, people and things: what they show, and what they must not tell."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pasta.datasets.drawn.canvas import Canvas
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
DATASETS = ("catsdogscars", "pascalpart")
PLAIN = ("bottle", "tvmonitor", "pottedplant")  # two parts each, of which a bush may hide one


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


def test_every_concept_is_drawn() -> None:
    shown = {region.concept for record in drawings("pascalpart", 160) for region in record.regions}
    assert shown == set(vocabulary("pascalpart").concepts)


def test_every_class_has_its_painter() -> None:
    assert set(TELLTALE) == set(vocabulary("catsdogscars").classes)
    assert set(PAINTERS) == set(vocabulary("pascalpart").classes)


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_image_shows_its_parts(dataset: str) -> None:
    for record in drawings(dataset, 96):
        least = 1 if record.label in PLAIN else 3
        assert len({region.concept for region in record.regions}) >= least, record.label
        assert 0.05 < (record.parts > 0).mean() < 0.75, record.label


@pytest.mark.parametrize("dataset", DATASETS)
def test_regions_agree_with_the_part_array(dataset: str) -> None:
    names = vocabulary(dataset)
    for record in drawings(dataset, 64):
        shown = {names.concepts[value - 1] for value in np.unique(record.parts) if value}
        assert shown == {region.concept for region in record.regions}
        for region in record.regions:
            left, top, right, bottom = (round(side * SIZE) for side in region.box)
            inside = record.parts[top:bottom, left:right] == names.value(region.concept)
            for side in (inside[0], inside[-1], inside[:, 0], inside[:, -1]):
                assert side.any(), (record.label, region)


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_drawing_depends_on_its_arguments_only(dataset: str) -> None:
    indices = range(20)
    forwards = {index: draw(dataset, 3, index, SIZE) for index in indices}
    for index in reversed(indices):
        again = draw(dataset, 3, index, SIZE)
        assert again.image.tobytes() == forwards[index].image.tobytes()
        assert again.parts.tobytes() == forwards[index].parts.tobytes()
        assert again.regions == forwards[index].regions
    assert draw(dataset, 4, 0, SIZE).image.tobytes() != forwards[0].image.tobytes()


@pytest.mark.parametrize("size", [48, 96, 224])
def test_any_size_works_and_shows_the_same_picture(size: int) -> None:
    record, small = draw("pascalpart", 0, 6, size), draw("pascalpart", 0, 6, 48)
    assert record.image.shape == (size, size, 3)
    assert record.parts.shape == (size, size)
    assert abs((record.parts > 0).mean() - (small.parts > 0).mean()) < 0.02


@pytest.mark.parametrize(("dataset", "count"), [("catsdogscars", 360), ("pascalpart", 480)])
def test_the_background_does_not_tell_the_class(dataset: str, count: int) -> None:
    records = drawings(dataset, count)
    labels = [record.label for record in records]
    features = np.stack([border_colours(record) for record in records])
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
