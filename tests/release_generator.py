"""Releases to test with: folders in the layout of the published dataset, with planted preferences.

``human_annotations.json`` beside ``img/``, ``expl/`` and ``activations/``, and the same three of
perturbed copies. Images are drawn ones under the numbers of the release, which no drawn dataset
uses. What an explanation looks like follows from its method (smooth, blocky, sparse, centred,
edges, ternary, ...), from its backbone (coarse or fine cells) and from its quality: a good map lies
on the object, a good list of concepts names what is seen. Votes follow the same quality::

    stars = 3 + question + spread * quality + leniency of the person + noise, rounded to 1-5
    quality = method + backbone + kind + residual of the sample    (Q1 to Q4)
    quality = stability of the method + residual of the sample     (Q5 and Q6)

:func:`generate` returns what was planted, and writes it beside the folder. ::

    python -m tests.release_generator OUT --images 40 --techniques 21 --seed 0
    python -m tests.release_generator OUT --true-size      # 1,000 images, 633,000 votes
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from pasta.datasets.drawn.source import draw
from pasta.datasets.records import Record
from pasta.datasets.vocabulary import vocabulary
from pasta.explanations.techniques import PUBLISHED, RELEASED
from pasta.seeds import generator
from pasta.studies.ratings.settings import QUESTIONS

Floats = NDArray[np.float64]
Picture = NDArray[np.uint8]

FILE = "human_annotations.json"
# The numbers of the release: P1's 25 images of each dataset, then those that P2 added
NUMBERS: Mapping[str, tuple[range, range]] = {
    "monumai": (range(25), range(550, 775)),
    "pascalpart": (range(25, 50), range(775, 1000)),
    "catsdogscars": (range(50, 75), range(100, 325)),
    "coco": (range(75, 100), range(325, 550)),
}
SPELLED = {"cat": "cats", "dog": "dogs", "car": "cars"}
CONCEPT_METHODS = ("clip_qda", "clip_linear", "lime_cbm", "shap_cbm", "rise_cbm", "xnesyl")
BCOS_VIT = 47
DISTANCES = 39  # CLIP-QDA-sample: small values are important, and keys have brackets
# How a method draws: cells of a blurred grid, its sharpness, or a look of its own
LOOKS = {
    "lime": "ternary", "shap": "grid", "bcos": "rgba", "dff": "blocky", "fullgrad": "edges",
    "eigencam": "centred", "eigengradcam": "centred", "scorecam": "wide", "ablationcam": "wide",
    "hirescam": "sparse", "gradcam_elementwise": "sparse",
}  # fmt: skip
CELLS = {"resnet50": 7, "resnet50_bcos": 7}  # of a map; others see patches
OFFSETS = {"Q1": 0.0, "Q2": -0.1, "Q3": 0.3, "Q4": -0.2, "Q5": 0.1, "Q6": 0.0}


@dataclass(frozen=True)
class Settings:
    """What a release holds; sizes of the published one are in :data:`TRUE_SIZE`."""

    images: int = 40  # a quarter for each dataset
    techniques: int = 21  # of an image, by chance among the 46
    explanations: int | None = None  # in all, if not images x techniques
    votes: int | None = None  # in all; the rest of the answers is missing. None: `missing` decides
    people: int = 5  # votes on an explanation
    missing: float = 0.002  # share of answers that are left out
    size: int = 64  # of an image in pixels
    seed: int = 0
    pictures: bool = True  # False: only the votes
    perturbed: bool = True  # copies, and their explanations
    distinct: int | None = None  # images of a dataset that differ; others are hard links to them
    activations_key: bool = True  # False: the path follows from that of the picture
    bcos_vit: bool = False  # technique 47 among the others
    prefix: str = "./"  # of all paths
    # What is planted: standard deviations, and how much maps are preferred to concepts
    method: float = 0.6
    backbone: float = 0.25
    kind: float = 0.5
    residual: float = 0.5
    spread: float = 0.9
    leniency: float = 0.3
    noise: float = 0.5
    raters: int = 24


TRUE_SIZE = Settings(
    images=1000, techniques=21, explanations=21_110, votes=633_000, distinct=25, perturbed=True
)


@dataclass(frozen=True)
class Planted:
    """What the votes follow. Keys of ``techniques`` are ``method/backbone``."""

    settings: Settings
    methods: dict[str, float]
    backbones: dict[str, float]
    kinds: dict[str, float]
    stability: dict[str, float]  # of methods, for Q5 and Q6
    techniques: dict[str, float]  # expected quality, Q1 to Q4
    questions: dict[str, float] = field(default_factory=lambda: dict(OFFSETS))
    samples: dict[str, float] = field(default_factory=dict)  # sample_id -> quality, Q1 to Q4
    explanations: int = 0
    votes: int = 0

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)


class Sample(NamedTuple):
    """One explanation of one image."""

    dataset: str
    image: int  # its number in the release
    number: int  # of the technique

    @property
    def stem(self) -> str:
        """The name of its files."""
        return f"{self.dataset}_{self.image}_{self.number}"

    @property
    def technique(self) -> str:
        """``method/backbone``."""
        return TECHNIQUES[self.number]

    @property
    def concepts(self) -> bool:
        """Whether it is a list of concepts."""
        return self.technique.split("/")[0] in CONCEPT_METHODS


TECHNIQUES = {number: name for name, number in RELEASED.items()}
TECHNIQUES.setdefault(BCOS_VIT, "bcos/vit_b_16_bcos")


def generate(out: Path, settings: Settings = Settings()) -> Planted:  # noqa: B008 (frozen)
    """Write a release into a new folder and what was planted into ``OUT.planted.json``."""
    out.mkdir(parents=True)
    samples = list(choose(settings))
    planted = plant(settings, samples)
    stars = vote(settings, planted, samples)
    classes = {one: classes_of(settings, one) for one in dict.fromkeys(map(_image, samples))}
    entries = []
    for sample, votes in zip(samples, stars, strict=True):
        label, predicted = classes[sample.dataset, sample.image]
        entries.append(
            {
                **_paths(settings, sample, label),
                "GTclass": label,
                "predictedclass": predicted,
                "Annotation": [
                    {name: int(star) for name, star in zip(QUESTIONS, one, strict=True) if star}
                    for one in votes
                ],
            }
        )
    (out / FILE).write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    if settings.pictures:
        draw_files(out, settings, planted, samples)
    planted = replace(planted, explanations=len(samples), votes=int((stars > 0).sum()))
    text = json.dumps(planted.as_json(), indent=1) + "\n"
    out.with_name(f"{out.name}.planted.json").write_text(text, encoding="utf-8")
    return planted


# What is rated, and what is thought of it


def image_numbers(dataset: str) -> list[int]:
    """The numbers of a dataset's images, in the order of the release."""
    first, second = NUMBERS[dataset]
    return [*first, *second]


