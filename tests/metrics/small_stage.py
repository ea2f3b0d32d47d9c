"""A small group on disk for the measure stage: images, untrained classifiers, saliency maps."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from pasta import store, tables
from pasta.config import load_params
from pasta.datasets.vocabulary import vocabulary
from pasta.explanations.catalog import technique
from pasta.explanations.stored import write_facts
from pasta.layout import Group
from pasta.metrics.runner import measure_group
from pasta.metrics.settings import DEFAULTS, MeasureParams
from pasta.models import checkpoint
from pasta.models.base import MODELS
from pasta.seeds import generator
from tests.conftest import ROOT

PARAMS = load_params(ROOT / "params.yaml")
DATASET = KEY = "catsdogscars"
WORDS = vocabulary(DATASET)
NUMBER, SIZE = 6, 32
LABELS = ("cat", "dog", "cat", "dog", "cat", "dog")
TECHNIQUES = (("gradcam", "resnet50"), ("hirescam", "resnet50"), ("lime", "vit_b_16"))
CONCEPT = ("clip_qda", "clip_qda")
# Heads are as frequent in cats (0, 2, 4) as in dogs (1, 3, 5), wheels are a thing of dogs.
HEADS, WHEELS = [1, 2, 3, 4], [1, 2, 3, 5]
WHERE = {"head": HEADS, "wheel": WHEELS}


def metrics(**changes: Any) -> MeasureParams:
    """Few and quick metrics of every kind."""
    plain: dict[str, Any] = {
        **DEFAULTS.model_dump(),
        "names": ["faithfulness", "faithfulness_correlation", "deletion", "max_sensitivity"],
        "perturbations": ["black", "road"],
        "readings": ["text", "published"],
        "noises": ["uniform", "gaussian"],
        "not_again": ["lime"],
        "batch_size": None,
        "images": {},
    }
    plain["names"] += ["sparseness", "iou"]
    plain["faithfulness"] |= {"thresholds": (50, 100), "step": 40}
    plain["deletion"] |= {"steps": 4}
    plain["faithfulness_correlation"] |= {"subsets": 5}
    plain["max_sensitivity"] |= {"samples": 3}
    for name, value in changes.items():
        plain[name] = {**plain.get(name, {}), **value} if isinstance(value, dict) else value
    return MeasureParams(**plain)


def measured(group: Group, **changes: Any) -> pd.DataFrame:
    """The table of the stage."""
    root = group.data.parent.parent
    return measure_group(group, metrics(**changes), PARAMS, root)[0]


def of(table: pd.DataFrame, metric: str, technique: str, variant: str = "") -> pd.DataFrame:
    """The rows of one metric and technique."""
    chosen = (table["metric"] == metric) & (table["variant"] == variant)
    return table[chosen & table["sample_id"].str.endswith(technique)]


def write_project(folder: Path, number: int = NUMBER) -> Group:
    """A folder that is a project to :func:`pasta.paths.project_root`, with one group."""
    folder.mkdir(parents=True)
    (folder / "dvc.yaml").write_text("")
    (folder / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    group = Group(KEY, DATASET, folder / "pipelines/data")
    _write_images(group.images, number)
    _write_models(group.models)
    write_maps(group, TECHNIQUES, number)
    return group


def write_maps(group: Group, techniques: tuple[tuple[str, str], ...], number: int = NUMBER) -> None:
    """Maps of originals and of perturbed copies, and the table of these and of one more technique
    that explains by concepts."""
    for method, backbone in techniques:
        random = generator(0, "maps", method, backbone)
        low = -1 if method == "lime" else 0
        maps = random.uniform(low, 1, (3 * number, SIZE, SIZE)).astype(np.float16)
        store.write_array(maps, map_file(group, method, backbone))
    rows = [
        {
            "sample_id": f"{DATASET}/{row:04d}/{method}/{backbone}",
            "dataset": DATASET,
            "image_id": f"{row:04d}",
            "method": method,
            "backbone": backbone,
            "kind": "concept" if (method, backbone) == CONCEPT else "saliency",
            "predicted": LABELS[row % 6],
            "status": "ok",
            "scale": 1.0,
            "row": row,
        }
        for method, backbone in (*techniques, CONCEPT)
        for row in range(number)
    ]
    names = [f"{method}/{backbone}" for method, backbone in (*techniques, CONCEPT)]
    write_facts(group.explanations, map(technique, names))
    table = tables.EXPLANATIONS.frame(rows)
    store.write(table, group.explanations / "explanations.parquet", tables.EXPLANATIONS)


def map_file(group: Group, method: str, backbone: str) -> Path:
    """Where the maps of a technique are."""
    return group.explanations / f"{method}.{backbone}.npy"


def _write_images(folder: Path, number: int) -> None:
    """Images with heads above and wheels below."""
    images = [
        {
            "dataset": DATASET,
            "image_id": f"{row:04d}",
            "source": "drawn",
            "split": "test",
            "label": LABELS[row % 6],
            "width": SIZE,
            "height": SIZE,
            "row": row,
        }
        for row in range(number)
    ]
    store.write(tables.IMAGES.frame(images), folder / "images.parquet", tables.IMAGES)
    random = generator(0, "small images")
    pixels = random.integers(0, 256, (number, SIZE, SIZE, 3), dtype=np.uint8)
    store.write_array(pixels, folder / "images.npy")
    parts = np.zeros((number, SIZE, SIZE), np.uint8)
    parts[[row for row in range(number) if row % 6 in HEADS], :16] = WORDS.value("head")
    parts[[row for row in range(number) if row % 6 in WHEELS], 24:] = WORDS.value("wheel")
    store.write_array(parts, folder / "parts.npy")
    rows = [
        {
            "dataset": DATASET,
            "image_id": f"{row:04d}",
            "concept": concept,
            "present": (seen := row % 6 in WHERE.get(concept, [])),
            **({"x0": 0.0, "y0": 0.0, "x1": 1.0, "y1": 0.5} if seen else {}),
            "instances": int(seen),
            "share": 0.5 * seen,
            "value": WORDS.value(concept),
        }
        for row in range(number)
        for concept in WORDS.concepts
    ]
    store.write(tables.CONCEPTS.frame(rows), folder / "concepts.parquet", tables.CONCEPTS)


def _write_models(folder: Path) -> None:
    context: Any = SimpleNamespace(
        name=DATASET,
        classes=WORDS.classes,
        concepts=WORDS.concepts,
        size=SIZE,
        seed=3,
        params=PARAMS,
        root=folder,
        shared={},
    )
    for name in ("resnet50", "vit_b_16"):
        settings = getattr(PARAMS.models[DATASET], name)
        card = {
            "model": name,
            "dataset": DATASET,
            "classes": list(WORDS.classes),
            "image_size": SIZE,
            "seed": 3,
            "settings": settings.model_dump(mode="json"),
        }
        checkpoint.save(MODELS[name].build(context, settings), folder / name, card)
