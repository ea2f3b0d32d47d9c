"""All registered models, in the order of the papers."""

from __future__ import annotations

from pasta.models import (  # noqa: F401 (each import registers its models)
    bcos,
    clip,
    clip_concepts,
    concept_bottleneck,
    dgcnn,
    efficientnet,
    efficientnet_3d,
    pct,
    pointnet,
    resnet,
    resnet_3d,
    simple_3d_former,
    vgg,
    vit,
    xnesyl,
)
from pasta.models.base import MODELS
from pasta.models.settings import ModelsParams

ORDER = tuple(ModelsParams.model_fields)


def models_of(modality: str) -> tuple[str, ...]:
    """The models of images, volumes or point clouds."""
    return tuple(
        name for name in ORDER if MODELS.entry(name).metadata.get("modality", "image") == modality
    )


if set(ORDER) != set(MODELS):
    raise RuntimeError(f"the catalogue is out of step: {sorted(set(ORDER) ^ set(MODELS))}")
