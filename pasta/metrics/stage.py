"""The measure stage: all metrics of a dataset's saliency maps, only what has changed.

Concept explanations have no map and get no rows. A map that is all zero, constant or not a number
gets a status instead of a value, and so does a technique that is too slow to be explained again
("not measured"). Work is cut into jobs: the metrics of one technique, and the noisy copies of
techniques that share their passes. Whatever a job has found is stored before the next is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from pasta.explanations.catalog import METHODS
from pasta.metrics.catalog import METRICS
from pasta.metrics.fingerprints import metric_fingerprint
from pasta.metrics.jobs import (
    Job,
    Key,
    Settings,
    is_skipped,
    jobs_again,
    key_of,
    plain_jobs,
    same_jobs,
    worked,
)
from pasta.metrics.measuring import Measured, Wanted
from pasta.metrics.settings import settings_of
from pasta.metrics.sharing import Backbone
from pasta.metrics.stored import Entry, read_entries, remove_others, values_table, write_entries
from pasta.metrics.subjects import Subject, by_backbone, subjects
from pasta.params.measure import MeasureParams

Say = Callable[..., None]  # backbone, a few words, how much is done of how much
Load = Callable[[str], Backbone]


@dataclass
class Plan:
    """What is there, what it should be, and what has to be done."""

    prints: dict[Subject, dict[Key, str]]
    entries: dict[Subject, dict[Key, Entry]]
    jobs: list[Job]


def wanted_metrics(settings: MeasureParams) -> list[Wanted]:
    """The metrics of the parameters in all their variants."""
    found: list[Wanted] = []
    for name in settings.names:
        about = METRICS.entry(name).metadata
        if "perturbation" in about["variant"]:
            found += [
                Wanted(name, {"perturbation": kind, "reading": reading})
                for kind in settings.perturbations
                for reading in settings.readings
            ]
        elif "noise" in about["variant"]:
            found += [Wanted(name, {"noise": noise}) for noise in settings.noises]
        else:
            found.append(Wanted(name))
    return found


def measure_dataset(
    folder: Path, settings: Settings, load: Load, say: Say, processes: int = 1
) -> pd.DataFrame:
    """Bring the values of a dataset's metrics up to date and return them as one table."""
    torch.set_num_threads(1)  # see pasta.workers
    for method in settings.metrics.not_again:
        METHODS.entry(method)
    plan = _plan(folder, settings, load)
    total = Counter(job.backbone.name for job in plan.jobs)
    done: Counter[str] = Counter()
    for place, results in worked(plan.jobs, settings, processes):
        job = plan.jobs[place]
        for subject, measured in zip(job.wanted, results, strict=True):
            _keep(folder, plan, subject, measured)
        done[job.backbone.name] += 1
        say(job.backbone.name, job.title, done[job.backbone.name], total[job.backbone.name])
    remove_others(folder, [one.technique for one in plan.entries])
    found = {
        one.technique: (one.samples, [plan.entries[one][key] for key in plan.prints[one]])
        for one in plan.entries
    }
    return values_table(found)


def _plan(folder: Path, settings: Settings, load: Load) -> Plan:
    """Compare what is stored with what should be."""
    wanted = {key_of(one, settings): one for one in wanted_metrics(settings.metrics)}
    plan = Plan({}, {}, [])
    plain: list[Job] = []
    for name, ours in by_backbone(subjects(folder)):
        backbone = load(name)
        missing: dict[Subject, list[Wanted]] = {}
        for subject in ours:
            stored = read_entries(folder, subject.technique)
            prints = {key: _print(one, subject, backbone, settings) for key, one in wanted.items()}
            fresh = {
                key: stored[key]
                for key, mark in prints.items()
                if key in stored and stored[key].fingerprint == mark
            }
            plan.prints[subject], plan.entries[subject] = prints, fresh
            missing[subject] = [one for key, one in wanted.items() if key not in fresh]
        plan.jobs += jobs_again(backbone, missing, settings)
        plan.jobs += same_jobs(backbone, missing)
        plain += plain_jobs(backbone, missing, settings)
    plan.jobs += plain  # the longest come first
    return plan


def _keep(folder: Path, plan: Plan, subject: Subject, measured: Sequence[Measured]) -> None:
    for one in measured:
        key = (one.name, one.variant)
        plan.entries[subject][key] = Entry(
            *key,
            one.direction,
            plan.prints[subject][key],
            tuple(_number(value) for value in one.values),  # noqa: PD011 (an array)
            tuple(one.statuses),
            tuple(round(float(spent), 6) for spent in one.seconds),
        )
    entries = plan.entries[subject]
    ordered = [entries[key] for key in plan.prints[subject] if key in entries]
    write_entries(folder, subject.technique, subject.samples, ordered)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _print(wanted: Wanted, subject: Subject, backbone: Backbone, settings: Settings) -> str:
    return metric_fingerprint(
        wanted.name,
        settings_of(wanted.name, wanted.options, settings.metrics),
        subject,
        backbone,
        settings.explanations,
        settings.seed,
        is_skipped(wanted, subject, settings),
    )
