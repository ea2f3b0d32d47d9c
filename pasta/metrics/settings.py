"""Settings of the metrics: what holds unless params.yaml or a caller says otherwise."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pasta import readings
from pasta.sections import Count, Fraction, NotNegative, OpenSection, PerDataset, Positive, Section

Perturbation = Literal["uniform", "gaussian", "black", "road"]
Noise = Literal["uniform", "gaussian"]
Reading = Literal["text", "published"]
# a value, the image's mean, the image without detail, its smallest number, 0, or with noise added
Filling = Literal["black", "mean", "blur", "minimum", "centre", "noise"]
Answered = Literal["score", "logit"]  # the probability, or what the model gives before
Percentage = Annotated[int, Field(ge=1, le=100)]
Percentages = Annotated[tuple[Percentage, ...], Field(min_length=1, strict=False)]
Thresholds = Annotated[
    tuple[Annotated[int, Field(ge=2, le=100)], ...], Field(min_length=1, strict=False)
]


class PerturbedParams(Section):
    """What becomes of pixels that are perturbed."""

    perturbation: Perturbation = "road"
    uniform: Positive = 0.5  # numbers from minus this to this are added, in units of the images
    gaussian: Positive = 0.5  # standard deviation of what is added
    black: float = 0.0  # the value of black, which is not 0 in normalised images
    road: NotNegative = 0.01  # standard deviation of the noise on imputed pixels


class FaithfulnessParams(PerturbedParams):
    """Sufficiency, necessity and their harmonic mean."""

    # sizes of the explanation, in percent of all pixels
    thresholds: Thresholds = (
        10,
        20,
        30,
        40,
        50,
        60,
        70,
        80,
        90,
        100,
    )
    step: Count = 2  # in percent
    # the best over thresholds, or the last line of the algorithm as printed
    reading: Reading = "text"


class RoadParams(Section):
    """Remove and debias: accuracy while pixels are imputed."""

    percentages: Percentages = tuple(range(1, 100, 2))  # of removed pixels
    road: NotNegative = 0.01  # standard deviation of the noise
    # What is removed is imputed from its neighbours and gets noise, or noise is added to it.
    imputation: Literal["linear", "noise"] = "linear"
    # *corrected* is the mean of the curve, the others are the area under it with steps of 1;
    # *released* removes the first channel only if there is a single spatial axis.
    reading: readings.Reading = "corrected"


class FillingParams(Section):
    """What stands where pixels are not there."""

    filling: Filling = "black"
    black: float = 0.0
    blur: Positive = 5.0  # standard deviation in pixels
    kernel: Count | None = None  # side of the blurring kernel; null takes that of the modality
    noise: NotNegative = 0.1  # standard deviation


class CurveParams(FillingParams):
    """Curves of the score while pixels are removed or inserted."""

    steps: Count = 100
    # Entries, that is channels of pixels, in a step, instead of a number of steps.
    features: Count | None = None


class AreaParams(CurveParams):
    """Areas under such curves."""

    # *released* leaves out both ends of the curve, and with maps of several channels a pixel goes
    # with the first of its channels; the others do what Petsiuk et al. do.
    reading: readings.Reading = "corrected"


class CorrelationParams(FillingParams):
    """Faithfulness correlation."""

    subsets: Annotated[int, Field(ge=3)] = 100
    share: Annotated[float, Field(gt=0, lt=1)] = 0.02  # of the pixels that are in a subset
    features: Count | None = None  # entries in a subset, instead of a share of the pixels
    answer: Answered = "score"  # whose fall is looked at


class SensitivityParams(Section):
    """MaxSensitivity."""

    # of LATEC; the correction is the metric as it is elsewhere, and the only one that asks whether
    # it is relative
    reading: readings.Reading = "corrected"
    noise: Noise = "uniform"
    samples: Count = 10  # perturbed copies of an image
    uniform: Positive = 0.2
    gaussian: Positive = 0.1
    relative: bool = True  # to the norm of the explanation


class EffectiveComplexityParams(Section):
    """Effective complexity."""

    tolerance: Fraction = 1e-5  # of the largest value, above which a pixel counts


class PointingParams(Section):
    """The pointing game."""

    tolerance: NotNegative = 0.0  # in pixels


class OverlapParams(Section):
    """Intersection over union."""

    threshold: Fraction = 0.5  # of the shown map, from which on a pixel belongs to the explanation


class MetricsParams(OpenSection):
    """The metrics that have something to set.

    A new metric brings its settings in its own module, ``pasta/metrics/own/<key>.py``.
    """

    room = "pasta.metrics.own"

    faithfulness: FaithfulnessParams = FaithfulnessParams()
    road: RoadParams = RoadParams()
    pixel_flipping: CurveParams = CurveParams()
    insertion: AreaParams = AreaParams(filling="blur")
    deletion: AreaParams = AreaParams()
    faithfulness_correlation: CorrelationParams = CorrelationParams()
    max_sensitivity: SensitivityParams = SensitivityParams()
    effective_complexity: EffectiveComplexityParams = EffectiveComplexityParams()
    pointing_game: PointingParams = PointingParams()
    overlap: OverlapParams = OverlapParams()
    # options of Quantus' metrics by class name, e.g. {MaxSensitivity: {nr_samples: 20}}
    quantus: dict[str, dict[str, Any]] = Field(default_factory=dict)


Names = Annotated[tuple[str, ...], Field(strict=False)]
Chosen = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
Perturbations = Annotated[tuple[Perturbation, ...], Field(min_length=1, strict=False)]
Readings = Annotated[tuple[Reading, ...], Field(min_length=1, strict=False)]
Noises = Annotated[tuple[Noise, ...], Field(min_length=1, strict=False)]


DEFAULTS = MetricsParams()
EVERY = (
    *("sufficiency", "necessity", "faithfulness", "pixel_flipping", "insertion", "deletion"),
    *("faithfulness_correlation", "max_sensitivity", "max_sensitivity_absolute"),
    *("sparseness", "entropy"),
    *("effective_complexity", "pointing_game", "relevance_mass", "relevance_rank", "iou", "mae"),
)


class MeasureParams(MetricsParams):
    """The metrics' settings, and which of them in which variants.

    The variants replace ``faithfulness.perturbation``, ``faithfulness.reading`` and
    ``max_sensitivity.noise``.
    """

    names: Chosen = EVERY  # as `pasta metrics` lists them
    # of sufficiency, necessity and faithfulness
    perturbations: Perturbations = ("uniform", "gaussian", "black", "road")
    # of their algorithm; all of them share their forward passes
    readings: Readings = ("text", "published")
    noises: Noises = ("uniform", "gaussian")  # of max_sensitivity
    not_again: Names = ()  # methods too slow to explain noisy copies: they are "not measured"
    # images of each dataset, or by dataset, for metrics that take long, e.g. {road: 25}; other
    # images are "not measured" by them. What is not named here measures all.
    images: dict[str, PerDataset] = Field(default_factory=dict)
    # images in one forward pass; null takes what fits a core's cache
    batch_size: Count | None = None
