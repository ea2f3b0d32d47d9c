"""Imports that would take seconds and are not needed: they wait until somebody asks for them.

torchvision and timm import torch's compiler, which takes as long to import as torch itself: the
one for a question that an operator asks when it is called, the other to mark a function that is
not to be compiled. Nothing is compiled here. open_clip imports transformers for text towers of
Hugging Face, which few architectures have.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
_COMPILER, _UTILITIES = "torch._dynamo", "torch._dynamo.utils"
_TOWERS = "open_clip.hf_model"


def import_torchvision() -> None:
    """Import torchvision without torch's compiler, which is imported when it is first used."""
    _import("torchvision.transforms.v2.functional")


def import_open_clip() -> None:
    """Import open_clip without torch's compiler and, for now, without transformers."""
    absent = "transformers" not in sys.modules
    if absent:
        sys.modules["transformers"] = None  # type: ignore[assignment] # "is not installed"
    try:
        _import("timm")
        _import("open_clip")
    finally:
        if absent:
            del sys.modules["transformers"]


def with_transformers() -> None:
    """Let open_clip build text towers of Hugging Face, where transformers is installed."""
    towers = sys.modules.get(_TOWERS)
    if towers is not None and getattr(towers, "transformers", None) is None:
        importlib.reload(towers)  # in place: its functions see what they had missed


def _import(name: str) -> None:
    """Import a library while stand-ins keep the compiler away."""
    held = _COMPILER not in sys.modules
    if held:
        importlib.import_module("torch")
        sys.modules[_COMPILER] = _Later(_COMPILER, disable=_as_it_is)
        sys.modules[_UTILITIES] = _Later(_UTILITIES, is_compile_supported=_is_compile_supported)
    try:
        importlib.import_module(name)
    finally:
        if held:
            _forget()


class _Later(ModuleType):
    """Stands for a module until anything is asked of it that it does not know."""

    def __init__(self, name: str, **known: Callable[..., Any]) -> None:
        super().__init__(name)
        self.__dict__.update(known, __path__=[])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _forget()
        return getattr(importlib.import_module(self.__name__), name)


def _is_compile_supported(device_type: str) -> Any:
    return importlib.import_module(_UTILITIES).is_compile_supported(device_type)


def _as_it_is(function: F, *_: Any, **__: Any) -> F:
    """The mark says what a compiler should leave alone: without one, nothing."""
    return function


def _forget() -> None:
    for name in (_COMPILER, _UTILITIES):
        if isinstance(sys.modules.get(name), _Later):
            del sys.modules[name]
