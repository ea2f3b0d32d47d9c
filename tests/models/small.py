"""A few drawn images with the settings of the tiny profile, for tests of all models."""

from __future__ import annotations

from pathlib import Path

import torch

from pasta import store, tables
from pasta.datasets.build import build_images, chosen_items, source_of
from pasta.datasets.concepts import concept_table
from pasta.datasets.stored import CONCEPTS, open_dataset
from pasta.models.data import TrainingData
from pasta.params import Params, load_params
from tests.conftest import ROOT

torch.set_num_threads(1)  # batches this small only lose by being shared between cores


def tiny_params() -> Params:
    """The profile that tests run."""
    return load_params(ROOT / "pipelines/profiles/ci.yaml")


def tiny_data(root: Path, dataset: str = "monumai") -> TrainingData:
    """A drawn dataset of the tiny profile below ``root``, built as the stages build it."""
    params = tiny_params()
    folder = root / "pipelines/data" / dataset
    source = source_of(dataset, params, root)
    items = chosen_items(source, params.datasets[dataset])
    build_images(dataset, source, items, params.image_size, folder, processes=1)
    data = open_dataset(folder)
    concepts = concept_table(data.images, data.regions(), data.parts)
    store.write(concepts, folder / CONCEPTS, tables.CONCEPTS, {"images": data.images})
    return TrainingData(open_dataset(folder), params.seed, params, root)


def silent(words: str, done: int | None = None, total: int | None = None) -> None:
    """Progress that nobody looks at."""
