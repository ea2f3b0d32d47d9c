"""What is public is documented, and the examples in the docstrings are true."""

from __future__ import annotations

import doctest
import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import analysis
import pasta

MODULES = [f"analysis.{module.name}" for module in pkgutil.iter_modules(analysis.__path__)]
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
LISTED = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)$", re.MULTILINE)


def public_of(module: ModuleType) -> list[Any]:
    """Functions and classes that a module defines for others."""
    return [
        thing
        for name, thing in vars(module).items()
        if (inspect.isfunction(thing) or inspect.isclass(thing))
        and thing.__module__ == module.__name__
        and not name.startswith("_")
    ]


def sections_of(thing: Any) -> dict[str, str]:
    """Sections of a numpydoc docstring by heading; the text before them has none."""
    parts = HEADING.split(inspect.getdoc(thing) or "")
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def unlisted(thing: Any, sections: dict[str, str]) -> list[str]:
    """Parameters, or fields of a class, that the docstring does not list."""
    text = sections.get("Parameters", sections.get("Attributes", ""))
    listed = {name.lstrip("*") for line in LISTED.findall(text) for name in line.split(", ")}
    taken = inspect.signature(thing).parameters
    return [f"parameter {name}" for name in taken if name != "self" and name not in listed]


def lacks_of_function(thing: Any) -> list[str]:
    sections = sections_of(thing)
    lacks = unlisted(thing, sections)
    if inspect.signature(thing).return_annotation not in ("None", None):
        lacks += ["Returns"] * ("Returns" not in sections)
    return lacks


def lacks_of(thing: Any) -> list[str]:
    """What the docstring of a function, or of a class and its public methods, lacks."""
    sections = sections_of(thing)
    lacks = [] if re.match(r".+\.(\n\n|\n?$)", sections[""]) else ["a summary of one line"]
    lacks += ["Examples"] * (">>>" not in sections.get("Examples", ""))
    if not inspect.isclass(thing):
        return lacks + lacks_of_function(thing)
    lacks += unlisted(thing, sections)
    for name in [name for name in vars(thing) if not name.startswith("_")]:
        method = getattr(thing, name)
        if callable(method):
            lacks += [f"{name}: {lack}" for lack in lacks_of_function(method)]
    return lacks


@pytest.mark.parametrize("name", MODULES)
def test_public_names_of_analysis_have_parameters_returns_and_examples(name: str) -> None:
    lacks = {thing.__name__: lacks_of(thing) for thing in public_of(import_module(name))}
    assert {name: lack for name, lack in lacks.items() if lack} == {}


@pytest.mark.parametrize("name", pasta.__all__)
def test_public_names_of_pasta_have_parameters_returns_and_examples(name: str) -> None:
    assert lacks_of(getattr(pasta, name)) == []


def test_a_docstring_without_its_parts_is_found() -> None:
    def half(values: list[float], seed: int = 0) -> float:
        """Compute something.

        Parameters
        ----------
        values
            Numbers.
        """
        return sum(values) + seed

    assert lacks_of(half) == ["Examples", "parameter seed", "Returns"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_analysis_print_what_they_say(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small scorer that has learned random ratings."""
    from tests.scoring.small_scorer import make_root, make_scorer, tiny

    encoder = tiny()
    root = make_root(tmp_path_factory.mktemp("examples"), encoder)
    make_scorer(root, encoder)
    return root


@pytest.mark.parametrize("name", pasta.__all__)
def test_examples_of_pasta_print_what_they_say(
    name: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert doctest.testmod(import_module(getattr(pasta, name).__module__)).failed == 0
