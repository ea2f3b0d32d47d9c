"""Why a printed number has none of ours beside it, and what makes it: ``reasons.yaml``, read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

NO_WAY = "none"
FILE = Path(__file__).with_name("reasons.yaml")
_CONTENT: dict[str, Any] = YAML(typ="safe").load(FILE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Way:
    """A command, and the data with which it makes a number."""

    command: str
    data: str

    def __str__(self) -> str:
        return f"`{self.command}` on {self.data}"


WAYS = {name: Way(**entry) for name, entry in _CONTENT["ways"].items()}
MISSING: dict[str, str] = _CONTENT["missing"]  # what our tables lack; there is a way to it
NEVER: dict[str, str] = _CONTENT["never"]  # what has no counterpart, whatever is run


def explain_absence(reason: str, way: str) -> str:
    """What is missing and how it comes: "nobody ranked it; `pasta ...` on ... makes it"."""
    return f"{reason}; {WAYS[way]} makes it" if way in WAYS and reason else reason
