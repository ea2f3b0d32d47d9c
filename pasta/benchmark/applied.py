"""What LATEC's methods and metrics are given: settings by modality, dataset and reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pasta.benchmark.catalog import LatecMethod, all_methods, all_metrics, catalogue
from pasta.config import overlay
from pasta.explanations.catalog import METHODS
from pasta.explanations.settings import MethodsParams
from pasta.metrics.catalog import METRICS
from pasta.metrics.settings import MeasureParams
from pasta.models.base import MODELS
from pasta.readings import Reading
from pasta.sections import OpenSection, Section, complete

Sizes = Literal["demo", "paper"]


def explains(method: LatecMethod, model: str, modality: str) -> bool:
    """Whether a method is applied to a classifier of the project, on inputs of a modality."""
    family = MODELS.entry(model).metadata["family"]
    return method.on in (None, family) and modality not in method.without


def method_settings(modality: str, sizes: Sizes, reading: Reading) -> MethodsParams:
    """The settings of all methods."""
    given = _settings("methods", modality, None, sizes)
    kinds = {
        one.key: METHODS.entry(one.key).metadata["settings"]
        for one in all_methods()
        if one.key in METHODS
    }
    return MethodsParams.model_validate(
        complete(MethodsParams, _with_reading(given, MethodsParams, kinds, reading))
    )


def metric_settings(
    modality: str, dataset: str, sizes: Sizes, reading: Reading, **chosen: Any
) -> MeasureParams:
    """The settings of all metrics; ``chosen`` are others of the section, such as ``names``."""
    given = _settings("metrics", modality, dataset, sizes)
    kinds = {
        one.key: METRICS.entry(one.key).metadata["settings"]
        for one in all_metrics()
        if one.key in METRICS
    }
    whole = _with_reading(given, MeasureParams, kinds, reading) | chosen
    return MeasureParams.model_validate(complete(MeasureParams, whole))


def _settings(what: str, modality: str, dataset: str | None, sizes: Sizes) -> dict[str, Any]:
    """What differs from the defaults: the paper's, and in the demo less of it."""
    found: dict[str, Any] = {}
    for name in ("paper", sizes):
        for part in ("any", modality, dataset):
            found = overlay(found, catalogue()[name].get(part, {}).get(what, {}))
    return found


def _with_reading(
    given: Mapping[str, Any],
    section: type[OpenSection],
    kinds: Mapping[str, Any],
    reading: Reading,
) -> dict[str, Any]:
    """The reading, wherever there is a choice between the three."""
    found = {name: dict(one) for name, one in given.items()}
    for name, kind in kinds.items():
        field = section.model_fields.get(kind if isinstance(kind, str) else name)
        own = kind if isinstance(kind, type) else None if field is None else field.annotation
        if not (isinstance(own, type) and issubclass(own, Section)):
            continue
        choice = own.model_fields.get("reading")
        if choice is not None and set(get_args(choice.annotation)) >= set(get_args(Reading)):
            found.setdefault(kind if isinstance(kind, str) else name, {})["reading"] = reading
    return found
