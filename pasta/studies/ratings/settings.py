"""The rating study, and the simulated raters with everything that is planted in them.

The model of the raters is described in :mod:`pasta.studies.ratings.simulation`. One unit of the
latent scale is one standard deviation of the samples' quality.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from itertools import pairwise
from typing import Annotated, Literal, get_args

from pydantic import Field, field_validator

from pasta.sections import Count, Fraction, NotNegative, Positive, Section

NAME = "ratings"
Question = Literal["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]  # those answered with stars
QUESTIONS: tuple[Question, ...] = get_args(Question)
MAIN: Question = "Q1"  # whose score is meant where no question is named
# Questions about a copy of the image that is changed this much, and those about the image alone.
CHANGES: Mapping[str, str] = {"Q5": "light", "Q6": "strong"}
STEADY = tuple(question for question in QUESTIONS if question not in CHANGES)


class QualityParams(Section):
    """How one question's latent quality follows from what is measured on an explanation."""

    mean: float = 0.0  # of the average sample, on the scale of the thresholds
    overlap: float = 0.0  # for each standard deviation of the overlap with the class's parts
    correct: float = 0.0  # the step from a wrong prediction to a right one
    focus: float = 0.0  # for each standard deviation of less spread
    change: float = 0.0  # for each standard deviation of change under the question's perturbation
    residual: NotNegative = 0.5  # standard deviation of what no measured property explains
    noise: NotNegative = 1.0  # times the annotator's noise: some questions are harder to answer


class QualitiesParams(Section):
    """The six questions with stars."""

    Q1: QualityParams = QualityParams(mean=-0.4, overlap=0.8, correct=0.8, focus=0.2)
    Q2: QualityParams = QualityParams(mean=-0.4, overlap=0.7, correct=1.0, focus=0.2)
    Q3: QualityParams = QualityParams(mean=-0.3, overlap=0.3, correct=0.3, focus=0.7, noise=1.3)
    Q4: QualityParams = QualityParams(mean=-0.3, overlap=0.3, correct=0.2, focus=0.7, noise=1.25)
    Q5: QualityParams = QualityParams(change=0.9, residual=0.4)
    Q6: QualityParams = QualityParams(change=0.9, residual=0.4, noise=1.1)


class RaterParams(Section):
    """How annotators differ; with every number but ``noise`` at zero they are all equal."""

    noise: NotNegative = 0.5  # standard deviation of a 30 year old's noise
    noise_sd: NotNegative = 0.15  # of the noise's logarithm between annotators
    age_noise: float = 0.1  # added to the noise's logarithm for every ten years
    leniency_sd: NotNegative = 0.2  # between annotators
    sex_leniency: float = 0.2  # women's leniency minus men's
    scale_sd: NotNegative = 0.1  # of the logarithm of the use of the scale, between annotators
    unstated: Fraction = 0.05  # chance that an annotator leaves out a demographic


class TimingParams(Section):
    """When simulated votes were handed in."""

    start: date = Field(default=date(2025, 1, 6), strict=False)  # the first working day
    session_minutes: Annotated[float, Field(gt=0, le=600)] = 90.0  # one session every working day
    seconds: Positive = 75.0  # median time for one sample
    seconds_sd: NotNegative = 0.5  # of the time's logarithm


class SimulationParams(Section):
    """The generative model of the simulated raters."""

    # between the stars
    thresholds: tuple[float, float, float, float] = Field(
        default=(-1.2, -0.4, 0.4, 1.2), strict=False
    )
    questions: QualitiesParams = QualitiesParams()
    shared: Fraction = 0.7  # of the residual's variance in common to Q1-Q4, and to Q5 and Q6
    saliency_preference: float = 0.4  # quality of maps minus that of concepts, Q1-Q4
    saliency_calm: float = 0.3  # how much less a map seems to change than concepts, Q5 and Q6
    raters: RaterParams = RaterParams()
    timing: TimingParams = TimingParams()
    box_jitter: NotNegative = 0.08  # of a box's sides, as a share of its size
    ranking_strength: NotNegative = 1.0  # 0: all orders alike; 1: the mean positions of P1's raters
    ranking_sd: NotNegative = 0.5  # of an item's utility between annotators

    @field_validator("thresholds")
    @classmethod
    def _ascend(cls, thresholds: tuple[float, ...]) -> tuple[float, ...]:
        if any(low >= high for low, high in pairwise(thresholds)):
            raise ValueError("the thresholds must ascend")
        return thresholds


class AnnotationParams(Section):
    """The rating study."""

    # simulated raters, the people of a release, or nobody but imported files
    source: Literal["simulated", "released", "imported"]
    protocol: Literal["p1", "p2"] = "p2"  # which wording of the questions
    annotators: Count = 15
    votes: Count = 5  # for each sample, by different annotators
    samples: Count | None = None  # a random subset of all explanations (P1); null takes all planned
    techniques_per_image: Count  # P2 shows 21 of the 46
    extras: bool = False  # rate techniques that are not among the papers' 46 too, such as your own
    seconds_per_sample: Positive = 90.0  # for the plan's working hours
    ties: Literal["smallest", "largest", "median"] = "smallest"  # between equally frequent stars
    simulation: SimulationParams = SimulationParams()
