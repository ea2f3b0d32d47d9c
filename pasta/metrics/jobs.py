"""Jobs of the measure stage: what is computed at a time, and what it shares."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pasta.metrics.base import variant_name
from pasta.metrics.catalog import METRICS
from pasta.metrics.inputs import Inputs
from pasta.metrics.measuring import Measured, Wanted, measure
from pasta.metrics.settings import settings_of
from pasta.metrics.sharing import Again, Answers, Backbone
from pasta.metrics.subjects import Subject
from pasta.params.explanations import ExplanationParams
from pasta.params.measure import MeasureParams
from pasta.workers import as_finished

NOT_MEASURED = "not measured"
# Its random subsets depend on the image alone, so all techniques of a backbone ask the same.
_SAME_QUESTIONS = "faithfulness_correlation"
_BYTES = 2**27  # of maps of noisy copies that wait for the methods they belong to
_CHUNK = 16  # images whose noisy copies are explained together

Key = tuple[str, str]  # metric and variant


@dataclass(frozen=True)
class Settings:
    """All that decides what is measured, and how."""

    metrics: MeasureParams
    explanations: ExplanationParams
    seed: int


@dataclass
class Job:
    """Metrics of one technique, or of several that share what is asked of the backbone.

    They are explained ``again`` together, or a metric asks the ``same`` of all of them.
    """

    backbone: Backbone
    wanted: dict[Subject, list[Wanted]] = field(default_factory=dict)
    again: bool = False
    same: bool = False

    @property
    def title(self) -> str:
        """For people who watch."""
        methods = [subject.technique.method for subject in self.wanted]
        number = sum(map(len, self.wanted.values()))
        what = _SAME_QUESTIONS if self.same else f"{number} metrics"
        return f"{what} of {', '.join(methods)}" + (" again" if self.again else "")


def jobs_again(
    backbone: Backbone, missing: dict[Subject, list[Wanted]], settings: Settings
) -> list[Job]:
    """Techniques that live on one shared pass go together; each long one is a job of its own."""
    quick, long = Job(backbone, again=True), []
    for subject, wanted in missing.items():
        ours = [one for one in wanted if is_again(one) and not is_skipped(one, subject, settings)]
        if ours and subject.technique.about["functioning"] == "perturbation":
            long.append(Job(backbone, {subject: ours}, again=True))
        elif ours:
            quick.wanted[subject] = ours
    return [*long, *([quick] if quick.wanted else [])]


def plain_jobs(
    backbone: Backbone, missing: dict[Subject, list[Wanted]], settings: Settings
) -> Iterator[Job]:
    """All other metrics, technique by technique; also those that are skipped."""
    for subject, wanted in missing.items():
        ours = [
            one
            for one in wanted
            if one.name != _SAME_QUESTIONS
            and (not is_again(one) or is_skipped(one, subject, settings))
        ]
        if ours:
            yield Job(backbone, {subject: ours})


def same_jobs(backbone: Backbone, missing: dict[Subject, list[Wanted]]) -> Iterator[Job]:
    """The metric that asks the same for all techniques."""
    asked = {
        subject: [one for one in wanted if one.name == _SAME_QUESTIONS]
        for subject, wanted in missing.items()
    }
    ours = {subject: wanted for subject, wanted in asked.items() if wanted}
    if ours:
        yield Job(backbone, ours, same=True)


def worked(
    jobs: Sequence[Job], settings: Settings, processes: int
) -> Iterator[tuple[int, list[list[Measured]]]]:
    """Do the jobs; the network of a backbone is kept from one to the next."""
    shared: dict[str, Answers] = {}

    def work(place: int) -> list[list[Measured]]:
        job = jobs[place]
        if job.again:
            return _measured_again(job, settings)
        name = job.backbone.name
        if name not in shared:
            shared.clear()  # jobs come backbone by backbone
            shared[name] = Answers(job.backbone.view, next(iter(job.wanted)).images(slice(0, 1)))
        memory: dict[Hashable, Any] = {}
        return [
            _measured(subject, wanted, settings, shared[name], memory)
            for subject, wanted in job.wanted.items()
        ]

    return as_finished([partial(work, place) for place in range(len(jobs))], processes)


def _measured(
    subject: Subject,
    wanted: Sequence[Wanted],
    settings: Settings,
    answers: Answers,
    memory: dict[Hashable, Any],
) -> list[Measured]:
    """Metrics that do not explain again, of one technique."""
    skipped = [one for one in wanted if is_again(one)]
    others = [one for one in wanted if one not in skipped]
    found = [_nothing(one, subject, settings) for one in skipped]
    if others:
        targets = subject.targets[:]
        inputs = Inputs(
            subject.maps, subject.images, targets, subject.masks, answers, memory=memory
        )
        found += _measure(others, inputs, settings)
    return found


def _measured_again(job: Job, settings: Settings) -> list[list[Measured]]:
    """Metrics that explain again, of techniques that share their passes, a few images at a time."""
    methods = tuple(one.technique.method for one in job.wanted)
    again = Again(job.backbone.view, methods, settings.explanations, settings.seed)
    number = max(map(len, job.wanted))
    step = _images_at_once(job, settings)
    parts: dict[Subject, list[list[Measured]]] = {subject: [] for subject in job.wanted}
    for start in range(0, number, step):
        for subject, wanted in job.wanted.items():
            part = slice(start, min(start + step, len(subject)))
            if part.start >= part.stop:
                continue
            inputs = Inputs(
                subject.maps[part],
                subject.images(part),
                subject.targets[part],
                explainer=again.explainer(subject.technique.method),
            )
            parts[subject].append(_measure(wanted, inputs, settings))
        again.forget()
    return [_joined(some) for some in parts.values()]


def _images_at_once(job: Job, settings: Settings) -> int:
    """As many as leave room for the maps of their noisy copies by all methods."""
    subject = next(iter(job.wanted))
    copies = settings.metrics.max_sensitivity.samples * len(settings.metrics.noises)
    size = 4 * int(np.prod(subject.maps.shape[1:])) * copies * len(job.wanted)
    return max(1, min(_CHUNK, _BYTES // size))


def _measure(wanted: Sequence[Wanted], inputs: Inputs, settings: Settings) -> list[Measured]:
    return measure(
        wanted,
        inputs,
        seed=settings.seed,
        batch_size=settings.metrics.batch_size,
        base=settings.metrics,
    )


def _joined(parts: Sequence[Sequence[Measured]]) -> list[Measured]:
    """The same metrics of several parts of the samples."""
    return [
        Measured(
            some[0].name,
            some[0].variant,
            some[0].direction,
            np.concatenate([one.values for one in some]),
            [status for one in some for status in one.statuses],
            np.concatenate([one.seconds for one in some]),
        )
        for some in zip(*parts, strict=True)
    ]


def _nothing(wanted: Wanted, subject: Subject, settings: Settings) -> Measured:
    number = len(subject)
    name, variant = key_of(wanted, settings)
    direction = METRICS.entry(name).metadata["direction"]
    empty, none = np.full(number, np.nan), np.zeros(number)
    return Measured(name, variant, direction, empty, [NOT_MEASURED] * number, none)


def key_of(wanted: Wanted, settings: Settings) -> Key:
    """Metric and variant, as in the table."""
    own = settings_of(wanted.name, wanted.options, settings.metrics)
    return wanted.name, variant_name(wanted.name, own)


def is_again(wanted: Wanted) -> bool:
    """Whether the metric explains again."""
    return "explainer" in METRICS.entry(wanted.name).metadata["needs"]


def is_skipped(wanted: Wanted, subject: Subject, settings: Settings) -> bool:
    """Whether it would, but the technique is too slow for that."""
    return is_again(wanted) and subject.technique.method in settings.metrics.not_again
