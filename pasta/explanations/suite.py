"""All techniques of one dataset: computed when something they depend on has changed, else kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from pasta.datasets.stored import StoredDataset
from pasta.explanations.base import View
from pasta.explanations.engine import Work, attributions, view_of
from pasta.explanations.fingerprints import technique_fingerprint
from pasta.explanations.samples import Samples, load_samples
from pasta.explanations.sink import Sink, read_card
from pasta.explanations.techniques import Technique
from pasta.models import checkpoint
from pasta.models.catalog import ORDER
from pasta.params import Params
from pasta.workers import as_finished

Say = Callable[..., None]  # technique, a few words and, if known, how much is done of how much


@dataclass
class Explained:
    """One backbone of a dataset with the cards of its techniques."""

    backbone: str
    classes: tuple[str, ...]
    samples: Samples
    cards: dict[Technique, dict[str, Any]]
    spent: dict[str, float]  # seconds of what had to be computed now


@dataclass(frozen=True)
class _Backbone:
    """A loaded classifier and the techniques that explain it."""

    name: str
    ours: list[Technique]
    view: View
    weights: str  # a number that changes with them


@dataclass(frozen=True)
class _Unit:
    """Techniques of one backbone that are computed together."""

    backbone: _Backbone
    samples: Samples
    group: list[Technique]


def explain_dataset(
    dataset: StoredDataset,
    params: Params,
    root: Path,
    chosen: Sequence[Technique],
    say: Say,
    processes: int = 1,
) -> list[Explained]:
    """Explain the dataset's samples by all chosen techniques, several at once.

    Each process has one thread: sums of floats depend on the number of threads, so the result does
    not depend on the number of processors.
    """
    torch.set_num_threads(1)
    folder = dataset.folder / "explanations"
    backbones = _backbones(dataset, params, root, chosen)
    done = _sampled(dataset, params, backbones, processes)
    prints = {
        technique: _print(technique, params, done[one.name].samples, one.weights)
        for one in backbones
        for technique in one.ours
    }
    missing = {key for key, mark in prints.items() if _stored_print(folder, key) != mark}
    units = [
        _Unit(one, done[one.name].samples, group)
        for one in backbones
        for group in _groups([technique for technique in one.ours if technique in missing])
    ]
    units.sort(key=_is_long, reverse=True)  # what takes longest comes first

    def work(unit: _Unit) -> dict[str, float]:
        return _explain_group(unit, dataset, params, folder, prints)

    for place, seconds in as_finished([partial(work, unit) for unit in units], processes):
        unit = units[place]
        for technique in unit.group:
            words = f"{seconds.get(technique.method, 0.0):.2f} s"
            number = len(unit.samples.predicted)
            say(technique.key, words, number, number)
        spent = done[unit.backbone.name].spent
        for name, own in seconds.items():
            spent[name] = spent.get(name, 0.0) + own
    for one in backbones:
        done[one.name].cards |= {technique: read_card(folder, technique) for technique in one.ours}
    return list(done.values())


def _backbones(
    dataset: StoredDataset, params: Params, root: Path, chosen: Sequence[Technique]
) -> list[_Backbone]:
    shared: dict[str, Any] = {}
    found: list[_Backbone] = []
    for name in ORDER:
        ours = [technique for technique in chosen if technique.backbone == name]
        if ours:
            model, card = checkpoint.load(dataset.folder / "models" / name, params, root, shared)
            weights = card["weights_md5"] + getattr(getattr(model, "encoder", None), "md5", "")
            found.append(_Backbone(name, ours, view_of(model), weights))
    return found


def _sampled(
    dataset: StoredDataset, params: Params, backbones: Sequence[_Backbone], processes: int
) -> dict[str, Explained]:
    """The images that each backbone explains: which copies are strong depends on what it sees."""
    folder = dataset.folder / "explanations"

    def work(one: _Backbone) -> tuple[Samples, float]:
        started = time.perf_counter()
        samples = load_samples(dataset, one.view, params, folder, one.name, one.weights)
        return samples, time.perf_counter() - started

    found = dict(as_finished([partial(work, one) for one in backbones], processes))
    return {
        one.name: Explained(
            one.name,
            dataset.vocabulary.classes,
            found[place][0],
            {},
            {"perturbed copies": found[place][1]},
        )
        for place, one in enumerate(backbones)
    }


def _stored_print(folder: Path, technique: Technique) -> str | None:
    mark: str | None = read_card(folder, technique).get("fingerprint")
    return mark


def _is_long(unit: _Unit) -> bool:
    return bool(unit.group[0].about["functioning"] == "perturbation")


def _groups(missing: Sequence[Technique]) -> list[list[Technique]]:
    """Methods that live on one shared pass go together; each long one is a unit of its own."""
    long = [one for one in missing if one.about["functioning"] == "perturbation"]
    quick = [one for one in missing if one not in long]
    return [group for group in (quick, *([one] for one in long)) if group]


def _explain_group(
    unit: _Unit,
    dataset: StoredDataset,
    params: Params,
    folder: Path,
    prints: dict[Technique, str],
) -> dict[str, float]:
    """Leave the files of some techniques behind; returns the seconds of each piece of work."""
    own: dict[str, float] = {}
    work = Work(
        unit.backbone.view,
        unit.samples.images,
        torch.from_numpy(unit.samples.predicted),
        dict(params.explanations.methods),
        params.seed,
        params.explanations.batch_size,
        params.explanations.budget,
    )
    with ExitStack() as stack:
        sinks = {
            one.method: stack.enter_context(Sink(one, folder, dataset, len(work)).opened())
            for one in unit.group
        }
        for part in attributions(work, list(sinks), own):
            sinks[part.method].take(part.raw)
    for one in unit.group:
        sinks[one.method].finish(prints[one], own.get(one.method, 0.0))
    return own


def _print(technique: Technique, params: Params, samples: Samples, weights: str) -> str:
    common = {"samples": samples.fingerprint, "weights": weights, "seed": params.seed}
    settings = getattr(params.explanations.methods, technique.method, None)
    return technique_fingerprint(technique.method, common, settings)
