"""The headline numbers of the version before: those that are committed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pasta.paths import HEADLINES
from pasta.tracking import committed


def previous_headlines(
    root: Path, now: Mapping[str, float | None]
) -> dict[str, float | None] | None:
    """The numbers of the last commit that had others than now; None if there is none.

    While an annotation update is not committed, the version before is the last commit; once it is,
    the one before that.
    """
    wanted = {name: _rounded(value) for name, value in now.items()}
    for text in committed(root, HEADLINES, most=20):
        found: dict[str, float | None] = json.loads(text)
        if {name: _rounded(value) for name, value in found.items()} != wanted:
            return found
    return None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 9)
