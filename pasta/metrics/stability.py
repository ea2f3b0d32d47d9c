"""What the three relative stabilities have in common.

Agarwal et al. 2022 (doi:10.48550/arXiv.2203.06877) relate the relative change of a map to that of
the input, of the model's outputs or of one of its layers. Relative is meant feature by feature,
(a - a') / a, which has no value where a is zero; maps that are cut at zero consist of zeros mostly.

- ``released``: zeros become 1e-6, so that one feature that is no longer zero decides. Maps are
  divided by their root mean square. Noise is uniform from 0.02 to 0.2 (0 to 0.05 for the
  representation), which makes all inputs brighter, and the first feature has none.
- ``paper``: the same with maps divided by their largest absolute value (Appendix F) and noise on
  all features. The text says nothing of zeros.
- ``corrected``: features below a hundredth (``floor``) of the largest count as large as that, in
  maps, inputs and representations, so that values are finite and depend on no unit. Noise has both
  signs and is, for inputs and outputs, that of MaxSensitivity: copies are explained once for all.
  A copy that leaves the outputs or the representation as they are says nothing and is left out.

In the released code the maps of the copies are normalised over a chunk of two images. A value here
never depends on other images.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field
from torch import Tensor

from pasta.metrics.base import Batch, Result, metric
from pasta.metrics.copies import (
    CopyNoise,
    MapChange,
    Noise,
    Request,
    divide_by_change,
    give_status,
    measure_copies,
)
from pasta.metrics.forward import precise
from pasta.readings import Reading
from pasta.sections import Count, NotNegative, Positive, Section

stability_metric = partial(
    metric,
    category="robustness",
    direction="lower",
    span=(0, float("inf")),
    sign="signed",
    doi="10.48550/arXiv.2203.06877",
    refuses=("nan",),
)


class StabilityParams(Section):
    """A relative stability."""

    reading: Reading = "corrected"
    samples: Count = 10  # noisy copies of an image
    noise: CopyNoise = "own"
    uniform: Positive = 0.2  # largest number that is added
    lowest: NotNegative = 0.02  # smallest one, where noise has one sign only
    # of the largest value of a map or input: what is below counts as large as this
    floor: Annotated[float, Field(gt=0, le=1)] = 0.01
    shared: Positive = 0.2  # the shared noise is uniform from minus this to this


def request_changes(settings: StabilityParams, per_input: bool = False) -> Request:
    """Which copies, and what is asked of them."""
    spare = settings.reading == "released"
    if settings.noise == "shared":
        noise = Noise("uniform", settings.shared, spare_first=spare)
    else:
        lowest = None if settings.reading == "corrected" else settings.lowest
        noise = Noise("uniform", settings.uniform, lowest, spare)
    measure = MapChange(settings.reading, settings.floor, per_input)
    return Request(noise, settings.samples, measure)


def relate_changes(batch: Batch, settings: StabilityParams, changes: Tensor, still: str) -> Result:
    """Relate the changes of the maps to others.

    Parameters
    ----------
    batch
        Maps and the explainer.
    settings
        Of the metric.
    changes
        Of what the maps are related to, (n, samples); zero where there is none.
    still
        The status where no copy changes anything.

    Returns
    -------
    The largest ratio of each map.
    """
    numbers = measure_copies(batch, request_changes(settings))
    values = divide_by_change(numbers, precise(changes), settings.reading)
    found = give_status(batch, values, numbers)
    return Result(found.values, {**found.why, still: (changes == 0).all(1)})
