"""The measure stage: all metrics of a group's saliency maps.

Concept explanations have no map and get no rows. A map that is all zero, constant or not a number
gets a status instead of a value, and so does a technique that is too slow to be explained again
("not measured"). Work is cut into units: some rows and metrics of one technique, or of several
techniques of a backbone that share what they ask of it.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from pasta import compute, store, tables
from pasta.compute import map_units, to_numpy
from pasta.config import Params
from pasta.datasets.stored import StoredDataset, class_parts, open_dataset
from pasta.errors import InputError, PastaError
from pasta.explanations.base import View
from pasta.explanations.catalog import METHODS
from pasta.explanations.engine import Work, attributions, view_of
from pasta.explanations.image import IMAGE
from pasta.explanations.modality import MODALITIES, Modality
from pasta.explanations.stored import StoredExplanations
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.metrics.api import CHUNK, Inputs, Measured, Wanted, get_settings, measure
from pasta.metrics.base import Cost, Explainer, variant_name
from pasta.metrics.catalog import METRICS
from pasta.metrics.settings import MeasureParams
from pasta.models import checkpoint
from pasta.models.base import Classifier
from pasta.progress import bar
from pasta.resume import Arrays, KeptUnits, kept_units
from pasta.sections import for_dataset
from pasta.seeds import generator

Names = tuple[str, ...]


@dataclass(frozen=True)
class Loaded:
    """Rows of an array that are read when a slice of them is asked for."""

    shape: tuple[int, ...]
    load: Callable[[slice], NDArray[Any]]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, part: slice) -> NDArray[Any]:
        return self.load(part)


@dataclass(frozen=True)
class Subject(Inputs):
    """Maps of one technique on the originals, up to the rounding of half precision, with what
    belongs to them; masks are where the labelled object is."""

    samples: tuple[str, ...] = ()


class Material(ABC):
    """What units of a stage measure: maps by technique, and classifiers on the device of this
    process."""

    def __init__(self, params: Params, root: Path) -> None:
        self.params, self.root = params, root
        self._models: dict[str, Classifier] = {}
        self._shared: dict[str, Any] = {}  # what several classifiers need

    @property
    @abstractmethod
    def dataset(self) -> StoredDataset:
        """The images that were explained."""

    @property
    @abstractmethod
    def techniques(self) -> list[Technique]:
        """Those whose maps are measured, in the order of the table."""

    @abstractmethod
    def home(self, backbone: str) -> Path:
        """Where a trained classifier is."""

    @abstractmethod
    def of(self, method: str, backbone: str, images: Names | None = None) -> Subject:
        """The maps of one technique, by its names, on all or on some images."""

    @abstractmethod
    def images_of(self, metric: str) -> Names | None:
        """The images that a metric measures, the same for all techniques; None is all of them."""

    @property
    def modality(self) -> Modality:
        """What the inputs of the dataset are."""
        return MODALITIES[self.dataset.vocabulary.modality]

    def view(self, backbone: str) -> View | None:
        """A trained classifier, if it is there; one at a time is kept."""
        if not (self.home(backbone) / checkpoint.CARD).is_file():
            return None
        if backbone not in self._models:
            model, _ = checkpoint.load(self.home(backbone), self.params, self.root, self._shared)
            self._models = {backbone: compute.place(model)}
        return view_of(self._models[backbone])

    def again(self, view: View, methods: tuple[str, ...]) -> Again:
        """How metrics explain changed copies."""
        return Again(view, methods, self.params, self.modality)


class Subjects(Material):
    """The saliency techniques of a group."""

    def __init__(self, group: Group, params: Params, root: Path) -> None:
        super().__init__(params, root)
        self.group = group
        self._dataset = open_dataset(group.images)
        self.stored = StoredExplanations(group.explanations)

    @property
    def dataset(self) -> StoredDataset:
        """The images of the group."""
        return self._dataset

    @cached_property
    def techniques(self) -> list[Technique]:
        """In the order of the explanations table; concept explanations have no map."""
        return [one for one in self.stored.techniques if one.kind == "saliency"]

    def home(self, backbone: str) -> Path:
        """Where a trained classifier is."""
        return self.group.models / backbone

    def images_of(self, metric: str) -> Names | None:
        """The images that a metric measures, the same for all techniques; None is all of them."""
        names = self.stored.table["image_id"].astype(str).unique().tolist()
        seed = self.params.seeds.measuring
        return choose_measured(names, metric, self.group.dataset, self.params.metrics, seed)

    def of(self, method: str, backbone: str, images: Names | None = None) -> Subject:
        """The maps of one technique, by its names, on all or on some images."""
        return self.take(self.stored.technique(method, backbone), images)

    def __getitem__(self, technique: Technique) -> Subject:
        return self.take(technique)

    def take(self, technique: Technique, images_only: Names | None = None) -> Subject:
        """The maps of one technique on all or on some images."""
        rows, maps = self.stored.rows(technique), self.stored.maps(technique)
        if images_only is not None:
            rows = rows[rows["image_id"].astype(str).isin(images_only)]
        places, scales = rows["row"].to_numpy(np.int64), rows["scale"].to_numpy(np.float32)
        size = self.dataset.pixels.shape[1:-1]
        last = int(places.max(initial=0))
        if maps.shape[1:] != size or len(maps) <= last:
            raise InputError(
                f"the maps of {technique.key} have the shape {maps.shape}",
                file=self.stored.folder,
                expected=f"at least {last + 1} maps of {' x '.join(map(str, size))}, as the images",
            )
        images = self._row_of.loc[rows["image_id"].astype(str)].to_numpy(np.int64)
        labels, typical = self.dataset.labels()[images], self._typical
        classes = self.dataset.vocabulary.classes

        def scaled(part: slice) -> NDArray[Any]:
            halves = np.asarray(maps[places[part]], dtype=np.float32)
            found: NDArray[Any] = halves * scales[part].reshape(-1, *[1] * len(size))
            return found

        def inside(part: slice) -> NDArray[Any]:
            parts = np.asarray(self.dataset.parts[images[part]])
            found: NDArray[Any] = typical[labels[part].reshape(-1, *[1] * len(size)), parts]
            return found

        return Subject(
            Loaded((len(rows), *size), scaled),
            lambda part: self.modality.load(self.dataset.pixels[images[part]]),
            np.array([classes.index(str(one)) for one in rows["predicted"]], dtype=np.int64),
            Loaded((len(rows), *size), inside),
            modality=self.modality,
            samples=tuple(rows["sample_id"].astype(str)),
        )

    @cached_property
    def _row_of(self) -> pd.Series[int]:
        return self.dataset.images.set_index("image_id")["row"]

    @cached_property
    def _typical(self) -> NDArray[np.bool_]:
        """Classes x values of the part-index array: which parts belong to the class."""
        words = self.dataset.vocabulary
        table = self.dataset.concepts()
        # the key is unique, so there is nothing to average as pivot_table would
        seen = table.pivot(index="image_id", columns="concept", values="present")  # noqa: PD010
        seen = seen.reindex(columns=list(words.concepts)).astype(bool)
        parts = class_parts(seen, self.dataset.images)
        known = parts.reindex(list(words.classes), fill_value=False).to_numpy(bool)
        return np.pad(known, ((0, 0), (1, 0)))  # 0 in the array is no part


TABLE = "metric_values.parquet"
NOT_MEASURED = "not measured"
_NUMBERS = ("value", "seconds")
_ROWS = 4 * CHUNK  # of a unit
_BYTES = 2**27  # of maps of noisy copies that wait for the methods they belong to


@dataclass(frozen=True)
class Source(ABC):
    """What units read.

    ``key`` changes with code, parameters and data: a worker that outlives the stage keeps nothing
    of another key. The metrics and their settings are those of the parameters.
    """

    key: str
    root: Path
    params: Params = field(compare=False)

    @abstractmethod
    def open(self) -> Material:
        """Open what is to be measured, in the process that measures it."""

    @property
    def settings(self) -> MeasureParams:
        """Which metrics, and how."""
        return self.params.metrics


@dataclass(frozen=True)
class GroupSource(Source):
    """The explanations of a group."""

    group: Group

    def open(self) -> Material:
        """The saliency techniques of the group."""
        return Subjects(self.group, self.params, self.root)


@dataclass(frozen=True)
class Unit:
    """Metrics of some rows of techniques of one backbone."""

    source: Source
    backbone: str
    methods: tuple[str, ...]
    rows: tuple[int, int]  # among those of ``images``
    wanted: tuple[Wanted, ...]
    images: Names | None = None  # all, or some by name


def choose_measured(
    images: Sequence[str], metric: str, dataset: str, settings: MeasureParams, seed: int
) -> Names | None:
    """The images that a metric measures, the same for all techniques; None is all of them.

    A metric with fewer images measures some of those that one with more of them measures.
    """
    number = for_dataset(settings.images.get(metric, len(images)), dataset)
    if number >= len(images):
        return None
    order = generator(seed, "measured images", dataset).permutation(sorted(images))
    return tuple(sorted(map(str, order[:number])))


def measure_group(
    group: Group, settings: MeasureParams, params: Params, root: Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measure the maps of a group and write the table of values into its folder.

    Returns
    -------
    The table, and the seconds of each technique and metric.
    """
    own = params.model_copy(update={"metrics": settings})
    inputs = [group.images, group.models, group.explanations, group.data / "clip"]
    with kept_units(f"measure@{group.key}", inputs) as kept:
        source = GroupSource(kept.folder.name, root, own, group)
        subjects = Subjects(group, own, root)
        table = measure_material(source, subjects, f"metrics of {group.key}", kept)
        rows: Any = table.to_dict("records")
        values = tables.METRIC_VALUES.frame(rows)
        parents = {"explanations": subjects.stored.table}
        store.write(values, group.metrics / TABLE, tables.METRIC_VALUES, parents)
    spent = table.groupby(["technique", "metric", "variant"], sort=False)["seconds"].sum()
    return values, spent.reset_index()


