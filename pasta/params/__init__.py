"""``params.yaml`` as frozen, typed objects.

An unknown key, a wrong type or an impossible value stops with the path of the key, what was
expected and the nearest valid key; nothing is guessed and nothing has a hidden default.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from pydantic import Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from pasta.errors import InputError
from pasta.params.analysis import AnalysisParams
from pasta.params.annotations import AnnotationParams
from pasta.params.applications import ApplicationsParams
from pasta.params.base import Section
from pasta.params.clip import ClipParams
from pasta.params.datasets import DatasetParams
from pasta.params.embedding import EmbeddingParams
from pasta.params.explanations import ExplanationParams
from pasta.params.measure import MeasureParams
from pasta.params.models import ModelsParams
from pasta.params.scoring import ScoringParams
from pasta.paths import PARAMS, project_root
from pasta.registry import did_you_mean


class Params(Section):
    """Everything a profile may change."""

    profile: str
    seed: Annotated[int, Field(ge=0)]
    image_size: Annotated[int, Field(ge=32, le=1024)]
    datasets: dict[str, DatasetParams]
    clip: ClipParams
    groups: dict[str, str]  # of classifiers, with the dataset of each
    models: dict[str, ModelsParams]  # of each group
    explanations: ExplanationParams
    annotations: AnnotationParams
    embedding: EmbeddingParams
    scoring: ScoringParams
    metrics: MeasureParams
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
        if self.groups.keys() != self.models.keys():
            differing = ", ".join(sorted(self.groups.keys() ^ self.models.keys()))
            raise ValueError(f"groups and models must have the same keys, but not {differing}")
        return self


__all__ = ["DatasetParams", "Params", "load_params"]


def load_params(path: Path | None = None) -> Params:
    """Read and check the parameters of the project, or of a given file."""
    file = path or project_root() / PARAMS
    return checked_params(file, _read_text(file))


@lru_cache(maxsize=8)  # the objects are frozen, and a stage asks more than once
def checked_params(file: Path, text: str) -> Params:
    """Parameters from text; ``file`` is named in errors."""
    try:
        return Params.model_validate(parse_yaml(file, text))
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