def choose(settings: Settings) -> Iterator[Sample]:
    """Choose techniques for each image; the first images get one more to reach the total."""
    numbers = sorted(RELEASED[name] for name in PUBLISHED)
    numbers += [BCOS_VIT] * settings.bcos_vit
    total = settings.explanations or settings.images * settings.techniques
    each, more = divmod(total, settings.images)
    if max(each + (more > 0), 1) > len(numbers) or settings.images > len(NUMBERS) * 250:
        raise ValueError(f"at most {len(numbers)} techniques an image, and 1,000 images")
    share, rest = divmod(settings.images, len(NUMBERS))
    at = 0
    for place, dataset in enumerate(NUMBERS):
        for image in image_numbers(dataset)[: share + (place < rest)]:
            rng = generator(settings.seed, "techniques", image)
            chosen = rng.choice(numbers, each + (at < more), replace=False)
            if settings.bcos_vit and at == 0 and BCOS_VIT not in chosen:
                chosen[0] = BCOS_VIT
            at += 1
            for number in sorted(chosen.tolist()):
                yield Sample(dataset, image, number)


def plant(settings: Settings, samples: list[Sample]) -> Planted:
    """Draw the preferences: effects of methods, backbones and kinds, and a residual a sample."""
    rng = generator(settings.seed, "preferences")
    names = sorted(TECHNIQUES.values())
    methods = sorted({name.split("/")[0] for name in names})
    backbones = sorted({name.split("/")[1] for name in names})
    of_methods = dict(zip(methods, _spread(rng, len(methods), settings.method), strict=True))
    stability = dict(zip(methods, _spread(rng, len(methods), settings.method), strict=True))
    of_backbones = dict(
        zip(backbones, _spread(rng, len(backbones), settings.backbone), strict=True)
    )
    kinds = {"saliency": settings.kind / 2, "concept": -settings.kind / 2}
    for own in (True, False):  # kinds differ by what is planted, not by the luck of their methods
        alike = [name.split("/") for name in PUBLISHED if (_method(name) in CONCEPT_METHODS) == own]
        mean = float(np.mean([of_methods[one] + of_backbones[other] for one, other in alike]))
        for method in methods:
            of_methods[method] -= mean * ((method in CONCEPT_METHODS) == own)

    def quality(technique: str) -> float:
        method, backbone = technique.split("/")
        kind = "concept" if method in CONCEPT_METHODS else "saliency"
        return of_methods[method] + of_backbones[backbone] + kinds[kind]

    techniques = {name: quality(name) for name in names}
    shown = {sample: _original(settings, sample) for sample in samples}
    residuals = {
        one: settings.residual * generator(settings.seed, "residual", one.stem).standard_normal()
        for one in set(shown.values())
    }
    qualities = {
        sample_id(sample): float(techniques[sample.technique] + residuals[one])
        for sample, one in shown.items()
    }
    return Planted(
        settings,
        of_methods,
        of_backbones,
        kinds,
        stability,
        {sample.technique: techniques[sample.technique] for sample in sorted(samples)},
        samples=qualities,
    )


