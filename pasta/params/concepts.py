"""Settings of the two concept models that learn from concept annotations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pasta.params.base import Count, Positive, Section
from pasta.params.networks import Blocks, GradientParams, Start, needed


class BackboneParams(Section):
    """The residual network under a concept model and where its first weights come from.

    ``start`` is one of: ``scratch``, random weights; ``resnet50``, the dataset's own trained
    ``resnet50`` (which must have the same shape); ``imagenet``, torchvision's weights
    called ``weights`` (full size only). The stem and the first ``frozen`` - 1 residual stages keep
    these weights and their statistics; 0 trains everything.
    """

    width: Count
    blocks: Blocks
    bottleneck: bool
    keep_last: bool
    start: Start
    weights: str | None
    frozen: Annotated[int, Field(ge=0, le=4)]


class ConceptBottleneckParams(Section):
    """A concept bottleneck; :mod:`pasta.models.concept_bottleneck` tells about the choices."""

    backbone: BackboneParams
    training: GradientParams  # of the concept network
    head: Literal["sequential", "independent"]
    score: Literal["logit", "probability"]  # what the head sees
    penalty: Positive  # L2, on the weights of standardised scores

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.backbone.start)

    @model_validator(mode="after")
    def _same_scale(self) -> ConceptBottleneckParams:
        if self.head == "independent" and self.score == "logit":
            raise ValueError("head 'independent' learns from 0 and 1 and needs score 'probability'")
        return self


class XnesylParams(Section):
    """X-NeSyL: a detector of parts and a linear classifier on its best scores."""

    backbone: BackboneParams
    channels: Annotated[int, Field(ge=32, multiple_of=32)]  # pyramid and heads; 256 as published
    convolutions: Annotated[int, Field(ge=0)]  # of each head before its output; 4 as published
    levels: Annotated[int, Field(ge=1, le=5)]  # pyramid levels from stride 8 on; 5 as published
    training: GradientParams  # of the detector
    penalty: Positive  # L2, on the weights of standardised scores
    threshold: Annotated[float, Field(ge=0, le=1)]  # of a detection worth showing

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the dataset that must be trained first."""
        return needed(self.backbone.start)
