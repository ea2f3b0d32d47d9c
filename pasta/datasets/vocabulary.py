"""Classes and concepts of the datasets: ``vocabularies/<dataset>.yaml``, one file for each.

A file says ``title``, ``classes``, ``concepts`` and, where needed, ``readable`` (names as one would
write them in a sentence) and ``modality`` (``image`` unless it is said).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML

from pasta.errors import InputError, PastaError
from pasta.registry import did_you_mean

FOLDER = Path(__file__).with_name("vocabularies")
LARGEST = 255  # concepts: one byte a pixel says which is seen
_KEYS = ("title", "classes", "concepts", "readable", "modality")


@dataclass(frozen=True)
class Vocabulary:
    """The names a dataset may use, in the order that its indices mean."""

    dataset: str
    title: str
    classes: tuple[str, ...]
    concepts: tuple[str, ...]
    readable: Mapping[str, str] = field(default_factory=dict, compare=False)
    modality: str = "image"

    def value(self, concept: str) -> int:
        """Return the concept's value in a part-index array (0 is nothing)."""
        if concept not in self.concepts:
            hint = did_you_mean(concept, list(self.concepts))
            raise PastaError(f"{concept!r} is no concept of {self.dataset}. {hint}")
        return self.concepts.index(concept) + 1

    def class_index(self, label: str) -> int:
        """Return the place of a class label."""
        if label not in self.classes:
            hint = did_you_mean(label, list(self.classes))
            raise PastaError(f"{label!r} is no class of {self.dataset}. {hint}")
        return self.classes.index(label)


def split_names(text: str) -> tuple[str, ...]:
    """Split a list of names at its commas."""
    return tuple(name.strip() for name in text.split(","))


def read_vocabulary(file: Path) -> Vocabulary:
    """Read the vocabulary of a dataset, which is called as its file."""
    given = YAML(typ="safe").load(file.read_text())
    for key in given:
        if key not in _KEYS:
            raise InputError(f"unknown key {key!r}. {did_you_mean(key, list(_KEYS))}", file=file)
    classes, concepts = (tuple(map(str, given[key])) for key in ("classes", "concepts"))
    for names, most in ((classes, len(classes)), (concepts, LARGEST)):
        if len(set(names)) < len(names) or len(names) > most:
            raise InputError(f"names {', '.join(names)}", file=file, expected="different names")
    readable, modality = given.get("readable", {}), given.get("modality", "image")
    return Vocabulary(file.stem, str(given["title"]), classes, concepts, readable, modality)


# The papers' datasets come first, in their order; new ones follow by name.
_FIRST = ("catsdogscars", "pascalpart", "monumai", "coco")
VOCABULARIES: dict[str, Vocabulary] = {
    file.stem: read_vocabulary(file)
    for file in sorted(
        FOLDER.glob("*.yaml"),
        key=lambda file: (
            _FIRST.index(file.stem) if file.stem in _FIRST else len(_FIRST),
            file.stem,
        ),
    )
}
_READABLE = {
    name: words for known in VOCABULARIES.values() for name, words in known.readable.items()
}


def vocabulary(dataset: str) -> Vocabulary:
    """Return the vocabulary of a dataset, or an error that names the nearest one."""
    if dataset not in VOCABULARIES:
        hint = did_you_mean(dataset, VOCABULARIES)
        raise PastaError(f"there is no dataset called {dataset!r}. {hint}")
    return VOCABULARIES[dataset]


def readable(name: str) -> str:
    """A name as one would write it in a sentence.

    >>> readable("license_plate"), readable("Gothic")
    ('license plate', 'Gothic building')
    """
    return _READABLE.get(name, name.replace("_", " ").replace("-", " "))
