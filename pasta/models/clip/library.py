"""Import of open_clip, without what it would load for towers that are not asked for.

open_clip imports transformers, if that is there, for text towers from elsewhere. It takes longer
than everything else that a stage does at its start, and this project's own architectures have no
such tower: for them open_clip is made to believe that there is no transformers.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CONFIGS = Path(__file__).parent / "configs"
_SLOW = "transformers"
_USERS = ("open_clip.hf_model", "open_clip.coca_model")


def open_clip_for(architecture: str) -> Any:
    """The library, complete for any architecture but our own."""
    own = (CONFIGS / f"{architecture}.json").is_file()
    if own and "open_clip" not in sys.modules:
        with _hidden(_SLOW):
            return importlib.import_module("open_clip")
    library = importlib.import_module("open_clip")
    if not own and library.hf_model.transformers is None:
        # A module that is loaded again keeps its namespace, so its classes find what they missed.
        for name in _USERS:
            importlib.reload(sys.modules[name])
    return library


@contextmanager
def _hidden(name: str) -> Iterator[None]:
    """Let an import of a module fail that is not loaded yet."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
