"""The twelve perturbations: nothing at 0, plenty at 1, more and more in between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import interpolate
from torchvision.transforms import v2

from pasta.errors import PastaError
from pasta.explanations.perturbations import (
    DARKEST,
    DISTORTION,
    HIGHEST_CONTRAST,
    HIGHEST_SATURATION,
    HIGHEST_SHARPNESS,
    JITTER,
    PATCH,
    PATCHES,
    PERTURBATIONS,
    SMALLEST_CROP,
)

KEYS = (
    "brightness_jitter",
    "contrast_jitter",
    "resized_crop",
    "gaussian_blur",
    "perspective",
    "brightness",
    "color",
    "contrast",
    "sharpness",
    "posterize",
    "solarize",
    "masking",
)
RANDOM = {"brightness_jitter", "contrast_jitter", "resized_crop", "perspective", "masking"}
LADDER = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small images: threads would wait for one another far longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pictures(number: int = 8, height: int = 40, width: int = 48, seed: int = 0) -> Tensor:
    """Large soft shapes with a fine grain, in whole steps of 1/255."""
    random = torch.Generator().manual_seed(seed)
    shapes = torch.rand(number, 3, 4, 5, generator=random)
    grain = torch.rand(number, 3, height, width, generator=random)
    soft = interpolate(shapes, (height, width), mode="bicubic", align_corners=False)
    return (soft * 0.8 + grain * 0.2).clamp(0, 1).mul(255).round().div(255)


def perturbed(key: str, images: Tensor, magnitude: float, seed: int = 0) -> Tensor:
    """All images at one magnitude, each with a seed of its own."""
    magnitudes = torch.full((len(images),), magnitude, dtype=torch.float64)
    return PERTURBATIONS[key](images, magnitudes, range(seed, seed + len(images)))


def test_these_are_the_papers_twelve_and_each_says_what_it_does() -> None:
    assert tuple(PERTURBATIONS) == KEYS
    for entry in PERTURBATIONS.entries():
        assert entry.metadata["title"] and entry.metadata["about"]


@pytest.mark.parametrize("key", KEYS)
def test_magnitude_zero_is_the_image_itself_in_memory_of_its_own(key: str) -> None:
    images = pictures()
    result = perturbed(key, images, 0)
    assert torch.equal(result, images)
    result.zero_()
    assert torch.equal(images, pictures())


@pytest.mark.parametrize("key", KEYS)
def test_distance_to_the_original_grows_with_the_magnitude(key: str) -> None:
    images = pictures(16)
    changes = [(perturbed(key, images, m) - images).abs().mean((1, 2, 3)) for m in LADDER]
    distances = [float(change.mean()) for change in changes]
    assert distances == sorted(distances)
    assert distances[1] < distances[-1] / 2
    assert changes[-1].min() > 0.04


@pytest.mark.parametrize("key", KEYS)
def test_a_small_magnitude_is_a_small_change(key: str) -> None:
    # Three of them go in steps: one bit, values at the very top, one patch.
    smallest = {"posterize": 1 / 255, "solarize": 0.05, "masking": 1.5 * PATCH**2}
    images = pictures().clamp(max=0.97)
    distance = float((perturbed(key, images, 1e-6) - images).abs().mean())
    assert distance < smallest.get(key, 1e-4)


@pytest.mark.parametrize("key", KEYS)
def test_a_batch_gives_what_each_image_alone_gives(key: str) -> None:
    images, magnitudes = pictures(), torch.linspace(0, 1, 8)
    seeds = list(range(50, 58))
    together = PERTURBATIONS[key](images, magnitudes, seeds)
    for n in range(8):
        alone = PERTURBATIONS[key](images[n : n + 1], magnitudes[n : n + 1], seeds[n : n + 1])
        assert torch.equal(together[n], alone[0])


@pytest.mark.parametrize("key", KEYS)
def test_the_seed_decides_what_is_random_and_nothing_else(key: str) -> None:
    images = pictures()
    torch.manual_seed(1)
    first = perturbed(key, images, 0.6, seed=3)
    torch.manual_seed(2)
    assert torch.equal(first, perturbed(key, images, 0.6, seed=3))
    assert torch.equal(first, perturbed(key, images, 0.6, seed=4)) is (key not in RANDOM)


@settings(max_examples=60, deadline=None)
@given(
    key=st.sampled_from(KEYS),
    magnitudes=st.lists(st.floats(0, 1), min_size=1, max_size=3),
    height=st.integers(4, 20),
    width=st.integers(4, 20),
    seed=st.integers(0, 2**63 - 1),
)
def test_any_magnitude_gives_a_valid_image(
    key: str, magnitudes: list[float], height: int, width: int, seed: int
) -> None:
    images = pictures(len(magnitudes), height, width)
    seeds = [seed] * len(magnitudes)
    result = PERTURBATIONS[key](images, torch.tensor(magnitudes, dtype=torch.float64), seeds)
    assert result.shape == images.shape and result.dtype == images.dtype
    assert result.isfinite().all()
    assert result.min() >= 0 and result.max() <= 1


def test_brightness_multiplies_and_the_jitters_factor_is_drawn_from_its_range() -> None:
    images = pictures(16)
    torch.testing.assert_close(perturbed("brightness", images, 1), images * DARKEST)
    torch.testing.assert_close(perturbed("brightness", images, 0.5), images * (1 + DARKEST) / 2)
    factors = perturbed("brightness_jitter", images, 1).mean((1, 2, 3)) / images.mean((1, 2, 3))
    assert JITTER[0] <= factors.min() < factors.max() <= JITTER[1]
    assert factors.max() - factors.min() > 0.05


def test_contrast_jitter_shrinks_the_spread_around_the_grey_mean() -> None:
    images = pictures(16)
    result = perturbed("contrast_jitter", images, 1)
    factors = result.std((1, 2, 3)) / images.std((1, 2, 3))
    assert factors.max() < JITTER[1] + 0.1  # channels also move towards the grey mean
    weights = torch.tensor([0.2989, 0.587, 0.114])
    grey = (images.mean((2, 3)) * weights).sum(1)
    torch.testing.assert_close((result.mean((2, 3)) * weights).sum(1), grey, atol=1e-3, rtol=0)


@pytest.mark.parametrize(
    ("key", "highest", "peer"),
    [
        ("color", HIGHEST_SATURATION, v2.functional.adjust_saturation),
        ("contrast", HIGHEST_CONTRAST, v2.functional.adjust_contrast),
        ("sharpness", HIGHEST_SHARPNESS, v2.functional.adjust_sharpness),
    ],
)
def test_raised_factors_grow_by_equal_ratios(key: str, highest: float, peer: object) -> None:
    assert callable(peer)
    images = pictures(2)
    for magnitude, factor in ((0.5, math.sqrt(highest)), (1.0, highest)):
        torch.testing.assert_close(perturbed(key, images, magnitude), peer(images, factor))


def test_what_has_no_colour_or_no_edges_stays_as_it_is() -> None:
    grey = pictures()[:, :1].expand(-1, 3, -1, -1)
    torch.testing.assert_close(perturbed("color", grey, 1), grey, atol=1e-3, rtol=0)
    flat = torch.full((2, 3, 30, 30), 0.4)
    for key in ("sharpness", "gaussian_blur", "resized_crop"):
        torch.testing.assert_close(perturbed(key, flat, 1), flat)


def test_blur_takes_away_the_grain_and_keeps_the_mean() -> None:
    images = pictures()
    spreads = [perturbed("gaussian_blur", images, m).std() for m in LADDER]
    # The first step is a fifth of a pixel wide at this size, which changes nothing.
    assert all(weaker >= stronger for weaker, stronger in pairwise(spreads))
    assert all(weaker > stronger for weaker, stronger in pairwise(spreads[1:]))
    blurred = perturbed("gaussian_blur", images, 1).mean()
    torch.testing.assert_close(blurred, images.mean(), atol=0.01, rtol=0)


@pytest.mark.parametrize(("magnitude", "bits"), [(0.1, 7), (1 / 7, 7), (0.5, 4), (0.9, 1), (1, 1)])
def test_posterize_keeps_the_highest_bits(magnitude: float, bits: int) -> None:
    levels = torch.arange(256)
    images = (levels / 255).reshape(1, 1, 16, 16).expand(1, 3, -1, -1)
    expected = [level // 2 ** (8 - bits) * 2 ** (8 - bits) for level in range(256)]
    result = perturbed("posterize", images, magnitude)[0, 0].flatten()
    assert (result * 255).round().int().tolist() == expected


@pytest.mark.parametrize(("magnitude", "threshold"), [(0.5, 0.75), (0.8, 0.36), (1.0, 0.0)])
def test_solarize_inverts_above_a_threshold_that_falls(magnitude: float, threshold: float) -> None:
    images = pictures()
    expected = torch.where(images < threshold, images, 1 - images)
    torch.testing.assert_close(perturbed("solarize", images, magnitude), expected)


def test_stronger_crops_lie_inside_weaker_ones() -> None:
    down, right = torch.linspace(0, 1, 60), torch.linspace(0, 1, 80)
    planes = [down[:, None].expand(60, 80), right[None].expand(60, 80), torch.zeros(60, 80)]
    places = torch.stack(planes)[None].expand(10, -1, -1, -1)  # pixels that know where they are
    ladder = [perturbed("resized_crop", places, m)[:, :2].flatten(2) for m in LADDER]
    for weaker, stronger in pairwise(ladder):
        assert (weaker.amin(2) <= stronger.amin(2) + 1e-5).all()
        assert (weaker.amax(2) >= stronger.amax(2) - 1e-5).all()
    sides = ladder[-1].amax(2) - ladder[-1].amin(2)
    torch.testing.assert_close(sides, torch.full((10, 2), SMALLEST_CROP), atol=0.03, rtol=0)
    centres = (ladder[-1].amax(2) + ladder[-1].amin(2)) / 2
    assert (centres.std(0) > 0.05).all()


def test_perspective_moves_each_corner_straight_inwards() -> None:
    white = torch.ones(10, 3, 81, 81)
    areas = [perturbed("perspective", white, m)[:, 0].mean((1, 2)) for m in LADDER]
    for weaker, stronger in pairwise(areas):
        assert (stronger < weaker).all()
    # The area between the corners as drawn: between those of the two extreme distortions.
    assert (areas[-1] > (1 - DISTORTION[1]) ** 2).all() and (
        areas[-1] < (1 - DISTORTION[0]) ** 2
    ).all()
    assert areas[-1].std() > 0.02


def test_stronger_masks_have_all_patches_of_weaker_ones() -> None:
    white = torch.ones(6, 3, 40, 60)
    rows, columns = round(PATCH * 40), round(PATCH * 60)
    hidden = [perturbed("masking", white, m)[:, 0] == 0 for m in LADDER]
    for weaker, stronger in pairwise(hidden):
        assert (stronger | ~weaker).all()
        assert (stronger.sum((1, 2)) > weaker.sum((1, 2))).all()
    for mask, magnitude in zip(hidden, LADDER, strict=True):
        assert (mask.sum((1, 2)) <= math.ceil(PATCHES * magnitude) * rows * columns).all()
    one = perturbed("masking", white, 0.5 / PATCHES)[:, 0] == 0
    assert one.sum((1, 2)).tolist() == [rows * columns] * 6


@pytest.mark.parametrize(
    ("images", "magnitudes", "seeds", "words"),
    [
        (torch.zeros(2, 3, 8, 8), [0.1, 1.1], [0, 0], "a magnitude is 1.1"),
        (torch.zeros(1, 3, 8, 8), [math.nan], [0], "a magnitude is nan"),
        (torch.zeros(2, 3, 8, 8), [0.1], [0, 0], "2 images, 1 magnitudes, 2 seeds"),
        (torch.zeros(2, 1, 8, 8), [0.1, 0.2], [0, 0], "must be floats"),
        (torch.zeros(1, 3, 8, 8, dtype=torch.uint8), [0.1], [0], "must be floats"),
    ],
)
def test_wrong_input_is_an_error_that_says_what_is_wrong(
    images: Tensor, magnitudes: list[float], seeds: list[int], words: str
) -> None:
    with pytest.raises(PastaError, match=words):
        PERTURBATIONS["brightness"](images, torch.tensor(magnitudes, dtype=torch.float64), seeds)
