"""The engine: many methods on many images of one model, in batches, sharing what can be shared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.errors import PastaError
from pasta.explanations.attention import has_attention, no_attention
from pasta.explanations.base import (
    Given,
    Passes,
    Sizes,
    View,
    raw_maps,
    require_inputs,
    require_network,
    shared_pass,
)
from pasta.explanations.catalog import METHODS
from pasta.explanations.equivalences import warn_of_equivalences
from pasta.explanations.image import IMAGE
from pasta.explanations.layers import find_layer
from pasta.explanations.methods.grad_cam import (
    BOTH,
    Backend,
    compute_by_grad_cam,
    goes_through_grad_cam,
)
from pasta.explanations.modality import Modality
from pasta.explanations.settings import MethodsParams
from pasta.models.base import BlackBox, Classifier, ConceptModel

SHARED = "shared passes"


@dataclass(frozen=True)
class Part:
    """What one method says about one batch."""

    method: str
    start: int  # of the batch among all images
    # (batch, *spatial), or (batch, concepts); in LATEC's readings (batch, channels, *spatial)
    raw: NDArray[np.float32]


@dataclass
class Work:
    """Which images to explain, and how."""

    view: View
    images: Callable[[slice], Tensor]  # so that not all of them need to be in memory
    targets: Tensor
    settings: MethodsParams
    seed: int = 0
    batch_size: int = 16
    budget: int = 256
    backend: Backend = "shared pass"  # that computes CAM methods
    modality: Modality = IMAGE
    references: Tensor | None = None  # (m, channels, *spatial), inputs to compare with

    def __len__(self) -> int:
        return len(self.targets)


def view_of(model: Classifier) -> View:
    """One of this project's classifiers as explanation methods see it."""
    if isinstance(model, ConceptModel):
        return View(model, concepts=model)
    if not isinstance(model, BlackBox):
        raise PastaError(f"{type(model).__name__} is neither a black box nor a concept model")
    layer, reshape = find_layer(model)
    return View(model, layer, reshape, model.to_probabilities, place=model.place_attention)


def attributions(
    work: Work, methods: Sequence[str], seconds: dict[str, float] | None = None
) -> Iterator[Part]:
    """Explain batch by batch, where the model is; all methods of a batch share its forward and
    backward pass.

    ``seconds`` is filled with the time of each method; the shared passes have a line of their own.
    """
    spent = {} if seconds is None else seconds
    about = {name: METHODS.entry(name).metadata for name in methods}
    settings = dict(work.settings)
    for name in methods:
        require_network(name, work.view.network, work.modality)
        if about[name]["settings"] is not None:
            settings[name] = work.settings.section(name, about[name]["settings"])
    ours = [about[name] for name in methods if not goes_through_grad_cam(name, work.backend)]
    own = [one["own_pass"] for one in ours if one["own_pass"] is not None]
    shares = bool(own) or any(one["needs_layer"] for one in ours)
    device = compute.device_of(work.view.network)
    _check(work, methods, settings, device)
    references = None if work.references is None else work.references.to(device)
    for start in range(0, len(work), work.batch_size):
        part = slice(start, min(start + work.batch_size, len(work)))
        given = Given(
            work.view,
            work.images(part).to(device),
            work.targets[part].to(device),
            settings,
            work.seed,
            work.budget,
            own[0] if own else shared_pass,
            work.modality,
            references,
        )
        if shares:
            with _timed(spent, SHARED):
                _ = given.passed
        for name in methods:
            with _timed(spent, name):
                raw = compute.to_numpy(computed(given, name, work.backend).float())
            yield Part(name, start, raw)


def _check(
    work: Work, methods: Sequence[str], settings: Mapping[str, Any], device: torch.device
) -> None:
    """Errors and warnings, before any work."""
    about = {name: METHODS.entry(name).metadata for name in methods}
    first = work.images(slice(0, 1))
    for name in methods:
        require_inputs(name, work.view, work.references, first.shape[1:])
    needy = [name for name in methods if about[name]["needs_attention"]]
    if needy and not has_attention(work.view.network, first.to(device)):
        raise no_attention(work.view.network)
    warn_of_equivalences(work.view.network, methods, first.to(device), settings)


def computed(given: Given, name: str, backend: Backend = "shared pass") -> Tensor:
    """What a method says, on the device of the images: maps of their size, or concepts."""
    about = METHODS.entry(name).metadata
    if name in BOTH and goes_through_grad_cam(name, backend):
        found = compute_by_grad_cam(given, name)
    else:
        found = METHODS[name](given)
    if about["attribution"] != "image":
        return found
    return raw_maps(found, given.size, about["sign"], given.modality)


def count_passes(methods: Sequence[str], settings: MethodsParams, sizes: Sizes) -> Passes:
    """Count the passes of one image that these methods make together."""
    shared: set[Passes] = set()
    whole = Passes()
    for name in methods:
        about = METHODS.entry(name).metadata
        kind, looks = about["settings"], about["needs_layer"] or about["own_pass"] is not None
        own = Passes(forward=1, backward=1)
        if looks and not goes_through_grad_cam(name, "shared pass"):
            shared.add(own)
            own = Passes()
        elif about["attribution"] == "concepts":
            shared.add(Passes(forward=1))  # the scores of all concepts
            own = Passes()
        if about["passes"] is not None:
            section = (
                getattr(settings, name, None) if kind is None else settings.section(name, kind)
            )
            own = about["passes"](section, sizes)
        whole += own
    return sum(shared, whole)


@contextmanager
def _timed(spent: dict[str, float], name: str) -> Iterator[None]:
    """Add the time of a block to a table."""
    started = time.perf_counter()
    yield
    spent[name] = spent.get(name, 0.0) + time.perf_counter() - started


def predicted_classes(view: View, images: Tensor) -> Tensor:
    """The most probable class of each image."""
    with torch.no_grad():
        return view.logits(images).argmax(1)
