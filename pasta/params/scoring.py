"""The score that learns from ratings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section
from pasta.params.baselines import BaselineParams
from pasta.params.ordinal import OrdinalParams

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
    evaluate_every: Count
    loss: LossParams


class SplitParams(Section):
    """How explanations are divided for training the score."""

    by: By
    train: Fraction
    seeds: Count


class StudiesParams(Section):
    """Levels of the ablations (P1, Tables 4 and 15); embedding.variants has the others."""

    splits: tuple[By, ...] = Field(strict=False)
    aggregates: tuple[Aggregate, ...] = Field(strict=False)
    functions: tuple[str, ...] = Field(strict=False)  # scorers


class PublicParams(Section):
    """The scorer that everybody can call."""

    scorer: str
    train: Fraction  # of images and of techniques; the other images x techniques calibrate


class ScoringParams(Section):
    """The PASTA-score: its first (linear) and second (MLP) version, and others beside them."""

    split: SplitParams
    scorers: tuple[str, ...] = Field(strict=False)  # rows of the main table, with one encoder
    linear: ScorerParams
    mlp: ScorerParams
    ordinal: OrdinalParams
    baselines: BaselineParams
    studies: StudiesParams
    public: PublicParams
