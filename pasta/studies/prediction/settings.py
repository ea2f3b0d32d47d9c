"""The meta-predictor study: its experiments, its design, and the simulated people.

Defaults are those of Fel, Colin, Cadene & Serre 2021 (https://hal.science/hal-03473101), but for
the sizes of drawn images and of the networks that learn them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.models.settings import GradientParams
from pasta.sections import Count, Fraction, NotNegative, Positive, Section

NAME = "prediction"
BASELINE, CONTROL = "baseline", "control"
UNNAMED = "all"  # the experiment of anybody's trials
METHODS = (
    "saliency",
    "input_x_gradient",
    "integrated_gradients",
    "smoothgrad",
    "occlusion",
    "gradcam",
)
CONDITIONS = (BASELINE, CONTROL, *METHODS)
# Gradient x Input with the gradient's norm, as the paper prints it: computed, shown to nobody
PRINTED = "input_x_gradient_norm"
FOLDER = "experiments"  # the stage that makes what people see

Drawing = Literal["biased", "hard", "useless"]
Architecture = Literal["slim", "googlenet", "vgg16", "resnet50"]


class DesignParams(Section):
    """What one participant goes through."""

    sessions: Count = 3
    training: Count = 5  # examples in a session, with the model's answer and the explanation
    test: Count = 7  # new images in a session, without either
    catch: Count = 1  # examples of the session that are asked for again
    reservoir: Count = 5  # of the last examples that stay in sight
    practice: Count = 5  # test images of the practice, all to be right at the first try
    quiz: Count = 3  # questions on the instructions
    per_condition: Count = 30  # people who pass the screening

    @property
    def examples(self) -> dict[object, float]:
        """K: the examples that people have seen by the end of each session's training."""
        return {one: float(one * self.training) for one in range(1, self.sessions + 1)}


class PoolParams(Section):
    """The images that are chosen for an experiment: more than one participant sees."""

    training: Count = 20
    test: Count = 28


class ExperimentParams(Section):
    """A binary task with its classifier."""

    # drawn, or folders of images named after the two classes below a root
    source: Literal["drawn", "files"] = "drawn"
    drawing: Drawing | None = None
    root: str | None = None
    classes: Annotated[tuple[str, str] | None, Field(strict=False)] = None  # of files
    shortcut: Fraction = 1.0  # biased: how often the background goes with the animal in training
    overlap: Fraction = 0.5  # hard and useless: how much the classes have in common
    train: Count = 320
    validation: Count = 80
    candidates: Count = 240  # images that the model has not seen, among which those shown are
    size: Annotated[int, Field(ge=32, le=1024)] = 64
    architecture: Architecture = "slim"
    width: Count = 12  # of the slim network
    weights: str | None = None  # torchvision's name; null trains from scratch
    # which outputs of the weights' own last layer are the two classes: no training then
    outputs: Annotated[tuple[int, int] | None, Field(strict=False)] = None
    training: GradientParams = GradientParams(epochs=6, learning_rate=0.006, patience=6)


class MapParams(Section):
    """Settings of the explanations."""

    steps: Count = 80  # of Integrated Gradients, by the trapezoid from zero
    samples: Count = 80  # of SmoothGrad
    noise: Positive = 0.2  # of SmoothGrad, as a share of the image's range
    patch: Fraction = 0.1  # of Occlusion, side and stride as a share of the image
    deletion_steps: Count = 20
    budget: Count = 256  # images in one pass


class LearnerParams(Section):
    """How simulated participants learn: see :mod:`pasta.studies.prediction.learner`."""

    words: Count = 32  # kinds of patches that people tell apart
    grid: Count = 12  # patches along each side
    engagement: Fraction = 0.95  # mean weight of an explanation against one's own look
    engagement_sd: NotNegative = 0.06
    centre: Fraction = 1.0  # share of one's own look that goes to the middle of the image
    narrow: Positive = 12.0  # how quickly that falls off towards the edges
    contrast: Positive = 5.0  # power of a map: people see its hot spots first
    evidence: Positive = 1.5  # how much an example teaches
    gain: Positive = 0.8  # how decidedly people answer
    gain_sd: NotNegative = 0.25  # of its logarithm between people
    semantic: NotNegative = 0.5  # pull of what is really in the picture, in units of the log odds
    lapse: Fraction = 0.06  # answers at random of attentive people
    inattentive: Fraction = 0.2  # people who always answer at random
    fails: Fraction = 0.4  # of the inattentive, at the practice and at the quiz, each
    slips: Fraction = 0.03  # of the attentive, at the practice and at the quiz, each
    catch: Fraction = 0.99  # right answers of the attentive to what is still in sight
    seconds: Positive = 4.0  # median of an answer
    seconds_sd: NotNegative = 0.5  # of the logarithm


def _experiments() -> dict[str, ExperimentParams]:
    kinds: tuple[Drawing, ...] = ("biased", "hard", "useless")
    return {kind: ExperimentParams(drawing=kind) for kind in kinds}


class PredictionParams(Section):
    """The meta-predictor study."""

    source: Literal["simulated", "imported"] = "simulated"
    experiments: dict[str, ExperimentParams] = Field(default_factory=_experiments)
    conditions: Annotated[tuple[str, ...], Field(strict=False, min_length=1)] = CONDITIONS
    participants: Count = 240  # simulated, of each experiment, before the screening
    design: DesignParams = DesignParams()
    pool: PoolParams = PoolParams()
    maps: MapParams = MapParams()
    margin: Positive = 0.1  # of Utility around 1 that counts as no effect
    learner: LearnerParams = LearnerParams()
