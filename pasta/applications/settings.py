"""What the predicted score is used for: choosing, placing, steering and tuning explanations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from pasta.sections import Count, Fraction, NotNegative, PerDataset, Positive, Section
from pasta.studies.ratings.settings import MAIN, Question

Weights = Annotated[tuple[Fraction, ...], Field(min_length=1, strict=False)]
Names = Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
Values = Annotated[tuple[bool | int | float | str, ...], Field(min_length=1, strict=False)]


class MixtureParams(Section):
    """For each image the explanation with the best predicted score (P2, Figure 7)."""

    backbone: str = "resnet50"  # the classifier that all candidates explain
    # of images, for scores by scorers that have not seen them
    folds: Annotated[int, Field(ge=3)] = 5


class ParetoParams(Section):
    """Every technique by faithfulness and predicted score (P2, Figure 1)."""

    # whose saliency techniques are placed
    backbones: Names = ("resnet50", "vit_b_16", "clip_zero_shot", "resnet50_bcos")


class SteeringParams(Section):
    """RISE whose masks are weighted by the predicted score as well (P2, Eq. 4)."""

    backbone: str = "resnet50"  # the classifier that is explained
    images: Count = 50  # that nobody has rated, over all datasets
    masks: Count = 4000
    # lambda: 0 is plain RISE, 1 is the score alone
    weights: Weights = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    batch_size: Count = 64  # masks that are drawn and encoded at once


class ExamplesParams(Section):
    """Explanations with their votes and predicted scores (P1, Tables 21 and 22)."""

    # a sheet for each
    questions: Annotated[tuple[Question, ...], Field(min_length=1, strict=False)] = (MAIN, "Q3")
    count: Count = 4  # of each group: best, worst, most surprising


class TowerParams(Section):
    """One image tower: a width to distil, or an architecture with its weights."""

    name: str  # in tables and figures
    width: Count | None = None  # channels of the first stage of a tower that is distilled here
    architecture: str | None = None  # that open_clip knows
    weights: str | None = None  # an open_clip tag, a file, or random

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

    images: Count = 400  # training images of each dataset, at most
    epochs: Count = 6
    learning_rate: Positive = 0.01  # the peak of the one-cycle schedule
    batch_size: Count = 32
    small_size: Count = 48  # pixels in the first part of training
    small_share: Fraction = 0.67  # that part of all epochs
    class_weight: NotNegative = 0.5  # of class prompts; the encoder's vectors weigh 1


class BackbonesParams(Section):
    """The same methods on CLIP towers of growing size (P2, Figure 8)."""

    datasets: Names  # whose classes are told apart
    # of each dataset's test images that nobody has rated, or by dataset; all if there are fewer
    images: PerDataset
    # activation-based and perturbation-based ones
    methods: Names = ("gradcam", "gradcam++", "eigencam", "lime", "shap", "rise")
    towers: Annotated[tuple[TowerParams, ...], Field(min_length=2, strict=False)]  # small to large
    distillation: DistillationParams = DistillationParams()
    # Norms are outliers beyond so many interquartile ranges above the upper quartile.
    fence: Positive = 3.0
    pictures: Count = 3  # images that are shown with each tower's map


class TuningStudyParams(Section):
    """A technique and the settings to try."""

    technique: str
    grid: dict[str, Values]  # setting: values, all combinations; `layer` is that of CAM methods


STUDIES = (
    TuningStudyParams(
        technique="lime/resnet50", grid={"kernel_width": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)}
    ),
    TuningStudyParams(
        technique="gradcam/resnet50",
        grid={"layer": tuple(f"network.layer{number}.-1" for number in (1, 2, 3, 4))},
    ),
)


class TuningParams(Section):
    """Settings of methods by predicted score (P1, Table 23)."""

    studies: Annotated[tuple[TuningStudyParams, ...], Field(min_length=1, strict=False)] = STUDIES
    # images of each dataset, or by dataset, to choose settings on; nobody has rated them
    search: PerDataset
    held_out: PerDataset  # other such images, on which the choice is compared with the default

    @model_validator(mode="after")
    def _each_once(self) -> TuningParams:
        names = [study.technique for study in self.studies]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name} is in two studies, expected one grid for a technique")
        return self


class ApplicationsParams(Section):
    """All applications; each has its own section."""

    question: Question = MAIN  # whose predicted stars choose, steer and tune
    resamples: Count  # of the images, for each interval
    subsets: Annotated[int, Field(ge=3)]  # of pixels, for each faithfulness correlation
    mixture: MixtureParams = MixtureParams()
    pareto: ParetoParams = ParetoParams()
    steering: SteeringParams = SteeringParams()
    examples: ExamplesParams = ExamplesParams()
    backbones: BackbonesParams
    tuning: TuningParams
