"""Python imports this at start when its folder is on the path: parameters note what is read.

Every value that a stage reads leaves its dotted name in a file of the folder that
``PASTA_RECORD_PARAMS`` names, one file for each stage. For the test that `dvc.yaml` declares all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import pasta.params


class Recorded:
    """Behaves as the section it wraps, and notes what is read of it."""

    def __init__(self, section: Any, path: str, file: Path) -> None:
        self.__dict__.update(_section=section, _path=path, _file=file)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._section)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._section, name)
        if name.startswith("_"):
            return value
        if name not in type(self._section).model_fields:
            self._note(self._path)  # a method or property may look at everything
            return value
        return self._wrapped(value, name)

    def __iter__(self) -> Iterator[Any]:
        return ((name, getattr(self, name)) for name in type(self._section).model_fields)

    def __eq__(self, other: object) -> bool:
        self._note(self._path)
        return bool(self._section == getattr(other, "_section", other))

    def __hash__(self) -> int:
        self._note(self._path)
        return hash(self._section)

    def __reduce__(self) -> Any:
        return Recorded, (self._section, self._path, self._file)

    def _wrapped(self, value: Any, name: str) -> Any:
        path = f"{self._path}.{name}".lstrip(".")
        if isinstance(value, BaseModel):
            return Recorded(value, path, self._file)
        if isinstance(value, dict) and any(isinstance(one, BaseModel) for one in value.values()):
            return {key: self._wrapped(one, f"{name}.{key}") for key, one in value.items()}
        self._note(path)
        return value

    def _note(self, path: str) -> None:
        with self._file.open("a") as file:
            file.write(f"{path}\n")


def _load_recorded(*arguments: Any) -> Any:
    folder, stage = Path(os.environ["PASTA_RECORD_PARAMS"]), os.environ.get("DVC_STAGE")
    params = _load(*arguments)
    return params if stage is None else Recorded(params, "", folder / f"{stage}.txt")


if "PASTA_RECORD_PARAMS" in os.environ:
    _load = pasta.params.load_params
    pasta.params.load_params = _load_recorded  # type: ignore[assignment]
