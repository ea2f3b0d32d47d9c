"""One small decorator registry, shared by datasets, models, explanations, metrics and encoders."""

from __future__ import annotations

import difflib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any, Generic, TypeVar

from pasta.errors import PastaError

T = TypeVar("T")


def did_you_mean(name: str, known: Mapping[str, Any] | list[str]) -> str:
    """Return `` Did you mean ...?`` for a near miss, else the list of valid names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names) or 'none'}."


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One registered thing: its key, the object itself and whatever is worth knowing about it."""

    key: str
    value: T
    metadata: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def import_modules(package: ModuleType) -> None:
    """Import all modules of a package, by name, so that they register what they have."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(found.name)


class Registry(Generic[T]):
    """Names mapped to objects, filled by decorators.

    Examples
    --------
    >>> shapes: Registry[type] = Registry("shape")
    >>> @shapes.register("square", corners=4)
    ... class Square: ...
    >>> shapes["square"] is Square, shapes.entry("square").metadata["corners"]
    (True, 4)
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, Entry[T]] = {}

    def register(self, key: str, **metadata: Any) -> Callable[[T], T]:
        """Return a decorator that files its argument under ``key``."""

        def file(value: T) -> T:
            if key in self._entries:
                raise PastaError(f"two {self.kind}s are called {key!r}")
            self._entries[key] = Entry(key, value, MappingProxyType(metadata))
            return value

        return file

    def entry(self, key: str) -> Entry[T]:
        """Return the entry called ``key``, or an error that names the nearest key."""
        if key not in self._entries:
            hint = did_you_mean(key, self._entries)
            raise PastaError(f"there is no {self.kind} called {key!r}. {hint}")
        return self._entries[key]

    def entries(self) -> list[Entry[T]]:
        """All entries in the order of registration."""
        return list(self._entries.values())

    def __getitem__(self, key: str) -> T:
        return self.entry(key).value

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
