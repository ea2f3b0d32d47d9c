"""How computational metrics are measured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section

Perturbation = Literal["uniform", "gaussian", "black", "road"]
Noise = Literal["uniform", "gaussian"]
Reading = Literal["text", "published"]
Filling = Literal["black", "mean", "blur"]
Percentage = Annotated[int, Field(ge=1, le=100)]
Percentages = Annotated[tuple[Percentage, ...], Field(min_length=1, strict=False)]
Thresholds = Annotated[
    tuple[Annotated[int, Field(ge=2, le=100)], ...], Field(min_length=1, strict=False)
]


class PerturbedParams(Section):
    """What becomes of pixels that are perturbed."""

    perturbation: Perturbation
    uniform: Positive  # numbers from minus this to this are added, in units of the images
    gaussian: Positive  # standard deviation of what is added
    black: float  # the value of black, which is not 0 in normalised images
    road: NotNegative  # standard deviation of the noise on imputed pixels


class FaithfulnessParams(PerturbedParams):
    """Sufficiency, necessity and their harmonic mean."""

    thresholds: Thresholds  # sizes of the explanation, in percent of all pixels
    step: Count  # in percent
    reading: Reading  # the best over thresholds, or the last line of the algorithm as printed


class RoadParams(Section):
    """Remove and debias: accuracy while pixels are imputed."""

    percentages: Percentages  # of removed pixels
    road: NotNegative


class CurveParams(Section):
    """Curves of the score while pixels are removed or inserted."""

    steps: Count
    filling: Filling  # of pixels that are not there
    black: float
    blur: Positive  # standard deviation in pixels


class CorrelationParams(Section):
    """Faithfulness correlation."""

    subsets: Annotated[int, Field(ge=3)]
    share: Annotated[float, Field(gt=0, lt=1)]  # of the pixels that are in a subset
    filling: Filling
    black: float
    blur: Positive


class SensitivityParams(Section):
    """MaxSensitivity."""

    noise: Noise
    samples: Count  # perturbed copies of an image
    uniform: Positive
    gaussian: Positive
    relative: bool  # to the norm of the explanation


class EffectiveComplexityParams(Section):
    """Effective complexity."""

    tolerance: Fraction  # of the largest value, above which a pixel counts


class PointingParams(Section):
    """The pointing game."""

    tolerance: NotNegative  # in pixels


class OverlapParams(Section):
    """Intersection over union."""

    threshold: Fraction  # of the shown map, from which on a pixel belongs to the explanation


class MetricsParams(Section):
    """The metrics that have something to set."""

    faithfulness: FaithfulnessParams
    road: RoadParams
    pixel_flipping: CurveParams
    insertion: CurveParams
    deletion: CurveParams
    faithfulness_correlation: CorrelationParams
    max_sensitivity: SensitivityParams
    effective_complexity: EffectiveComplexityParams
    pointing_game: PointingParams
    overlap: OverlapParams