def measure_material(
    source: Source, material: Material, title: str, kept: KeptUnits | None = None
) -> pd.DataFrame:
    """Measure all techniques of some material, unit by unit.

    Parameters
    ----------
    source
        What workers open.
    material
        The same, opened here.
    title
        Of the progress.
    kept
        Units that an earlier attempt has finished.

    Returns
    -------
    A frame with the columns of ``METRIC_VALUES``, technique and seconds, in the order of the
    techniques, the metrics and the samples, whatever was done together.
    """
    settings = source.settings
    for method in settings.not_again:
        METHODS.entry(method)
    for name in settings.images:
        METRICS.entry(name)
    wanted = list_wanted(settings)
    backbones = dict.fromkeys(one.backbone for one in material.techniques)
    if not any((material.home(one) / checkpoint.CARD).is_file() for one in backbones):
        wanted = [one for one in wanted if _needs_maps_only(one)]
    units = list(_plan_units(material, source, wanted))
    found: dict[int, Arrays] = {}
    with bar(title, len(units), "units") as line:
        for place, result in map_units(measure_unit, units, kept):
            found[place] = result
            line.advance(words=f"{units[place].backbone} {', '.join(units[place].methods)}")
    parts = [pd.DataFrame(found[place]) for place in range(len(units))]
    parts += _list_not_measured(material, settings, wanted)
    nothing = pd.DataFrame(columns=["technique", *tables.METRIC_VALUES.columns, "seconds"])
    table = pd.concat(parts, ignore_index=True) if parts else nothing
    return _order_rows(table, material, settings, wanted)


