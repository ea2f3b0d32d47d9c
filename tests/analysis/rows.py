"""Look up rows of tidy frames."""

from __future__ import annotations

from typing import Any

import pandas as pd


def one(frame: pd.DataFrame, **keys: object) -> dict[str, Any]:
    """The only row with these values."""
    here = frame
    for name, value in keys.items():
        here = here[here[name] == value]
    assert len(here) == 1, f"{len(here)} rows with {keys}"
    return {str(name): value for name, value in here.iloc[0].items()}
