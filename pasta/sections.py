"""What all sections of the parameters have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the parameters: nothing unknown, nothing converted, nothing changed later.

    Defaults stand beside the code that they belong to. A section that is given in part changes
    what it names and keeps the rest of its default.

    >>> class Training(Section):
    ...     epochs: int
    ...     rate: float = 0.1
    >>> class Model(Section):
    ...     training: Training = Training(epochs=5, rate=0.3)
    >>> Model.model_validate({"training": {"epochs": 2}}).training
    Training(epochs=2, rate=0.3)
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _lay_over_defaults(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {name: _laid_over(cls._default(str(name)), value) for name, value in given.items()}

    @classmethod
    def _default(cls, name: str) -> Any:
        return cls.model_fields[name].default if name in cls.model_fields else None

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the same group that must be trained before one with these settings."""
        return ()


def _laid_over(default: Any, given: Any) -> Any:
    if not isinstance(default, Section) or not isinstance(given, Mapping):
        return given
    changed = {
        name: _laid_over(getattr(default, str(name), None), value) for name, value in given.items()
    }
    return {**dict(default), **changed}
