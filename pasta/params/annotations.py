"""The rating study, and the simulated raters with everything that is planted in them.

The model of the raters is described in :mod:`pasta.annotations.simulation`. One unit of the latent
scale is one standard deviation of the samples' quality.
"""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, field_validator

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section


class QualityParams(Section):
    """How one question's latent quality follows from what is measured on an explanation."""

    mean: float  # of the average sample, on the scale of the thresholds
    overlap: float  # for each standard deviation of the overlap with the class's parts
    correct: float  # the step from a wrong prediction to a right one
    focus: float  # for each standard deviation of less spread
    change: float  # for each standard deviation of change under the question's perturbation
    residual: NotNegative  # standard deviation of what no measured property explains
    noise: NotNegative  # times the annotator's noise: some questions are harder to answer


class QualitiesParams(Section):
    """The six questions with stars."""

    Q1: QualityParams
    Q2: QualityParams
    Q3: QualityParams
    Q4: QualityParams
    Q5: QualityParams
    Q6: QualityParams


class RaterParams(Section):
    """How annotators differ; with every number but ``noise`` at zero they are all equal."""

    noise: NotNegative  # standard deviation of a 30 year old's noise
    noise_sd: NotNegative  # of the noise's logarithm between annotators
    age_noise: float  # added to the noise's logarithm for every ten years
    leniency_sd: NotNegative  # between annotators
    sex_leniency: float  # women's leniency minus men's
    scale_sd: NotNegative  # of the logarithm of the use of the scale, between annotators
    unstated: Fraction  # chance that an annotator leaves out a demographic


class TimingParams(Section):
    """When simulated votes were handed in."""

    start: date = Field(strict=False)  # the first working day
    session_minutes: Annotated[float, Field(gt=0, le=600)]  # one session every working day
    seconds: Positive  # median time for one sample
    seconds_sd: NotNegative  # of the time's logarithm


class SimulationParams(Section):
    """The generative model of the simulated raters."""

    thresholds: tuple[float, float, float, float] = Field(strict=False)  # between the stars
    questions: QualitiesParams
    shared: Fraction  # of the residual's variance in common to Q1-Q4, and to Q5 and Q6
    saliency_preference: float  # quality of maps minus that of concepts, Q1-Q4
    saliency_calm: float  # how much less a map seems to change than concepts, Q5 and Q6
    raters: RaterParams
    timing: TimingParams
    box_jitter: NotNegative  # of a box's sides, as a share of its size
    ranking_strength: NotNegative  # 0: all orders alike; 1: the mean positions of P1's raters
    ranking_sd: NotNegative  # of an item's utility between annotators

    @field_validator("thresholds")
    @classmethod
    def _ascend(cls, thresholds: tuple[float, ...]) -> tuple[float, ...]:
        if any(low >= high for low, high in pairwise(thresholds)):
            raise ValueError("the thresholds must ascend")
        return thresholds


class AnnotationParams(Section):
    """The rating study."""

    source: Literal["simulated", "imported"]  # simulated raters, or nobody but imported files
    protocol: Literal["p1", "p2"]  # which wording of the questions
    annotators: Count
    votes: Count  # for each sample, by different annotators
    samples: Count | None  # a random subset of all explanations (P1); null takes all planned
    techniques_per_image: Count  # P2 shows 21 of the 46
    extras: bool  # rate techniques that are not among the papers' 46 too, such as your own
    seconds_per_sample: Positive  # for the plan's working hours
    ties: Literal["smallest", "largest", "median"]  # between equally frequent stars
    simulation: SimulationParams
