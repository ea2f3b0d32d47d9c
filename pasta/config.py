"""``params.yaml`` as frozen, typed objects.

The file holds what differs from the defaults, which stand beside the code that they belong to
(``settings.py`` of each package); ``pasta profile show`` prints everything. An unknown key, a wrong
type or an impossible value stops with the path of the key, what was expected and the nearest valid
key.

Profiles are small files in ``pipelines/profiles`` that say what differs from ``params.yaml``, which
is the demo. A profile is laid over it key by key: a mapping is merged, a list or a value replaced,
and a key whose value is ``~drop`` is taken out. A profile with ``extends: NAME`` is laid over the
profile of that name instead.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from pasta.applications.settings import ApplicationsParams
from pasta.benchmark.settings import BenchmarkParams
from pasta.datasets.settings import DatasetParams, ReleaseParams
from pasta.embedding.settings import EmbeddingParams
from pasta.errors import InputError, PastaError
from pasta.explanations.settings import ExplanationParams
from pasta.git import committed
from pasta.metrics.settings import MeasureParams
from pasta.models.settings import ClipParams, ModelsParams, is_random
from pasta.paths import PARAMS, PROFILES, project_root
from pasta.registry import did_you_mean
from pasta.scoring.settings import ScoringParams
from pasta.sections import OTHERS, Count, Section, complete
from pasta.studies.attention.settings import AttentionParams
from pasta.studies.prediction.settings import PredictionParams
from pasta.studies.ratings.settings import AnnotationParams
from pasta.texts.settings import TextsParams

DEMO = "demo"
DROP = "~drop"
EXTENDS = "extends"
JOINT = "-"  # between the names of profiles that are laid one over the other


class AnalysisParams(Section):
    """Intervals and tests by resampling; more draws take longer and wobble less."""

    resamples: Count = 10_000  # of a bootstrap
    permutations: Count = 10_000  # of a permutation test


Seed = Annotated[int, Field(ge=0)]


class SeedParams(Section):
    """Where chance starts, one seed for each of its uses.

    With another one only the stages that use it run again: `dvc exp run -S seeds.training=1` trains
    anew on the same images.
    """

    drawing: Seed  # images
    splitting: Seed  # into parts to train and to test on, of files and of rated explanations
    training: Seed  # of classifiers, encoders and scorers
    explaining: Seed  # which images are explained, their perturbed copies, methods that sample
    measuring: Seed  # noise and subsets of pixels of metrics
    simulating: Seed  # who rates what, and what simulated people answer
    analysing: Seed  # bootstraps, permutation tests, searches


class Params(Section):
    """Everything a profile may change."""

    profile: str
    seeds: SeedParams
    image_size: Annotated[int, Field(ge=32, le=1024)]
    datasets: dict[str, DatasetParams]
    release: ReleaseParams  # where datasets of the source `released` are
    clip: ClipParams
    groups: dict[str, str]  # of classifiers, with the dataset of each
    rated: dict[str, str]  # those of them whose explanations people rate
    models: dict[str, ModelsParams]  # of each group
    explanations: ExplanationParams
    annotations: AnnotationParams
    attention: AttentionParams = AttentionParams()
    prediction: PredictionParams = PredictionParams()
    embedding: EmbeddingParams
    scoring: ScoringParams
    metrics: MeasureParams
    benchmark: BenchmarkParams
    texts: TextsParams
    analysis: AnalysisParams
    applications: ApplicationsParams

    @model_validator(mode="after")
    def _known(self) -> Params:
        for group, dataset in self.groups.items():
            if dataset not in self.datasets:
                raise ValueError(
                    f"groups.{group} is {dataset!r}, expected one of the datasets: "
                    f"{', '.join(self.datasets)}"
                )
        for group, dataset in self.rated.items():
            if self.groups.get(group) != dataset:
                raise ValueError(f"rated.{group} is {dataset!r}, expected it among groups")
        if self.groups.keys() != self.models.keys():
            differing = ", ".join(sorted(self.groups.keys() ^ self.models.keys()))
            raise ValueError(f"groups and models must have the same keys, but not {differing}")
        for key, numbers in self._numbers_per_dataset().items():
            named = numbers.keys() - {OTHERS}
            if named - self.datasets.keys() or (
                OTHERS not in numbers and named != set(self.datasets)
            ):
                raise ValueError(
                    f"{key} has a number for {', '.join(numbers)}, expected one for each of the "
                    f"datasets: {', '.join(self.datasets)} (or {OTHERS})"
                )
        for key, names in (
            ("benchmark.datasets", self.benchmark.datasets),
            ("benchmark.compared.datasets", self.benchmark.compared.datasets),
        ):
            for name in names:
                if name not in self.datasets:
                    raise ValueError(
                        f"{key} names {name!r}, expected some of the datasets: "
                        f"{', '.join(self.datasets)}"
                    )
        return self

    @property
    def random_weights(self) -> list[str]:
        """Classifiers, encoders and towers with random weights in place of pretrained ones."""
        embedding, towers = self.embedding, self.applications.backbones.towers
        every = [
            *(pair for section in self.models.values() for pair in section.weights.items()),
            (f"CLIP {self.clip.architecture}", self.clip.weights),
            (embedding.encoder, embedding.weights),
            *embedding.variants.encoders.items(),
            *((f"tower {tower.name}", tower.weights) for tower in towers),
        ]
        return list(dict.fromkeys(name for name, weights in every if is_random(weights)))

    def _numbers_per_dataset(self) -> dict[str, Mapping[str, int]]:
        """The settings with a number for each dataset, by their keys."""
        backbones, tuning = self.applications.backbones, self.applications.tuning
        every = {
            "explanations.images": self.explanations.images,
            **{f"metrics.images.{name}": one for name, one in self.metrics.images.items()},
            "applications.backbones.images": backbones.images,
            "applications.tuning.search": tuning.search,
            "applications.tuning.held_out": tuning.held_out,
        }
        return {key: numbers for key, numbers in every.items() if isinstance(numbers, dict)}


def load_params(path: Path | None = None) -> Params:
    """Read and check the parameters of the project, or of a given file."""
    file = path or project_root() / PARAMS
    return checked_params(file, _read_text(file))


@lru_cache(maxsize=8)  # the objects are frozen, and a stage asks more than once
def checked_params(file: Path, text: str) -> Params:
    """Parameters from text; ``file`` is named in errors."""
    try:
        given = parse_yaml(file, text)
        return Params.model_validate(complete(Params, given) if isinstance(given, dict) else given)
    except ValidationError as error:
        lines = ["the parameters are not valid:", *map(_explain, error.errors())]
        raise InputError("\n  ".join(lines), file=file) from None


def _read_text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="YAML") from error


def parse_yaml(file: Path, text: str) -> Any:
    """Read YAML as DVC does (1.2: ``1e-3`` is a number, ``no`` is text, a doubled key an error)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe").load(text)
    except YAMLError as error:
        raise InputError(f"cannot be read: {error}", file=file, expected="YAML") from error


