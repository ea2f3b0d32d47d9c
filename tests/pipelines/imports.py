"""Which project files a stage's code reaches, read from the syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("pasta", "analysis", "pipelines", "reports")
# It imports its public names when somebody asks for them. Stages never do: they name modules.
LAZY = Path("pasta/__init__.py")
# It imports studies by name.
STUDIES = Path("pasta/studies/registry.py")


def reached(script: Path, root: Path) -> set[Path]:
    """Every project module that ``script`` imports, directly or not, at any depth of its code."""
    waiting, seen = [script], set[Path]()
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        waiting += [found for name in _names(file.read_text()) for found in _files(name, root)]
        if file == root / STUDIES:
            waiting += (root / STUDIES).parent.glob("*/study.py")
    return {file.relative_to(root) for file in seen}


@cache
def _names(text: str) -> tuple[str, ...]:
    """What the text of a module imports, each once."""
    found: list[str] = []
    for node in _walked(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(dict.fromkeys(found))


def _walked(node: ast.AST) -> Iterator[ast.AST]:
    """Everything that may run: imports for type checkers never do."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _walked(child)


def _files(name: str, root: Path) -> Iterator[Path]:
    """The module's file and those of the packages around it, unless they say nothing."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return
    for length in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:length])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file == root / LAZY or not file.is_file():
                continue
            if file.name != "__init__.py" or _does_something(file.read_text()):
                yield file


@cache
def _does_something(text: str) -> bool:
    """A package file of a docstring and plain constants decides nothing."""
    return not all(isinstance(node, ast.Expr | ast.Assign) for node in ast.parse(text).body)
