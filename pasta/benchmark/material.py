"""What the benchmark measures: maps of all methods on the same images of a dataset.

Maps are made once for a reading and kept in full precision as metrics see them, their positive part
divided by its maximum (LATEC's Appendix F). The units that measure them open them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pasta import store, tables
from pasta.benchmark.applied import explains, method_settings, metric_settings
from pasta.benchmark.catalog import choose_methods, choose_metrics
from pasta.benchmark.own_method import register_own
from pasta.config import Params
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.datasets.vocabulary import Vocabulary
from pasta.explanations.base import View
from pasta.explanations.catalog import METHODS
from pasta.explanations.samples import choose_fresh, choose_rated
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.metrics.runner import Again, GroupSource, Loaded, Material, Names, Source, Subject
from pasta.metrics.runner import Subjects as GroupSubjects
from pasta.models.checkpoint import CARD
from pasta.readings import Reading
from pasta.seeds import generator

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class BenchmarkSource(Source):
    """The maps of one reading, of some images of one dataset."""

    dataset: str
    data: Path  # the folder of all stages' data
    maps: Path  # where the maps are
    reading: Reading
    observations: int
    own: tuple[str, ...] = ()  # methods of a user, as module:function
    only_own: bool = False  # no others

    def open(self) -> Observed:
        """The maps, in the process that measures them."""
        return Observed(self)


def apply_settings(params: Params, words: Vocabulary, reading: Reading) -> Params:
    """The parameters with LATEC's settings of methods and metrics in the place of the project's.

    ``words`` are those of the dataset.
    """
    study = params.benchmark
    explanations = params.explanations.model_copy(
        update={
            "methods": method_settings(words.modality, study.sizes, reading),
            "batch_size": study.batch_size,
            "budget": study.budget,
        }
    )
    not_again = choose_methods(study.not_again) if study.not_again else ()
    metrics = metric_settings(
        words.modality,
        words.dataset,
        study.sizes,
        reading,
        names=tuple(one.key for one in choose_metrics(study.metrics)),
        noises=("uniform",),
        not_again=tuple(one.key for one in not_again),
    )
    return params.model_copy(update={"explanations": explanations, "metrics": metrics})


def find_homes(dataset: str, params: Params, data: Path) -> dict[str, Path]:
    """The folder of each classifier of the study that was trained on the dataset."""
    ours = [Group(key, name, data) for key, name in params.groups.items() if name == dataset]
    return {
        model: group.models / model
        for model in params.benchmark.models
        for group in ours
        if (group.models / model / CARD).is_file()
    }


def list_techniques(
    models: Iterable[str],
    params: Params,
    modality: str,
    own: Sequence[str] = (),
    only_own: bool = False,
) -> list[Technique]:
    """Every method of the study on every classifier that it explains, and a user's own on all."""
    chosen = () if only_own else choose_methods(params.benchmark.methods)
    return [
        _technique(key, model)
        for model in models
        for key in (*(one.key for one in chosen if explains(one, model, modality)), *own)
    ]


def choose_observations(dataset: StoredDataset, params: Params, number: int) -> NDArray[np.int64]:
    """Rows of the images that all methods explain: rated ones first, then others.

    A smaller number takes the first of those that a larger one takes.
    """
    name, test = dataset.vocabulary.dataset, dataset.rows("test")
    random = generator(params.seeds.explaining, "observations", name)
    rated = random.permutation(choose_rated(test, name, params))
    others = choose_fresh(test, name, params, max(0, number - len(rated)))
    return np.asarray([*rated, *others][:number], dtype=np.int64)


def choose_references(dataset: StoredDataset, params: Params) -> NDArray[np.int64]:
    """Rows of the training images that methods with references start from."""
    rows, number = dataset.rows("train"), params.benchmark.references
    random = generator(params.seeds.explaining, "references", dataset.vocabulary.dataset)
    return np.sort(random.choice(rows, min(number, len(rows)), replace=False))


def prepare(raw: Floats) -> Floats:
    """The positive part of each map, divided by its maximum; a map of nothing stays one.

    >>> prepare(np.array([[[2.0, -4.0]], [[-1.0, 0.0]]], dtype=np.float32)).tolist()
    [[[1.0, 0.0]], [[0.0, 0.0]]]
    """
    positive = np.maximum(np.asarray(raw, dtype=np.float32), 0)  # what is not a number stays so
    largest = positive.max(axis=tuple(range(1, positive.ndim)), keepdims=True)
    return np.asarray(positive / np.where(largest > 0, largest, 1), dtype=np.float32)


