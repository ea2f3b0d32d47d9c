"""What participants are shown: the images of an experiment, the model's answers, and the maps.

The stage ``experiments`` makes a folder for each experiment; the study reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.contracts import Table, a_flag, a_name, a_number, a_text, a_whole, one_of
from pasta.paths import DATA
from pasta.studies.prediction.settings import BASELINE, FOLDER
from pasta.tables import STATUSES, add_table

IMAGES, VALUES, PIXELS, ABOUT = "images.parquet", "metrics.parquet", "images.npy", "about.json"
ROLES = ("practice", "training", "test")  # catch trials show training images again

SHOWN = add_table(
    Table(
        "prediction_images",
        "images that participants of an experiment are shown, with the model's answer",
        ("image_id",),
        {
            "image_id": a_name("unique among all experiments"),
            "experiment": a_name("of the parameters"),
            "phase": one_of(ROLES),
            "label": a_text("the true class"),
            "shown": a_text("the class that the model predicts"),
            "right": a_flag("whether the model is right"),
            "probability": a_number("of the predicted class", 0, 1),
            "row": a_whole("of the arrays, from 0", 0),
        },
    )
)

METRICS = add_table(
    Table(
        "prediction_metrics",
        "computational metrics of the explanation that a condition shows of an image",
        ("experiment", "condition", "image_id", "metric"),
        {
            "experiment": a_name("of the parameters"),
            "condition": a_name("whose maps these are"),
            "image_id": a_name("of an image that is shown"),
            "metric": a_name("such as faithfulness"),
            "value": a_number("empty where the map says nothing", nullable=True),
            "status": one_of(STATUSES),
        },
    )
)


@dataclass(frozen=True)
class Shown:
    """One experiment as it is shown; arrays are opened when they are first used."""

    experiment: str
    folder: Path

    @cached_property
    def images(self) -> pd.DataFrame:
        """Every image, in the order of the arrays."""
        return store.read(self.folder / IMAGES, SHOWN)

    @property
    def pool(self) -> pd.DataFrame:
        """Those of the sessions: the practice has its own."""
        return self.images[self.images["phase"] != "practice"]

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """Metrics of the maps."""
        return store.read(self.folder / VALUES, METRICS)

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """Images (n, size, size, 3)."""
        return store.read_array(self.folder / PIXELS, (len(self.images), None, None, 3))

    def maps(self, condition: str) -> NDArray[np.float16] | None:
        """What a condition shows of each image (n, size, size), 0 to 1 or, signed, -1 to 1."""
        if condition == BASELINE:
            return None
        return store.read_array(map_file(self.folder, condition), (len(self.images), None, None))

    @property
    def about(self) -> dict[str, object]:
        """Facts about the task and its classifier."""
        found: dict[str, object] = store.read_json(self.folder / ABOUT)
        return found


def map_file(folder: Path, condition: str) -> Path:
    """The file with the maps of a condition."""
    return folder / f"maps_{condition}.npy"


def shown_experiments(root: Path) -> list[Shown]:
    """The experiments that are made, by name."""
    folder = root / DATA / FOLDER
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [Shown(one.name, one) for one in found if (one / IMAGES).is_file()]
