"""The search for perturbations, with models whose answers are known by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.perturbation_search import Found, Pair, find_pairs, quantised
from pasta.explanations.perturbations import DARKEST, PERTURBATIONS
from pasta.explanations.settings import PerturbationParams
from pasta.models.data import as_tensor
from pasta.seeds import entropy
from tests.explanations.test_perturbations import pictures

SETTINGS = PerturbationParams(steps=5, tries=4, light=0.3)
DARK = 0.3
# A blur of a fifth of a pixel or a solarization without highlights alters nothing; these always do.
VISIBLE = ("brightness", "brightness_jitter", "contrast_jitter", "perspective", "masking")


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Small images: threads would wait for one another far longer than they work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def dark(images: Tensor) -> Tensor:
    """Class 1 if the first pixel is darker than 0.3, else class 0."""
    return (images[:, 0, 0, 0] < DARK).long()


def constant(images: Tensor) -> Tensor:
    """Always the same class."""
    return torch.full((len(images),), 2)


def striped(images: Tensor) -> Tensor:
    """One of five classes by narrow bands of the mean: many borders, none far away."""
    return (images.double().mean((1, 2, 3)) * 60).long() % 5


def unlike(originals: Tensor) -> Callable[[Tensor], Tensor]:
    """A model that sees whether anything at all was done to an image."""
    known = list(originals)

    def predict(images: Tensor) -> Tensor:
        return torch.tensor([0 if any(torch.equal(i, k) for k in known) else 1 for i in images])

    return predict


class Recorder:
    """A model that remembers what it was shown."""

    def __init__(self, predict: Callable[[Tensor], Tensor]) -> None:
        self.predict = predict
        self.sizes: list[int] = []
        self.seen: list[tuple[Tensor, int]] = []

    def __call__(self, images: Tensor) -> Tensor:
        labels = self.predict(images)
        self.sizes.append(len(images))
        self.seen += zip(images.clone(), labels.tolist(), strict=True)
        return labels


def names(number: int) -> list[str]:
    return [f"image/{n}" for n in range(number)]


def search(
    predict: Callable[[Tensor], Tensor],
    images: Tensor,
    settings: PerturbationParams = SETTINGS,
    *,
    keys: Sequence[str] | None = None,
    seed: int = 0,
    budget: int = 100,
    perturbations: Sequence[str] | None = None,
) -> list[Pair]:
    keys = names(len(images)) if keys is None else keys
    return find_pairs(predict, images, keys, seed, settings, budget, perturbations=perturbations)


def same(first: Found, second: Found) -> bool:
    return torch.equal(first.image, second.image) and all(
        getattr(first, name) == getattr(second, name)
        for name in ("perturbation", "magnitude", "predicted", "changed")
    )


@pytest.mark.parametrize("steps", [1, 4, 8])
def test_bisection_ends_within_its_precision_of_the_known_threshold(steps: int) -> None:
    levels = torch.tensor([0.4, 0.55, 0.8, 1.0]).mul(255).round().div(255)
    images = levels[:, None, None, None].expand(-1, 3, 6, 6)
    settings = PerturbationParams(steps=steps, tries=1, light=1.0)
    pairs = search(dark, images, settings, perturbations=["brightness"])
    for level, pair in zip(levels.tolist(), pairs, strict=True):
        # level * (1 - (1 - DARKEST) m) = 0.3; 0.3 is also where bytes are rounded up or down
        threshold = (1 - DARK / level) / (1 - DARKEST)
        assert pair.strong.changed and pair.strong.predicted == 1
        assert threshold - 1e-6 <= pair.strong.magnitude <= threshold + 2**-steps
        assert not pair.light.changed and pair.light.predicted == 0
        assert pair.light.magnitude <= threshold + 1e-6
        if threshold >= 2**-steps:  # else no magnitude that was looked at keeps the class
            assert pair.light.magnitude >= threshold - 2**-steps


def test_a_light_perturbation_that_keeps_the_class_is_not_made_lighter() -> None:
    images = torch.full((3, 3, 6, 6), 0.9)
    for pair in search(dark, images, perturbations=["brightness"]):
        assert pair.light.magnitude == SETTINGS.light


def test_light_keeps_the_class_and_changed_says_the_truth() -> None:
    images = pictures(24, 16, 16)
    originals = striped(quantised(images)).tolist()
    pairs = search(striped, images)
    for original, pair in zip(originals, pairs, strict=True):
        assert pair.light.predicted == original and not pair.light.changed
        assert pair.light.magnitude <= SETTINGS.light
        assert pair.strong.changed == (pair.strong.predicted != original)
    assert sum(pair.strong.changed for pair in pairs) > 20
    assert len({pair.strong.perturbation for pair in pairs}) > 4
    assert len({pair.light.perturbation for pair in pairs}) > 4
    assert any(0 < pair.light.magnitude < SETTINGS.light for pair in pairs)


def test_what_is_found_is_what_was_classified_and_survives_storage_as_bytes() -> None:
    images = pictures(10, 16, 16) * 0.999  # between the levels of bytes
    recorder = Recorder(striped)
    for pair in search(recorder, images):
        for found in (pair.light, pair.strong):
            stored = (found.image * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
            (read,) = as_tensor(stored[None])
            assert any(
                torch.equal(read, image) and label == found.predicted
                for image, label in recorder.seen
            )


def test_what_is_found_can_be_made_again_from_its_name_and_magnitude() -> None:
    images = quantised(pictures(10, 16, 16))
    for key, image, pair in zip(names(10), images, search(striped, images), strict=True):
        for found in (pair.light, pair.strong):
            again = PERTURBATIONS[found.perturbation](
                image[None],
                torch.tensor([found.magnitude], dtype=torch.float64),
                [entropy(0, found.perturbation, key) % 2**63],
            )
            assert torch.equal(quantised(again)[0], found.image)


def test_a_model_of_one_class_gets_the_first_perturbation_at_full_strength() -> None:
    recorder = Recorder(constant)
    images = pictures(5, 16, 16)
    pairs = search(recorder, images, perturbations=VISIBLE)
    once = SETTINGS.model_copy(update={"tries": 1})
    firsts = search(constant, images, once, perturbations=VISIBLE)
    for pair, first in zip(pairs, firsts, strict=True):
        assert (pair.strong.changed, pair.strong.predicted, pair.strong.magnitude) == (False, 2, 1)
        assert same(pair.strong, first.strong)
        assert pair.light.magnitude == SETTINGS.light
    # the originals, one light trial each, and as many strong ones as may be tried
    assert sum(recorder.sizes) == 5 * (1 + 1 + SETTINGS.tries)


def test_a_model_that_minds_everything_gets_the_original_as_light_and_a_bounded_search() -> None:
    images = quantised(pictures(4, 16, 16))
    recorder = Recorder(unlike(images))
    pairs = search(recorder, images, perturbations=VISIBLE)
    for image, pair in zip(images, pairs, strict=True):
        assert (pair.light.magnitude, pair.light.changed, pair.light.predicted) == (0, False, 0)
        assert torch.equal(pair.light.image, image)
        assert pair.strong.changed and not torch.equal(pair.strong.image, image)
    strong, light = 1 + SETTINGS.steps, SETTINGS.tries * (1 + SETTINGS.steps)
    assert sum(recorder.sizes) == 4 * (1 + strong + light)
    assert len(recorder.sizes) == 1 + light  # in lock step: images do not add rounds


def test_more_tries_than_perturbations_try_each_once() -> None:
    recorder = Recorder(constant)
    settings = SETTINGS.model_copy(update={"tries": 99})
    search(recorder, pictures(1, 16, 16), settings, perturbations=VISIBLE)
    assert len(recorder.seen) == 1 + 1 + len(VISIBLE)


def test_a_perturbation_that_alters_no_pixel_does_not_count_as_light() -> None:
    flat = torch.full((6, 3, 8, 8), 0.4)  # nothing to sharpen
    settings = SETTINGS.model_copy(update={"tries": 2})
    for pair in search(dark, flat, settings, perturbations=["sharpness", "brightness"]):
        assert pair.light.perturbation == "brightness" and pair.light.magnitude > 0
    for pair in search(dark, flat, settings, perturbations=["sharpness"]):
        assert pair.light.magnitude == 0


def test_a_bisection_that_ends_at_the_very_same_pixels_found_nothing_light() -> None:
    images = quantised(pictures(4, 16, 16))
    recorder = Recorder(unlike(images))
    settings = PerturbationParams(steps=6, tries=1, light=0.5)
    for pair in search(recorder, images, settings, perturbations=["resized_crop"]):
        assert pair.light.magnitude == 0
    # Crops of less than half a pixel were among those looked at, and kept the class.
    assert sum(label == 0 for _, label in recorder.seen) > len(images)


def test_neither_order_nor_company_nor_budget_changes_what_is_found() -> None:
    images, keys = pictures(9, 16, 16), names(9)
    expected = dict(zip(keys, search(striped, images), strict=True))
    for chosen, budget in (([8, 3, 5, 0, 1, 2, 4, 7, 6], 100), ([4], 100), ([7, 2, 5], 2)):
        some = [keys[n] for n in chosen]
        for key, pair in zip(
            some, search(striped, images[chosen], keys=some, budget=budget), strict=True
        ):
            assert same(pair.light, expected[key].light)
            assert same(pair.strong, expected[key].strong)


@pytest.mark.parametrize("budget", [1, 4, 7])
def test_no_prediction_sees_more_images_than_the_budget(budget: int) -> None:
    recorder = Recorder(striped)
    search(recorder, pictures(9, 16, 16), budget=budget)
    assert max(recorder.sizes) == budget


def test_seed_and_key_decide_the_order_and_the_places() -> None:
    image = pictures(1, 16, 16)
    twelve = image.expand(12, -1, -1, -1)
    by_key = {pair.strong.perturbation for pair in search(constant, twelve)}
    by_seed = {search(constant, image, seed=s)[0].strong.perturbation for s in range(12)}
    assert len(by_key) > 3 and len(by_seed) > 3
    places = [pair.strong.image for pair in search(constant, twelve, perturbations=["masking"])]
    assert not torch.equal(places[0], places[1])
    orders = search(constant, twelve, perturbations=VISIBLE)
    assert any(pair.light.perturbation != pair.strong.perturbation for pair in orders)


def test_no_images_give_no_pairs() -> None:
    assert search(constant, torch.zeros(0, 3, 8, 8)) == []


def test_wrong_input_is_an_error_before_anything_is_predicted() -> None:
    recorder = Recorder(constant)
    images = pictures(2, 8, 8)
    with pytest.raises(PastaError, match="2 images, but 1 keys"):
        search(recorder, images, keys=["one"])
    with pytest.raises(PastaError, match="Did you mean 'sharpness'"):
        search(recorder, images, perturbations=["sharpnes"])
    with pytest.raises(PastaError, match="no perturbation to choose from"):
        search(recorder, images, perturbations=[])
    assert not recorder.sizes
