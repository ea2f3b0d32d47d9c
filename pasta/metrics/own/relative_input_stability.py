"""Relative input stability (Agarwal et al. 2022); :mod:`pasta.metrics.stability` has the rest."""

from __future__ import annotations

from pasta.metrics.base import EXPLAINER, Batch, Cost, Result
from pasta.metrics.copies import Request, count_explanations, give_status, measure_copies
from pasta.metrics.stability import StabilityParams, request_changes, stability_metric


def request_ratios(settings: StabilityParams) -> Request:
    """Which copies, and what is asked of them."""
    return request_changes(settings, per_input=True)


@stability_metric(
    "relative_input_stability",
    title="Relative input stability",
    needs=EXPLAINER,
    settings=StabilityParams,
    request=request_ratios,
    cost=lambda settings: Cost(explained=count_explanations(request_ratios(settings))),
)
def relative_input_stability(batch: Batch, settings: StabilityParams) -> Result:
    """The largest relative change of the map of a noisy copy, divided by the relative change of
    the input."""
    return give_status(batch, measure_copies(batch, request_ratios(settings)).amax(1))
