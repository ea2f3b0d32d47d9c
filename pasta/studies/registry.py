"""The studies by name: one package of :mod:`pasta.studies` for each of them.

Its package has a module ``study``, which registers how the study is made from the parameters, and a
module ``tables``, which registers its tables. If it also has a module ``commands`` with a Typer
app, ``pasta study NAME`` has those commands too.

>>> "ratings" in study_names()
True
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from typing import TYPE_CHECKING

import pasta.studies
from pasta.registry import Registry

if TYPE_CHECKING:
    from pasta.config import Params
    from pasta.studies.base import Study

STUDIES: Registry[Callable[[Params], Study]] = Registry("study")


def study_packages() -> list[str]:
    """Names of the studies in this folder; none of them is imported."""
    return [
        module.name
        for module in pkgutil.iter_modules(pasta.studies.__path__)
        if module.ispkg and importlib.util.find_spec(f"pasta.studies.{module.name}.study")
    ]


def study_names() -> list[str]:
    """All studies: those in this folder, and those that were registered elsewhere."""
    return sorted({*study_packages(), *STUDIES})


def load_study(name: str, params: Params) -> Study:
    """Make a study from the parameters; an unknown name is an error with the nearest one."""
    if name in study_packages():
        importlib.import_module(f"pasta.studies.{name}.study")
    return STUDIES[name](params)


def load_tables() -> None:
    """Register the tables of every study in this folder."""
    for package in study_packages():
        importlib.import_module(f"pasta.studies.{package}.tables")
