"""LATEC's methods and metrics: ``latec.yaml`` as objects, without torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pasta.config import parse_yaml
from pasta.errors import PastaError
from pasta.explanations.techniques import METHOD_TITLES
from pasta.registry import did_you_mean

CATALOGUE = Path(__file__).with_name("latec.yaml")
Criterion = Literal["faithfulness", "robustness", "complexity"]


@dataclass(frozen=True)
class LatecMethod:
    """One of the 17 methods."""

    code: str
    key: str
    on: str | None = None  # the only family of networks, None for any
    without: tuple[str, ...] = ()  # modalities that it cannot explain

    @property
    def title(self) -> str:
        """For people."""
        return METHOD_TITLES[self.key]

    @property
    def attention(self) -> bool:
        """Whether it is one of the three attention methods; the others attribute."""
        return self.on == "transformer"


@dataclass(frozen=True)
class LatecMetric:
    """One of the 20 metrics."""

    code: str
    key: str
    title: str  # in the paper
    criterion: Criterion


@cache
def catalogue() -> Mapping[str, Any]:
    """What ``latec.yaml`` says."""
    known: Mapping[str, Any] = parse_yaml(CATALOGUE, CATALOGUE.read_text())
    return known


@cache
def all_methods() -> tuple[LatecMethod, ...]:
    """The 17 methods in the paper's order."""
    return tuple(
        LatecMethod(one["code"], one["key"], one.get("on"), tuple(one.get("not", ())))
        for one in catalogue()["methods"]
    )


@cache
def all_metrics() -> tuple[LatecMetric, ...]:
    """The 20 metrics in the paper's order."""
    return tuple(LatecMetric(**one) for one in catalogue()["metrics"])


def choose_methods(keys: Iterable[str] = ()) -> tuple[LatecMethod, ...]:
    """Methods by key or code, in the paper's order; all if none is named."""
    return _choose(all_methods(), tuple(keys), "method")


def choose_metrics(keys: Iterable[str] = ()) -> tuple[LatecMetric, ...]:
    """Metrics by key or code, in the paper's order; all if none is named."""
    return _choose(all_metrics(), tuple(keys), "metric")


def _choose(known: tuple[Any, ...], keys: tuple[str, ...], what: str) -> tuple[Any, ...]:
    names = {name: one for one in known for name in (one.key, one.code)}
    for key in keys:
        if key not in names:
            raise PastaError(f"LATEC has no {what} {key!r}. {did_you_mean(key, names)}")
    chosen = {names[key] for key in keys}
    return tuple(one for one in known if one in chosen or not keys)