def list_wanted(settings: MeasureParams) -> list[Wanted]:
    """List the metrics of the parameters in all their variants.

    Parameters
    ----------
    settings
        The section ``metrics`` of the parameters.

    Returns
    -------
    Metrics with the options of each variant.
    """
    found: list[Wanted] = []
    for name in settings.names:
        about = METRICS.entry(name).metadata
        if about["changes_model"]:
            raise PastaError(f"{name} explains changed copies of the model, which no stage can do")
        get_settings(name, {}, settings)  # wrong options are an error before any work
        fields = about["variant"]
        choices = product(*(getattr(settings, f"{one}s") for one in fields))
        found += [Wanted(name, dict(zip(fields, values, strict=True))) for values in choices]
    return found


Plan = tuple[str, tuple[str, ...], tuple[Wanted, ...]]  # a backbone, methods, and metrics of them


def plan_work(
    techniques: Sequence[Technique], wanted: Sequence[Wanted], settings: MeasureParams
) -> list[Plan]:
    """What is done together, the longest first: explaining again, then questions that all
    techniques of a backbone share, then what each technique asks alone."""
    again = tuple(one for one in wanted if explains_again(one))
    same = tuple(one for one in wanted if METRICS.entry(one.name).metadata["same_questions"])
    sets = tuple(one for one in wanted if compares_maps(one))
    alone = tuple(one for one in wanted if one not in (*again, *same, *sets))
    plans: list[Plan] = []
    for backbone in dict.fromkeys(one.backbone for one in techniques):
        ours = [one for one in techniques if one.backbone == backbone]
        chosen = [one for one in ours if one.method not in settings.not_again]
        long = [one for one in chosen if again and _is_perturbation(one)]
        plans += [(backbone, (one.method,), again) for one in long]
        plans.append((backbone, tuple(one.method for one in chosen if one not in long), again))
        plans.append((backbone, tuple(one.method for one in ours), same))
    plans += [(one.backbone, (one.method,), alone) for one in techniques]
    plans += [(one.backbone, (one.method,), sets) for one in techniques]
    return [plan for plan in plans if plan[1] and plan[2]]


