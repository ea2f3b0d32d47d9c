"""What a stored explanation depends on, as one number: the same number means nothing to do."""

from __future__ import annotations

import ast
import hashlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pasta
from pasta.explanations.catalog import METHODS
from pasta.models.fingerprint import fingerprint

ROOT = Path(pasta.__file__).parent.parent
PACKAGES = ("pasta.explanations", "pasta.perturbations")


def technique_fingerprint(method: str, common: dict[str, Any], settings: Any) -> str:
    """Of a method on a backbone; ``common`` says what model and which images.

    A change of one method's code, or a new method in a new file, leaves the others alone.
    """
    own = None if settings is None else settings.model_dump(mode="json")
    parts = {**common, "method": method, "settings": own}
    return fingerprint({**parts, "code": code_behind(module_file(METHODS[method]))})


def code_behind(*files: Path) -> str:
    """The sha256 of modules and of all they import from the packages that make explanations."""
    digest = hashlib.sha256()
    for file in sorted(reached(*files)):
        digest.update(str(file.relative_to(ROOT)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def reached(*files: Path) -> set[Path]:
    """The files themselves and everything they import, directly or not."""
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imports(file)
    return found


def module_file(function: Any) -> Path:
    """Where a function is written."""
    return Path(inspect.getsourcefile(function) or "")


def _imports(file: Path) -> list[Path]:
    ours = [name for name in imported(file.read_text()) if name.startswith(PACKAGES)]
    files = [ROOT / f"{name.replace('.', '/')}.py" for name in ours]
    return [file for file in files if file.is_file()]


@cache
def imported(source: str) -> tuple[str, ...]:
    """Names that a module imports: modules, and what may be modules or things inside of them."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return tuple(names)
