"""What the predicted score is used for: choosing, placing, steering and tuning explanations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section

Question = Literal["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
Weights = Annotated[tuple[Fraction, ...], Field(min_length=1, strict=False)]
Names = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
Values = Annotated[tuple[bool | int | float | str, ...], Field(min_length=1, strict=False)]


class MixtureParams(Section):
    """For each image the explanation with the best predicted score (P2, Figure 7)."""

    backbone: str  # the classifier that all candidates explain
    folds: Annotated[int, Field(ge=3)]  # of images, for scores by scorers that have not seen them


class ParetoParams(Section):
    """Every technique by faithfulness and predicted score (P2, Figure 1)."""

    backbones: Names  # whose saliency techniques are placed


class SteeringParams(Section):
    """RISE whose masks are weighted by the predicted score as well (P2, Eq. 4)."""

    backbone: str  # the classifier that is explained
    images: Count  # that nobody has rated, over all datasets
    masks: Count
    weights: Weights  # lambda: 0 is plain RISE, 1 is the score alone
    batch_size: Count  # masks that are drawn and encoded at once


class ExamplesParams(Section):
    """Explanations with their votes and predicted scores (P1, Tables 21 and 22)."""

    count: Count  # of each group: best, worst, most surprising


class TowerParams(Section):
    """One image tower: a width to distil, or an architecture with its weights."""

    name: str  # in tables and figures
    width: Count | None  # channels of the first stage of a tower that is distilled here
    architecture: str | None  # that open_clip knows
    weights: str | None  # an open_clip tag, or a file

    @model_validator(mode="after")
    def _distilled_or_opened(self) -> TowerParams:
        named = (self.architecture is not None, self.weights is not None)
        if named[0] != named[1] or named[0] == (self.width is not None):
            raise ValueError(
                f"the tower {self.name!r} has to have either a width, to be distilled here, or an "
                "architecture and its weights"
            )
        return self


class DistillationParams(Section):
    """How small towers learn to see as the clip stage's encoder does."""

    images: Count  # training images of each dataset, at most
    epochs: Count
    learning_rate: Positive  # the peak of the one-cycle schedule
    batch_size: Count
    small_size: Count  # pixels in the first part of training
    small_share: Fraction  # that part of all epochs
    class_weight: (
        NotNegative  # of the loss on class prompts; that on the encoder's vectors weighs 1
    )


class BackbonesParams(Section):
    """The same methods on CLIP towers of growing size (P2, Figure 8)."""

    datasets: Names  # whose classes are told apart
    images: Count  # of each dataset's test images that nobody has rated
    methods: Names  # activation-based and perturbation-based ones
    towers: Annotated[tuple[TowerParams, ...], Field(min_length=2, strict=False)]  # small to large
    distillation: DistillationParams
    fence: Positive  # norms above Q3 + this x (Q3 - Q1) are outliers
    pictures: Count  # images that are shown with each tower's map


class TuningStudyParams(Section):
    """A technique and the settings to try."""

    technique: str
    grid: dict[str, Values]  # setting: values, all combinations; `layer` is that of CAM methods


class TuningParams(Section):
    """Settings of methods by predicted score (P1, Table 23)."""

    studies: Annotated[tuple[TuningStudyParams, ...], Field(min_length=1, strict=False)]
    search: Count  # images of each dataset to choose settings on; nobody has rated them
    held_out: Count  # other such images, on which the choice is compared with the default

    @model_validator(mode="after")
    def _each_once(self) -> TuningParams:
        names = [study.technique for study in self.studies]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name} is in two studies, expected one grid for a technique")
        return self


class ApplicationsParams(Section):
    """All applications; each has its own section."""

    question: Question  # whose predicted stars choose, steer and tune
    resamples: Count  # of the images, for each interval
    subsets: Annotated[int, Field(ge=3)]  # of pixels, for each faithfulness correlation
    mixture: MixtureParams
    pareto: ParetoParams
    steering: SteeringParams
    examples: ExamplesParams
    backbones: BackbonesParams
    tuning: TuningParams
