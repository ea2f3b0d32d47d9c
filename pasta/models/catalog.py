"""All registered models, in the order of the papers."""

from __future__ import annotations

from pasta.models import (  # noqa: F401 (each import registers its models)
    bcos,
    clip,
    clip_concepts,
    concept_bottleneck,
    resnet,
    vit,
    xnesyl,
)
from pasta.models.base import MODELS
from pasta.models.settings import ModelsParams

ORDER = tuple(ModelsParams.model_fields)

if set(ORDER) != set(MODELS):
    raise RuntimeError(f"the catalogue is out of step: {sorted(set(ORDER) ^ set(MODELS))}")
