"""A few drawn images with the settings of the tiny profile, for tests of all models."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pasta import compute
from pasta.config import Params, checked_params, profile_text
from pasta.datasets.build import build_dataset, chosen_items, source_of
from pasta.datasets.stored import open_dataset
from pasta.layout import Group
from pasta.models.base import silent
from pasta.models.data import TrainingData
from pasta.paths import DATA, PARAMS
from tests.conftest import ROOT

__all__ = ["DEVICES", "NO_GPU", "profile", "silent", "tiny_data", "tiny_group"]
compute.limit_threads()
NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
DEVICES = ["meta", pytest.param("cuda", marks=[pytest.mark.gpu, NO_GPU])]


def profile(name: str = "ci") -> Params:
    """The parameters of a profile; ``ci`` is what tests run."""
    return checked_params(ROOT / PARAMS, profile_text(name, ROOT))


def tiny_group(root: Path, dataset: str = "monumai") -> Group:
    """A drawn dataset of the tiny profile in a project of its own."""
    params, group = profile(), Group(dataset, dataset, root / DATA)
    (root / "dvc.yaml").touch()
    (root / PARAMS).write_text(profile_text("ci", ROOT))
    source = source_of(dataset, params, root)
    items = chosen_items(source, params.datasets[dataset])
    build_dataset(dataset, source, items, params.image_size, group.images)
    return group


def tiny_data(root: Path, dataset: str = "monumai") -> TrainingData:
    """Its images, ready for training."""
    group, params = tiny_group(root, dataset), profile()
    return TrainingData(open_dataset(group.images), params.seeds.training, params, root)
