"""The study of one dataset: maps of all methods on all classifiers, then every metric of each.

Both are cut into units that run anywhere and are kept when a run is killed. A reading other than
the main one, on fewer images, and the explanations that people have rated come after it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute, store, tables
from pasta.benchmark.catalog import LatecMetric, choose_metrics
from pasta.benchmark.facts import describe_maps, describe_models
from pasta.benchmark.material import (
    BenchmarkSource,
    Observed,
    Rated,
    RatedSource,
    apply_settings,
    choose_observations,
    find_homes,
    prepare,
)
from pasta.benchmark.tables import (
    BENCHMARK_FACTS,
    BENCHMARK_VALUES,
    FACTS,
    MAPS,
    RATED,
    STAGE,
    VALUES,
)
from pasta.compute import map_units
from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.datasets.vocabulary import vocabulary
from pasta.errors import PastaError
from pasta.explanations.attribution import statuses
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions
from pasta.explanations.suite import share_passes
from pasta.layout import Group
from pasta.metrics.runner import NOT_MEASURED, measure_material
from pasta.models.catalog import models_of
from pasta.progress import bar, tell
from pasta.readings import Reading
from pasta.registry import did_you_mean
from pasta.resume import Arrays, KeptUnits


@dataclass(frozen=True)
class ExplainUnit:
    """Methods that share their passes, or a long one, on all images of the benchmark."""

    source: BenchmarkSource
    model: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """What was found on one dataset.

    Attributes
    ----------
    values
        Every value of every cell, as ``BENCHMARK_VALUES`` has them.
    facts
        What is known of classifiers and maps, as ``BENCHMARK_FACTS`` has it.
    rated
        Values of explanations that people have rated, as ``METRIC_VALUES`` has them.
    seconds
        Of each technique and metric; they differ from run to run and are not written.
    """

    values: pd.DataFrame
    facts: pd.DataFrame
    rated: pd.DataFrame
    seconds: pd.DataFrame


def benchmark_dataset(
    dataset: str,
    params: Params,
    root: Path,
    data: Path,
    out: Path,
    kept: KeptUnits | None = None,
    own: Sequence[str] = (),
) -> Study:
    """Run the study on one dataset and write its tables and maps.

    Parameters
    ----------
    dataset
        One of ``benchmark.datasets``.
    params
        The parameters of the project.
    root
        The folder of the project.
    data
        Where the stages' data are.
    out
        The folder to write to.
    kept
        Units that an earlier attempt has finished.
    own
        Methods of a user beside the others, as ``module:function``.
    """
    study = params.benchmark
    if dataset not in params.datasets:
        hint = did_you_mean(dataset, list(params.datasets))
        raise PastaError(f"there is no dataset called {dataset!r}. {hint}")
    key = "by hand" if kept is None else kept.folder.name
    tell_missing(dataset, params, data)
    values, facts, spent = [], [], []
    for reading, number in list_readings(dataset, params):
        changed = apply_settings(params, vocabulary(dataset), reading)
        source = BenchmarkSource(
            key, root, changed, dataset, data, out / MAPS / reading, reading, number, tuple(own)
        )
        observed = Observed(source)
        title = f"{dataset}, {reading}"
        known = explain_all(source, observed, kept, title)
        table = measure_material(source, observed, f"metrics of {title}", kept)
        values.append(tabulate_values(table, observed, reading))
        spent.append(_sum_seconds(table).assign(reading=reading))
        facts += describe_models(observed, reading) + describe_maps(observed, known, reading)
        if reading != study.reading:
            shutil.rmtree(source.maps, ignore_errors=True)
    found = Study(
        pd.concat(values, ignore_index=True),
        BENCHMARK_FACTS.frame(facts),
        measure_rated(dataset, params, root, data, key, kept),
        pd.concat(spent, ignore_index=True),
    )
    store.write(found.values, out / VALUES, BENCHMARK_VALUES)
    store.write(found.facts, out / FACTS, BENCHMARK_FACTS)
    store.write(found.rated, out / RATED, tables.METRIC_VALUES)
    return found


def tell_missing(dataset: str, params: Params, data: Path) -> None:
    """Say which classifiers of the study the dataset does not have."""
    homes = find_homes(dataset, params, data)
    ours = models_of(vocabulary(dataset).modality)
    missing = [name for name in params.benchmark.models if name in ours and name not in homes]
    if missing:
        tell(f"{dataset} has no trained {', '.join(missing)}: left out of the benchmark")


def list_readings(dataset: str, params: Params) -> Iterator[tuple[Reading, int]]:
    """The main reading on all images, and others on some."""
    study = params.benchmark
    yield study.reading, study.observations
    if dataset in study.compared.datasets:
        for reading in study.compared.readings:
            if reading != study.reading and study.compared.observations:
                yield reading, min(study.compared.observations, study.observations)


# Maps


def explain_all(
    source: BenchmarkSource, observed: Observed, kept: KeptUnits | None, title: str
) -> dict[tuple[str, str], dict[str, Any]]:
    """Write the maps of all techniques.

    Returns
    -------
    What is known of the maps of each method on each classifier before they were prepared.
    """
    shutil.rmtree(source.maps, ignore_errors=True)
    units = [
        ExplainUnit(source, model, methods)
        for model in observed.homes
        for methods in share_passes(
            [one.method for one in observed.techniques if one.backbone == model]
        )
    ]
    units.sort(key=lambda unit: _is_quick(unit.methods[0]))  # what takes longest comes first
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with bar(f"maps of {title}", len(units), "units") as line:
        for place, arrays in map_units(explain_unit, units, kept):
            unit = units[place]
            for method in unit.methods:
                store.write_array(arrays[f"maps.{method}"], observed.file(method, unit.model))
                found[unit.model, method] = {
                    "statuses": arrays[f"statuses.{method}"].tolist(),
                    "sums": arrays[f"sums.{method}"],
                    "logits": arrays["logits"],
                    "baseline": arrays["baseline"],
                }
            line.advance(words=f"{unit.model} {', '.join(unit.methods)}")
    return found


def _is_quick(method: str) -> bool:
    return bool(METHODS.entry(method).metadata["functioning"] != "perturbation")


def explain_unit(unit: ExplainUnit) -> Arrays:
    """Explain all images by some methods.

    Parameters
    ----------
    unit
        A classifier and methods.

    Returns
    -------
    Prepared maps of each method, what was the matter with each before, its sum, and the logit of
    the explained class for the image and for a black one.
    """
    observed = unit.source.open()
    view = observed.view(unit.model)
    if view is None:
        raise PastaError(f"{observed.home(unit.model)}: there is no trained classifier here")
    targets = torch.from_numpy(observed.targets(unit.model))
    settings = observed.params.explanations
    work = Work(
        view,
        observed.inputs,
        targets,
        settings.methods,
        observed.params.seeds.explaining,
        settings.batch_size,
        settings.budget,
        modality=observed.modality,
        references=observed.references,
    )
    raw: dict[str, list[NDArray[np.float32]]] = {name: [] for name in unit.methods}
    for part in attributions(work, unit.methods):
        raw[part.method].append(part.raw)
    found: Arrays = dict(_find_logits(view.target_logits, observed, targets))
    for method, parts in raw.items():
        whole = np.concatenate(parts)
        found[f"maps.{method}"] = prepare(whole)
        found[f"statuses.{method}"] = np.array(statuses(prepare(whole)))
        found[f"sums.{method}"] = whole.reshape(len(whole), -1).sum(1, dtype=np.float64)
    return found


def _find_logits(
    ask: Callable[[Tensor, Tensor], Tensor], observed: Observed, targets: Tensor
) -> Iterator[tuple[str, NDArray[Any]]]:
    """The logit of the explained class, for each image and for a black one."""
    inputs = compute.place(observed.inputs())
    with torch.no_grad():
        for name, images in (("logits", inputs), ("baseline", torch.zeros_like(inputs))):
            chosen = torch.split(targets.to(images.device), 16)
            parts = zip(torch.split(images, 16), chosen, strict=True)
            yield name, np.concatenate([compute.to_numpy(ask(*part)) for part in parts])


# Tables


def tabulate_values(table: pd.DataFrame, observed: Observed, reading: Reading) -> pd.DataFrame:
    """What the runner of metrics gives, as cells of the benchmark."""
    metrics = {one.key: one for one in choose_metrics()}
    keys = table["sample_id"].astype(str).str.split("/", expand=True)
    rows = pd.DataFrame(
        {
            "dataset": observed.source.dataset,
            "model": keys[3] if len(table) else "",
            "method": keys[2] if len(table) else "",
            "metric": table["metric"],
            "criterion": [_criterion(metrics, name) for name in table["metric"]],
            "image_id": keys[1] if len(table) else "",
            "value": table["value"],
            "direction": table["direction"],
            "status": table["status"],
            "reading": reading,
        }
    )
    records: Any = rows.to_dict("records")
    return BENCHMARK_VALUES.frame(records)


def _criterion(metrics: Mapping[str, LatecMetric], name: str) -> str:
    return metrics[name].criterion


def _sum_seconds(table: pd.DataFrame) -> pd.DataFrame:
    return table.groupby(["technique", "metric"], sort=False)["seconds"].sum().reset_index()


def measure_rated(
    dataset: str, params: Params, root: Path, data: Path, key: str, kept: KeptUnits | None
) -> pd.DataFrame:
    """Measure what people have rated by the same metrics: explanations of the stage `explain`.

    Noisy copies are explained with the settings of the explanations that were rated.
    """
    known = open_dataset(data / "images" / dataset)
    rows = choose_observations(known, params, params.benchmark.rated)
    images = tuple(known.images["image_id"].astype(str).iloc[rows])
    changed = apply_settings(params, known.vocabulary, params.benchmark.reading)
    again = {*params.metrics.not_again, *changed.metrics.not_again}
    metrics = changed.metrics.model_copy(update={"not_again": tuple(sorted(again))})
    own = params.model_copy(update={"metrics": metrics})
    parts = []
    for name, of in params.groups.items():
        group = Group(name, of, data)
        if (
            of != dataset
            or not images
            or not (group.explanations / "explanations.parquet").exists()
        ):
            continue
        source = RatedSource(key, root, own, group, images)
        parts.append(measure_material(source, Rated(source), f"rated maps of {name}", kept))
    if not parts:
        return tables.METRIC_VALUES.frame([])
    table = pd.concat(parts, ignore_index=True)
    image = table["sample_id"].astype(str).str.split("/", expand=True)[1]
    records: Any = table[image.isin(images)].to_dict("records")
    return tables.METRIC_VALUES.frame(records)


__all__ = ["NOT_MEASURED", "STAGE", "Study", "benchmark_dataset", "explain_all", "explain_unit"]
