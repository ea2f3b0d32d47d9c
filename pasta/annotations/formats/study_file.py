"""What a folder of ratings says of its study, beside the ratings: ``study.json``.

The released format and tidy tables have no room for the version of the protocol; a release has
none for people and their rankings either. A batch of our own says the version in ``batch.json``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pasta.annotations.formats import json_text
from pasta.annotations.formats.json_text import Number
from pasta.errors import InputError

STUDY = "study.json"
_SMALL = 100_000_000


def claimed_protocol(folder: Path) -> str | None:
    """The version of the protocol that a folder claims to follow."""
    for name in (STUDY, "batch.json"):
        claimed = read_study(folder, name).get("protocol")
        if claimed is not None and (isinstance(claimed, Number) or not isinstance(claimed, str)):
            raise InputError(
                f"the protocol is {json_text.shown(claimed)}",
                file=folder / name,
                expected="a version such as p2",
            )
        if claimed is not None:
            return str(claimed)
    return None


def read_study(folder: Path, name: str = STUDY) -> dict[str, Any]:
    """The file's content; nothing if there is no such file."""
    path = folder / name
    if not path.is_file():
        return {}
    found = json_text.load(path, _SMALL)
    if not isinstance(found, dict):
        raise InputError("is no JSON object", file=path, expected="what a study says of itself")
    return found
