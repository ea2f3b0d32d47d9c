"""All techniques of one group, in units that any process can compute."""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from pasta import compute, store
from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.explanations.attribution import of_places, scaled, statuses
from pasta.explanations.base import View
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions, view_of
from pasta.explanations.modality import MODALITIES
from pasta.explanations.samples import chosen, search_copies, tell_too_few_test_images
from pasta.explanations.stored import Copies, copies_file, write_tables, write_values
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.models import checkpoint
from pasta.resume import KeptUnits

Arrays = dict[str, NDArray[Any]]
Say = Callable[..., None]  # technique, a few words and, if known, how much is done of how much
ROWS = 240  # images of one unit: more would be too much to send, or to compute again after a kill
SEARCH = "perturbed copies"


@dataclass(frozen=True)
class Backbone:
    """One classifier of a group, and how it is explained. Its perturbed copies are one unit."""

    group: Group
    name: str
    params: Params
    root: Path  # of the project

    def view(self) -> View:
        """The classifier, on the device of this process."""
        folder = self.group.models / self.name
        model, _ = checkpoint.load(folder, self.params, self.root, {})
        compute.place(model)
        return view_of(model)


@dataclass(frozen=True)
class Part:
    """Methods that share their passes, or a long one, on some rows: one unit."""

    backbone: Backbone
    methods: tuple[str, ...]
    start: int  # the first row, among originals, light and strong copies
    predicted: tuple[int, ...]  # the class to explain for each row


def explain_group(
    group: Group,
    params: Params,
    techniques: Sequence[Technique],
    root: Path,
    say: Say,
    kept: KeptUnits | None = None,
) -> pd.DataFrame:
    """Explain a group's samples by all techniques that its backbones have.

    Everything goes to ``group.explanations``, which is made anew; ``kept`` are units that an
    earlier attempt has finished. Returns the seconds of each piece of work, longest first.
    """
    folder, dataset = group.explanations, open_dataset(group.images)
    names = checkpoint.trained_models(group.models)
    ours = [one for one in techniques if one.backbone in names]
    backbones = [
        Backbone(group, name, params, root)
        for name in names
        if any(one.backbone == name for one in ours)
    ]
    shutil.rmtree(folder, ignore_errors=True)
    spent: dict[tuple[str, str], float] = defaultdict(float)
    copies: dict[str, Copies] = {}
    ids, _ = chosen(dataset, params)
    tell_too_few_test_images(dataset, params)
    for place, found in compute.map_units(search, backbones, kept):
        name = backbones[place].name
        store.write_array(found.pop("pixels"), copies_file(folder, name))
        spent[name, SEARCH] += float(found.pop("seconds"))
        copies[name] = Copies(ids, dataset.vocabulary.classes, **found)
    units = [unit for one in backbones for unit in _parts(one, ours, copies[one.name])]
    units.sort(key=lambda unit: not _is_long(unit.methods[0]))  # what takes longest comes first
    waiting: dict[tuple[str, str], dict[int, Arrays]] = defaultdict(dict)
    by_name = {(one.method, one.backbone): one for one in ours}
    done: dict[Technique, tuple[NDArray[Any], NDArray[np.float64]]] = {}
    for place, found in compute.map_units(explain, units, kept):
        unit, name = units[place], units[place].backbone.name
        for work, seconds in zip(found["work"].tolist(), found["seconds"].tolist(), strict=True):
            spent[name, work] += seconds
        for method in unit.methods:
            parts = waiting[method, name]
            parts[unit.start] = {key: found[f"{key}.{method}"] for key in _KEYS}
            if sum(len(part["statuses"]) for part in parts.values()) < 3 * len(ids):
                continue
            ordered = [parts[start] for start in sorted(parts)]
            values, *known = (np.concatenate([part[key] for part in ordered]) for key in _KEYS)
            technique = by_name[method, name]
            write_values(folder, technique, values, dataset.vocabulary.concepts)
            done[technique] = (known[0], known[1])
            del waiting[method, name]
            say(technique.key, f"{spent[name, method]:.2f} s", len(values), len(values))
    every = {one: done[one] for name in names for one in ours if one.backbone == name}
    write_tables(folder, dataset.images, group.dataset, copies, every)
    rows = [(name, work, round(seconds, 3)) for (name, work), seconds in spent.items()]
    frame = pd.DataFrame(rows, columns=["backbone", "work", "seconds"])
    return frame.sort_values("seconds", ascending=False, ignore_index=True)


_KEYS = ("values", "statuses", "scales")


def search(backbone: Backbone) -> Arrays:
    """Unit: the perturbed copies of a backbone."""
    started = time.perf_counter()
    found = search_copies(backbone.view(), open_dataset(backbone.group.images), backbone.params)
    return {**found, "seconds": np.array(time.perf_counter() - started)}


def explain(unit: Part) -> Arrays:
    """Unit: what some methods say about some rows."""
    backbone, group = unit.backbone, unit.backbone.group
    params, settings = backbone.params, backbone.params.explanations
    dataset = open_dataset(group.images)
    _, originals = chosen(dataset, params)
    modality = MODALITIES[dataset.vocabulary.modality]
    copies = store.read_array(copies_file(group.explanations, backbone.name))
    pixels = np.concatenate([originals, copies])[unit.start : unit.start + len(unit.predicted)]
    work = Work(
        backbone.view(),
        lambda part: modality.load(pixels[part]),
        torch.tensor(unit.predicted),
        settings.methods,
        params.seeds.explaining,
        settings.batch_size,
        settings.budget,
        modality=modality,
    )
    raw: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    seconds: dict[str, float] = {}
    for part in attributions(work, unit.methods, seconds):
        raw[part.method].append(part.raw)
    found: Arrays = {"work": np.array(list(seconds)), "seconds": np.array(list(seconds.values()))}
    for method, parts in raw.items():
        whole = of_places(np.concatenate(parts), len(modality.axes))
        found[f"statuses.{method}"] = np.array(statuses(whole))
        found[f"values.{method}"], found[f"scales.{method}"] = scaled(whole)
    return found


def _is_long(method: str) -> bool:
    return bool(METHODS.entry(method).metadata["functioning"] == "perturbation")


def share_passes(methods: Sequence[str]) -> list[tuple[str, ...]]:
    """Methods that live on one shared pass go together; each long one is alone."""
    quick = tuple(name for name in methods if not _is_long(name))
    return [*([quick] if quick else []), *((name,) for name in methods if _is_long(name))]


def _parts(backbone: Backbone, techniques: Sequence[Technique], copies: Copies) -> list[Part]:
    """The units of a backbone."""
    ours = [one.method for one in techniques if one.backbone == backbone.name]
    predicted = copies.predicted.tolist()
    return [
        Part(backbone, methods, start, tuple(predicted[start : start + ROWS]))
        for methods in share_passes(ours)
        for start in range(0, len(predicted), ROWS)
    ]
