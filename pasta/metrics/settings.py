"""The metrics' settings: what holds if nothing is said, and what a caller says instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pasta.errors import PastaError
from pasta.metrics.catalog import METRICS
from pasta.params.base import Section
from pasta.params.metrics import (
    CorrelationParams,
    CurveParams,
    EffectiveComplexityParams,
    FaithfulnessParams,
    MetricsParams,
    OverlapParams,
    PointingParams,
    RoadParams,
    SensitivityParams,
)
from pasta.registry import did_you_mean

DEFAULTS = MetricsParams(
    faithfulness=FaithfulnessParams(
        perturbation="road",
        uniform=0.5,
        gaussian=0.5,
        black=0.0,
        road=0.01,
        thresholds=(10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
        step=2,
        reading="text",
    ),
    road=RoadParams(percentages=tuple(range(1, 100, 2)), road=0.01),
    pixel_flipping=CurveParams(steps=100, filling="black", black=0.0, blur=5.0),
    insertion=CurveParams(steps=100, filling="blur", black=0.0, blur=5.0),
    deletion=CurveParams(steps=100, filling="black", black=0.0, blur=5.0),
    faithfulness_correlation=CorrelationParams(
        subsets=100, share=0.02, filling="black", black=0.0, blur=5.0
    ),
    max_sensitivity=SensitivityParams(
        noise="uniform", samples=10, uniform=0.2, gaussian=0.1, relative=True
    ),
    effective_complexity=EffectiveComplexityParams(tolerance=1e-5),
    pointing_game=PointingParams(tolerance=0.0),
    overlap=OverlapParams(threshold=0.5),
)


def settings_of(
    name: str, options: Mapping[str, Any], base: MetricsParams = DEFAULTS
) -> Section | None:
    """The settings of a metric with some of them replaced, or an error that names the option."""
    section_name = METRICS.entry(name).metadata["settings"]
    section: Section | None = getattr(base, section_name) if section_name else None
    known = dict(section) if section is not None else {}
    for option in options:
        if option not in known:
            hint = did_you_mean(option, known)
            raise PastaError(f"{name} has no option {option!r}. {hint}")
    if section is None or not options:
        return section
    try:
        return type(section).model_validate({**known, **options})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        expected = first["msg"].replace("Input should be", "expected")
        raise PastaError(f"{name}: {place} is {first['input']!r}, {expected}") from None
