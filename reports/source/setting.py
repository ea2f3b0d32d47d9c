"""What the parameters say that every report repeats: the profile, and what is not as published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pasta import store
from pasta.config import Params
from pasta.errors import PastaError
from pasta.explanations.techniques import BACKBONE_TITLES
from pasta.paths import DATA
from pasta.studies.attention.settings import FIRST, LEVELS
from pasta.studies.prediction.settings import BASELINE, CONTROL
from reports.source.names import dataset_name

FILE = DATA / "setting" / "setting.json"


@dataclass(frozen=True)
class Setting:
    """The setting of an experiment, for its reports.

    Attributes
    ----------
    profile
        Its name.
    protocol
        What annotators are asked.
    question
        The one that applications of the score are about.
    drawn
        The datasets whose images are drawn by a program.
    random
        The networks whose weights are random where pretrained ones belong.
    reading
        The main one of LATEC.
    choices
        What the papers print of their studies' design, by its name in ``text_numbers.csv``.
    """

    profile: str
    protocol: str
    question: str
    drawn: tuple[str, ...]
    random: tuple[str, ...]
    reading: str
    choices: Mapping[str, float] = field(default_factory=dict)


def describe_setting(params: Params) -> Setting:
    """Take what reports repeat out of the parameters."""
    drawn = (name for name, one in params.datasets.items() if one.source == "drawn")
    return Setting(
        params.profile,
        params.annotations.protocol,
        params.applications.question,
        tuple(map(dataset_name, drawn)),
        tuple(BACKBONE_TITLES.get(name, name) for name in params.random_weights),
        params.benchmark.reading,
        list_choices(params),
    )


def list_choices(params: Params) -> dict[str, float]:
    """Settings of the studies that papers print, by their names in ``text_numbers.csv``."""
    prediction, attention = params.prediction, params.attention
    shown = set(prediction.conditions) - {BASELINE, CONTROL}
    return {
        **{
            f"mp_{name}": getattr(prediction.design, name)
            for name in ("sessions", "training", "test", "catch", "practice", "quiz")
        },
        "mp_methods": len(shown),
        "mp_ig_steps": prediction.maps.steps,
        "mp_smoothgrad_samples": prediction.maps.samples,
        "mp_smoothgrad_noise": prediction.maps.noise,
        "mp_patch": prediction.maps.patch,
        "ha_marks": attention.people,
        "ha_samples": attention.samples,
        "ha_checks": attention.checks,
        "ha_ratings": attention.ratings,
        "ha_first": FIRST,
        "ha_levels": LEVELS,
    }


def write_setting(setting: Setting, root: Path) -> None:
    """Leave the setting where reports look for it."""
    store.write_json(asdict(setting), root / FILE)


def read_setting(root: Path) -> Setting:
    """The setting of the results in a project."""
    file = root / FILE
    if not file.is_file():
        raise PastaError(f"{file}: not there yet, `dvc repro setting` makes it")
    found = store.read_json(file)
    lists: Any = {name: tuple(found.pop(name)) for name in ("drawn", "random")}
    return Setting(**found, **lists)
