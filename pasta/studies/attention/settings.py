"""The attention study, and the simulated people with everything that is planted in them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.sections import Count, Fraction, NotNegative, Positive, Section

NAME = "attention"
FIRST = 4  # ratings of a person that only show what there is to rate
LEVELS = 10  # of the scale of goodness
Names = Annotated[tuple[str, ...], Field(strict=False)]


class MarkingParams(Section):
    """How simulated people mark images and words."""

    salient: Fraction = 0.85  # chance to choose a part that makes the class, such as a face
    other: Fraction = 0.3  # chance to choose another part of the object
    jitter: NotNegative = 0.012  # of the corners, as a share of the image's side
    sloppy: Fraction = 0.2  # share of people who include background
    spill: NotNegative = 0.06  # how far they go over the object, as a share of the image's side
    careless: Fraction = 0.06  # share of people who mark anything; they fail the checks
    cue: Fraction = 0.8  # chance to choose a word that tells the class
    word: Fraction = 0.03  # chance to choose any other word


class RatingParams(Section):
    """How simulated people rate maps, in points of the scale from 1 to 10.

    With ``miss``, ``extra``, ``smooth`` at 0 ratings say nothing about maps.
    """

    middle: float = 6.0
    miss: NotNegative = 1.2  # points lost for a standard deviation of what the map misses
    extra: NotNegative = 0.4  # and for one of what it shows of the background
    smooth: float = 0.5  # points won for a standard deviation of smoothness
    item_sd: NotNegative = 0.4  # between maps, for no reason
    person_sd: NotNegative = 1.0  # between people
    noise: NotNegative = 1.3


class SimulatedParams(Section):
    """What is planted."""

    marking: MarkingParams = MarkingParams()
    rating: RatingParams = RatingParams()


class AttentionParams(Section):
    """The attention study: who marks and rates what."""

    source: Literal["simulated", "imported"] = "simulated"
    datasets: Names = ()  # whose images are marked; none: the first two of the project
    images: Count = 20  # of each of them, those that were explained first
    people: Count = 10  # who mark each image or text
    samples: Count = 10  # that a person marks after the checks
    checks: Count = 2  # samples that everybody marks first
    passing: Fraction = 0.1  # overlap with the object below which a check is failed
    texts: Count = 200  # to be marked, if there are texts
    backbone: str = "resnet50"  # whose maps are rated
    methods: Names = ("gradcam", "lime")
    raters: Count = 200
    ratings: Count = 14  # of each rater; the first four are the same for all and do not count
    margin: Positive = 0.05  # difference of two scores that does not matter
    pictures: Count = 4  # images in the report
    simulation: SimulatedParams = SimulatedParams()