def vote(settings: Settings, planted: Planted, samples: list[Sample]) -> NDArray[np.int8]:
    """Stars of samples x people x questions; 0 is a question without answer."""
    rng = generator(settings.seed, "votes")
    shape = (len(samples), settings.people, len(QUESTIONS))
    quality = np.array([planted.samples[sample_id(sample)] for sample in samples])
    expected = np.array([planted.techniques[sample.technique] for sample in samples])
    steady = np.array([planted.stability[sample.technique.split("/")[0]] for sample in samples])
    changes = np.isin(QUESTIONS, ("Q5", "Q6"))
    latent = np.where(changes, (steady + quality - expected)[:, None], quality[:, None])
    leniency = settings.leniency * rng.standard_normal(settings.raters)
    people = np.argsort(rng.random((len(samples), settings.raters)), axis=1)[:, : settings.people]
    offsets = np.array([planted.questions[name] for name in QUESTIONS])
    stars = 3 + offsets + settings.spread * latent[:, None, :] + leniency[people][:, :, None]
    stars = stars + settings.noise * rng.standard_normal(shape)
    found = np.clip(np.rint(stars), 1, 5).astype(np.int8)
    asked = found.size
    left_out = round(settings.missing * asked) if settings.votes is None else asked - settings.votes
    found.reshape(-1)[rng.choice(asked, left_out, replace=False)] = 0
    return found


