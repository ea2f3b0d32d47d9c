"""Maps of a technique under every setting of a grid: made now, or made before and stored.

A :class:`Table` is what tuning works on. With models at hand (:func:`open_table`) a map is made
when it is asked for; the maps of the studies in the parameters are made by a stage of their own
(:func:`prepare_candidates`) and only read (:func:`load_candidates`) when there is a new scorer.

LIME's kernel width and penalty only weigh the same answers of the model differently. Candidates
that differ in nothing else share their forward passes, which are nearly all of the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from torch import Tensor

from pasta import compute
from pasta.applications.prepared.base import (
    Arrays,
    Fresh,
    fresh_images,
    groups_with,
    groups_with_new_images,
    load_prepared,
    named_images,
    require_fresh,
    run_units,
    save_nothing,
    save_prepared,
)
from pasta.applications.prepared.faithfulness import measure_drops
from pasta.config import Params
from pasta.datasets.stored import StoredDataset, open_dataset
from pasta.errors import InputError, PastaError
from pasta.explanations.attribution import shown_maps
from pasta.explanations.base import Given, View, raw_maps
from pasta.explanations.catalog import METHODS
from pasta.explanations.catalog import technique as named
from pasta.explanations.engine import Work, attributions, predicted_classes, view_of
from pasta.explanations.image import segment
from pasta.explanations.layers import resolve_layer
from pasta.explanations.methods.lime import kernel, random_switches, ridge
from pasta.explanations.settings import MethodsParams
from pasta.explanations.superpixels import (
    mean_colours,
    number_of,
    spread,
    superpixel_scores,
)
from pasta.explanations.techniques import Technique
from pasta.layout import Group
from pasta.models.base import Classifier
from pasta.models.checkpoint import load
from pasta.registry import did_you_mean
from pasta.resume import KeptUnits
from pasta.sections import Section, for_dataset

LAYER = "layer"  # the setting of all methods that look at a layer
Value = bool | int | float | str
Candidate = dict[str, Value]  # setting: value


@dataclass(frozen=True)
class Grid:
    """Checked values of some settings of a technique; equal ones are there once."""

    technique: Technique
    choices: Mapping[str, tuple[Value, ...]]
    default: Candidate  # of the same settings

    def __len__(self) -> int:
        size = 1
        for values in self.choices.values():
            size *= len(values)
        return size

    def candidates(self) -> Iterator[Candidate]:
        """All combinations, the last setting changing fastest."""
        for chosen in product(*self.choices.values()):
            yield dict(zip(self.choices, chosen, strict=True))


def read_grid(file: Path) -> dict[str, list[Any]]:
    """A YAML file ``{setting: [values]}``."""
    try:
        found = YAML(typ="safe").load(file.read_text())
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="YAML") from error
    if found is None or found == {}:
        raise InputError("the grid is empty", file=file, expected=_FORM)
    if not isinstance(found, dict) or not all(
        isinstance(values, list) for values in found.values()
    ):
        raise InputError("is no grid", file=file, expected=_FORM)
    return {str(name): values for name, values in found.items()}


def make_grid(
    technique: Technique,
    values: Mapping[str, Sequence[Any]],
    methods: MethodsParams,
    layers: Layers | None = None,
) -> Grid:
    """Check settings and values of a technique.

    ``methods`` has the defaults; ``layers`` knows the network's layers, for a grid of them.
    """
    if technique.kind != "saliency":
        raise PastaError(
            f"{technique.key} explains by concepts: tuning is guarded by the faithfulness of "
            "maps, so it needs a saliency technique"
        )
    section = section_of(technique, methods)
    default = dict(section) if section is not None else {}
    if layers is not None:
        default[LAYER] = layers.default
    if not default:
        raise PastaError(f"{technique.title} has nothing to set, so nothing to tune")
    if not values:
        raise PastaError(f"the grid of {technique.key} is empty: expected {_FORM}")
    checked: dict[str, tuple[Value, ...]] = {}
    for name, given in values.items():
        if name not in default:
            raise PastaError(
                f"{technique.key} has no setting {name!r}. {did_you_mean(name, default)}"
            )
        if not given:
            raise PastaError(f"the grid of {technique.key} has no value for {name!r}")
        own = [
            layers.canonical(str(value))
            if name == LAYER and layers is not None
            else _checked(technique, section, name, value)
            for value in given
        ]
        checked[name] = tuple(dict.fromkeys(own))
    return Grid(technique, checked, {name: default[name] for name in checked})


class Layers:
    """The layers of a network by name."""

    def __init__(self, model: Any, layer: Any) -> None:
        self.model = model
        self.default = self._name(layer)

    def canonical(self, name: str) -> str:
        """The one name of a layer: ``network.layer4.-1`` is also ``network.layer4.0``."""
        return self._name(resolve_layer(self.model, name)[0])

    def _name(self, layer: Any) -> str:
        names = (name for name, module in self.model.named_modules() if module is layer)
        return str(next(names))


def section_of(technique: Technique, methods: MethodsParams) -> Section | None:
    """The settings of a technique's method, if it has some."""
    found: Section | None = getattr(methods, technique.method, None)
    return found


