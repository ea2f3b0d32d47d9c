"""What can be set of a technique, and which combinations are to be tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pasta.errors import InputError, PastaError
from pasta.explanations.layers import resolve_layer
from pasta.explanations.settings import MethodsParams
from pasta.explanations.techniques import Technique
from pasta.registry import did_you_mean
from pasta.sections import Section

LAYER = "layer"  # the setting of all methods that look at a layer
Value = bool | int | float | str
Candidate = dict[str, Value]  # setting: value


@dataclass(frozen=True)
class Grid:
    """Checked values of some settings of a technique; equal ones are there once."""

    technique: Technique
    choices: Mapping[str, tuple[Value, ...]]
    default: Candidate  # of the same settings

    def __len__(self) -> int:
        size = 1
        for values in self.choices.values():
            size *= len(values)
        return size

    def candidates(self) -> Iterator[Candidate]:
        """All combinations, the last setting changing fastest."""
        for chosen in product(*self.choices.values()):
            yield dict(zip(self.choices, chosen, strict=True))


def read_grid(file: Path) -> dict[str, list[Any]]:
    """A YAML file ``{setting: [values]}``."""
    try:
        found = YAML(typ="safe").load(file.read_text())
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="YAML") from error
    if found is None or found == {}:
        raise InputError("the grid is empty", file=file, expected=_FORM)
    if not isinstance(found, dict) or not all(
        isinstance(values, list) for values in found.values()
    ):
        raise InputError("is no grid", file=file, expected=_FORM)
    return {str(name): values for name, values in found.items()}


def make_grid(
    technique: Technique,
    values: Mapping[str, Sequence[Any]],
    methods: MethodsParams,
    layers: Layers | None = None,
) -> Grid:
    """Check settings and values of a technique.

    ``methods`` has the defaults; ``layers`` knows the network's layers, for a grid of them.
    """
    if technique.kind != "saliency":
        raise PastaError(
            f"{technique.key} explains by concepts: tuning is guarded by the faithfulness of "
            "maps, so it needs a saliency technique"
        )
    section = section_of(technique, methods)
    default = dict(section) if section is not None else {}
    if layers is not None:
        default[LAYER] = layers.default
    if not default:
        raise PastaError(f"{technique.title} has nothing to set, so nothing to tune")
    if not values:
        raise PastaError(f"the grid of {technique.key} is empty: expected {_FORM}")
    checked: dict[str, tuple[Value, ...]] = {}
    for name, given in values.items():
        if name not in default:
            raise PastaError(
                f"{technique.key} has no setting {name!r}. {did_you_mean(name, default)}"
            )
        if not given:
            raise PastaError(f"the grid of {technique.key} has no value for {name!r}")
        own = [
            layers.canonical(str(value))
            if name == LAYER and layers is not None
            else _checked(technique, section, name, value)
            for value in given
        ]
        checked[name] = tuple(dict.fromkeys(own))
    return Grid(technique, checked, {name: default[name] for name in checked})


class Layers:
    """The layers of a network by name."""

    def __init__(self, model: Any, layer: Any) -> None:
        self.model = model
        self.default = self._name(layer)

    def canonical(self, name: str) -> str:
        """The one name of a layer: ``network.layer4.-1`` is also ``network.layer4.0``."""
        return self._name(resolve_layer(self.model, name)[0])

    def _name(self, layer: Any) -> str:
        names = (name for name, module in self.model.named_modules() if module is layer)
        return str(next(names))


def section_of(technique: Technique, methods: MethodsParams) -> Section | None:
    """The settings of a technique's method, if it has some."""
    found: Section | None = getattr(methods, technique.method, None)
    return found


def with_candidate(
    technique: Technique, methods: MethodsParams, candidate: Candidate
) -> MethodsParams:
    """All methods' settings with those of a candidate, which have been checked."""
    own = {name: value for name, value in candidate.items() if name != LAYER}
    section = section_of(technique, methods)
    if section is None or not own:
        return methods
    return methods.model_copy(update={technique.method: section.model_copy(update=own)})


def words(candidate: Candidate) -> str:
    """For people: ``kernel_width 0.1, segments 30``."""
    return ", ".join(f"{name} {value}" for name, value in candidate.items())


def _checked(technique: Technique, section: Section | None, name: str, value: Any) -> Value:
    assert section is not None  # noqa: S101 (a known setting comes from somewhere)
    if not isinstance(value, bool | int | float | str):
        raise PastaError(f"{technique.key}: {name} is {value!r}, expected one value, not several")
    try:
        made = type(section).model_validate({**dict(section), name: value})
    except ValidationError as error:
        expected = error.errors()[0]["msg"].replace("Input should be", "expected")
        raise PastaError(f"{technique.key}: {name} is {value!r}, {expected}") from None
    found: Value = getattr(made, name)
    return found


_FORM = "{setting: [values]}, for instance kernel_width: [0.1, 0.25]"
