"""A made-up experiment in memory and on disk: two kinds of images, and maps of the true cue."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pasta import store
from pasta.studies.prediction.settings import DesignParams, PredictionParams
from pasta.studies.prediction.shown import IMAGES, METRICS, PIXELS, SHOWN, VALUES, Shown, map_file

SIZE = 32
CLASSES = ("snow", "grass")
CONDITIONS = ("baseline", "control", "good")
STUDY = PredictionParams(conditions=CONDITIONS, participants=30)
DESIGN = DesignParams()


def make_images(name: str = "small", practice: int = 0) -> pd.DataFrame:
    """20 training and 28 test images, equally many of each cell, and those of the practice."""
    rows: list[dict[str, object]] = []
    for phase, number in (("training", 20), ("test", 28), ("practice", practice)):
        for one in range(number):
            shown, right = CLASSES[one % 2], (one // 2) % 2 == 0
            label = shown if right else CLASSES[1 - one % 2]
            rows.append(
                {
                    "image_id": image_name(name, phase, one),
                    "experiment": name,
                    "phase": phase,
                    "label": label,
                    "shown": shown,
                    "right": right,
                    "probability": 0.9,
                    "row": len(rows),
                }
            )
    return SHOWN.frame(rows)


def image_name(experiment: str, phase: str, number: int) -> str:
    """The practice has the same images in every experiment."""
    return f"{phase}{number}" if phase == "practice" else f"{experiment}-{phase}{number}"


def write_experiment(root: Path, name: str = "small", practice: int = 0) -> Shown:
    """The background says what the model predicts, a patch in the middle what is there.

    The map ``good`` marks the background, ``control`` the middle.
    """
    folder = root / "pipelines" / "data" / "experiments" / name
    images, rng = make_images(name, practice), np.random.default_rng(0)
    pixels = np.zeros((len(images), SIZE, SIZE, 3), np.uint8)
    middle = np.zeros((SIZE, SIZE), bool)
    middle[8:24, 8:24] = True
    for row, one in images.iterrows():
        ground = (230, 235, 240) if one["shown"] == "snow" else (90, 140, 70)
        thing = (160, 90, 60) if one["label"] == "snow" else (60, 60, 90)
        pixels[int(str(row))] = np.where(middle[..., None], thing, ground)
    noisy = pixels.astype(int) + rng.integers(-12, 13, pixels.shape)
    store.write(images, folder / IMAGES, SHOWN)
    store.write_array(np.clip(noisy, 0, 255).astype(np.uint8), folder / PIXELS)
    for condition, where in (("good", ~middle), ("control", middle)):
        maps = np.broadcast_to(where, (len(images), SIZE, SIZE)).astype(np.float16)
        store.write_array(maps, map_file(folder, condition))
    values = [
        {
            "experiment": name,
            "condition": condition,
            "image_id": image,
            "metric": "faithfulness",
            "value": value,
            "status": "ok",
        }
        for condition, value in (("good", 0.8), ("control", 0.2))
        for image in images["image_id"]
    ]
    store.write(METRICS.frame(values), folder / VALUES, METRICS)
    return Shown(name, folder)
