"""The mean predicted rating as a ``torchmetrics.Metric``."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.scoring.score import PastaScore, Scores

try:
    _base: Any = importlib.import_module("torchmetrics").Metric
except ModuleNotFoundError as error:
    raise PastaError("MeanPastaScore needs torchmetrics: pip install torchmetrics") from error


class MeanPastaScore(_base):
    """Mean predicted stars over batches and processes; maps that show nothing do not count.

    >>> metric = MeanPastaScore(PastaScore.load("Q1"))               # doctest: +SKIP
    >>> metric.update(image=images, saliency=maps, label=labels)     # doctest: +SKIP
    >>> metric.compute()                                             # doctest: +SKIP
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    total: Tensor
    count: Tensor

    def __init__(self, score: PastaScore, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.score = score
        self.add_state("total", torch.tensor(0.0, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, **given: Any) -> None:
        """Add explanations; the arguments are those of :meth:`PastaScore.score`."""
        found = self.score.score(**given)
        stars = found.score if isinstance(found, Scores) else [found.score]
        values = torch.as_tensor(stars, dtype=torch.float64, device=self.total.device)
        known = ~values.isnan()
        self.total += values[known].sum()
        self.count += known.sum()

    def compute(self) -> Tensor:
        """The mean; NaN before the first explanation."""
        return (self.total / self.count).float()
