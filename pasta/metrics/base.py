"""What a metric is, and what it is given.

A metric is a function from a :class:`Batch` of maps (with whatever else it needs) and its settings
to one value per map. Maps that a metric has nothing to say about (all zero, all the same, not
finite) never reach it: they get a status instead of a value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from pasta.compute import to_numpy
from pasta.explanations.attribution import Status
from pasta.explanations.image import IMAGE
from pasta.explanations.modality import Modality
from pasta.metrics.forward import Scorer
from pasta.models.base import torch_generator
from pasta.registry import Entry, Registry
from pasta.sections import Section

Category = Literal[
    "faithfulness", "robustness", "complexity", "localisation", "randomisation", "axiomatic"
]
Direction = Literal["higher", "lower"]
Sign = Literal["signed", "absolute", "positive"]
Need = Literal["maps", "model", "images", "targets", "explainer", "masks", "layers"]
Explainer = Callable[[Tensor, Tensor], Any]  # images (n, c, *spatial) and targets (n,) to maps

EXPLANATION: tuple[Need, ...] = ("maps",)
MODEL: tuple[Need, ...] = ("maps", "model", "images", "targets")
EXPLAINER: tuple[Need, ...] = ("maps", "images", "targets", "explainer")
MODEL_AND_EXPLAINER: tuple[Need, ...] = ("maps", "model", "images", "targets", "explainer")
LAYERS_AND_EXPLAINER: tuple[Need, ...] = (*MODEL_AND_EXPLAINER, "layers")
MASKS: tuple[Need, ...] = ("maps", "masks")

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """The work for one image, by what it is for: what has equal keys is done once for all metrics.

    ``asked`` are forward passes of the model, ``explained`` maps to be explained again, and
    ``imputed`` copies whose removed pixels are imputed, which takes longer than a pass.
    """

    asked: Mapping[Hashable, int] = field(default_factory=dict)
    explained: Mapping[Hashable, int] = field(default_factory=dict)
    imputed: Mapping[Hashable, int] = field(default_factory=dict)

    @property
    def forward_passes(self) -> int:
        """Of the model."""
        return sum(self.asked.values())

    @property
    def explanations(self) -> int:
        """Maps that are explained again."""
        return sum(self.explained.values())

    @property
    def imputations(self) -> int:
        """Copies with imputed pixels."""
        return sum(self.imputed.values())

    def __or__(self, other: Cost) -> Cost:
        """The work of two metrics together."""
        return Cost(
            {**self.asked, **other.asked},
            {**self.explained, **other.explained},
            {**self.imputed, **other.imputed},
        )

    def times(self, images: int) -> Cost:
        """The work for several images."""
        parts = (self.asked, self.explained, self.imputed)
        return Cost(*({key: images * number for key, number in part.items()} for part in parts))


SCORES = "clean"  # the scores of the images as they are, which several metrics ask for
LOGITS = "clean logits"  # and what the model gives for them before it becomes probabilities


@dataclass
class Batch:
    """A few maps and what belongs to them; only what a metric needs is there."""

    maps: Tensor  # (n, *spatial), or (n, channels, *spatial) with a number for each entry
    seed: int = 0
    rows: int = 1  # images in one forward pass
    images: Tensor | None = None
    targets: Tensor | None = None
    masks: Tensor | None = None  # (n, *spatial), 0 to 1
    scorer: Scorer | None = None
    explainer: Explainer | None = None
    modality: Modality = IMAGE
    shared: dict[Hashable, Any] = field(default_factory=dict)
    memory: dict[Hashable, Any] | None = None  # outlives the batch, for other maps of its images
    requests: tuple[Any, ...] = ()  # of all metrics that explain noisy copies of these images

    def __len__(self) -> int:
        return len(self.maps)

    @property
    def pixels(self) -> int:
        """Of one map; its entries, where it has channels."""
        return self.maps[0].numel()

    @property
    def has_entries(self) -> bool:
        """Whether maps have a number for each channel of a place."""
        return self.maps.ndim == require(self.images).ndim

    @cached_property
    def digests(self) -> list[str]:
        """What is random depends on the image itself (or the map, where there is no image), not on
        its place in a batch or a list."""
        items = self.maps if self.images is None else self.images
        return [
            hashlib.md5(to_numpy(one).tobytes(), usedforsecurity=False).hexdigest() for one in items
        ]

    def generator(self, number: int, *purpose: str | int) -> torch.Generator:
        """Randomness of one sample for one purpose."""
        return torch_generator(self.seed, "metric", *purpose, self.digests[number])

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What several metrics need is computed by the first one that asks."""
        if key not in self.shared:
            self.shared[key] = compute()
        result: T = self.shared[key]
        return result

    def remembered(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What depends on images and targets but not on maps, where somebody remembers it.

        The whole batch is a part of the key: the last digits of a model's answer depend on what
        else is in the batch, and what is remembered must be what would be computed again.
        """
        if self.memory is None or self.images is None or self.targets is None:
            return compute()
        whole = (key, self.seed, self.rows, tuple(self.digests), tuple(self.targets.tolist()))
        if whole not in self.memory:
            self.memory[whole] = compute()
        result: T = self.memory[whole]
        return result


@dataclass(frozen=True)
class Result:
    """Values (n,) of a batch, not finite where there is none.

    ``why`` has flags (n,) by the status of samples without a value; of several, the first counts.
    ``curves`` (n, points) is what the values were made of, for metrics that look at curves.
    """

    values: Tensor
    why: Mapping[str, Tensor] = field(default_factory=dict)
    curves: Tensor | None = None

    def statuses(self) -> list[str]:
        """What is the matter with each sample, if anything."""
        fine = self.values.isfinite().tolist()
        flags = {status: one.tolist() for status, one in self.why.items()}

        def status(number: int) -> str:
            if fine[number]:
                return "ok"
            return next((word for word, one in flags.items() if one[number]), "nan output")

        return [status(number) for number in range(len(fine))]


Metric = Callable[[Batch, Any], Result]


class MetricRegistry(Registry[Metric]):
    """Our metrics by name, and those of Quantus if they are asked for by name."""

    def entry(self, key: str) -> Entry[Metric]:
        """Return the metric called ``key``, or an error that names the nearest one."""
        if not key.lower().startswith("quantus/"):
            return super().entry(key)
        from pasta.metrics.quantus_metrics import find_metric  # Quantus takes seconds to import

        return find_metric(key)


METRICS = MetricRegistry("metric")
_BAD: tuple[Status, ...] = ("nan", "zero", "constant")


def metric(
    key: str,
    *,
    title: str,
    category: Category,
    direction: Direction,
    span: tuple[float, float],
    sign: Sign,
    needs: tuple[Need, ...],
    doi: str,
    settings: str | type[Section] | None = None,
    variant: tuple[str, ...] = (),
    refuses: tuple[Status, ...] = _BAD,
    probabilities: bool = False,
    same_questions: bool = False,
    entries: bool = True,
    whole_set: bool = False,
    cost: Callable[[Any], Cost] = lambda _: Cost(),
    request: Callable[[Any], Hashable] | None = None,
    sized_cost: Callable[[Any, tuple[int, ...]], Cost] | None = None,
) -> Callable[[Metric], Metric]:
    """Register a metric with what there is to know about it.

    ``direction`` says whether higher or lower is better, ``span`` between what values lie. ``sign``
    says what becomes of negative values in a map: they are kept, made positive, or cut off.
    ``refuses`` are the maps that get a status and no value. ``settings`` is the name of the
    metric's section in the parameters, or the class of a section that is called as the metric;
    ``variant`` names settings that make another column of a table: the measure stage takes all that
    its parameters list under the plural of the name. ``same_questions`` says that what the model is
    asked depends on the image and not on the map, so that all methods can share the answers.
    ``entries`` says that maps may have a number for each channel of a place. ``whole_set`` says
    that the metric compares the maps of a method with each other: it must be given all of them at
    once. ``cost`` gives the work for one image from the settings; where it depends on the size of
    the images, ``sized_cost`` gives it from the settings and the shape (channels, *spatial), for
    maps without channels. ``request`` gives what the metric wants to know of noisy copies that are
    explained again, as :class:`pasta.metrics.copies.Request`.
    """
    return METRICS.register(
        key,
        title=title,
        category=category,
        direction=direction,
        span=span,
        sign=sign,
        needs=needs,
        doi=doi,
        settings=settings,
        variant=variant,
        refuses=refuses,
        probabilities=probabilities,
        same_questions=same_questions,
        entries=entries,
        whole_set=whole_set,
        cost=cost,
        request=request,
        sized_cost=sized_cost,
        check_options=None,
        changes_model=False,
    )


def variant_name(key: str, settings: Section | None) -> str:
    """How a variant of a metric is called in tables; empty if there is only one."""
    fields = METRICS.entry(key).metadata["variant"]
    return " ".join(str(getattr(settings, name)) for name in fields)


def require(value: T | None) -> T:
    """What the metric's needs promise to be there."""
    if value is None:
        raise TypeError("a metric uses what is not among its needs")
    return value