def _plan_units(material: Material, source: Source, wanted: Sequence[Wanted]) -> Iterator[Unit]:
    """The plan in units of some rows."""
    for backbone, methods, metrics in plan_work(material.techniques, wanted, source.settings):
        for images, some in _by_images(material, metrics).items():
            longest = max((len(material.of(one, backbone, images)) for one in methods), default=0)
            rows = max(longest, 1) if any(map(compares_maps, some)) else _ROWS
            for start in range(0, longest, rows):
                yield Unit(source, backbone, methods, (start, start + rows), tuple(some), images)


def _by_images(material: Material, wanted: Sequence[Wanted]) -> dict[Names | None, list[Wanted]]:
    """The metrics that measure the same images go together."""
    found: dict[Names | None, list[Wanted]] = {}
    for one in wanted:
        found.setdefault(material.images_of(one.name), []).append(one)
    return found


def _is_perturbation(technique: Technique) -> bool:
    return bool(METHODS.entry(technique.method).metadata["functioning"] == "perturbation")


def measure_unit(unit: Unit) -> Arrays:
    """Measure a unit.

    Parameters
    ----------
    unit
        Metrics of some rows of techniques.

    Returns
    -------
    The rows that it adds to the table, column by column, with their seconds.
    """
    material = _open_material(unit.source)
    settings, params = unit.source.settings, unit.source.params
    ours = {one: material.of(one, unit.backbone, unit.images) for one in unit.methods}
    view = material.view(unit.backbone)
    again = None if view is None else material.again(view, unit.methods)
    stop = min(unit.rows[1], max(map(len, ours.values())))
    step = _count_images_at_once(unit, material)
    parts: list[pd.DataFrame] = []
    for start in range(unit.rows[0], stop, step):
        memory: dict[Any, Any] = {}
        for method, subject in ours.items():
            part = slice(start, min(start + step, stop, len(subject)))
            if part.start >= part.stop:
                continue
            more: Any = {}
            if view is not None and again is not None:
                more = {"model": view.network, "explainer": again.explainer(method)}
            found = measure(
                unit.wanted,
                replace(subject, **more, memory=memory).part(part),
                seed=params.seeds.measuring,
                batch_size=settings.batch_size,
                base=settings,
            )
            key, samples = f"{method}/{unit.backbone}", subject.samples[part]
            parts += [_make_rows(key, samples, one) for one in found]
        if again is not None:
            again.forget()
    table = pd.concat(parts, ignore_index=True)
    # Words as numpy has them, which can be kept without pickle.
    return {str(name): table[name].to_numpy(float if name in _NUMBERS else str) for name in table}


@lru_cache(maxsize=1)
def _open_material(source: Source) -> Material:
    return source.open()


@dataclass
class Again:
    """Explains noisy copies by several methods at once, when the first of them is asked for.

    Noise depends on the image and not on the map, so that all methods explain the same copies.
    """

    view: View
    methods: tuple[str, ...]
    params: Params
    modality: Modality = IMAGE
    prepare: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None = None  # of each batch
    references: Tensor | None = None  # inputs that some methods compare with
    _known: dict[bytes, dict[str, NDArray[np.float32]]] = field(default_factory=dict)

    def explainer(self, method: str) -> Explainer:
        """One of the methods."""

        def explain(images: Tensor, targets: Tensor) -> Any:
            arrays = (to_numpy(images).tobytes(), to_numpy(targets).tobytes())
            key = hashlib.sha256(b"".join(arrays)).digest()
            if key not in self._known:
                self._known[key] = self._explained(images, targets)
            return self._known[key][method]

        return explain

    def forget(self) -> None:
        """Images that all methods have been asked about do not come again."""
        self._known.clear()

    def _explained(self, images: Tensor, targets: Tensor) -> dict[str, NDArray[np.float32]]:
        own = self.params.explanations
        how = (own.methods, self.params.seeds.explaining, own.batch_size, own.budget)
        work = Work(
            self.view,
            lambda part: images[part],
            targets,
            *how,
            modality=self.modality,
            references=self.references,
        )
        found: dict[str, list[NDArray[np.float32]]] = {name: [] for name in self.methods}
        for part in attributions(work, self.methods):
            found[part.method].append(self.prepare(part.raw) if self.prepare else part.raw)
        return {name: np.concatenate(parts) for name, parts in found.items()}


