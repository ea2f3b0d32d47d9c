"""No error is its own cause: whoever walks the chain of causes gets to its end."""

from __future__ import annotations

import ast

from tests.conftest import ROOT

SOURCES = [
    file
    for folder in ("analysis", "pasta", "reports/source", "pipelines")
    for file in sorted((ROOT / folder).rglob("*.py"))
    if "data" not in file.relative_to(ROOT).parts[:2]
]


def _returned_errors(tree: ast.AST) -> set[str]:
    """Functions that take an error and may return the same one."""
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            errors = {
                argument.arg
                for argument in function.args.args
                if argument.annotation
                and ast.unparse(argument.annotation).endswith(("Error", "Exception"))
            }
            returned = {
                node.value.id
                for node in ast.walk(function)
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
            }
            if errors & returned:
                found.add(function.name)
    return found


def test_nothing_is_raised_from_itself() -> None:
    found = []
    for file in SOURCES:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        same = _returned_errors(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.cause, ast.Name):
                made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                name = made.id if isinstance(made, ast.Name) else ""
                if name == node.cause.id or name in same:
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert not found
