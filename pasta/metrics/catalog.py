"""All metrics: importing this module fills the registry."""

from __future__ import annotations

from pasta.metrics import (
    complexity,
    correlation,
    faithfulness,
    localisation,
    removal_curves,
    robustness,
)
from pasta.metrics.base import METRICS

__all__ = [
    "METRICS",
    "complexity",
    "correlation",
    "faithfulness",
    "localisation",
    "removal_curves",
    "robustness",
]