def with_candidate(
    technique: Technique, methods: MethodsParams, candidate: Candidate
) -> MethodsParams:
    """All methods' settings with those of a candidate, which have been checked."""
    own = {name: value for name, value in candidate.items() if name != LAYER}
    section = section_of(technique, methods)
    if section is None or not own:
        return methods
    return methods.model_copy(update={technique.method: section.model_copy(update=own)})


def words(candidate: Candidate) -> str:
    """For people: ``kernel_width 0.1, segments 30``."""
    return ", ".join(f"{name} {value}" for name, value in candidate.items())


def _checked(technique: Technique, section: Section | None, name: str, value: Any) -> Value:
    assert section is not None  # noqa: S101 (a known setting comes from somewhere)
    if not isinstance(value, bool | int | float | str):
        raise PastaError(f"{technique.key}: {name} is {value!r}, expected one value, not several")
    try:
        made = type(section).model_validate({**dict(section), name: value})
    except ValidationError as error:
        expected = error.errors()[0]["msg"].replace("Input should be", "expected")
        raise PastaError(f"{technique.key}: {name} is {value!r}, {expected}") from None
    found: Value = getattr(made, name)
    return found


_FORM = "{setting: [values]}, for instance kernel_width: [0.1, 0.25]"


STAGE = "candidates"
KEYS = "applications.tuning.search + applications.tuning.held_out"
PARTS = ("search", "held_out")
Maps = NDArray[np.float32]
Floats = NDArray[np.float64]


class Subject(Protocol):
    """Some images of one dataset, explained by one technique under different settings."""

    @property
    def fresh(self) -> Fresh: ...  # the images
    @property
    def technique(self) -> Technique: ...  # that explains them
    @property
    def predicted(self) -> list[str]: ...  # names of the classes that are explained
    def shown(self, candidate: Candidate) -> Maps: ...  # (n, height, width) as people see them
    def drops(self) -> Floats: ...  # of the model's answer without subsets of pixels (n, subsets)


@dataclass(frozen=True)
class Table:
    """A grid of settings, and the images to try them on."""

    grid: Grid
    search: Sequence[Subject]  # to choose on, one for each dataset
    held_out: Sequence[Subject]  # to compare on

    @property
    def technique(self) -> Technique:
        """Whose settings they are."""
        return self.grid.technique