def _count_images_at_once(unit: Unit, material: Material) -> int:
    """As many as leave room for the maps of their noisy copies by all methods; all of them for
    metrics that compare maps."""
    if any(map(compares_maps, unit.wanted)):
        return unit.rows[1] - unit.rows[0]
    if not any(map(explains_again, unit.wanted)):
        return CHUNK
    settings = unit.source.settings
    copies, ours = 0, Cost()
    for one in filter(explains_again, unit.wanted):
        own = get_settings(one.name, one.options, settings)
        count = METRICS.entry(one.name).metadata["cost"]
        if count is not None:
            ours |= count(own)
        elif isinstance(own, dict):  # Quantus
            copies += own.get("nr_samples") or 0
    copies = max(1, copies + ours.explanations)
    pixels = int(np.prod(material.dataset.pixels.shape[1:-1]))
    return max(1, min(CHUNK, _BYTES // (4 * pixels * copies * len(unit.methods))))


def _list_not_measured(
    material: Material, settings: MeasureParams, wanted: Sequence[Wanted]
) -> Iterator[pd.DataFrame]:
    """What is left out because the method is too slow to explain again, or the image not chosen."""
    images = {one.name: material.images_of(one.name) for one in wanted}
    for technique in material.techniques:
        names = technique.method, technique.backbone
        every = material.of(*names).samples
        done = {
            some: set(every if some is None else material.of(*names, some).samples)
            for some in set(images.values())
        }
        for one in wanted:
            left_out = technique.method in settings.not_again and explains_again(one)
            known = set() if left_out else done[images[one.name]]
            samples = tuple(name for name in every if name not in known)
            if samples:
                yield _say_not_measured(technique.key, samples, one, settings)


def _say_not_measured(
    technique: str, samples: Sequence[str], one: Wanted, settings: MeasureParams
) -> pd.DataFrame:
    direction = METRICS.entry(one.name).metadata["direction"]
    empty, zeros = np.full(len(samples), np.nan), np.zeros(len(samples))
    statuses = [NOT_MEASURED] * len(samples)
    nothing = Measured(*_table_key(one, settings), direction, empty, statuses, zeros)
    return _make_rows(technique, samples, nothing)


def _make_rows(technique: str, samples: Sequence[str], found: Measured) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "technique": technique,
            "sample_id": samples,
            "metric": found.name,
            "variant": found.variant,
            "value": found.values,  # noqa: PD011 (an array)
            "direction": found.direction,
            "status": found.statuses,
            "seconds": found.seconds,
        }
    )


def _order_rows(
    table: pd.DataFrame, material: Material, settings: MeasureParams, wanted: Sequence[Wanted]
) -> pd.DataFrame:
    """Technique by technique, metric by metric, sample by sample, whatever was done together."""
    first = {one.key: number for number, one in enumerate(material.techniques)}
    second = {_table_key(one, settings): number for number, one in enumerate(wanted)}
    names = (table[name] for name in ("technique", "metric", "variant"))
    places = [
        len(second) * first[one] + second[metric, variant]
        for one, metric, variant in zip(*names, strict=True)
    ]
    third = {
        name: number
        for one in material.techniques
        for number, name in enumerate(material.of(one.method, one.backbone).samples)
    }
    rows = [third[name] for name in table["sample_id"]]
    order = np.lexsort((np.array(rows, dtype=int), np.array(places, dtype=int)))
    return table.iloc[order].reset_index(drop=True)


def _table_key(wanted: Wanted, settings: MeasureParams) -> tuple[str, str]:
    """Metric and variant, as in the table."""
    own = get_settings(wanted.name, wanted.options, settings)
    return wanted.name, variant_name(wanted.name, own)


def _needs_maps_only(wanted: Wanted) -> bool:
    """Whether the metric can be measured where a release has left nothing but maps."""
    return set(METRICS.entry(wanted.name).metadata["needs"]) <= {"maps"}


def explains_again(wanted: Wanted) -> bool:
    """Whether the metric explains again."""
    return "explainer" in METRICS.entry(wanted.name).metadata["needs"]


def compares_maps(wanted: Wanted) -> bool:
    """Whether the metric compares all maps of a technique with each other."""
    return bool(METRICS.entry(wanted.name).metadata["whole_set"])
