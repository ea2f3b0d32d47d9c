"""What all sections of the parameters have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the parameters: nothing unknown, nothing converted, nothing changed later.

    Defaults stand beside the code that they belong to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the same group that must be trained before one with these settings."""
        return ()


def complete(kind: type[Section], given: Mapping[str, Any]) -> dict[str, Any]:
    """Lay settings over the defaults of their section.

    A section that is given in part changes what it names and keeps the rest of its default.

    >>> class Training(Section):
    ...     epochs: int
    ...     rate: float = 0.1
    >>> class Model(Section):
    ...     training: Training = Training(epochs=5, rate=0.3)
    >>> complete(Model, {"training": {"epochs": 2}})
    {'training': {'epochs': 2, 'rate': 0.3}}
    """
    known = kind.model_fields
    return {
        name: _complete(known[name].annotation, known[name].default, value)
        if name in known
        else value
        for name, value in given.items()
    }


def _complete(annotation: Any, default: Any, given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    if isinstance(default, Section):
        own = dict(default)
        changed = {
            name: _complete(None, own.get(name), value) if name in own else value
            for name, value in given.items()
        }
        return {**own, **changed}
    if get_origin(annotation) is dict:
        return {name: _complete(get_args(annotation)[1], None, one) for name, one in given.items()}
    for kind in (annotation, *get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, Section):
            return complete(kind, given)
    return given
