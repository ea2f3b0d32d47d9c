"""Human-aligned evaluation of explanations in computer vision."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pasta.name_clash import describe_clash

if TYPE_CHECKING:
    from pasta.explanations.api import explain
    from pasta.metrics.api import evaluate
    from pasta.scoring.score import PastaScore
    from pasta.texts.explain import explain_texts
    from pasta.texts.faithfulness import evaluate_texts

__version__ = "0.1.0"
__all__ = ["PastaScore", "evaluate", "evaluate_texts", "explain", "explain_texts"]
_HOMES = {
    "PastaScore": "pasta.scoring.score",
    "evaluate": "pasta.metrics.api",
    "evaluate_texts": "pasta.texts.faithfulness",
    "explain": "pasta.explanations.api",
    "explain_texts": "pasta.texts.explain",
}


_clash = describe_clash()
if _clash is not None:
    warnings.warn(_clash, RuntimeWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: torch takes seconds to load."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
