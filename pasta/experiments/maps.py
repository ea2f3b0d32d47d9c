"""The explanations of the conditions, and their faithfulness."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from captum.attr import IntegratedGradients
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute
from pasta.errors import PastaError
from pasta.experiments.control import bottom_up
from pasta.explanations.api import explain
from pasta.explanations.attribution import shown_maps, statuses
from pasta.explanations.catalog import METHODS
from pasta.explanations.image import IMAGE
from pasta.explanations.settings import MethodsParams, OcclusionParams, SmoothGradParams
from pasta.metrics.base import Batch, Result
from pasta.metrics.forward import scorer_of
from pasta.metrics.own.faithfulness import deletion, insertion
from pasta.metrics.own.map_metrics import entropy, sparseness
from pasta.metrics.settings import AreaParams
from pasta.models.base import BlackBox
from pasta.models.data import as_tensor
from pasta.registry import did_you_mean
from pasta.studies.prediction.settings import BASELINE, CONTROL, PRINTED, MapParams

Maps = NDArray[np.float32]
Bytes = NDArray[np.uint8]
_CHUNK = 16
METRIC_NAMES = ("faithfulness", "insertion", "sparseness", "entropy")


def explain_condition_names(conditions: Sequence[str]) -> list[str]:
    """List the maps to make: of conditions that show one, and Gradient x Input as printed."""
    names = [name for name in conditions if name != BASELINE]
    if "input_x_gradient" in names:
        names.append(PRINTED)
    for name in names:
        if name not in (CONTROL, PRINTED) and name not in METHODS:
            raise PastaError(f"there is no method {name!r}. {did_you_mean(name, list(METHODS))}")
    return names


def explain_images(
    model: BlackBox,
    pixels: Bytes,
    targets: NDArray[np.int64],
    conditions: Sequence[str],
    settings: MapParams,
    seed: int,
) -> dict[str, Maps]:
    """What each condition shows of each image, for the class that the model predicts.

    Parameters
    ----------
    model
        The classifier, where it computes.
    pixels, targets
        Images (n, size, size, 3) and the classes to explain.
    conditions
        Names of conditions; ``baseline`` shows nothing, ``control`` looks at the image alone, the
        others are methods of :mod:`pasta.explanations`.
    settings, seed
        Of the methods.

    Returns
    -------
    dict
        Maps (n, size, size) by condition, 0 to 1, or -1 to 1 where a method has a sign.
    """
    names = explain_condition_names(conditions)
    images = as_tensor(np.asarray(pixels))
    classes = torch.as_tensor(targets)
    own = {
        CONTROL: lambda: bottom_up(pixels),
        "integrated_gradients": lambda: _in_parts(
            images, classes, lambda one, to: _trapezoid(model, one, to, settings)
        ),
        PRINTED: lambda: _in_parts(images, classes, lambda one, to: _by_norm(model, one, to)),
    }
    theirs = [name for name in names if name not in own]
    methods = MethodsParams(
        smoothgrad=SmoothGradParams(
            samples=settings.samples,
            noise=settings.noise,
            samples_at_once=min(settings.samples, 20),
        ),
        occlusion=OcclusionParams(window=settings.patch, stride=1.0),
    )
    found = (
        explain(
            model,
            images,
            classes,
            theirs,
            settings=methods,
            seed=seed,
            budget=settings.budget,
        )
        if theirs
        else {}
    )
    return {name: own[name]() if name in own else found[name] for name in names}


def _in_parts(
    images: Tensor, targets: Tensor, compute_maps: Callable[[Tensor, Tensor], Tensor]
) -> Maps:
    """Signed maps as people see them, a few images at a time."""
    parts = [
        compute.to_numpy(
            compute_maps(images[start : start + _CHUNK], targets[start : start + _CHUNK])
        )
        for start in range(0, len(images), _CHUNK)
    ]
    return shown_maps(np.concatenate(parts), "signed")


def _trapezoid(model: BlackBox, images: Tensor, targets: Tensor, settings: MapParams) -> Tensor:
    """Integrated Gradients from zero by the trapezoid, summed over channels."""
    where = compute.device_of(model)
    found: Tensor = IntegratedGradients(model).attribute(
        images.to(where),
        0.0,
        targets.to(where),
        n_steps=settings.steps,
        method="riemann_trapezoid",
        internal_batch_size=max(settings.budget, len(images)),
    )
    return found.sum(1).detach().float()


def _by_norm(model: BlackBox, images: Tensor, targets: Tensor) -> Tensor:
    """The image times the norm of its gradient over the channels, as printed."""
    where = compute.device_of(model)
    inputs = images.to(where).requires_grad_()
    scores = model(inputs).gather(1, targets.to(where)[:, None]).sum()
    (gradients,) = torch.autograd.grad(scores, inputs)
    norm = gradients.norm(dim=1, keepdim=True)
    found: Tensor = (inputs.detach() * norm).sum(1).float()
    return found


def measure_maps(
    model: BlackBox,
    pixels: Bytes,
    targets: NDArray[np.int64],
    maps: dict[str, Maps],
    settings: MapParams,
    seed: int,
) -> pd.DataFrame:
    """Computational metrics of the maps of each condition, the control among them.

    Returns
    -------
    DataFrame
        condition, number (of the image), metric (``faithfulness``: 1 - Deletion, ``insertion``,
        ``sparseness``, ``entropy``), value, status.
    """
    where = compute.device_of(model)
    images, classes = as_tensor(np.asarray(pixels)).to(where), torch.as_tensor(targets).to(where)
    scorer = scorer_of(model, images, None, probabilities=True)
    steps = AreaParams(steps=settings.deletion_steps)
    blurred = AreaParams(steps=settings.deletion_steps, filling="blur")
    rows = []
    for condition, shown in maps.items():
        known = np.asarray(statuses(shown))
        usable = np.flatnonzero(known == "ok")
        values = {name: np.full(len(shown), np.nan) for name in METRIC_NAMES}
        for start in range(0, len(usable), _CHUNK):
            part = usable[start : start + _CHUNK]
            batch = Batch(
                torch.as_tensor(shown[part]).to(where),
                seed,
                settings.budget,
                images[part],
                classes[part],
                scorer=scorer,
                modality=IMAGE,
            )
            size = Batch(batch.maps.abs())
            results: dict[str, Result] = {
                "faithfulness": deletion(batch, steps),
                "insertion": insertion(batch, blurred),
                "sparseness": sparseness(size, None),
                "entropy": entropy(size, None),
            }
            for name, result in results.items():
                values[name][part] = compute.to_numpy(result.values)
        values["faithfulness"] = 1 - values["faithfulness"]
        for name, column in values.items():
            frame = pd.DataFrame({"number": np.arange(len(shown)), "value": column})
            rows.append(frame.assign(condition=condition, metric=name, status=known))
    return pd.concat(rows, ignore_index=True)
