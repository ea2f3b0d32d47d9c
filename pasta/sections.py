"""What all sections of the parameters have in common."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pasta.errors import PastaError
from pasta.registry import did_you_mean

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
# A number of things of every dataset: one for all, or one for each by its name and for all others.
OTHERS = "others"
PerDataset = Count | Annotated[dict[str, Count], Field(min_length=1)]


class Section(BaseModel):
    """A part of the parameters: nothing unknown, nothing converted, nothing changed later.

    Defaults stand beside the code that they belong to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def needs(self) -> tuple[str, ...]:
        """Models of the same group that must be trained before one with these settings."""
        return ()


def for_dataset(numbers: int | Mapping[str, int], dataset: str) -> int:
    """The number that holds for one dataset.

    >>> for_dataset(250, "coco"), for_dataset({"coco": 250, "monumai": 150}, "monumai")
    (250, 150)
    >>> for_dataset({"coco": 250, "others": 10}, "monumai")
    10
    """
    if isinstance(numbers, int):
        return numbers
    if dataset not in numbers and OTHERS in numbers:
        return numbers[OTHERS]
    if dataset not in numbers:
        named = ", ".join(numbers)
        raise PastaError(f"the parameters have a number for {named}, but none for {dataset}")
    return numbers[dataset]


class OpenSection(Section):
    """Sections by name. A module of the package ``room`` may bring one of its own name.

    It is checked when it is used: the module registers the class of its settings.
    """

    model_config = ConfigDict(extra="allow")

    room: ClassVar[str]

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name, given in (self.model_extra or {}).items():
            if find_spec(f"{self.room}.{name}") is None:
                hint = did_you_mean(name, list(type(self).model_fields))
                raise ValueError(f"{name}: unknown key. {hint}")
            if not isinstance(given, Mapping):
                raise ValueError(f"{name}: found {given!r}, expected settings by name")
        return self

    def section(self, name: str, kind: type[Section]) -> Section:
        """The settings that are given under a name, over the defaults of their kind."""
        given = (self.model_extra or {}).get(name, {})
        try:
            return kind.model_validate(complete(kind, given))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, (name, *first["loc"])))
            raise PastaError(f"{place} is {first['input']!r}: {first['msg']}") from None


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
