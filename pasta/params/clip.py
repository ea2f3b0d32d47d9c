"""Settings of the CLIP encoder and of the models on top of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section

Grid = Annotated[tuple[Positive, ...], Field(min_length=1, strict=False)]
Shares = Annotated[tuple[Fraction, ...], Field(min_length=1, strict=False)]


class ClipTrainingParams(Section):
    """How the small CLIP is trained; unused with weights from outside."""

    epochs: Count
    learning_rate: Positive  # the peak of the one-cycle schedule
    weight_decay: NotNegative
    batch_size: Count
    patience: Count  # epochs at full size without a better validation accuracy
    small_size: Count  # pixels in the first part of training, where a small picture will do
    small_share: Annotated[
        float, Field(ge=0, lt=1)
    ]  # the part of all epochs that is trained on small pictures
    shift: Fraction  # the largest random translation, as a part of the image's side
    concept_weight: NotNegative  # of the loss on concept prompts; that on class prompts weighs 1
    caption_weight: NotNegative  # of the contrastive loss on captions


class ClipParams(Section):
    """The encoder: which architecture, which weights, which words."""

    architecture: str  # pasta-tiny, or a name that open_clip knows such as ViT-L-14
    weights: str  # trained, an open_clip tag such as openai, or the path of a weights file
    image_size: Count | None  # pixels the image tower sees; null is the architecture's own
    template: str  # of prompts, with {} for the name
    training: ClipTrainingParams


class ClipZeroShotParams(Section):
    """Zero-shot classification has nothing to set."""


class ClipLinearParams(Section):
    """A linear classifier on concept similarities."""

    inverse_penalty: Grid  # C of the logistic regression; the best on validation is taken


class ClipQdaParams(Section):
    """Gaussians per class on concept similarities."""

    shrinkage: Shares  # towards a sphere, 0 none, 1 all; the best on validation is taken


class LaboParams(Section):
    """A linear classifier on a chosen few concepts."""

    per_class: Count  # concepts chosen for each class
    discriminability: NotNegative  # weight of how well a concept tells its class from others
    coverage: NotNegative  # weight of how well the chosen represent all concepts
    inverse_penalty: Grid  # C of the logistic regression; the best on validation is taken
