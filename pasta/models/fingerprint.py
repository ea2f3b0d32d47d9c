"""What a trained model depends on, as one number: the same number means nothing to train."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def fingerprint(parts: Mapping[str, Any]) -> str:
    """The sha256 of plain values, independent of the order of keys."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def code_digest(folders: Iterable[Path]) -> str:
    """The sha256 of all Python files below some folders, by name and content."""
    digest = hashlib.sha256()
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(str(file.relative_to(folder)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
