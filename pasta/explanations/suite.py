"""All techniques of one dataset: computed when something they depend on has changed, else kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pasta.datasets.stored import StoredDataset
from pasta.explanations.engine import Work, attributions, view_of
from pasta.explanations.fingerprints import technique_fingerprint
from pasta.explanations.samples import Samples, load_samples
from pasta.explanations.sink import Sink, read_card
from pasta.explanations.techniques import Technique
from pasta.models import checkpoint
from pasta.models.catalog import ORDER
from pasta.params import Params

Say = Callable[..., None]  # technique, a few words and, if known, how much is done of how much
THREADS = 2  # of torch; fixed, because sums of floats depend on it


@dataclass
class Explained:
    """One backbone of a dataset with the cards of its techniques."""

    backbone: str
    classes: tuple[str, ...]
    samples: Samples
    cards: dict[Technique, dict[str, Any]]
    spent: dict[str, float]  # seconds of what had to be computed now


def explain_dataset(
    dataset: StoredDataset,
    params: Params,
    root: Path,
    chosen: Sequence[Technique],
    say: Say,
) -> list[Explained]:
    """Explain the dataset's samples by all chosen techniques, backbone by backbone."""
    torch.set_num_threads(THREADS)
    shared: dict[str, Any] = {}
    done = []
    for backbone in ORDER:
        ours = [technique for technique in chosen if technique.backbone == backbone]
        if ours:
            done.append(_explain_backbone(dataset, params, root, backbone, ours, shared, say))
    return done


def _explain_backbone(
    dataset: StoredDataset,
    params: Params,
    root: Path,
    backbone: str,
    ours: Sequence[Technique],
    shared: dict[str, Any],
    say: Say,
) -> Explained:
    folder = dataset.folder / "explanations"
    model, card = checkpoint.load(dataset.folder / "models" / backbone, params, root, shared)
    view, spent = view_of(model), dict[str, float]()
    started = time.perf_counter()
    weights = card["weights_md5"] + getattr(getattr(model, "encoder", None), "md5", "")
    samples = load_samples(dataset, view, params, folder, backbone, weights)
    spent["perturbed copies"] = time.perf_counter() - started
    prints = {one: _print(one, params, samples, weights) for one in ours}
    missing = [one for one in ours if read_card(folder, one).get("fingerprint") != prints[one]]
    for group in _groups(missing):
        work = Work(
            view,
            samples.images,
            torch.from_numpy(samples.predicted),
            dict(params.explanations.methods),
            params.seed,
            params.explanations.batch_size,
            params.explanations.budget,
        )
        _explain_group(work, dataset, folder, group, prints, spent, say)
    cards = {one: read_card(folder, one) for one in ours}
    return Explained(backbone, dataset.vocabulary.classes, samples, cards, spent)


def _groups(missing: Sequence[Technique]) -> list[list[Technique]]:
    """Methods that live on one shared pass go together; each long one is a unit of its own."""
    long = [one for one in missing if one.about["functioning"] == "perturbation"]
    quick = [one for one in missing if one not in long]
    return [group for group in (quick, *([one] for one in long)) if group]


def _explain_group(
    work: Work,
    dataset: StoredDataset,
    folder: Path,
    group: Sequence[Technique],
    prints: dict[Technique, str],
    spent: dict[str, float],
    say: Say,
) -> None:
    own: dict[str, float] = {}
    by_method = {one.method: one for one in group}
    with ExitStack() as stack:
        sinks = {
            one.method: stack.enter_context(Sink(one, folder, dataset, len(work)).opened())
            for one in group
        }
        started = time.perf_counter()
        for part in attributions(work, list(sinks), own):
            sinks[part.method].take(part.raw)
            done = part.start + len(part.raw)
            rate = done / max(time.perf_counter() - started, 1e-9)
            say(by_method[part.method].key, f"{rate:.0f} images/s", done, len(work))
    for one in group:
        sinks[one.method].finish(prints[one], own.get(one.method, 0.0))
        say(one.key, f"{own.get(one.method, 0.0):.2f} s", len(work), len(work))
    for name, seconds in own.items():
        spent[name] = spent.get(name, 0.0) + seconds


def _print(technique: Technique, params: Params, samples: Samples, weights: str) -> str:
    common = {"samples": samples.fingerprint, "weights": weights, "seed": params.seed}
    settings = getattr(params.explanations.methods, technique.method, None)
    return technique_fingerprint(technique.method, common, settings)
