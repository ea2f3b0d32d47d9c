"""``params.yaml`` as frozen, typed objects.

An unknown key, a wrong type or an impossible value stops with the path of the key, what was
expected and the nearest valid key; nothing is guessed and nothing has a hidden default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from pasta.errors import InputError
from pasta.paths import PARAMS, project_root
from pasta.registry import did_you_mean

Fraction = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the parameters: nothing unknown, nothing converted, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class DatasetParams(Section):
    """Where a dataset comes from and how much of it is used."""

    source: Literal["drawn", "files"]
    root: str | None  # of the original files; unused for drawn images
    train: Count | None  # number of images; null takes all there are (files only)
    validation: Count | None
    test: Count | None
    color_bias: Fraction  # drawn catsdogscars: how often colour gives the class away

    @model_validator(mode="after")
    def _possible(self) -> DatasetParams:
        if self.source == "files" and self.root is None:
            raise ValueError("source 'files' needs a root folder")
        if self.source == "drawn" and None in (self.train, self.validation, self.test):
            raise ValueError("source 'drawn' needs a number of images for each split, not null")
        return self


class DatasetsParams(Section):
    """The four datasets of the papers."""

    catsdogscars: DatasetParams
    pascalpart: DatasetParams
    monumai: DatasetParams
    coco: DatasetParams

    def __getitem__(self, name: str) -> DatasetParams:
        section: DatasetParams = getattr(self, name)
        return section


class AnnotationParams(Section):
    """The rating study."""

    annotators: Count
    votes: Count  # for each sample, by different annotators
    samples: Count | None  # a random subset of all explanations (P1); null takes all planned
    techniques_per_image: Count  # P2 shows 21 of the 46
    ties: Literal["smallest", "largest", "median"]  # between equally frequent stars


class EmbeddingParams(Section):
    """The encoder of rendered explanations."""

    encoder: str
    weights: str
    n_top: Count  # concepts named in the sentence of a concept explanation


class LossParams(Section):
    """Weights of the three terms of the scoring loss (P1, Eq. 9)."""

    similarity: NotNegative
    squared_error: NotNegative
    ranking: NotNegative


class ScorerParams(Section):
    """A scoring network and its training."""

    hidden: tuple[Count, ...] = Field(strict=False)
    learning_rate: Positive
    weight_decay: NotNegative
    batch_size: Count
    epochs: Count
    evaluate_every: Count
    loss: LossParams


class SplitParams(Section):
    """How explanations are divided for training the score."""

    by: Literal["none", "image", "technique", "image_and_technique", "dataset_and_technique"]
    train: Fraction
    seeds: Count


class ScoringParams(Section):
    """The PASTA-score: its first (linear) and second (MLP) version."""

    split: SplitParams
    linear: ScorerParams
    mlp: ScorerParams


class Params(Section):
    """Everything a profile may change."""

    profile: str
    seed: Annotated[int, Field(ge=0)]
    image_size: Annotated[int, Field(ge=32, le=1024)]
    datasets: DatasetsParams
    annotations: AnnotationParams
    embedding: EmbeddingParams
    scoring: ScoringParams


def load_params(path: Path | None = None) -> Params:
    """Read and check the parameters of the project, or of a given file."""
    file = path or project_root() / PARAMS
    try:
        return Params.model_validate(_read_yaml(file))
    except ValidationError as error:
        lines = ["the parameters are not valid:", *map(_explain, error.errors())]
        raise InputError("\n  ".join(lines), file=file) from None


def _read_yaml(file: Path) -> Any:
    """Read YAML as DVC does (1.2: ``1e-3`` is a number, ``no`` is text, a doubled key an error)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe").load(file.read_text())
    except (OSError, UnicodeDecodeError, YAMLError) as error:
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
        annotation = section.model_fields[str(step)].annotation
        section = next(
            (kind for kind in get_args(annotation) if isinstance(kind, type)), annotation
        )
    return list(section.model_fields)
