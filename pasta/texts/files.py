"""Texts in folders: the large movie review dataset (IMDB) and 20 Newsgroups.

``aclImdb/{train,test}/{pos,neg}/<number>_<stars>.txt`` (doi:10.5555/2002472.2002491), and
``<folder>/<group>/<number>`` (Lang 1995), with ``20news-bydate-train`` and ``-test`` or without. A
text that cannot be used is reported with its file and left out; a folder that is not there stops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pasta.errors import InputError
from pasta.seeds import entropy, generator
from pasta.texts.documents import Document

IMDB_CLASSES = {"neg": "negative", "pos": "positive"}
BREAK = "<br />"  # IMDB's line breaks
MARK_TRAIN, MARK_TEST = "bydate-train", "bydate-test"
VALIDATED, TESTED = 0.1, 0.3  # of the training texts; of all where a corpus has no test texts


class TextProblem(NamedTuple):
    """What is wrong with a file, or with an entry of it."""

    file: str
    entry: str
    problem: str
    expected: str


@dataclass(frozen=True)
class Corpus:
    """Labelled texts by split, and what could not be used."""

    classes: tuple[str, ...]
    splits: dict[str, list[Document]]
    problems: list[TextProblem]


class _Listed(NamedTuple):
    file: Path
    text_id: str
    label: str
    given: str  # the split that the corpus gives, or ""


def read_imdb(root: Path, counts: Mapping[str, int | None], seed: int = 0) -> Corpus:
    """Read ``aclImdb``.

    Parameters
    ----------
    root
        The folder that holds ``train`` and ``test``.
    counts
        How many texts of each split, as many of each class; None takes all.
    seed
        Which texts these are, and which of the training texts validate (a tenth).

    Returns
    -------
    The texts; ``<br />`` has become blanks of the same length, so that places stay what they were.
    """
    listed = []
    for split in ("train", "test"):
        for folder, label in IMDB_CLASSES.items():
            files = _files(root / split / folder, "aclImdb/{train,test}/{pos,neg}/*.txt", ".txt")
            listed += [_Listed(one, f"{split}-{one.stem}-{folder}", label, split) for one in files]
    return _read(root, listed, ("negative", "positive"), counts, seed, _read_review)


def read_newsgroups(
    root: Path, counts: Mapping[str, int | None], seed: int = 0, classes: Sequence[str] = ()
) -> Corpus:
    """Read 20 Newsgroups without the headers of the messages.

    Parameters
    ----------
    root
        A folder of groups, or one that holds ``20news-bydate-train`` and ``20news-bydate-test``.
    counts, seed
        As :func:`read_imdb`; without a division by date three tenths are test texts.
    classes
        The groups to read, ``sci.med`` and ``sci.electronics`` for instance; none: all.
    """
    expected = "20news-bydate-{train,test}/<group>/<number>, or <group>/<number>"
    if not root.is_dir():
        raise InputError("there is no such folder", file=root, expected=expected)
    parts = [(one, "train") for one in sorted(root.glob(f"*{MARK_TRAIN}"))]
    parts += [(one, "test") for one in sorted(root.glob(f"*{MARK_TEST}"))]
    listed: list[_Listed] = []
    groups: set[str] = set()
    for folder, given in parts or [(root, "")]:
        found = {one.name for one in folder.iterdir() if one.is_dir()}
        for group in sorted(classes or found):
            files = _files(folder / group, expected, "")
            listed += [_Listed(one, f"{group}-{one.name}", group, given) for one in files]
            groups.add(group)
    if len(groups) < 2:
        raise InputError(f"holds {len(groups)} groups", file=root, expected=expected)
    return _read(root, listed, tuple(sorted(groups)), counts, seed, _read_message)


def _files(folder: Path, expected: str, suffix: str) -> list[Path]:
    if not folder.is_dir():
        raise InputError("there is no such folder", file=folder, expected=expected)
    found = sorted(one for one in folder.iterdir() if one.is_file() and one.suffix == suffix)
    if not suffix:  # names are numbers
        found = sorted(one for one in folder.iterdir() if one.is_file() and one.name.isdigit())
    if not found:
        raise InputError("holds no texts", file=folder, expected=expected)
    return found


def _read_review(data: bytes) -> str:
    return data.decode("utf-8").replace(BREAK, " " * len(BREAK))


def _read_message(data: bytes) -> str:
    """What follows the first empty line. Messages are Latin-1, as the corpus is distributed."""
    text = data.decode("latin-1").replace("\r\n", "\n")
    _, found, body = text.partition("\n\n")
    return body if found else ""


def _read(
    root: Path,
    listed: Sequence[_Listed],
    classes: tuple[str, ...],
    counts: Mapping[str, int | None],
    seed: int,
    decode: Callable[[bytes], str],
) -> Corpus:
    """Choose texts of each split and class, and read them; what is unusable is replaced."""
    has_test = any(one.given == "test" for one in listed)
    rooms: dict[tuple[str, str], list[_Listed]] = {}
    for one in listed:
        rooms.setdefault((_split(one, has_test, seed), one.label), []).append(one)
    splits: dict[str, list[Document]] = {name: [] for name in ("train", "validation", "test")}
    problems: list[TextProblem] = []
    for (split, label), room in sorted(rooms.items()):
        wanted = _share(counts[split], classes, label)
        order = generator(seed, "texts", split, label).permutation(len(room))
        chosen: list[Document] = []
        for place in order:
            if wanted is not None and len(chosen) == wanted:
                break
            found = _read_text(room[place], root, decode)
            if isinstance(found, Document):
                chosen.append(found)
            else:
                problems.append(found)
        splits[split] += sorted(chosen, key=lambda one: one.text_id)
    empty = [name for name, own in splits.items() if not own and counts[name] != 0]
    if empty:
        raise InputError(
            f"has no usable text for {empty[0]}", file=root, expected="more texts, or fewer wanted"
        )
    return Corpus(classes, splits, sorted(problems))


def _split(one: _Listed, has_test: bool, seed: int) -> str:
    """The split of a text: what the corpus gives, and a share of the rest to validate with."""
    place = entropy(seed, "text split", one.text_id) / 2**128
    if one.given == "test" or (not has_test and place < TESTED):
        return "test"
    return "validation" if place >= 1 - VALIDATED else "train"


def _share(count: int | None, classes: Sequence[str], label: str) -> int | None:
    """How many texts of one class; what is left over goes to the first classes."""
    if count is None:
        return None
    return count // len(classes) + (classes.index(label) < count % len(classes))


def _read_text(one: _Listed, root: Path, decode: Callable[[bytes], str]) -> Document | TextProblem:
    name = one.file.relative_to(root).as_posix()
    try:
        text = decode(one.file.read_bytes())
    except OSError as error:
        return TextProblem(name, "", f"cannot be read: {error.strerror}", "a text")
    except UnicodeDecodeError as error:
        problem = f"the byte 0x{error.object[error.start]:02X} at {error.start} is not UTF-8"
        return TextProblem(name, "", problem, "text saved as UTF-8")
    if "\0" in text:
        return TextProblem(name, "", "there is a NUL character", "a text")
    document = Document(text, one.text_id, one.label)
    return document if len(document) else TextProblem(name, "", "holds no words", "a text")