def _explain(detail: ErrorDetails) -> str:
    path = ".".join(map(str, detail["loc"])) or "the whole file"
    found = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            hint = did_you_mean(str(detail["loc"][-1]), _keys_beside(detail["loc"]))
            return f"{path}: unknown key. {hint}"
        case "missing":
            return f"{path}: this key is missing"
        case "value_error":
            return f"{path}: {detail['msg'].removeprefix('Value error, ')}"
    expected = detail["msg"].replace("Input should be", "expected")
    return f"{path}: found {found!r}, {expected}"


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    """The keys that are valid where an unknown one was found."""
    section: Any = Params
    for step in location[:-1]:
        if get_origin(section) is dict:
            section = get_args(section)[1]
            continue
        annotation = section.model_fields[str(step)].annotation
        kinds = (kind for kind in get_args(annotation) if isinstance(kind, type))
        if get_origin(annotation) is not dict:
            annotation = next(kinds, annotation)
        section = annotation
    return list(section.model_fields)


# Profiles


def profile_names(root: Path) -> list[str]:
    """All profiles, the demo first."""
    return [DEMO, *sorted(path.stem for path in (root / PROFILES).glob("*.yaml"))]


def profile_text(
    names: str | Sequence[str],
    root: Path,
    release: Mapping[str, Any] | None = None,
    datasets: Sequence[str] | None = None,
) -> str:
    """The whole ``params.yaml`` of a profile, as text.

    Parameters
    ----------
    names
        A profile, or several that are laid one over the other: ``["released", "ci"]``.
    root
        Of the project.
    release
        What replaces the section ``release``, such as ``{"root": "/data/PASTA"}``.
    datasets
        Keep only these datasets, with their groups of classifiers; None keeps all.
    """
    laid = [names] if isinstance(names, str) else list(names)
    files = [file for name in laid for file in _files(name, root)]
    base = demo_text(root)
    if not files and release is None and datasets is None:
        return base
    merged: dict[str, Any] = parse_yaml(root / PARAMS, base)
    gone: set[tuple[str, ...]] = set()  # what a profile drops, the next one does not bring back
    for name in laid:
        dropped: set[tuple[str, ...]] = set()
        for file in _files(name, root):
            changes = _without(parse_yaml(file, file.read_text()), gone)
            merged = overlay(merged, {key: changes[key] for key in changes if key != EXTENDS})
            dropped |= set(_dropped(changes))
        gone |= dropped
    merged["profile"] = JOINT.join(laid)
    if release is not None:
        merged["release"] = dict(release)
    if datasets is not None or len(laid) > 1:  # the benchmark names no dataset that is gone
        merged = _keep_datasets(merged, list(merged["datasets"]) if datasets is None else datasets)
    return _header(merged["profile"], files) + dump_yaml(merged)


