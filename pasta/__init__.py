"""Human-aligned evaluation of explanations in computer vision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pasta.explanations.api import explain

__version__ = "0.1.0"
__all__ = ["explain"]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: torch takes seconds to load."""
    if name == "explain":
        from pasta.explanations.api import explain

        return explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
