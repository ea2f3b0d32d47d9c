"""The ordinal scorer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pasta.params.base import Count, Fraction, NotNegative, Positive, Section


class OrdinalParams(Section):
    """Cumulative-link models of all votes; see :mod:`pasta.scoring.ordinal`."""

    strengths: tuple[Positive, ...] = Field(strict=False, min_length=1)  # of the penalty, tried
    sharing: tuple[Fraction, ...] = Field(strict=False, min_length=1)  # between questions, tried
    evidence: Positive  # of a validation vote in weighing penalties; an independent one has 1
    expansion: NotNegative  # share of the squared error given up for stars that spread wider
    coverage: Annotated[float, Field(gt=0, lt=1)]  # of the intervals
    iterations: Count  # at most, of each fit
    tolerance: Positive  # of the gradient, when a fit has ended
    share: Fraction  # of the networks in the answer; with 0 there are none
    members: Count  # networks
    hidden: Count  # units of a network
    steps: Count  # of training
    batch_size: Count
    learning_rate: Positive
    weight_decay: NotNegative  # of a weight for each step, times the learning rate
