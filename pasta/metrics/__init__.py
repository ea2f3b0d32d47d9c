"""Computational metrics of explanations: ``pasta.metrics.evaluate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pasta.metrics.api import cost, curves, evaluate, measure
    from pasta.metrics.catalog import METRICS

__all__ = ["METRICS", "cost", "curves", "evaluate", "measure"]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: torch takes seconds to load."""
    if name == "METRICS":
        from pasta.metrics.catalog import METRICS

        return METRICS
    if name in __all__:
        from pasta.metrics import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