def write_later_votes(file: Path, settings: Settings, planted: Planted, number: int) -> None:
    """Write a CSV file of answers that are missing in a release, as somebody gives them later."""
    samples = list(choose(settings))
    missing = np.argwhere(vote(settings, planted, samples) == 0)
    rng = generator(settings.seed, "later votes")
    chosen = missing[np.sort(rng.permutation(len(missing))[:number])]
    complete = vote(replace(settings, missing=0.0, votes=None), planted, samples)
    lines = ["sample_id,annotator_id,question,rating"]
    for sample, person, question in chosen.tolist():
        star = complete[sample, person, question]
        name = sample_id(samples[sample])
        lines.append(f"{name},later-{person + 1},{QUESTIONS[question]},{star}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def sample_id(sample: Sample) -> str:
    """``dataset/image/method/backbone``, with the number of the release as the image's name."""
    return f"{sample.dataset}/{sample.image}/{sample.technique}"


def classes_of(settings: Settings, image: tuple[str, int]) -> tuple[str, str]:
    """Label and prediction of an image, which is wrong for one in seven."""
    dataset, number = image
    classes = vocabulary(dataset).classes
    place = _drawn_index(settings, dataset, number) % len(classes)
    rng = generator(settings.seed, "prediction", dataset, number)
    wrong = (place + int(rng.integers(1, len(classes)))) % len(classes)
    names = [SPELLED.get(name, name) if dataset == "catsdogscars" else name for name in classes]
    return names[place], names[wrong if rng.random() < 1 / 7 else place]


def _spread(rng: np.random.Generator, count: int, deviation: float) -> list[float]:
    """Effects with mean zero and exactly this standard deviation, in random order."""
    values = np.linspace(-1, 1, count)
    values = deviation * values / values.std()
    return [float(value) for value in rng.permutation(values)]


def _method(technique: str) -> str:
    return technique.split("/", maxsplit=1)[0]


def _image(sample: Sample) -> tuple[str, int]:
    return sample.dataset, sample.image


def _original(settings: Settings, sample: Sample) -> Sample:
    """The sample whose files this one shares: its own, unless images repeat."""
    return sample._replace(image=_drawn_index(settings, sample.dataset, sample.image))


def _drawn_index(settings: Settings, dataset: str, number: int) -> int:
    """The number of the picture that is drawn for an image."""
    if settings.distinct is None:
        return number
    numbers = image_numbers(dataset)
    return numbers[numbers.index(number) % settings.distinct]


# Files


def _paths(settings: Settings, sample: Sample, label: str) -> dict[str, str]:
    kinds = ("", "pertubated") if settings.perturbed else ("",)
    suffix = "json" if sample.concepts else "npy"
    paths = {}
    for kind in kinds:
        paths[f"img{kind}"] = f"img{kind}/{sample.dataset}_{sample.image}_{label}.png"
        paths[f"explication{kind}"] = f"expl{kind}/{sample.stem}.png"
        if settings.activations_key:
            paths[f"activations{kind}"] = f"activations{kind}/{sample.stem}.{suffix}"
    return {key: f"{settings.prefix}{path}" for key, path in paths.items()}


def draw_files(out: Path, settings: Settings, planted: Planted, samples: list[Sample]) -> None:
    """Draw images, explanations and their pictures; what is the same becomes a hard link."""
    kinds = ("", "pertubated") if settings.perturbed else ("",)
    for folder in ("img", "expl", "activations"):
        for kind in kinds:
            (out / f"{folder}{kind}").mkdir(exist_ok=True)
    by_image: dict[tuple[str, int], list[Sample]] = {}
    for sample in samples:
        by_image.setdefault(_image(_original(settings, sample)), []).append(sample)
    for (dataset, index), same in by_image.items():
        record = draw(dataset, settings.seed + 1, index, settings.size)
        views = {"": record.image, "pertubated": _perturbed(record.image)}
        labels = {one.image: classes_of(settings, _image(one))[0] for one in same}
        for kind in kinds:
            files = [
                out / f"img{kind}" / f"{dataset}_{image}_{label}.png"
                for image, label in labels.items()
            ]
            _save_picture(views[kind], files)
        by_technique: dict[int, list[Sample]] = {}
        for one in same:
            by_technique.setdefault(one.number, []).append(one)
        for alike in by_technique.values():
            first = alike[0]
            quality = planted.samples[sample_id(first)]
            steady = planted.stability[first.technique.split("/")[0]]
            rng = generator(settings.seed, "map", _original(settings, first).stem)
            noise = rng.standard_normal()
            for kind in kinds:
                changed = quality - max(0.0, 1 - steady) * abs(noise) if kind else quality
                _save_explanation(out, kind, alike, record, views[kind], changed, rng)


def _save_explanation(
    out: Path,
    kind: str,
    alike: list[Sample],
    record: Record,
    image: Picture,
    quality: float,
    rng: np.random.Generator,
) -> None:
    first = alike[0]
    suffix = "json" if first.concepts else "npy"
    files = [out / f"activations{kind}" / f"{one.stem}.{suffix}" for one in alike]
    if first.concepts:
        values = concept_values(first, record, quality, rng)
        files[0].write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
        shown = bars(values, max(96, image.shape[0]), small_first=first.number == DISTANCES)
    else:
        saliency = saliency_map(first.technique, record, image, quality, rng)
        np.save(files[0], saliency)
        shown = overlay(image, saliency)
    for file in files[1:]:
        os.link(files[0], file)
    _save_picture(shown, [out / f"expl{kind}" / f"{one.stem}.png" for one in alike])


def _save_picture(picture: Picture, files: list[Path]) -> None:
    Image.fromarray(picture).save(files[0], compress_level=1)
    for file in files[1:]:
        os.link(files[0], file)


def _perturbed(image: Picture) -> Picture:
    """A blurred and darker copy."""
    found: Picture = (0.8 * ndimage.uniform_filter(image, (5, 5, 0))).astype(np.uint8)
    return found


# What explanations look like


def goodness(quality: float) -> float:
    """A quality as a share between 0 and 1."""
    return float(1 / (1 + np.exp(-2 * quality)))


def saliency_map(
    technique: str, record: Record, image: Picture, quality: float, rng: np.random.Generator
) -> NDArray[np.float32]:
    """A map in the look of its method: as much on the object as its quality says."""
    method, backbone = technique.split("/")
    size, cells = image.shape[0], CELLS.get(backbone, 14)
    look = LOOKS.get(method, "smooth")
    thing = ndimage.gaussian_filter((record.parts > 0).astype(float), size / 16)
    share = goodness(quality)
    wanted = share * _scaled(thing) + (1 - share) * rng.random((size, size))
    coarse = ndimage.zoom(wanted, cells / size, order=1) ** (1.5 if cells > 7 else 1)
    coarse = coarse + (1 - share) * 0.6 * rng.random(coarse.shape)
    if look == "ternary":
        pieces = _pieces(size, rng)
        means = ndimage.mean(wanted, pieces, np.arange(pieces.max() + 1))
        low, high = np.quantile(means, (0.2, 0.75))
        return (np.where(means >= high, 1, np.where(means <= low, -1, 0))[pieces]).astype(
            np.float32
        )
    if look == "grid":
        values = _blown_up(coarse - coarse.mean(), size, 0)
        return np.asarray(values / np.abs(values).max(), np.float32)
    if look == "rgba":
        alpha = _scaled(wanted * _edges(image) + 0.2 * wanted)[..., None]
        return np.concatenate([image / 255, alpha], axis=2).astype(np.float32)
    if look == "edges":
        found = wanted * _edges(image)
    elif look == "blocky":
        found = _blown_up(np.rint(3 * _scaled(coarse)), size, 0)
    elif look == "sparse":
        found = _blown_up(_scaled(coarse) ** 5, size, 1)
    elif look == "wide":
        found = ndimage.gaussian_filter(_blown_up(coarse, size, 1), size / 10)
    elif look == "centred":
        y, x = np.mgrid[:size, :size] / size - 0.5
        middle = np.exp(-(x**2 + y**2) / 0.08)
        found = (1 - share) * middle + _blown_up(coarse, size, 1)
    else:
        found = _blown_up(_scaled(coarse) ** 2, size, 3)
    return _scaled(found).astype(np.float32)


def concept_values(
    sample: Sample, record: Record, quality: float, rng: np.random.Generator
) -> dict[str, float]:
    """A value for each concept of the dataset, under the release's kind of names."""
    words = vocabulary(sample.dataset).concepts
    seen = np.isin(np.arange(1, len(words) + 1), np.unique(record.parts))
    share = goodness(quality)
    values = share * seen * (0.5 + rng.random(len(words))) + (1 - share) * rng.random(len(words))
    if sample.number == DISTANCES:  # the distance that would change the prediction
        return {
            f"{word} ({'+' if one else '-'})": float(1 / (value + 0.05))
            for word, value, one in zip(words, values, seen, strict=True)
        }
    values = values - 0.2 * rng.random(len(words))
    return {
        f"a photo of {_released_concept(word)}": float(value)
        for word, value in zip(words, values, strict=True)
    }


def _released_concept(word: str) -> str:
    """The release writes one concept with a space behind it."""
    return "flat-arch " if word == "flat-arch" else word


def overlay(image: Picture, saliency: NDArray[np.float32]) -> Picture:
    """The picture that people saw: blue to white to red over the image, half and half."""
    if saliency.ndim == 3:
        alpha = saliency[..., 3:]
        found = alpha * saliency[..., :3] * 255 + (1 - alpha) * 255
        return np.asarray(found, np.uint8)
    top = np.abs(saliency).max() or 1
    value = saliency / top if saliency.min() < 0 else 2 * saliency / top - 1
    red, blue = np.clip(1 + value, 0, 1), np.clip(1 - value, 0, 1)
    heat = np.stack([red, np.minimum(red, blue), blue], axis=2) * 255
    found = 0.5 * heat + 0.5 * image
    return found.astype(np.uint8)


def bars(values: Mapping[str, float], size: int, small_first: bool) -> Picture:
    """A bar chart of the most important concepts."""
    order = sorted(values, key=lambda name: values[name] if small_first else -values[name])[:10]
    picture = Image.new("RGB", (size, size), "white")
    pen = ImageDraw.Draw(picture)
    step, top = size / len(order), max(abs(values[name]) for name in order)
    for at, name in enumerate(order):
        long = size * 0.9 * abs(values[name]) / top
        colour = (60, 90, 200) if values[name] >= 0 else (200, 60, 60)
        pen.rectangle((0, at * step + 1, long, (at + 1) * step - 2), fill=colour)
        pen.text((2, at * step), name, fill="black", font_size=max(8, step - 3))
    return np.asarray(picture)


def _pieces(size: int, rng: np.random.Generator, count: int = 24) -> NDArray[np.int64]:
    """Superpixels: the nearest of some points."""
    points = rng.random((count, 2)) * size
    y, x = np.mgrid[:size, :size]
    distances = (y - points[:, :1, None]) ** 2 + (x - points[:, 1:, None]) ** 2
    nearest: NDArray[np.int64] = distances.argmin(axis=0)
    return np.unique(nearest, return_inverse=True)[1].reshape(size, size)


def _edges(image: Picture) -> Floats:
    return _scaled(ndimage.gaussian_gradient_magnitude(image.mean(axis=2), 1.0))


def _blown_up(coarse: Floats, size: int, order: Literal[0, 1, 3]) -> Floats:
    found: Floats = ndimage.zoom(
        coarse, size / coarse.shape[0], order=order, grid_mode=True, mode="nearest"
    )
    return found[:size, :size]


def _scaled(values: Floats) -> Floats:
    """Values from 0 to 1."""
    low, high = values.min(), values.max()
    found: Floats = (values - low) / (high - low) if high > low else np.zeros_like(values)
    return found


def main() -> None:
    """Read the options and write a release."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=Path, help="a new folder")
    parser.add_argument("--true-size", action="store_true", help="the sizes of the published one")
    for name in ("images", "techniques", "explanations", "votes", "people", "size", "distinct"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--votes-only", action="store_true", help="no pictures, no maps")
    parser.add_argument("--no-perturbed", action="store_true", help="no perturbed copies")
    parser.add_argument("--no-activations-key", action="store_true")
    parser.add_argument("--bcos-vit", action="store_true", help="technique 47 among the others")
    given = parser.parse_args()
    numbers = ("images", "techniques", "explanations", "votes", "people", "size", "distinct")
    changed = {name: getattr(given, name) for name in numbers if getattr(given, name) is not None}
    settings = replace(
        TRUE_SIZE if given.true_size else Settings(),
        **changed,
        seed=given.seed,
        pictures=not given.votes_only,
        perturbed=not given.no_perturbed,
        activations_key=not given.no_activations_key,
        bcos_vit=given.bcos_vit,
    )
    started = time.perf_counter()
    planted = generate(given.out, settings)
    print(
        f"{given.out}: {settings.images} images, {planted.explanations} explanations, "
        f"{planted.votes} votes in {time.perf_counter() - started:.0f} s; "
        f"what is planted: {given.out.name}.planted.json beside it"
    )


if __name__ == "__main__":
    main()
