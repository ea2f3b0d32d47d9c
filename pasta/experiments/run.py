"""Make one experiment: images, classifier, what is shown, explanations, metrics, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image

from pasta import compute, store
from pasta.config import Params
from pasta.datasets.files.images import SUFFIXES, decode, fit
from pasta.errors import InputError, PastaError
from pasta.experiments.choice import choose_shown
from pasta.experiments.classifiers import PairData, make_classifier, predict
from pasta.experiments.drawings import (
    CLASSES,
    PRACTICE_CLASSES,
    draw_picture,
    draw_practice,
)
from pasta.experiments.maps import Maps, explain_images, measure_maps
from pasta.explanations.rendering import overlay
from pasta.seeds import generator
from pasta.studies.prediction.settings import ExperimentParams
from pasta.studies.prediction.shown import (
    ABOUT,
    IMAGES,
    METRICS,
    PIXELS,
    SHOWN,
    VALUES,
    map_file,
)

Bytes = NDArray[np.uint8]
PRACTICE_EXAMPLES = 4
PICTURES = 4  # images of the figure with examples
_SIDE = 96  # pixels of a picture in that figure


@dataclass(frozen=True)
class Material:
    """The images of an experiment before anything is chosen."""

    classes: tuple[str, str]
    learned: Bytes  # to train on, the last ones to validate by
    labels: NDArray[np.int64]
    candidates: Bytes  # among which those that are shown are chosen
    truth: NDArray[np.int64]
    validation: int


def make_experiment(
    name: str, params: Params, root: Path, out: Path, figure: Path
) -> dict[str, float]:
    """Make an experiment and write its folder; returns numbers to log.

    ``figure`` is a picture with examples of what is shown.
    """
    study = params.prediction
    compute.limit_threads()  # results do not depend on the number of cores
    if name not in study.experiments:
        raise PastaError(f"prediction.experiments has no {name!r}")
    settings = study.experiments[name]
    material = gather(name, settings, params, root)
    data = PairData(
        name,
        material.classes,
        material.learned,
        material.labels,
        material.validation,
        params.seeds.training,
        params,
        root,
    )
    model, facts = make_classifier(settings, data, learns=settings.outputs is None)
    probabilities = predict(model, material.candidates)
    predicted = probabilities.argmax(1)
    rng = generator(params.seeds.explaining, "experiment", name, "shown")
    chosen = choose_shown(predicted, material.truth, study.pool, rng, name)
    rows = np.concatenate(list(chosen.values()))
    pixels, targets = material.candidates[rows], predicted[rows]
    maps = explain_images(
        model, pixels, targets, study.conditions, study.maps, params.seeds.explaining
    )
    values = measure_maps(model, pixels, targets, maps, study.maps, params.seeds.explaining)
    images = _describe(name, material, chosen, predicted, probabilities)
    values = values.assign(
        experiment=name, image_id=images["image_id"].to_numpy()[values["number"].to_numpy()]
    )
    practice = _practice(settings.size, study.design.practice, params.seeds.drawing, len(images))
    _write(out, images, pixels, maps, values[list(METRICS.columns)], practice)
    _draw_examples(figure, pixels, images, maps)
    accuracy = float((predicted == material.truth).mean())
    about = {
        "classes": list(material.classes),
        "source": settings.source,
        "candidates": len(material.truth),
        "accuracy": round(accuracy, 6),
        "shown": len(images),
        **facts,
    }
    store.write_json(about, out / ABOUT)
    found = {"accuracy": accuracy, "shown": float(len(images))}
    faithful = values[values["metric"] == "faithfulness"].groupby("condition")["value"].mean()
    return found | {f"faithfulness_{key}": float(one) for key, one in faithful.items()}


def gather(name: str, settings: ExperimentParams, params: Params, root: Path) -> Material:
    """Draw the images of an experiment, or read them from class folders."""
    if settings.source == "files":
        return _read(name, settings, params.seeds.drawing, root)
    if settings.drawing is None:
        raise PastaError(f"prediction.experiments.{name}.drawing is missing: {', '.join(CLASSES)}")
    drawing, seed = settings.drawing, params.seeds.drawing
    parts = {
        "train": [draw_picture(settings, drawing, "train", n, seed) for n in range(settings.train)],
        "validation": [
            draw_picture(settings, drawing, "validation", n, seed)
            for n in range(settings.validation)
        ],
        "candidates": [
            draw_picture(settings, drawing, "candidates", n, seed)
            for n in range(settings.candidates)
        ],
    }
    learned = [*parts["train"], *parts["validation"]]
    return Material(
        CLASSES[drawing],
        np.stack([one.image for one in learned]),
        np.array([one.label for one in learned], np.int64),
        np.stack([one.image for one in parts["candidates"]]),
        np.array([one.label for one in parts["candidates"]], np.int64),
        settings.validation,
    )


def _read(name: str, settings: ExperimentParams, seed: int, root: Path) -> Material:
    """Images of two classes from the folders ``train/<class>`` and ``test/<class>`` of a root."""
    if settings.root is None or settings.classes is None:
        raise PastaError(f"prediction.experiments.{name} needs root and classes for its files")
    folder = root / settings.root
    needs = settings.train + settings.validation if settings.outputs is None else 0
    train = _files(folder / "train", settings.classes, needs, seed, name) if needs else []
    test = _files(folder / "test", settings.classes, settings.candidates, seed, name)

    def load(pairs: list[tuple[Path, int]]) -> tuple[Bytes, NDArray[np.int64]]:
        pictures = [np.asarray(fit(decode(path), settings.size)) for path, _ in pairs]
        empty = np.zeros((0, settings.size, settings.size, 3), np.uint8)
        return (np.stack(pictures) if pictures else empty), np.array(
            [label for _, label in pairs], np.int64
        )

    validation = min(settings.validation, len(train) // 4)
    return Material(settings.classes, *load(train), *load(test), validation)


def _files(
    folder: Path, classes: tuple[str, str], most: int, seed: int, name: str
) -> list[tuple[Path, int]]:
    """Up to so many images, in a random order, half of each class where there are enough."""
    found: list[list[Path]] = []
    for one in classes:
        place = folder / one
        files = sorted(path for path in place.rglob("*") if path.suffix.lower() in SUFFIXES)
        if not files:
            raise InputError("holds no images", file=place, expected="JPEG or PNG files of a class")
        order = generator(seed, "experiment", name, folder.name, one).permutation(len(files))
        found.append([files[number] for number in order][: (most + 1) // 2])
    pairs = [(path, label) for label, files in enumerate(found) for path in files]
    order = generator(seed, "experiment", name, folder.name).permutation(len(pairs))
    return [pairs[number] for number in order]


def _describe(
    name: str,
    material: Material,
    chosen: dict[str, NDArray[np.int64]],
    predicted: NDArray[np.intp],
    probabilities: NDArray[np.float64],
) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for phase, numbers in chosen.items():
        for number in numbers:
            label, shown = material.truth[number], predicted[number]
            rows.append(
                {
                    "image_id": f"{name}-{number:05d}",
                    "experiment": name,
                    "phase": phase,
                    "label": material.classes[label],
                    "shown": material.classes[shown],
                    "right": bool(label == shown),
                    "probability": float(probabilities[number, shown]),
                    "row": len(rows),
                }
            )
    return SHOWN.frame(rows)


def _practice(size: int, tests: int, seed: int, first: int) -> tuple[pd.DataFrame, Bytes, Maps]:
    """The practice: is there a cat? The explanation shows it, and the model is always right."""
    pictures = [draw_practice(size, n, seed) for n in range(PRACTICE_EXAMPLES + tests)]
    rows = [
        {
            "image_id": f"practice-{number + 1}",
            "experiment": "practice",
            "phase": "practice",
            "label": PRACTICE_CLASSES[one.label],
            "shown": PRACTICE_CLASSES[one.label],
            "right": True,
            "probability": 1.0,
            "row": first + number,
        }
        for number, one in enumerate(pictures)
    ]
    maps = np.stack([one.thing for one in pictures]).astype(np.float32)
    return SHOWN.frame(rows), np.stack([one.image for one in pictures]), maps


def _write(
    out: Path,
    images: pd.DataFrame,
    pixels: Bytes,
    maps: dict[str, Maps],
    values: pd.DataFrame,
    practice: tuple[pd.DataFrame, Bytes, Maps],
) -> None:
    about, drawn, things = practice
    store.write(pd.concat([images, about], ignore_index=True), out / IMAGES, SHOWN)
    store.write_array(np.concatenate([pixels, drawn]), out / PIXELS)
    for name, shown in maps.items():
        both = np.concatenate([shown, things]).astype(np.float16)
        store.write_array(both, map_file(out, name))
    store.write(values, out / VALUES, METRICS)


def _draw_examples(file: Path, pixels: Bytes, images: pd.DataFrame, maps: dict[str, Maps]) -> None:
    """A figure of shown training images (rows) under every condition (columns), baseline first."""
    own = images[images["phase"] == "training"]
    cells = own.groupby(["shown", "right"], sort=True)["row"].first().to_numpy()[:PICTURES]
    lines = []
    for row in cells:
        plain = np.asarray(Image.fromarray(pixels[row]).resize((_SIDE, _SIDE)))
        shown = [
            overlay(pixels[row], maps[name][row], bool(maps[name][row].min() < 0), _SIDE)
            for name in maps
        ]
        lines.append(np.concatenate([plain, *shown], 1))
    with store.atomic(file) as temporary:
        Image.fromarray(np.concatenate(lines)).save(temporary, format="JPEG", quality=88)
