"""How large the papers say each dataset is: ``published.yaml``, to compare a folder with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ruamel.yaml import YAML

from pasta.datasets.records import Item


@dataclass(frozen=True)
class PublishedSize:
    """A number of images that P1 says, and what is known about it."""

    number: int
    counted: Literal["all", "training"]
    what: str
    note: str
    editions: Mapping[int, str] = field(default_factory=dict)

    def say(self) -> str:
        """The number in a sentence.

        >>> PUBLISHED["monumai"].say()
        'P1 has 908'
        """
        return f"P1 has {self.number:,}"

    def compare(self, items: Iterable[Item]) -> str:
        """Compare the images of a folder with the published number, and name its edition."""
        everything = list(items)
        counted = [one for one in everything if self.counted == "all" or one.split != "test"]
        words = f"{self.say()} {self.what}, this folder {len(counted):,}"
        if len(everything) in self.editions:
            words += f"; {len(everything):,} is the size of {self.editions[len(everything)]}"
        return words if len(counted) == self.number else f"{words}. {self.note}"


def _read() -> dict[str, PublishedSize]:
    content = YAML(typ="safe").load(Path(__file__).with_name("published.yaml"))
    return {str(name): PublishedSize(**given) for name, given in content.items()}


PUBLISHED = _read()
