"""Pictures, sums and labels equal the papers' formulas, written out slowly in float64."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from matplotlib import colormaps
from numpy.typing import NDArray

from pasta.embedding.inputs import (
    blurred,
    classes_of,
    label_order,
    masked,
    overlay,
    render,
    selectively_blurred,
    weighted_sum,
    with_label,
)
from pasta.errors import PastaError
from pasta.explanations import rendering
from pasta.explanations.settings import Style
from pasta.seeds import generator
from tests.embedding.small import settings

SIDE, NUMBER = 10, 4
Floats = NDArray[np.float32]


def images(number: int = NUMBER) -> Floats:
    levels = generator(0, "images").integers(0, 256, (number, 3, SIDE, SIDE))
    return (levels / 255).astype(np.float32)


def maps(signed: bool, number: int = NUMBER) -> Floats:
    low = -1 if signed else 0
    values = generator(0, "maps").uniform(low, 1, (number, SIDE, SIDE))
    return values.astype(np.float32)


def literal_heatmap(image: Floats, shown: Floats, signed: bool) -> NDArray[np.float64]:
    """Pixel by pixel: the colour of the map, weighted by its strength, over the image."""
    result = np.zeros(image.shape)
    for row in range(SIDE):
        for column in range(SIDE):
            value = float(shown[row, column])
            if signed:
                weight = rendering.STRONGEST * abs(value)
                colour = rendering.FOR if value >= 0 else rendering.AGAINST
            else:
                weight = rendering.DIM + (rendering.GLOW - rendering.DIM) * value
                colour = tuple(rendering.heat_colours()[round(255 * value)])
            for channel in range(3):
                light = float(image[channel, row, column])
                mixed = (1 - weight) * light + weight * float(colour[channel]) / 255
                result[channel, row, column] = mixed
    return result


@pytest.mark.parametrize("signed", [False, True])
def test_the_overlay_is_the_literal_heat_map(signed: bool) -> None:
    pictures = overlay(images(), maps(signed), signed)
    for picture, image, shown in zip(pictures, images(), maps(signed), strict=True):
        expected = literal_heatmap(image, shown, signed)
        np.testing.assert_allclose(picture, 255 * expected, atol=1e-3)


@pytest.mark.parametrize("signed", [False, True])
def test_released_pictures_are_half_the_image_and_half_matplotlibs_colours(signed: bool) -> None:
    """Each map is divided by its largest value; zero is white in a signed one, else blue."""
    shown = maps(signed) / 3
    pictures = overlay(images(), shown, signed, "released")
    for picture, image, heat in zip(pictures, images(), shown, strict=True):
        whole = heat / np.abs(heat).max()
        colour = colormaps["bwr"]((whole + 1) / 2 if signed else whole)[..., :3]
        expected = (image.transpose(1, 2, 0) + colour) / 2
        assert np.abs(picture.transpose(1, 2, 0) - 255 * expected).max() <= 2.5  # of 256 colours
    nothing = overlay(images(), 0 * shown, signed, "released")
    np.testing.assert_array_equal(nothing, np.rint(255 * images()))


@pytest.mark.parametrize("style", get_args(Style))
@pytest.mark.parametrize("signed", [False, True])
def test_the_overlay_is_what_people_see(signed: bool, style: Style) -> None:
    shown = maps(signed)
    shown[0] = 0  # a map that says nothing leaves the image as it is
    light = overlay(images(), shown, signed, style) + 0.5  # halves go up, as in a picture
    pictures = np.floor(light).transpose(0, 2, 3, 1)
    for picture, image, heat in zip(pictures, images(), shown, strict=True):
        pixels = np.rint(255 * image).astype(np.uint8).transpose(1, 2, 0)
        seen = rendering.overlay(pixels, heat, signed, SIDE, note=False, style=style)
        apart = np.abs(picture - seen)  # sums in another precision may round the other way
        assert apart.max() <= 1
        assert (apart > 0).mean() <= 0.01


def test_the_masked_image_is_the_product() -> None:
    pictures = masked(images(), maps(False))
    for number in range(NUMBER):
        for channel in range(3):
            expected = images()[number, channel].astype(np.float64) * maps(False)[number]
            np.testing.assert_allclose(pictures[number, channel], 255 * expected, atol=1e-4)


def test_what_speaks_against_is_dark_in_a_masked_image() -> None:
    shown = maps(True)
    pictures = masked(images(), shown)
    assert pictures.min() == 0
    assert np.all(pictures.transpose(0, 2, 3, 1)[shown < 0] == 0)


def literal_blur(image: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """A Gaussian cut at four standard deviations; the border continues outwards."""
    reach = int(4 * spread + 0.5)
    steps = range(-reach, reach + 1)
    kernel = [math.exp(-(step**2) / (2 * spread**2)) for step in steps]
    total = sum(kernel)
    result = np.zeros_like(image)
    wide = np.pad(image, reach, mode="edge")
    for row in range(SIDE):
        for column in range(SIDE):
            for down, first in zip(steps, kernel, strict=True):
                for right, second in zip(steps, kernel, strict=True):
                    light = wide[reach + row + down, reach + column + right]
                    result[row, column] += first * second / total**2 * light
    return result


def test_the_blur_is_a_gaussian_where_the_map_is_low() -> None:
    image, shown = images(1), maps(False, 1)
    pictures = selectively_blurred(image, blurred(image, 0.12), shown)
    for channel in range(3):
        clear = image[0, channel].astype(np.float64)
        soft = literal_blur(clear, 0.12 * SIDE)
        expected = shown[0] * clear + (1 - shown[0]) * soft
        np.testing.assert_allclose(pictures[0, channel], 255 * expected, atol=1e-3)


def test_extremes_of_maps() -> None:
    ones, zeros = np.ones((1, SIDE, SIDE), np.float32), np.zeros((1, SIDE, SIDE), np.float32)
    image, light = images(1), np.rint(255 * images(1))
    soft = blurred(image, 0.1)
    assert np.array_equal(masked(image, ones), light)
    assert not masked(image, zeros).any()
    assert np.array_equal(selectively_blurred(image, soft, ones), light)
    assert np.array_equal(selectively_blurred(image, soft, zeros), soft)
    for signed in (False, True):
        assert np.array_equal(overlay(image, ones, signed), light)  # flat: nothing to see
        assert np.array_equal(overlay(image, zeros, signed), light)
    hot = zeros.copy()
    hot[0, 0, 0] = 1
    cold = overlay(image, hot, signed=False)[0, :, 1, 1]
    coldest = rendering.heat_colours()[0]
    dark = (1 - rendering.DIM) * light[0, :, 1, 1] + rendering.DIM * coldest
    np.testing.assert_allclose(cold, dark, atol=1e-3)


def test_a_constant_image_stays_constant_when_blurred() -> None:
    flat = np.full((1, 3, SIDE, SIDE), 64, np.uint8)
    np.testing.assert_allclose(blurred(flat, 0.2), 64, atol=1e-4)


@pytest.mark.parametrize("image", ["overlay", "masked", "blur"])
def test_rendering_one_by_one_gives_the_same_bytes(image: str) -> None:
    together = render(images(), maps(True), True, settings(image=image))
    assert together.dtype == np.uint8
    for number in range(NUMBER):
        part = slice(number, number + 1)
        alone = render(images()[part], maps(True)[part], True, settings(image=image))
        assert np.array_equal(alone[0], together[number])


def test_maps_of_another_size_are_refused() -> None:
    with pytest.raises(PastaError, match="4 x 3 x 10 x 10 and the maps 4 x 9 x 10"):
        overlay(images(), maps(False)[:, 1:], signed=False)


def test_the_weighted_sum_is_equation_14() -> None:
    random = generator(0, "sum")
    values, vectors = random.normal(size=(3, 5)), random.normal(size=(5, 7)).astype(np.float32)
    found = weighted_sum(values, vectors)
    for row in range(3):
        length = math.sqrt(sum(float(value) ** 2 for value in values[row]))
        for column in range(7):
            terms = [float(values[row, k]) * float(vectors[k, column]) for k in range(5)]
            assert found[row, column] == pytest.approx(sum(terms) / length, abs=1e-6)


def test_a_single_concept_is_its_own_vector_and_scale_does_not_matter() -> None:
    vectors = np.eye(3, dtype=np.float32)
    assert weighted_sum(np.array([[0.0, -4.0, 0.0]]), vectors).tolist() == [[0, -1, 0]]
    values = np.array([[1.0, 2.0, 3.0]])
    first, second = weighted_sum(values, vectors), weighted_sum(1e-6 * values, vectors)
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_a_sum_of_nothing_is_refused() -> None:
    with pytest.raises(PastaError, match="row 1"):
        weighted_sum(np.array([[1.0], [0.0]]), np.ones((1, 2)))


CLASSES = label_order(classes_of(["catsdogscars", "pascalpart", "monumai", "coco"]))


def test_the_26_labels_have_a_fixed_order() -> None:
    assert (
        *("cat", "dog", "car", "aeroplane", "bicycle", "bird", "bottle", "bus", "cow", "horse"),
        *("motorbike", "person", "pottedplant", "sheep", "train", "tvmonitor"),
        *("Baroque", "Gothic", "Hispanic-Muslim", "Renaissance"),
        *("shopping_and_dining", "workplace", "home_or_hotel", "transportation"),
        *("sports_and_leisure", "cultural"),
    ) == CLASSES
    assert label_order(classes_of(["monumai", "monumai"])) == CLASSES[16:20]


def test_a_label_is_one_hot_behind_the_features() -> None:
    features = np.arange(4, dtype=np.float32).reshape(2, 2)
    found = with_label(features, ["car", "cultural"], CLASSES)
    assert found.shape == (2, 2 + 26)
    assert np.array_equal(found[:, :2], features)
    assert np.argwhere(found[:, 2:]).tolist() == [[0, 2], [1, 25]]
    assert found[:, 2:].sum() == 2


def test_unknown_labels_are_refused() -> None:
    with pytest.raises(PastaError, match=r"row 1: there is no class called 'cst'.*'cat'"):
        with_label(np.zeros((2, 1)), ["cat", "cst"], CLASSES)
    with pytest.raises(PastaError, match="2 rows of features but 1 labels"):
        with_label(np.zeros((2, 1)), ["cat"], CLASSES)
