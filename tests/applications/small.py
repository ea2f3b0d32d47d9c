"""A small project with a random CLIP, a random scorer and one drawn dataset, in the new layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pasta.applications.settings import DistillationParams, TowerParams
from pasta.config import Params, load_params, profile_text
from pasta.layout import Group
from pasta.models import checkpoint
from pasta.models.base import MODELS
from pasta.models.data import TrainingData
from pasta.scoring.score import PastaScore
from pasta.scoring.stored import load_scorer
from tests.conftest import ROOT
from tests.models.clip_data import drawn_data
from tests.scoring.small_scorer import make_root, make_scorer, tiny

torch.set_num_threads(1)
DATASET = "catsdogscars"
DISTILLATION = DistillationParams(
    images=16, epochs=3, batch_size=8, small_size=32, small_share=0.34
)


@dataclass(frozen=True)
class Small:
    """Everything that applications ask of a project, in the tiny profile."""

    root: Path
    data: TrainingData
    params: Params
    scorer: PastaScore
    group: Group

    @property
    def clip(self) -> Any:
        """The encoder that classifiers and the scorer share."""
        return self.scorer.encoder.clip  # type: ignore[attr-defined]


def small_project(root: Path) -> Small:
    encoder = tiny()
    make_root(root, encoder)
    (root / "params.yaml").write_text(profile_text("ci", ROOT))
    stored = load_scorer(make_scorer(root, encoder, "ridge"))
    params = load_params(root / "params.yaml")
    group = Group(DATASET, DATASET, root / "pipelines/data")
    drawn = drawn_data(group.images.parent, DATASET, (18, 6, 12))
    data = TrainingData(drawn.dataset, 0, params, root)
    return Small(root, data, params, PastaScore("Q1", stored, encoder), group)


def with_classifier(project: Small) -> Small:
    """The same project with a classifier that has random weights."""
    data, settings = project.data, project.params.models[DATASET].resnet50
    assert settings is not None
    model = MODELS["resnet50"].build(data, settings).eval()
    card = {
        "model": "resnet50",
        "dataset": data.name,
        "classes": list(data.classes),
        "image_size": data.size,
        "seed": 0,
        "settings": settings.model_dump(mode="json"),
    }
    checkpoint.save(model, project.group.models / "resnet50", card)
    return project


def tower(name: str, **changes: Any) -> TowerParams:
    return TowerParams(
        **{"name": name, "width": None, "architecture": None, "weights": None, **changes}
    )
