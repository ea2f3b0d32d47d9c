"""A user's own method on the project's datasets, and a user's own model, in one call."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pasta import compute, store
from pasta.benchmark.applied import method_settings, metric_settings
from pasta.benchmark.catalog import choose_methods, choose_metrics
from pasta.benchmark.material import (
    BenchmarkSource,
    Observed,
    apply_settings,
    prepare,
)
from pasta.benchmark.own_method import register_own
from pasta.benchmark.runner import explain_all, tabulate_values
from pasta.benchmark.tables import BENCHMARK_VALUES, STAGE, VALUES
from pasta.config import Params
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError
from pasta.explanations.attention import has_attention
from pasta.explanations.base import View
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions, predicted_classes
from pasta.explanations.hooks import evaluating
from pasta.explanations.image import IMAGE
from pasta.explanations.layers import find_layer
from pasta.explanations.modality import Modality
from pasta.explanations.suite import share_passes
from pasta.metrics.api import Inputs, Measured, measure
from pasta.metrics.runner import Again, list_wanted, measure_material
from pasta.progress import tell

YOURS = "yours"


def rank_own(
    dataset: str, own: Sequence[str], params: Params, root: Path, data: Path
) -> pd.DataFrame:
    """Measure methods of a user on a dataset, beside what the stage has left of the others.

    Parameters
    ----------
    dataset
        One that the stage ``benchmark`` has run for.
    own
        ``module:function`` of each method.
    params
        The parameters of the project.
    root, data
        The folder of the project, and of the stages' data.

    Returns
    -------
    Values of all methods in the main reading, as ``BENCHMARK_VALUES``.
    """
    file = data / STAGE / dataset / VALUES
    reading = params.benchmark.reading
    known = store.read(file, BENCHMARK_VALUES)
    known = known[known["reading"] == reading]
    changed = apply_settings(params, vocabulary(dataset), reading)
    with tempfile.TemporaryDirectory(prefix="pasta-benchmark-") as name:
        source = BenchmarkSource(
            "by hand",
            *(root, changed, dataset, data, Path(name), reading),
            params.benchmark.observations,
            tuple(own),
            only_own=True,
        )
        observed = Observed(source)
        if set(known["image_id"]) != set(observed.images):
            raise PastaError(
                f"{file}: was made of other images than the parameters choose now; "
                f"`dvc repro {STAGE}@{dataset}` makes it anew"
            )
        explain_all(source, observed, None, f"{dataset}, yours")
        table = measure_material(source, observed, f"metrics of {dataset}, yours")
        values = tabulate_values(table, observed, reading)
    return pd.concat([known, values], ignore_index=True)


@dataclass(frozen=True)
class Choice:
    """What is asked of a user's own model; empty names stand for all."""

    methods: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    seed: int = 0


def benchmark_model(
    model: nn.Module,
    images: Tensor,
    params: Params,
    *,
    targets: Tensor | None = None,
    references: Tensor | None = None,
    choice: Choice | None = None,
    modality: Modality = IMAGE,
) -> pd.DataFrame:
    """Explain and measure any torch classifier by the methods and metrics of the benchmark.

    Parameters
    ----------
    model
        Images (n, channels, *spatial) to logits.
    images
        As the model wants them.
    params
        The parameters of the project: sizes, reading, batch size.
    targets
        The class to explain for each image; None explains the predicted ones.
    references
        Images that some methods start from; None takes these images.
    choice
        Which methods and metrics.
    modality
        What the inputs are.

    Returns
    -------
    Values as ``BENCHMARK_VALUES``; a method that cannot explain the model is told and left out.
    """
    chosen, study = choice or Choice(), params.benchmark
    metrics = metric_settings(
        modality.name,
        YOURS,
        study.sizes,
        study.reading,
        names=tuple(one.key for one in choose_metrics(chosen.metrics)),
        noises=("uniform",),
    )
    explanations = params.explanations.model_copy(
        update={
            "methods": method_settings(modality.name, study.sizes, study.reading),
            "batch_size": study.batch_size,
            "budget": study.budget,
        }
    )
    changed = params.model_copy(update={"explanations": explanations, "metrics": metrics})
    with torch.inference_mode(False), evaluating(model):
        pictures = images.to(compute.device_of(model))
        view = _view(model, pictures)
        classes = predicted_classes(view, pictures).cpu() if targets is None else targets
        others = pictures[: study.references] if references is None else references
        keys = [one.key for one in choose_methods(chosen.methods)]
        work = Work(
            view,
            lambda part: pictures[part],
            classes,
            explanations.methods,
            chosen.seed,
            study.batch_size,
            study.budget,
            modality=modality,
            references=others,
        )
        maps = _explain(work, [*keys, *map(register_own, chosen.own)])
        tables = []
        for method, found in maps.items():
            again = Again(view, (method,), changed, modality, prepare, others)
            inputs = Inputs(
                *(found, pictures, classes, None, model, again.explainer(method), {}), modality
            )
            wanted = list_wanted(metrics)
            for one in measure(wanted, inputs, seed=chosen.seed, softmax=True, base=metrics):
                tables.append(_rows(method, one, type(model).__name__, study.reading))
    if not tables:
        raise PastaError("no method could explain this model")
    records: Any = pd.concat(tables, ignore_index=True).to_dict("records")
    return BENCHMARK_VALUES.frame(records)


def _view(model: nn.Module, images: Tensor) -> View:
    try:
        layer, reshape = find_layer(model, images.shape[1])
    except PastaError as error:
        tell(f"no layer for CAM methods: {error}")
        return View(model)
    return View(model, layer, reshape)


def _explain(work: Work, methods: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Prepared maps by method; those that cannot explain the model are told."""
    network = work.view.network
    attention = has_attention(network, work.images(slice(0, 1)))
    found: dict[str, list[NDArray[np.float32]]] = {}
    for some in share_passes([*methods]):
        able = []
        for name in some:
            about = METHODS.entry(name).metadata
            if about["needs_attention"] and not attention:
                tell(f"{about['title']} explains transformers only: left out")
            elif about["needs_layer"] and work.view.layer is None:
                tell(f"{about['title']} looks at a layer that was not found: left out")
            else:
                able.append(name)
        for part in attributions(replace(work), able) if able else ():
            found.setdefault(part.method, []).append(prepare(part.raw))
    return {name: np.concatenate(found[name]) for name in methods if name in found}


def _rows(method: str, found: Measured, model: str, reading: str) -> pd.DataFrame:
    criteria = {one.key: one.criterion for one in choose_metrics()}
    return pd.DataFrame(
        {
            "dataset": YOURS,
            "model": model,
            "method": method,
            "metric": found.name,
            "criterion": criteria[found.name],
            "image_id": [str(number) for number in range(len(found.statuses))],
            "value": found.values,  # noqa: PD011 (an array)
            "direction": found.direction,
            "status": found.statuses,
            "reading": reading,
        }
    )
