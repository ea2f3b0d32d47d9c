"""A group of untrained classifiers on noise, as the stages before `explain` would leave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from pasta import store, tables
from pasta.config import Params, load_params, profile_text
from pasta.datasets.stored import IMAGES, PARTS, PIXELS, open_dataset
from pasta.datasets.vocabulary import vocabulary
from pasta.layout import Group
from pasta.models import catalog, checkpoint
from pasta.models.base import MODELS, Classifier
from pasta.models.settings import ModelsParams
from tests.conftest import ROOT

torch.set_num_threads(1)  # batches this small only lose by being shared between cores
DATASET = "monumai"
BACKBONES = ("resnet50", "vit_b_16", "resnet50_bcos", "concept_bottleneck")
TEST_IMAGES = 5


def small_params(root: Path, key: str, backbones: tuple[str, ...] = BACKBONES) -> Params:
    """The tiny profile with one group of some backbones."""
    file = root / "params.yaml"
    file.write_text(profile_text("ci", ROOT))
    params = load_params(file)
    own = params.models[DATASET]
    chosen = {name: getattr(own, name) for name in backbones}
    own_models = {key: ModelsParams(**chosen)}
    return params.model_copy(update={"models": own_models, "groups": {key: DATASET}})


def explaining(params: Params, **values: Any) -> Params:
    """The same with other settings of explanations."""
    section = params.explanations.model_copy(update=values)
    return params.model_copy(update={"explanations": section})


def small_group(root: Path, params: Params) -> Group:
    """Images and classifiers of the only group of the parameters."""
    ((key, models),) = params.models.items()
    group = Group(key, params.groups[key], root / "pipelines/data")
    if not group.images.exists():
        _draw(group, params)
    words = open_dataset(group.images).vocabulary
    context = checkpoint.LoadContext(
        words.dataset,
        words.classes,
        words.concepts,
        params.image_size,
        params.seeds.training,
        params,
        root,
    )
    for name in catalog.ORDER:
        if name not in models.backbones:
            continue
        settings = getattr(models, name)
        model = _lively(MODELS[name].build(context, settings))
        card = {
            "dataset": words.dataset,
            "classes": list(words.classes),
            "model": name,
            "image_size": params.image_size,
            "seed": params.seeds.training,
            "settings": settings.model_dump(mode="json"),
        }
        checkpoint.save(model, group.models / name, card)
    return group


def _lively(model: Classifier) -> Classifier:
    """With a head that says something: new ones are zero."""
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.normal_(generator=random)
    return model


def _draw(group: Group, params: Params) -> None:
    random = np.random.default_rng(0)
    coarse = random.integers(0, 256, (TEST_IMAGES, 6, 6, 3), dtype=np.uint8)
    pixels = coarse.repeat(params.image_size // 6, 1).repeat(params.image_size // 6, 2)
    store.write_array(pixels, group.images / PIXELS)
    store.write_array(np.zeros(pixels.shape[:3], np.uint8), group.images / PARTS)
    frame = pd.DataFrame(
        {
            "dataset": DATASET,
            "image_id": [f"image{number}" for number in range(TEST_IMAGES)],
            "source": "drawn",
            "split": "test",
            "label": vocabulary(DATASET).classes[0],
            "width": params.image_size,
            "height": params.image_size,
            "row": range(TEST_IMAGES),
        }
    )
    store.write(frame.astype(tables.IMAGES.frame([]).dtypes), group.images / IMAGES, tables.IMAGES)