@dataclass
class LiveSubject:
    """Images, and the classifier that is explained on the device where it is."""

    fresh: Fresh
    model: Classifier
    technique: Technique
    params: Params
    _lime: dict[tuple[Any, ...], _LimeAnswers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.view = view_of(self.model)
        self.images = compute.place(self.fresh.images, compute.device_of(self.model))
        parts = torch.split(self.images, 16)
        self.targets = torch.cat([predicted_classes(self.view, part) for part in parts])

    @property
    def predicted(self) -> list[str]:
        """Names of the classes that are explained."""
        return [self.model.classes[index] for index in self.targets.tolist()]

    def shown(self, candidate: Candidate) -> Maps:
        """Maps (n, height, width) as people see them."""
        methods = with_candidate(self.technique, self.params.explanations.methods, candidate)
        sign = self.technique.sign
        if self.technique.method == "lime":
            return shown_maps(self._lime_maps(methods.lime), sign)
        explain = self.params.explanations
        work = Work(
            self._view_for(candidate),
            lambda part: self.images[part],
            self.targets,
            methods,
            self.params.seeds.explaining,
            explain.batch_size,
            explain.budget,
        )
        raw = [part.raw for part in attributions(work, [self.technique.method])]
        return shown_maps(np.concatenate(raw), sign)

    def drops(self) -> Floats:
        """How the target's probability drops without subsets of pixels (n, subsets)."""
        names = [f"{self.fresh.name}/{image}" for image in self.fresh.ids]
        return measure_drops(self.model, self.images, self.targets, names, self.params)

    def _view_for(self, candidate: Candidate) -> View:
        """The classifier, with the candidate's target layer if it has one."""
        if LAYER not in candidate:
            return self.view
        layer, reshape = resolve_layer(self.model, str(candidate[LAYER]))
        return replace(self.view, layer=layer, reshape=reshape)

    def _lime_maps(self, settings: Any) -> NDArray[Any]:
        key = (settings.samples, settings.segmenter, settings.segments)
        if key not in self._lime:
            given = Given(
                self.view,
                self.images,
                self.targets,
                {"lime": settings},
                self.params.seeds.explaining,
                self.params.explanations.budget,
            )
            self._lime[key] = _ask_lime(given, settings)
        maps = self._lime[key].maps(settings.kernel_width, settings.penalty)
        return compute.to_numpy(raw_maps(maps, (maps.shape[1], maps.shape[2]), "signed"))


@dataclass(frozen=True)
class _LimeAnswers:
    """What the model said about the masked copies of each image."""

    labels: list[Tensor]
    switches: list[Tensor]
    scores: list[Tensor]

    def maps(self, kernel_width: float, penalty: float) -> Tensor:
        """LIME's regression with these settings, image by image, in main memory."""
        found = []
        for labels, switches, scores in zip(self.labels, self.switches, self.scores, strict=True):
            inputs, values = switches.double()[None], scores.cpu().double()[None]
            [slopes] = ridge(inputs, values, kernel(switches, kernel_width)[None], penalty)
            found.append(spread(slopes, labels.cpu()))
        return torch.stack(found).float()


def _ask_lime(given: Given, settings: Any) -> _LimeAnswers:
    labels = [segment(image, settings.segmenter, settings.segments) for image in given.images]
    switches = [
        random_switches(settings.samples, number_of(label), given.generator(number, "lime"))
        for number, label in enumerate(labels)
    ]
    hidden = [mean_colours(*pair) for pair in zip(given.images, labels, strict=True)]
    return _LimeAnswers(labels, switches, superpixel_scores(given, labels, hidden, switches))


def open_table(
    technique: Technique,
    values: Mapping[str, Sequence[Any]],
    groups: Sequence[Group],
    params: Params,
    root: Path,
    numbers: tuple[int, int],
    keys: str = KEYS,
) -> Table:
    """A table with models.

    Parameters
    ----------
    values
        ``{setting: [values]}`` of the technique's method; ``layer`` is the target layer of CAM
        methods.
    groups
        Those of them are used that have the technique's classifier.
    numbers
        Images of each dataset to choose on, and to compare on; ``keys`` names who asks for them.
    """
    search, held_out = list[LiveSubject](), list[LiveSubject]()
    shared: dict[str, Any] = {}
    for group in groups_with(groups, technique.backbone):
        fresh = fresh_images(group, params, sum(numbers), keys, least=2)
        if not len(fresh):
            continue
        model, _ = load(group.models / technique.backbone, params, root, shared)
        compute.place(model)
        first = share_of_search(len(fresh), *numbers)
        parts = (fresh.rows[:first], fresh.rows[first:])
        for subjects, rows in zip((search, held_out), parts, strict=True):
            subjects.append(LiveSubject(Fresh(fresh.dataset, rows), model, technique, params))
    require_fresh([one.fresh for one in search], keys)
    return Table(check_grid(technique, values, search[0].model, params), search, held_out)


def share_of_search(there: int, search: int, held_out: int) -> int:
    """How many of some images to choose settings on, if there may be fewer than asked for.

    >>> share_of_search(100, 50, 50), share_of_search(49, 50, 50), share_of_search(2, 9, 1)
    (50, 24, 1)
    """
    if there == search + held_out:
        return search
    return min(max(there * search // (search + held_out), 1), there - 1)


def check_grid(
    technique: Technique, values: Mapping[str, Sequence[Any]], model: Classifier, params: Params
) -> Grid:
    """The grid of a technique; layers are those of ``model``, other networks are built alike."""
    layers = None
    if METHODS.entry(technique.method).metadata["needs_layer"]:
        layers = Layers(model, view_of(model).require_layer())
    grid = make_grid(technique, values, params.explanations.methods, layers)
    if len(grid) == 1 and next(grid.candidates()) == grid.default:
        raise PastaError(f"the grid of {technique.key} has the default only: nothing to compare")
    return grid


@dataclass(frozen=True)
class CandidateUnit:
    """Some images of one group under all settings of a grid."""

    grid: Grid
    part: str  # one of PARTS
    group: Group
    images: tuple[str, ...]
    params: Params
    root: Path


def prepare_candidates(
    groups: Sequence[Group], params: Params, root: Path, out: Path, kept: KeptUnits | None = None
) -> int:
    """Make and store the maps of all studies that the parameters name.

    Returns the number of images, those of each study for themselves.
    """
    groups = groups_with_new_images(groups)
    if not groups:
        save_nothing(out)
        return 0
    units = _units(groups, params, root)
    found = run_units("candidates", explain_candidates, units, kept)
    studies, arrays = [], Arrays()
    for grid in {unit.grid.technique.key: unit.grid for unit in units}.values():
        study: dict[str, Any] = {
            "technique": grid.technique.key,
            "grid": {name: list(values) for name, values in grid.choices.items()},
            "default": grid.default,
        }
        stem = _stem(grid.technique)
        for part in PARTS:
            places = [
                place
                for place, unit in enumerate(units)
                if unit.grid.technique == grid.technique and unit.part == part
            ]
            study[part] = [
                {
                    "dataset": units[place].group.dataset,
                    "images": list(units[place].images),
                    "predicted": found[place]["predicted"].tolist(),
                }
                for place in places
            ]
            maps = [found[place]["maps"] for place in places]
            arrays[f"{stem}.{part}"] = np.concatenate(maps, axis=1)
        arrays[f"{stem}.drops"] = np.concatenate([found[place]["drops"] for place in places])
        studies.append(study)
    save_prepared(out, {"studies": studies}, arrays)
    return sum(len(unit.images) for unit in units)


def _units(groups: Sequence[Group], params: Params, root: Path) -> list[CandidateUnit]:
    own, units = params.applications.tuning, []
    for study in own.studies:
        technique = named(study.technique)
        chosen = groups_with(groups, technique.backbone)
        model, _ = load(chosen[0].models / technique.backbone, params, root)
        grid = check_grid(technique, study.grid, model, params)
        for group in chosen:
            search, held_out = (
                for_dataset(number, group.dataset) for number in (own.search, own.held_out)
            )
            fresh = fresh_images(group, params, search + held_out, KEYS, least=2)
            if not len(fresh):
                continue
            first = share_of_search(len(fresh), search, held_out)
            for part, images in zip(PARTS, (fresh.ids[:first], fresh.ids[first:]), strict=True):
                units.append(CandidateUnit(grid, part, group, tuple(images), params, root))
        if not any(unit.grid.technique == technique for unit in units):
            require_fresh([], KEYS)
    return units


def explain_candidates(unit: CandidateUnit) -> Arrays:
    """Maps (settings, images, height, width), what is predicted, and drops of held-out images."""
    technique, params = unit.grid.technique, unit.params
    fresh = named_images(open_dataset(unit.group.images), unit.images)
    model, _ = load(unit.group.models / technique.backbone, params, unit.root)
    compute.place(model)
    subject = LiveSubject(fresh, model, technique, params)
    maps = np.stack([subject.shown(candidate) for candidate in _every(unit.grid)])
    drops = subject.drops() if unit.part == "held_out" else np.zeros((0, 0))
    return {
        "maps": maps.astype(np.float16), "predicted": np.array(subject.predicted), "drops": drops
    }  # fmt: skip


def load_candidates(folder: Path, technique: str, datasets: Mapping[str, StoredDataset]) -> Table:
    """The stored table of a technique, with images of ``datasets``."""
    card, arrays = load_prepared(folder, STAGE)
    study = next((one for one in card["studies"] if one["technique"] == technique), None)
    if study is None:
        raise PastaError(f"{folder}: there are no maps of {technique}; `dvc repro {STAGE}`")
    own, stem = named(technique), _stem(named(technique))
    grid = Grid(own, {key: tuple(some) for key, some in study["grid"].items()}, study["default"])
    places = {_key(one): place for place, one in enumerate(_every(grid))}
    parts: dict[str, list[_StoredSubject]] = {part: [] for part in PARTS}
    for part in PARTS:
        start = 0
        for one in study[part]:
            rows = slice(start, start + len(one["images"]))
            fresh = named_images(datasets[one["dataset"]], one["images"])
            maps = arrays[f"{stem}.{part}"][:, rows]
            drops = arrays[f"{stem}.drops"][rows] if part == "held_out" else None
            parts[part].append(_StoredSubject(fresh, own, one["predicted"], maps, places, drops))
            start = rows.stop
    return Table(grid, parts["search"], parts["held_out"])


@dataclass(frozen=True)
class _StoredSubject:
    fresh: Fresh
    technique: Technique
    predicted: list[str]
    maps: NDArray[np.float16]  # (candidates, n, height, width)
    places: Mapping[tuple[Any, ...], int]
    dropped: Floats | None

    def shown(self, candidate: Candidate) -> Maps:
        return np.asarray(self.maps[self.places[_key(candidate)]], np.float32)

    def drops(self) -> Floats:
        if self.dropped is None:
            raise PastaError("only held-out images have their drops stored")
        return np.array(self.dropped)


def _every(grid: Grid) -> list[Candidate]:
    """The default, and all combinations but that one."""
    others = [one for one in grid.candidates() if one != grid.default]
    return [grid.default, *others]


def _key(candidate: Candidate) -> tuple[Any, ...]:
    return tuple(sorted(candidate.items()))


def _stem(technique: Technique) -> str:
    return technique.key.replace("/", "-")
