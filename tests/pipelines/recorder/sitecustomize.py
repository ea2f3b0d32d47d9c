"""Python imports this at start when its folder is on the path: parameters note what is read.

Every value that a stage reads leaves its dotted name in a file of the folder that
``PASTA_RECORD_PARAMS`` names, one file for each stage. For the test that `dvc.yaml` declares all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pasta.config
from pasta.sections import Section

WHOLE = ("model_copy", "model_dump", "model_dump_json")  # look at everything in a section
_paths: dict[int, str] = {}
_alive: list[Any] = []  # so that no address is used twice
_load = pasta.config.load_params


def sections(value: Any, path: str) -> Iterator[tuple[Section, str]]:
    """Every section of the parameters with its dotted name."""
    if isinstance(value, Section):
        yield value, path
        value = vars(value)
    if isinstance(value, dict):
        for name, part in value.items():
            yield from sections(part, f"{path}.{name}".lstrip("."))


def load_noting(*arguments: Any) -> Any:
    params = _load(*arguments)
    if os.environ.get("DVC_STAGE") and id(params) not in _paths:
        _alive.append(params)
        _paths.update({id(section): path for section, path in sections(params, "")})
    return params


def read(section: Section, name: str) -> Any:
    value = object.__getattribute__(section, name)
    path = _paths.get(id(section))
    if path is None:
        return value
    if name == "__repr_args__":  # units of work are told apart by their text, not read
        return list
    if name in WHOLE:
        note(path)
    elif name in type(section).model_fields and not any(sections(value, "")):
        note(f"{path}.{name}".lstrip("."))
    return value


def note(path: str) -> None:
    file = Path(os.environ["PASTA_RECORD_PARAMS"]) / f"{os.environ['DVC_STAGE']}.txt"
    with file.open("a") as opened:
        opened.write(f"{path}\n")


if "PASTA_RECORD_PARAMS" in os.environ:
    pasta.config.load_params = load_noting  # type: ignore[assignment]
    Section.__getattribute__ = read  # type: ignore[assignment]
