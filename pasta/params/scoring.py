"""The rating study and the score that learns from it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section


class AnnotationParams(Section):
    """The rating study."""

    annotators: Count
    votes: Count  # for each sample, by different annotators
    samples: Count | None  # a random subset of all explanations (P1); null takes all planned
    techniques_per_image: Count  # P2 shows 21 of the 46
    ties: Literal["smallest", "largest", "median"]  # between equally frequent stars


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
