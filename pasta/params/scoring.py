"""The score that learns from ratings."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section


class EmbeddingParams(Section):
    """The encoder of rendered explanations."""

    encoder: str
    weights: str
    n_top: Count  # concepts named in the sentence of a concept explanation


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

    by: Literal["none", "image", "technique", "image_and_technique", "dataset_and_technique"]
    train: Fraction
    seeds: Count


class ScoringParams(Section):
    """The PASTA-score: its first (linear) and second (MLP) version."""

    split: SplitParams
    linear: ScorerParams
    mlp: ScorerParams
