"""Techniques: a method applied to a backbone, as people rate them.

``techniques.yaml`` is the catalogue: titles of methods and backbones, and the numbers of the
released dataset. Techniques that P1's Table 7 does not list, LayerCAM and others, are extras.
:mod:`pasta.explanations.catalog` knows all techniques that can be computed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pasta.config import parse_yaml
from pasta.datasets.released import ForeignError

Kind = Literal["saliency", "concept"]
Sign = Literal["positive", "signed"]
Stage = Literal["ante-hoc", "post-hoc"]

CATALOGUE = Path(__file__).with_name("techniques.yaml")
_known: dict[str, Any] = parse_yaml(CATALOGUE, CATALOGUE.read_text())
METHOD_TITLES: dict[str, str] = _known["methods"]
BACKBONE_TITLES: dict[str, str] = _known["backbones"]
# Numbers in the file names of the released dataset, and the 46 of P1's Table 7
RELEASED = {f"{one['method']}/{one['backbone']}": one["number"] for one in _known["techniques"]}
PUBLISHED = frozenset(
    f"{one['method']}/{one['backbone']}" for one in _known["techniques"] if one.get("table", True)
)


NUMBERED = {number: technique for technique, number in RELEASED.items()}


def released_technique(named: int | str, number: int | None) -> str:
    """``method/backbone`` as a release names it: by a number, or by these words.

    Parameters
    ----------
    named
        What an entry says.
    number
        What the name of its picture says, if anything.
    """
    known = NUMBERED.get(number) if number is not None else None
    found = NUMBERED.get(named) if isinstance(named, int) else named
    if found is None:
        expected = f"a number of the release, up to {max(NUMBERED)}, or sample_id"
        raise ForeignError(f"technique {named} is not known", expected)
    if known not in (None, found):
        raise ForeignError(f"is about {found} and its picture about {known}", "one technique")
    return found


@dataclass(frozen=True)
class Technique:
    """A method on a backbone, and what must be known of the method to show what it says."""

    method: str
    backbone: str
    title: str = field(compare=False)  # of the method
    kind: Kind = field(compare=False)
    sign: Sign = field(compare=False)  # signed: negative values speak against the class
    stage: Stage = field(compare=False)

    @property
    def key(self) -> str:
        """``method/backbone``, as in sample identifiers."""
        return f"{self.method}/{self.backbone}"

    @property
    def released_id(self) -> int | None:
        """The number in the released dataset's file names."""
        return RELEASED.get(self.key)

    @property
    def extra(self) -> bool:
        """Whether it is not among the papers' 46."""
        return self.key not in PUBLISHED

    @property
    def signed(self) -> bool:
        """Whether negative values mean something."""
        return self.sign == "signed"

    @property
    def place(self) -> tuple[bool, bool, int]:
        """What techniques are sorted by: the papers' by number, then the extras."""
        return self.extra, self.released_id is None, self.released_id or 0


def backbone_title(backbone: str) -> str:
    """``vit_b_16`` as "ViT-B"; an unknown one as it is."""
    return BACKBONE_TITLES.get(backbone, backbone)
