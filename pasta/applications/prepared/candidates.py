"""Maps of a technique under every setting of a grid: made now, or made before and stored.

A :class:`Table` is what tuning works on. With models at hand (:func:`lay`) a map is made when it is
asked for; the maps of the studies in the parameters are made by a stage of their own
(:func:`prepare_candidates`) and only read (:func:`load_candidates`) when there is a new scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pasta.applications.prepared import saving
from pasta.applications.prepared.fresh import Fresh, fresh_images, named_images
from pasta.applications.prepared.grid import Candidate, Grid, Layers, make_grid, section_of
from pasta.datasets.stored import StoredDataset
from pasta.errors import PastaError
from pasta.explanations.techniques import Technique
from pasta.explanations.techniques import technique as named
from pasta.params import Params

STAGE = "candidates"
KEYS = "applications.tuning.search + applications.tuning.held_out"
PARTS = ("search", "held_out")
Maps = NDArray[np.float32]


class Subject(Protocol):
    """Some images of one dataset, explained by one technique under different settings."""

    @property
    def fresh(self) -> Fresh:
        """The images."""

    @property
    def technique(self) -> Technique:
        """That explains them."""

    @property
    def predicted(self) -> list[str]:
        """Names of the classes that are explained."""

    def shown(self, candidate: Candidate) -> Maps:
        """Maps (n, height, width) as people see them."""

    def falls(self, subsets: int) -> NDArray[np.float64]:
        """How the model falls without subsets of pixels (n, subsets), for faithfulness."""


@dataclass(frozen=True)
class Table:
    """A grid of settings, and the images to try them on."""

    grid: Grid
    search: Sequence[Subject]  # to choose on, one for each dataset
    held_out: Sequence[Subject]  # to compare on
    weights: Sequence[str]  # md5s of the classifiers

    @property
    def technique(self) -> Technique:
        """Whose settings they are."""
        return self.grid.technique

    def fingerprint(self, params: Params, **others: Any) -> str:
        """Of everything that the values of a candidate depend on, and the grid."""
        from pasta.models.fingerprint import fingerprint

        section = section_of(self.technique, params.explanations.methods)
        return fingerprint(
            {
                "technique": self.technique.key,
                "grid": {name: list(values) for name, values in self.grid.choices.items()},
                "settings": None if section is None else section.model_dump(mode="json"),
                "images": [[one.fresh.name, *one.fresh.ids] for one in self.search],
                "weights": list(self.weights),
                "seed": params.seed,
                **others,
            }
        )


def lay(
    technique: Technique,
    values: Mapping[str, Sequence[Any]],
    folders: Sequence[Path],
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
    numbers
        Images of each dataset to choose on, and to compare on; ``keys`` names who asks for them.
    """
    from pasta.applications.prepared.subjects import LiveSubject
    from pasta.models.checkpoint import load

    search, held_out, weights = list[LiveSubject](), list[LiveSubject](), list[str]()
    shared: dict[str, Any] = {}
    for folder in folders:
        fresh = fresh_images(folder, params, sum(numbers), keys)
        model, card = load(folder / "models" / technique.backbone, params, root, shared)
        weights.append(card["weights_md5"])
        parts = slice(0, numbers[0]), slice(numbers[0], None)
        for subjects, part in zip((search, held_out), parts, strict=True):
            subjects.append(LiveSubject(fresh.part(part), model, technique, params))
    if "clip" in shared:
        weights.append(shared["clip"].md5)
    first, layers = search[0], None
    if technique.about["needs_layer"]:  # those of the first network; the others are built alike
        layers = Layers(first.model, first.view.require_layer())
    grid = make_grid(technique, values, params.explanations.methods, layers)
    if len(grid) == 1 and next(grid.candidates()) == grid.default:
        raise PastaError(f"the grid of {technique.key} has the default only: nothing to compare")
    return Table(grid, search, held_out, weights)


def prepare_candidates(
    folders: Sequence[Path],
    params: Params,
    root: Path,
    out: Path,
    advance: Callable[[str], None],
) -> None:
    """Make and store the maps of all studies that the parameters name.

    ``advance`` hears of each candidate, see :func:`amount`.
    """
    own = params.applications.tuning
    studies, arrays = [], dict[str, NDArray[Any]]()
    for study in own.studies:
        technique = named(study.technique)
        table = lay(technique, study.grid, folders, params, root, (own.search, own.held_out))
        maps: dict[str, list[Maps]] = {part: [] for part in PARTS}
        for candidate in _every(table.grid):
            for part in PARTS:
                shown = [one.shown(candidate) for one in getattr(table, part)]
                maps[part].append(np.concatenate(shown))
            advance(f"{technique.key}: {candidate}")
        stem = _stem(technique)
        for part in PARTS:
            arrays[f"{stem}.{part}"] = np.stack(maps[part]).astype(np.float16)
        falls = [one.falls(params.applications.subsets) for one in table.held_out]
        arrays[f"{stem}.falls"] = np.concatenate(falls)
        studies.append(_described(table))
    saving.save(out, {"studies": studies}, arrays)


def amount(params: Params) -> int:
    """About how many candidates there are in all studies; a default may be one of the grid."""
    total = 0
    for study in params.applications.tuning.studies:
        size = 1
        for values in study.grid.values():
            size *= len(values)
        total += size + 1
    return total


def load_candidates(folder: Path, technique: str, datasets: Mapping[str, StoredDataset]) -> Table:
    """The stored table of a technique, with images of ``datasets``."""
    card, arrays = saving.load(folder, STAGE)
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
            falls = arrays[f"{stem}.falls"][rows] if part == "held_out" else None
            parts[part].append(_StoredSubject(fresh, own, one["predicted"], maps, places, falls))
            start = rows.stop
    return Table(grid, parts["search"], parts["held_out"], study["weights"])


@dataclass(frozen=True)
class _StoredSubject:
    fresh: Fresh
    technique: Technique
    predicted: list[str]
    maps: NDArray[np.float16]  # (candidates, n, height, width)
    places: Mapping[tuple[Any, ...], int]
    fallen: NDArray[np.float64] | None

    def shown(self, candidate: Candidate) -> Maps:
        return np.asarray(self.maps[self.places[_key(candidate)]], np.float32)

    def falls(self, subsets: int) -> NDArray[np.float64]:
        if self.fallen is None or self.fallen.shape[1] != subsets:
            raise PastaError(f"there are no answers about {subsets} subsets; `dvc repro {STAGE}`")
        return np.array(self.fallen)


def _described(table: Table) -> dict[str, Any]:
    return {
        "technique": table.technique.key,
        "grid": {name: list(values) for name, values in table.grid.choices.items()},
        "default": table.grid.default,
        "weights": list(table.weights),
        **{
            part: [
                {"dataset": one.fresh.name, "images": one.fresh.ids, "predicted": one.predicted}
                for one in getattr(table, part)
            ]
            for part in PARTS
        },
    }


def _every(grid: Grid) -> list[Candidate]:
    """The default, and all combinations but that one."""
    others = [one for one in grid.candidates() if one != grid.default]
    return [grid.default, *others]


def _key(candidate: Candidate) -> tuple[Any, ...]:
    return tuple(sorted(candidate.items()))


def _stem(technique: Technique) -> str:
    return technique.key.replace("/", "-")