def _dropped(changes: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that a profile takes out, with those above them."""
    for key, value in changes.items():
        if value == DROP:
            yield (*above, key)
        elif isinstance(value, Mapping):
            yield from _dropped(value, (*above, key))


def _without(
    changes: Mapping[str, Any], gone: Set[tuple[str, ...]], above: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Changes but for those below keys that are gone."""
    return {
        key: _without(value, gone, (*above, key)) if isinstance(value, Mapping) else value
        for key, value in changes.items()
        if (*above, key) not in gone
    }


def _keep_datasets(params: Mapping[str, Any], kept: Sequence[str]) -> dict[str, Any]:
    """Parameters without the other datasets and their groups, wherever one of them is a key.

    Nor does the benchmark name one of them.
    """
    gone = {name for name in params["datasets"] if name not in kept}
    gone |= {group for group, dataset in params["groups"].items() if dataset in gone}

    def without(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {key: without(one) for key, one in value.items() if key not in gone}

    found = {key: without(value) for key, value in params.items()}
    study = found["benchmark"]
    for section in (study, study.get("compared", {})):
        if "datasets" in section:
            known = found["datasets"]
            section["datasets"] = [name for name in section["datasets"] if name in known]
    return found


def _files(name: str, root: Path, above: tuple[str, ...] = ()) -> list[Path]:
    """The files that are laid over the demo one after the other, the profile's own last."""
    known = profile_names(root)
    if name not in known:
        wanted = f"{above[-1]} extends {name!r}, and " if above else ""
        raise PastaError(
            f"{wanted}there is no profile called {name!r}. {did_you_mean(name, known)}"
        )
    if name in above:
        raise PastaError(f"profiles extend each other in a circle: {' -> '.join((*above, name))}")
    if name == DEMO:
        return []
    file = root / PROFILES / f"{name}.yaml"
    base = parse_yaml(file, file.read_text()).get(EXTENDS, DEMO)
    return [*_files(base, root, (*above, name)), file]


def demo_text(root: Path) -> str:
    """The demo's ``params.yaml``: the file itself, or the last committed one that was its."""
    now = (root / PARAMS).read_text()
    for text in chain([now], committed(root, PARAMS, most=200)):
        if parse_yaml(root / PARAMS, text).get("profile") == DEMO:
            return text
    raise PastaError(
        f"{root / PARAMS}: is not the demo's, and no commit has it; profiles are laid over it"
    )


def overlay(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The base with the changes laid over it; neither is touched.

    >>> overlay({"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": "~drop"}})
    {'a': {'b': 3}}
    """
    merged = copy.deepcopy({**base})
    for key, value in changes.items():
        if value == DROP:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = overlay(merged[key], value)
        elif isinstance(value, Mapping):
            merged[key] = overlay({}, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


def _header(profile: str, files: Sequence[Path]) -> str:
    names = ", ".join(str(PROFILES / file.name) for file in files)
    return (
        f"# The profile {profile!r}: {names}\n"
        f"# laid over the demo's {PARAMS}, whose comments say what the keys mean.\n"
        f"# `pasta profile use {DEMO}` brings that file back.\n"
    )


def dump_yaml(value: Mapping[str, Any]) -> str:
    """YAML in block style, but short lists in one line."""
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = 100
    out = io.StringIO()
    yaml.dump(dict(value), out)
    return out.getvalue()
