"""What a stored value of a metric depends on, as one number: the same means nothing to do."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from pasta.explanations.fingerprints import (
    ROOT,
    code_behind,
    imported,
    module_file,
    technique_fingerprint,
)
from pasta.metrics import forward, inputs, measuring, sharing, subjects
from pasta.metrics.base import METRICS
from pasta.metrics.sharing import Backbone
from pasta.metrics.subjects import Subject
from pasta.models.fingerprint import fingerprint
from pasta.params.base import Section
from pasta.params.explanations import ExplanationParams

_PACKAGE = "pasta.metrics"
# How metrics are given what they look at. What these files import is not followed: `measuring`
# knows all metrics, and a change of one must not concern the others.
_COMMON = tuple(Path(one.__file__ or "") for one in (forward, inputs, measuring, sharing, subjects))


def metric_fingerprint(
    name: str,
    settings: Section | None,
    subject: Subject,
    backbone: Backbone,
    explanations: ExplanationParams,
    seed: int,
    skipped: bool,
) -> str:
    """Of one metric and variant: settings, code, and only those inputs that the metric needs."""
    given = {
        "maps": lambda: subject.maps.digest,
        "images": lambda: subject.pixels.digest,
        "targets": lambda: subject.targets.digest,
        "masks": lambda: subject.masks.digest,
        "model": lambda: backbone.weights,
        "explainer": lambda: _explainer(
            subject.technique.method,
            backbone.weights,
            getattr(explanations.methods, subject.technique.method, None),
            seed,
        ),
    }
    needs = METRICS.entry(name).metadata["needs"]
    return fingerprint(
        {
            "metric": name,
            "settings": None if settings is None else settings.model_dump(mode="json"),
            "seed": seed,
            "samples": subject.samples,
            "skipped": skipped,
            "inputs": {need: given[need]() for need in needs},
            "code": code_of(name),
        }
    )


@cache
def _explainer(method: str, weights: str, settings: Section | None, seed: int) -> str:
    common: dict[str, Any] = {"weights": weights, "seed": seed}
    return technique_fingerprint(method, common, settings)


@cache
def code_of(name: str) -> str:
    """The sha256 of a metric's module and of all that it imports from the project's packages for
    metrics and explanations."""
    files = reached(module_file(METRICS[name]))
    digest = hashlib.sha256(code_behind(*files).encode())
    for file in _COMMON:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def reached(file: Path) -> set[Path]:
    """A module of this package and those it imports from here, directly or not."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += _imports(one)
    return found


def _imports(file: Path) -> list[Path]:
    ours = [name for name in imported(file.read_text()) if name.startswith(_PACKAGE)]
    places = [ROOT / f"{name.replace('.', '/')}.py" for name in ours]
    return [place for place in places if place.is_file()]
