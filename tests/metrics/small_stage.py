"""A small dataset with saliency maps and models that count, for the measure stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from pasta import store, tables
from pasta.datasets.vocabulary import vocabulary
from pasta.explanations.base import View
from pasta.metrics.jobs import Settings
from pasta.metrics.settings import DEFAULTS
from pasta.metrics.sharing import Backbone
from pasta.metrics.stage import measure_dataset
from pasta.params import load_params
from pasta.params.measure import MeasureParams
from pasta.seeds import generator
from tests.conftest import ROOT
from tests.embedding import small
from tests.explanations.networks import SmallNet

torch.set_num_threads(1)
EXPLANATIONS = load_params(ROOT / "pipelines/profiles/ci.yaml").explanations
TECHNIQUES = (("gradcam", "resnet50"), ("hirescam", "resnet50"), ("lime", "vit_b_16"))
SEED = 3
# Heads are as frequent in cats (0, 2, 4) as in dogs (1, 3, 5), wheels are a thing of dogs.
HEADS, WHEELS = [1, 2, 3, 4], [1, 2, 3, 5]
WHERE = {"head": HEADS, "wheel": WHEELS}


def metrics(**changes: Any) -> MeasureParams:
    plain: dict[str, Any] = {
        **DEFAULTS.model_dump(),
        "names": ["faithfulness", "faithfulness_correlation", "deletion", "max_sensitivity"],
        "perturbations": ["black", "road"],
        "readings": ["text", "published"],
        "noises": ["uniform", "gaussian"],
        "not_again": ["lime"],
        "batch_size": None,
    }
    plain["names"] += ["sparseness", "iou"]
    plain["faithfulness"] |= {"thresholds": (50, 100), "step": 40}
    plain["deletion"] |= {"steps": 4}
    plain["faithfulness_correlation"] |= {"subsets": 5}
    plain["max_sensitivity"] |= {"samples": 3}
    for name, value in changes.items():
        plain[name] = {**plain[name], **value} if isinstance(value, dict) else value
    return MeasureParams(**plain)


class Counted(SmallNet):
    """Counts the images it sees, and those of passes that go back as well."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, classes=3)
        self.seen, self.back = 0, 0

    def forward(self, images: Tensor) -> Tensor:
        self.seen += len(images)
        self.back += len(images) if torch.is_grad_enabled() else 0
        return super().forward(images)


class Models:
    """Two small networks in the place of trained ones."""

    def __init__(self) -> None:
        names = ("resnet50", "vit_b_16")
        self.networks = {name: Counted(seed).eval() for seed, name in enumerate(names)}

    def __call__(self, name: str) -> Backbone:
        network = self.networks[name]
        return Backbone(name, View(network, network.last), f"weights of {name}")


class Told:
    """What was done, in order; breaks off after some jobs as if killed."""

    def __init__(self, kill_after: int = 10**9) -> None:
        self.titles: list[str] = []
        self.kill_after = kill_after

    def __call__(self, name: str, words: str, done: int, total: int) -> None:
        assert done <= total
        self.titles.append(f"{name}: {words}")
        if len(self.titles) >= self.kill_after:
            raise KeyboardInterrupt


def measured(folder: Path, say: Callable[..., None] = small.silent, **rest: Any) -> pd.DataFrame:
    processes, models = rest.pop("processes", 1), rest.pop("models", Models())
    settings = Settings(metrics(**rest), EXPLANATIONS, SEED)
    return measure_dataset(folder, settings, models, say, processes)


def values(table: pd.DataFrame) -> pd.DataFrame:
    """All but the seconds, which are never the same."""
    return table.drop(columns="seconds")


def of(table: pd.DataFrame, metric: str, technique: str, variant: str = "") -> pd.DataFrame:
    chosen = (table["metric"] == metric) & (table["variant"] == variant)
    return table[chosen & table["sample_id"].str.endswith(technique)]


def write_dataset(folder: Path) -> Path:
    """Six images with heads above and wheels below, three saliency techniques and a concept one."""
    target = small.write_dataset(folder)
    random = generator(0, "more maps")
    maps = random.uniform(0, 1, (3 * small.NUMBER, small.SIZE, small.SIZE)).astype(np.float16)
    store.write_array(maps, target / "explanations/hirescam.resnet50.npy")
    small.write_tables(target, (*TECHNIQUES, *small.CONCEPT))
    words = vocabulary("catsdogscars")
    parts = np.zeros((small.NUMBER, small.SIZE, small.SIZE), np.uint8)
    parts[HEADS, :8] = words.value("head")
    parts[WHEELS, 12:] = words.value("wheel")
    store.write_array(parts, target / "parts.npy")
    rows = [
        {
            "dataset": "catsdogscars",
            "image_id": f"{number:04d}",
            "concept": concept,
            "present": (seen := number in WHERE.get(concept, [])),
            **({"x0": 0.0, "y0": 0.0, "x1": 1.0, "y1": 0.5} if seen else {}),
            "instances": int(seen),
            "share": 0.5 * seen,
            "value": words.value(concept),
        }
        for number in range(small.NUMBER)
        for concept in words.concepts
    ]
    store.write(tables.CONCEPTS.frame(rows), target / "concepts.parquet", tables.CONCEPTS)
    return target