class Observed(Material):
    """The maps of the benchmark."""

    def __init__(self, source: BenchmarkSource) -> None:
        super().__init__(source.params, source.root)
        self.source = source
        self._dataset = open_dataset(source.data / "images" / source.dataset)
        self.own = tuple(map(register_own, source.own))

    @property
    def dataset(self) -> StoredDataset:
        """The images of the dataset."""
        return self._dataset

    @cached_property
    def homes(self) -> dict[str, Path]:
        """The folder of each trained classifier."""
        return find_homes(self.source.dataset, self.params, self.source.data)

    def home(self, backbone: str) -> Path:
        """Where a trained classifier is."""
        return self.homes[backbone]

    @cached_property
    def techniques(self) -> list[Technique]:
        """Every method on every classifier that it explains, and the user's own on all."""
        own = self.own, self.source.only_own
        return list_techniques(self.homes, self.params, self.modality.name, *own)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Of the images in the arrays of the dataset."""
        return choose_observations(self.dataset, self.params, self.source.observations)

    @cached_property
    def images(self) -> Names:
        """The names of the images."""
        return tuple(self.dataset.images["image_id"].astype(str).iloc[self.rows])

    def inputs(self, part: slice = slice(None)) -> Tensor:
        """The images as models want them."""
        return self.modality.load(np.ascontiguousarray(self.dataset.pixels[self.rows[part]]))

    @cached_property
    def references(self) -> Tensor:
        """Where methods with references start from.

        As published these are the observations themselves.
        """
        corrected = self.source.reading == "corrected"
        rows = choose_references(self.dataset, self.params) if corrected else self.rows
        if len(rows) == 0:
            rows = self.rows
        return self.modality.load(np.ascontiguousarray(self.dataset.pixels[rows]))

    def targets(self, model: str) -> NDArray[np.int64]:
        """The class to explain for each image: its label, or what the classifier predicts."""
        if self.params.benchmark.explained == "label":
            return self.dataset.labels()[self.rows]
        file = self.homes[model].parent / "predictions.parquet"
        every = store.read(file, tables.PREDICTIONS)
        known = every[every["model"] == model].set_index("image_id")["predicted"]
        classes = self.dataset.vocabulary.classes
        return np.array([classes.index(str(known[name])) for name in self.images], dtype=np.int64)

    def file(self, method: str, model: str) -> Path:
        """Where the maps of a technique are."""
        return self.source.maps / model / f"{method}.npy"

    def images_of(self, metric: str) -> Names | None:  # noqa: ARG002 (the same for all)
        """All of them, of every metric."""
        return None

    def of(self, method: str, backbone: str, images: Names | None = None) -> Subject:
        """The maps of one technique, by its names, on all or on some images."""
        places = [n for n, name in enumerate(self.images) if images is None or name in images]
        chosen = np.array(places, dtype=np.int64)
        maps = store.read_array(self.file(method, backbone))

        def load(part: slice) -> NDArray[Any]:
            return np.asarray(maps[chosen[part]])

        dataset = self.source.dataset
        return Subject(
            Loaded((len(chosen), *maps.shape[1:]), load),
            lambda part: self.inputs()[chosen[part]],
            self.targets(backbone)[chosen],
            modality=self.modality,
            samples=tuple(f"{dataset}/{self.images[n]}/{method}/{backbone}" for n in places),
        )

    def again(self, view: View, methods: tuple[str, ...]) -> Again:
        """How metrics explain changed copies: prepared as the maps themselves are."""
        return Again(view, methods, self.params, self.modality, prepare, self.references)


@dataclass(frozen=True)
class RatedSource(GroupSource):
    """The rated explanations of a group, on some of the images of the benchmark."""

    images: Names = ()

    def open(self) -> Rated:
        """The explanations, in the process that measures them."""
        return Rated(self)


class Rated(GroupSubjects):
    """Explanations that people have rated, prepared as those of the benchmark are."""

    def __init__(self, source: RatedSource) -> None:
        super().__init__(source.group, source.params, source.root)
        self._images = source.images

    def images_of(self, metric: str) -> Names | None:  # noqa: ARG002 (the same for all)
        """The images that the benchmark has chosen."""
        return self._images

    def take(self, technique: Technique, images_only: Names | None = None) -> Subject:
        """The maps of one technique on all or on some images."""
        found = super().take(technique, images_only)
        given = found.maps
        return replace(found, maps=Loaded(given.shape, lambda part: prepare(given[part])))

    def again(self, view: View, methods: tuple[str, ...]) -> Again:
        """How metrics explain changed copies: prepared as the maps themselves are."""
        return Again(view, methods, self.params, self.modality, prepare)


def _technique(method: str, model: str) -> Technique:
    title = METHODS.entry(method).metadata["title"]
    return Technique(method, model, title, kind="saliency", sign="positive", stage="post-hoc")
