"""Computational metrics of explanations: ``pasta.metrics.evaluate``."""

from __future__ import annotations

from pasta.metrics.api import cost, curves, evaluate, measure
from pasta.metrics.catalog import METRICS

__all__ = ["METRICS", "cost", "curves", "evaluate", "measure"]
