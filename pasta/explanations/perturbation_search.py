"""For each image a light perturbation that keeps the predicted class, a strong one that changes it.

The search for one image is written as a generator that asks for one trial after another; all
searches advance in lock step, so that a round of trials is one prediction. What is found for an
image depends on its key, its pixels, the seed and the settings, never on the images beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.explanations.image import IMAGE
from pasta.explanations.modality import Modality, Perturbation
from pasta.explanations.settings import PerturbationParams
from pasta.registry import Registry
from pasta.seeds import entropy, generator

Predict = Callable[[Tensor], Tensor]  # images (n, 3, height, width) to class indices (n,)


@dataclass(frozen=True, eq=False)
class Found:
    """A perturbed image and what the model says about it."""

    perturbation: str
    magnitude: float
    predicted: int
    image: Tensor  # (3, height, width), whole steps of 1/255: exactly what was classified
    changed: bool  # whether the class is another than that of the original
    visible: bool  # whether any pixel differs from the original


@dataclass(frozen=True)
class Pair:
    """What is shown beside an image: a light perturbation and a strong one."""

    light: Found
    strong: Found


Request = tuple[str, float]  # a perturbation and its magnitude
Search = Generator[Request, Found, Found]


@dataclass(frozen=True, eq=False)
class Subject:
    """One image as its searches see it."""

    key: str
    image: Tensor
    predicted: int


def find_pairs(
    predict: Predict,
    images: Tensor,
    keys: Sequence[str],
    seed: int,
    settings: PerturbationParams,
    budget: int,
    modality: Modality = IMAGE,
    perturbations: Sequence[str] | None = None,
) -> list[Pair]:
    """Search a light and a strong perturbation of each image (n, 3, height, width), 0 to 1.

    ``keys`` names the images; with ``seed`` they are the source of all randomness. ``settings`` say
    how many perturbations to try, how long to bisect, how strong "light" may be; ``budget`` is the
    most that ``predict`` gets at once, ``perturbations`` are those to choose from.

    ``light.changed`` is never true; its magnitude is 0 only if no tried perturbation kept the class
    while altering a pixel. ``strong.changed`` is false only if no tried perturbation changed the
    class at magnitude 1.
    """
    known: Registry[Perturbation] = modality.need("perturb")
    names = tuple(known if perturbations is None else perturbations)
    if not names:
        raise PastaError("there is no perturbation to choose from")
    for name in names:
        known.entry(name)  # an unknown name is an error before anything is computed
    if len(keys) != len(images):
        raise PastaError(f"{len(images)} images, but {len(keys)} keys")
    originals = quantised(images)
    classes = torch.cat([predict(part) for part in torch.split(originals, budget)]).tolist()
    searches: list[tuple[Subject, Search]] = []
    for subject in map(Subject, keys, originals, classes):
        light = _order(names, seed, "light", subject.key, settings.tries)
        strong = _order(names, seed, "strong", subject.key, settings.tries)
        unchanged = Found(light[0], 0.0, subject.predicted, subject.image, False, False)
        searches.append((subject, search_light(light, unchanged, settings)))
        searches.append((subject, search_strong(strong, settings)))
    found = _in_lock_step(predict, searches, seed, budget, known)
    return [Pair(*both) for both in zip(found[::2], found[1::2], strict=True)]


def search_strong(order: Sequence[str], settings: PerturbationParams) -> Search:
    """The weakest found magnitude that changes the class, of the first perturbation that does.

    If none does, the first perturbation at full strength.
    """
    tried: list[Found] = []
    for name in order:
        best = yield name, 1.0
        tried.append(best)
        if not best.changed:
            continue
        kept = 0.0
        for _ in range(settings.steps):
            trial = yield name, (kept + best.magnitude) / 2
            if trial.changed:
                best = trial
            else:
                kept = trial.magnitude
        return best
    return tried[0]


def search_light(order: Sequence[str], unchanged: Found, settings: PerturbationParams) -> Search:
    """The strongest found magnitude, up to the limit, that keeps the class and can be seen.

    The first perturbation for which there is one is taken; if there is none, the image stays as
    it is (``unchanged``). A perturbation that alters no pixel, such as a change of saturation of a
    grey image, would be no perturbation.
    """
    for name in order:
        trial = yield name, settings.light
        if not trial.changed:
            if trial.visible:
                return trial
            continue  # a weaker one cannot be seen either
        best, kept, lost = None, 0.0, settings.light
        for _ in range(settings.steps):
            trial = yield name, (kept + lost) / 2
            if trial.changed:
                lost = trial.magnitude
            else:
                kept = trial.magnitude
                best = trial if trial.visible else best
        if best is not None:
            return best
    return unchanged


def quantised(images: Tensor) -> Tensor:
    """The images as they will be read back after being stored as bytes."""
    pixels = (images.detach() * 255).round().clamp(0, 255).to(torch.uint8)
    layout = torch.channels_last if images.ndim == 4 else torch.contiguous_format
    return pixels.float().div(255).contiguous(memory_format=layout)


def _order(names: Sequence[str], seed: int, purpose: str, key: str, tries: int) -> list[str]:
    """The perturbations to try for one image, in the order in which to try them."""
    shuffled = generator(seed, purpose, key).permutation(len(names))
    return [names[number] for number in shuffled[:tries]]


def _in_lock_step(
    predict: Predict,
    searches: Sequence[tuple[Subject, Search]],
    seed: int,
    budget: int,
    known: Registry[Perturbation],
) -> list[Found]:
    """Run all searches to their end, each round of requests in as few predictions as possible."""
    found: dict[int, Found] = {}
    requests: dict[int, Request] = {
        number: next(search) for number, (_, search) in enumerate(searches)
    }
    while requests:
        asked, requests = requests, {}
        numbers = list(asked)
        for start in range(0, len(numbers), budget):
            part = numbers[start : start + budget]
            subjects = [searches[number][0] for number in part]
            trials = _try(predict, subjects, [asked[number] for number in part], seed, known)
            for number, trial in zip(part, trials, strict=True):
                try:
                    requests[number] = searches[number][1].send(trial)
                except StopIteration as end:
                    found[number] = end.value
    return [found[number] for number in range(len(searches))]


def _try(
    predict: Predict,
    subjects: Sequence[Subject],
    requests: Sequence[Request],
    seed: int,
    known: Registry[Perturbation],
) -> list[Found]:
    """Perturb one image for each request and classify all of them at once."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, (name, _) in enumerate(requests):
        places[name].append(place)
    images = torch.stack([subject.image for subject in subjects])
    for name, rows in places.items():
        magnitudes = torch.tensor([requests[row][1] for row in rows], dtype=torch.float64)
        seeds = [entropy(seed, name, subjects[row].key) % 2**63 for row in rows]
        images[rows] = known[name](images[rows], magnitudes, seeds)
    images = quantised(images)
    return [
        # A copy, because a row would keep the whole round in memory.
        Found(*request, label, image.clone(), label != own.predicted, not image.equal(own.image))
        for own, request, image, label in zip(
            subjects, requests, images, predict(images).tolist(), strict=True
        )
    ]
