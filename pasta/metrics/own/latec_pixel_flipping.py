"""Pixel flipping as LATEC has it (doi:10.48550/arXiv.2409.16756): the area under the curve.

The curve is that of :func:`pasta.metrics.own.faithfulness.pixel_flipping` (Bach et al. 2015,
doi:10.1371/journal.pone.0130140), whose value is the mean fall instead: higher is better there.
"""

from __future__ import annotations

import math

from pasta.metrics.base import MODEL, Batch, Result, metric
from pasta.metrics.own.faithfulness import (
    FEW_STEPS,
    area,
    count_removals,
    no_area,
    removal_curve,
    trapezoid,
)
from pasta.metrics.settings import CurveParams, Filling
from pasta.readings import Reading
from pasta.sections import Count


class FlippingParams(CurveParams):
    """Pixel flipping, with the parameters of LATEC for ImageNet."""

    features: Count | None = 224  # entries, that is channels of pixels, in a step
    filling: Filling = "minimum"  # for point clouds the centre
    # *corrected* is the mean height of the whole curve; the others begin after the first step, and
    # a step has the width 1.
    reading: Reading = "corrected"


@metric(
    "latec_pixel_flipping",
    title="Pixel flipping (AUC)",
    category="faithfulness",
    direction="lower",
    span=(0, math.inf),
    sign="signed",
    needs=MODEL,
    doi="10.1371/journal.pone.0130140",
    settings=FlippingParams,
    probabilities=True,
    sized_cost=count_removals,
)
def latec_pixel_flipping(batch: Batch, settings: FlippingParams) -> Result:
    """The area under the target's probability while the most relevant features are removed."""
    curve = removal_curve(batch, settings)
    if settings.reading == "corrected":
        return Result(area(curve), curves=curve)
    removed = curve[:, 1:]
    return Result(trapezoid(removed), {FEW_STEPS: no_area(removed)}, removed)
