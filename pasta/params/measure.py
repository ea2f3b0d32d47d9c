"""Which metrics of the stored explanations are measured, and how."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pasta.params.base import Count
from pasta.params.metrics import MetricsParams, Noise, Perturbation, Reading

Names = Annotated[tuple[str, ...], Field(strict=False)]
Chosen = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
Perturbations = Annotated[tuple[Perturbation, ...], Field(min_length=1, strict=False)]
Readings = Annotated[tuple[Reading, ...], Field(min_length=1, strict=False)]
Noises = Annotated[tuple[Noise, ...], Field(min_length=1, strict=False)]


class MeasureParams(MetricsParams):
    """The metrics' settings, and which of them in which variants.

    The variants replace ``faithfulness.perturbation``, ``faithfulness.reading`` and
    ``max_sensitivity.noise``.
    """

    names: Chosen  # as `pasta metrics` lists them
    perturbations: Perturbations  # of sufficiency, necessity and faithfulness
    readings: Readings  # of their algorithm; all of them share their forward passes
    noises: Noises  # of max_sensitivity
    not_again: Names  # methods too slow to explain noisy copies: their status is "not measured"
    batch_size: Count | None  # images in one forward pass; null takes what fits a core's cache
