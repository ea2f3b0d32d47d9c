"""All metrics: importing this module fills the registry."""

from __future__ import annotations

from pasta.metrics import own
from pasta.metrics.base import METRICS
from pasta.registry import import_modules

__all__ = ["METRICS"]
import_modules(own)
