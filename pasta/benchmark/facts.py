"""What is known of classifiers and of maps beside the metrics: accuracy, failures, conservation,
and methods that say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pasta import store
from pasta.benchmark.material import Observed

Fact = dict[str, Any]
# Methods that say the same on some networks: a back-propagation whose rule never applies.
PAIRS = (("guided_backprop", "saliency"), ("deeplift", "input_x_gradient"))
SAME = 1e-3  # of the largest value: maps that differ by less are the same
# What a sum of relevance should be: the logit, or its difference to that of a black image.
CONSERVING = {"lrp": "logit", "integrated_gradients": "difference", "deeplift": "difference"}


def describe_models(observed: Observed, reading: str) -> list[Fact]:
    """Accuracy and macro-F1 of each classifier on all test images."""
    rows = []
    for model, home in observed.homes.items():
        file = home.parent / "accuracy.json"
        known = store.read_json(file).get(model, {}) if file.is_file() else {}
        for name in ("accuracy", "macro_f1"):
            value = known.get(name, {}).get("estimate", np.nan)
            rows.append(_fact(observed, model, "", name, value, reading))
    return rows


def describe_maps(
    observed: Observed, known: Mapping[tuple[str, str], Mapping[str, Any]], reading: str
) -> list[Fact]:
    """How many maps are of no use, what relevance adds up to, and which methods say the same."""
    rows = []
    for model, method in sorted(known):  # in no order of workers
        own = known[model, method]
        bad = [status for status in own["statuses"] if status != "ok"]
        note = ", ".join(f"{bad.count(word)} {word}" for word in sorted(set(bad)))
        rows.append(_fact(observed, model, method, "failed", len(bad), reading, note))
        rows.append(_fact(observed, model, method, "maps", len(own["statuses"]), reading))
        if method in CONSERVING and reading == "corrected":  # the others cut off negative parts
            wanted = own["logits"]
            if CONSERVING[method] == "difference":
                wanted = wanted - own["baseline"]
            shares = own["sums"] / np.where(np.abs(wanted) > 1e-6, wanted, np.nan)
            value = float(np.nanmedian(shares)) if np.isfinite(shares).any() else np.nan
            note = f"sum of relevance / {CONSERVING[method]}"
            rows.append(_fact(observed, model, method, "conserved", value, reading, note))
    for model in observed.homes:
        for method, other in PAIRS:
            if (model, method) in known and (model, other) in known:
                value = _difference(observed, model, method, other)
                rows.append(_fact(observed, model, method, "differs", value, reading, other))
    return rows


def _difference(observed: Observed, model: str, method: str, other: str) -> float:
    """The largest difference of prepared maps, as a share of their largest value, which is 1."""
    one, two = (store.read_array(observed.file(name, model)) for name in (method, other))
    if one.shape != two.shape:
        return float("nan")
    return float(np.nanmax(np.abs(np.asarray(one) - np.asarray(two)), initial=0.0))


def _fact(
    observed: Observed,
    model: str,
    method: str,
    quantity: str,
    value: float,
    reading: str,
    note: str = "",
) -> Fact:
    return {
        "dataset": observed.source.dataset,
        "model": model,
        "method": method,
        "quantity": quantity,
        "value": float(value),
        "note": note,
        "reading": reading,
    }
