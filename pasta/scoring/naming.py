"""Names of files in a folder of explanations: ``{dataset}_{id}_{label}.png|npy|json``.

Labels may contain underscores (``home_or_hotel``), so a name is read from both ends: a known
dataset in front, one of its classes behind, and what is between is the image. The release calls
the classes of Cats Dogs Cars ``cats``, ``dogs`` and ``cars``; both spellings are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pasta.datasets.vocabulary import VOCABULARIES
from pasta.errors import InputError
from pasta.registry import did_you_mean

FORM = "{dataset}_{id}_{label}"
_RELEASED = {"cats": "cat", "dogs": "dog", "cars": "car"}
KNOWN: Mapping[str, Sequence[str]] = {name: words.classes for name, words in VOCABULARIES.items()}


class Named(NamedTuple):
    """What a file's name says."""

    dataset: str
    image_id: str
    label: str


def parse_name(file: Path | str, classes: Mapping[str, Sequence[str]] = KNOWN) -> Named:
    """Read a file's name; an error names the file and says what was expected.

    >>> parse_name("coco_0007_home_or_hotel.npy")
    Named(dataset='coco', image_id='0007', label='home_or_hotel')
    """
    stem = Path(file).stem
    fitting = [name for name in classes if stem.startswith(f"{name}_")]
    if not fitting:
        dataset, _, rest = stem.partition("_")
        if not rest:
            raise _error(file, "the name is not made of three parts")
        hint = did_you_mean(dataset, list(classes))
        raise _error(file, f"there is no dataset called {dataset!r}. {hint}")
    dataset = max(fitting, key=len)
    rest = stem.removeprefix(f"{dataset}_")
    spelled = {label: label for label in classes[dataset]}
    spelled |= {two: one for two, one in _RELEASED.items() if one in spelled and two not in spelled}
    ends = [label for label in spelled if rest.endswith(f"_{label}") and len(rest) > len(label) + 1]
    if not ends:
        image_id, _, label = rest.partition("_")
        if not image_id or not label:
            raise _error(file, "the name is not made of three parts")
        hint = did_you_mean(label, list(classes[dataset]))
        raise _error(file, f"{dataset} has no class called {label!r}. {hint}")
    label = max(ends, key=len)
    return Named(dataset, rest.removesuffix(f"_{label}"), spelled[label])


def _error(file: Path | str, problem: str) -> InputError:
    return InputError(problem, file=file, expected=f"a name like {FORM}, e.g. coco_0007_workplace")
