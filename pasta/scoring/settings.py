"""Settings of the scorers and of the studies that compare them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pasta.sections import Count, Fraction, NotNegative, Positive, Section

# What a scorer makes of the features before it learns: nothing (raw: vectors as the encoder gives
# them), or mean 0 and deviation 1 on its training samples (standard). It is a part of the scorer.
Inputs = Literal["raw", "standard"]


class OrdinalParams(Section):
    """Cumulative-link models of all votes; see :mod:`pasta.scoring.ordinal`."""

    # of the penalty, tried
    strengths: tuple[Positive, ...] = Field(
        default=(0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001), strict=False, min_length=1
    )
    # between questions, tried
    sharing: tuple[Fraction, ...] = Field(default=(0.0, 0.9), strict=False, min_length=1)
    # of a validation vote in weighing penalties; an independent one has 1
    evidence: Positive = 0.05
    expansion: NotNegative = 0.02  # share of the squared error given up for stars that spread wider
    coverage: Annotated[float, Field(gt=0, lt=1)] = 0.9  # of the intervals
    iterations: Count = 200  # at most, of each fit
    tolerance: Positive = 1e-5  # of the gradient, when a fit has ended
    share: Fraction = 0.65  # of the networks in the answer; with 0 there are none
    members: Count = 8  # networks
    hidden: Count = 64  # units of a network
    steps: Count = 7000  # of training
    batch_size: Count = 128
    learning_rate: Positive = 0.003
    weight_decay: NotNegative = 0.0  # of a weight for each step, times the learning rate


class PenaltyParams(Section):
    """Ridge or lasso: how much large weights cost."""

    alpha: NotNegative = 1.0
    inputs: Inputs = "raw"


class SupportVectorParams(Section):
    """Support vector regression with a radial kernel of scikit-learn's width ``scale``."""

    cost: Positive = 1.0
    epsilon: NotNegative = 0.1  # errors up to this many stars cost nothing
    inputs: Inputs = "raw"


class HiddenLayerParams(Section):
    """A perceptron with one hidden layer, trained by scikit-learn."""

    hidden: Count = 100
    epochs: Count = 200
    inputs: Inputs = "raw"


class BaselineParams(Section):
    """All of them; the first version names 100 hidden units and nothing else (Table 17)."""

    ridge: PenaltyParams = PenaltyParams()
    lasso: PenaltyParams = PenaltyParams(alpha=0.01)
    svm: SupportVectorParams = SupportVectorParams()
    mlp: HiddenLayerParams = HiddenLayerParams()
    handcrafted: PenaltyParams = PenaltyParams(inputs="standard")  # criteria of different units


By = Literal["none", "image", "technique", "image_and_technique", "dataset_and_technique"]
Aggregate = Literal["mode", "mean", "median"]


class LossParams(Section):
    """Weights of the three terms of the scoring loss (P1, Eq. 9)."""

    similarity: NotNegative
    squared_error: NotNegative
    ranking: NotNegative


class ScorerParams(Section):
    """A scoring network and its training."""

    hidden: tuple[Count, ...] = Field(strict=False)
    learning_rate: Positive
    weight_decay: NotNegative
    batch_size: Count
    epochs: Count
    evaluate_every: Count = 5
    inputs: Inputs = "raw"
    loss: LossParams


class SplitParams(Section):
    """How explanations are divided for training the score."""

    by: By = "image_and_technique"
    train: Fraction = 0.7
    seeds: Count = 10

    @property
    def test_to_train(self) -> float:
        """Units of the test part for each one of training; what is left is for validation."""
        return (1 - self.train) / (2 * self.train)


class StudiesParams(Section):
    """The ablations (P1, Tables 4 and 15-20): one thing is varied around a centre.

    The centre is what the other parameters say: ``embedding`` (encoder, picture, N_top, sentence),
    ``scoring.split.by``, ``scoring.label_input``, ``scoring.aggregate`` and the scorer here. Levels
    of how explanations are embedded stand in ``embedding.variants``.
    """

    scorer: str = "pasta-linear"  # P1's network; P2's is pasta-mlp
    splits: tuple[By, ...] = Field(
        default=("none", "technique", "image", "image_and_technique"), strict=False
    )
    aggregates: tuple[Aggregate, ...] = Field(default=("mode", "mean", "median"), strict=False)
    # scorers
    functions: tuple[str, ...] = Field(
        default=("pasta-linear", "svm", "ridge", "lasso", "mlp-100"), strict=False
    )


class PublicParams(Section):
    """The scorer that everybody can call."""

    scorer: str = "ordinal"
    # trained in the same way, for the applications to run with as well
    beside: tuple[str, ...] = Field(default=("pasta-mlp",), strict=False)
    train: Fraction = 0.8  # of images and of techniques; the other images x techniques calibrate
    # of the explanations that it learns without their label, so that it can do without one
    label_dropout: Annotated[float, Field(ge=0, lt=1)] = 0.2
    described: Count = 500  # images of each dataset that say what familiar images look like


SCORERS = (
    *("constant", "global-mean", "handcrafted", "handcrafted-pasta"),
    *("pasta-linear", "pasta-mlp", "ordinal"),
)
LINEAR = ScorerParams(  # P1, section 4.3
    hidden=(),
    learning_rate=0.001,
    weight_decay=0.0,
    batch_size=128,
    epochs=500,
    loss=LossParams(similarity=1.0, squared_error=0.01, ranking=0.1),
)
MLP = ScorerParams(  # as released with P2
    hidden=(512, 64),
    learning_rate=2e-6,
    weight_decay=1e-6,
    batch_size=256,
    epochs=600,
    loss=LossParams(similarity=0.01, squared_error=10.0, ranking=0.01),
)


class ScoringParams(Section):
    """The PASTA-score: its first (linear) and second (MLP) version, and others beside them."""

    split: SplitParams = SplitParams()
    aggregate: Aggregate = "mode"  # of the votes, to learn
    label_input: bool = True  # whether the predicted class is an input beside the vector
    # rows of the main table, with the main encoder
    scorers: tuple[str, ...] = Field(default=SCORERS, strict=False)
    # and with each of embedding.variants.encoders
    further_scorers: tuple[str, ...] = Field(
        default=("pasta-linear", "pasta-mlp", "ordinal"), strict=False
    )
    linear: ScorerParams = LINEAR
    mlp: ScorerParams = MLP
    ordinal: OrdinalParams = OrdinalParams()
    baselines: BaselineParams = BaselineParams()
    studies: StudiesParams = StudiesParams()
    public: PublicParams = PublicParams()
