"""All metrics: importing this module fills the registry."""

from __future__ import annotations

from pasta.metrics import correlation, faithfulness, map_metrics, robustness
from pasta.metrics.base import METRICS

__all__ = ["METRICS", "correlation", "faithfulness", "map_metrics", "robustness"]
