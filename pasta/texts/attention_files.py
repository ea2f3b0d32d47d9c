"""Human attention to words as it was released, checked word by word against the texts.

The benchmark of Mohseni, Block and Ragan (2021, doi:10.1145/3397481.3450689) has two shapes of
JSON, one file a text:

``{"5": ["movies,", 0.75], ...}``
    index of a word, the word, and the share of people who chose it (IMDB);
``{"article": "59238", "words": [["radiologist", 1.0], ...]}``
    words without places, in lower case and without punctuation (20 Newsgroups).

Neither says whether indices start at 0 or at 1, nor is a word sure to be the one in the text: many
of the released files hold the words of several reviews under one numbering. So every entry is
compared with its text. What does not match is reported by file and entry and left out; a file of
which too little matches is not used at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.errors import InputError
from pasta.json_files import Number, is_text, load_json, shown
from pasta.texts.documents import Document, plain_word
from pasta.texts.files import TextProblem

Shape = Literal["indices", "words"]
LEAST = 0.5  # of the entries of a file must match, or it is not used
SHAPES = '{"5": ["word", 0.75], ...} or {"article": "5", "words": [["word", 0.75], ...]}'
_PARTS = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Entry:
    """One word of a file: its number if it has one, the word, the share of people."""

    number: int | None
    word: str
    share: float


@dataclass(frozen=True)
class AttentionFile:
    """What a file says, before it is compared with its text."""

    file: str
    shape: Shape
    entries: tuple[Entry, ...]
    problems: tuple[TextProblem, ...]


@dataclass(frozen=True)
class WordAttention:
    """The attention to one text.

    Attributes
    ----------
    file, text_id
        Where it was read, and what it is about.
    shape
        ``indices`` or ``words``.
    base
        The index of the first word, 0 or 1; None where there are no indices.
    entries, matched
        How many words the file names, and how many of them are in the text where it says.
    shares
        The share of people (words,) who chose each word; None if too little matches.
    """

    file: str
    text_id: str
    shape: Shape
    base: int | None
    entries: int
    matched: int
    shares: NDArray[np.float64] | None

    @property
    def status(self) -> str:
        """``ok``, or why it cannot be used."""
        return "ok" if self.shares is not None else "too little matches"


def read_attention_file(path: Path, name: str = "") -> AttentionFile:
    """Read one file in either shape.

    Raises
    ------
    InputError
        If it is no JSON of the two shapes.
    """
    file = name or path.name
    found = load_json(path)
    if isinstance(found, dict) and isinstance(found.get("words"), list):
        rows: list[tuple[str, Any]] = [(str(n), one) for n, one in enumerate(found["words"])]
        shape: Shape = "words"
    elif isinstance(found, dict) and found and all(_is_index(key) for key in found):
        rows, shape = list(found.items()), "indices"
    else:
        raise InputError(f"holds {_outline(found)}", file=path, expected=SHAPES)
    entries, problems = [], []
    for key, value in rows:
        one = _entry(key if shape == "indices" else None, value)
        if isinstance(one, Entry):
            entries.append(one)
        else:
            problems.append(TextProblem(file, key, one, '["word", share from 0 to 1]'))
    article = found.get("article")
    if shape == "words" and article is not None and shown(article) != path.stem:
        problem = f"is about the article {shown(article)!r}"
        problems.append(TextProblem(file, "article", problem, f"{path.stem!r}, as the file's name"))
    return AttentionFile(file, shape, tuple(entries), tuple(problems))


def match_attention(
    read: AttentionFile, document: Document, base: int | None = None, least: float = LEAST
) -> tuple[WordAttention, list[TextProblem]]:
    """Compare the entries of a file with the text that they are about.

    Parameters
    ----------
    read
        The file.
    document
        The text.
    base
        The index of the first word; None takes the one of 0 and 1 under which more words match.
    least
        The share of entries that must match for the file to be used.

    Returns
    -------
    The attention, and each entry that does not match: what the text has in its place, and where
    the word stands if it is elsewhere.
    """
    plain = [plain_word(word.text) for word in document.words]
    if read.shape == "indices" and base is None:
        base = find_base([(read, document)])
    shares = np.zeros(len(document))
    problems = list(read.problems)
    matched = 0
    for entry in read.entries:
        places = _places(entry, plain, base or 0)
        if places:
            matched += 1
            shares[places] = np.maximum(shares[places], entry.share)
        else:
            problems.append(_mismatch(read.file, entry, document, plain, base or 0))
    total = len(read.entries) + len(read.problems)
    usable = bool(matched) and matched >= least * total
    own = None if read.shape == "words" else base
    about = WordAttention(
        read.file, document.text_id, read.shape, own, total, matched, shares if usable else None
    )
    return about, problems


def find_base(pairs: Sequence[tuple[AttentionFile, Document]]) -> int:
    """The index of the first word, 0 or 1, under which more entries of all files match; else 0."""
    counts = [0, 0]
    for read, document in pairs:
        plain = [plain_word(word.text) for word in document.words]
        for base in (0, 1):
            counts[base] += sum(bool(_places(one, plain, base)) for one in read.entries)
    return int(counts[1] > counts[0])


@dataclass(frozen=True)
class Benchmark:
    """The text part of the released benchmark.

    Attributes
    ----------
    documents
        The texts, by their names: ``IMDB/neg/11795``.
    attention
        What is known of each file.
    problems
        Everything that does not match.
    """

    documents: dict[str, Document]
    attention: list[WordAttention]
    problems: list[TextProblem]

    def frame(self) -> pd.DataFrame:
        """Tidy shares of the files that can be used: text_id, word, share; words of 0 as well."""
        rows = [
            (one.text_id, word, share)
            for one in self.attention
            if one.shares is not None
            for word, share in enumerate(one.shares.tolist())
        ]
        return pd.DataFrame(rows, columns=["text_id", "word", "share"])


def read_benchmark(root: Path, base: int | None = None, least: float = LEAST) -> Benchmark:
    """Read ``Text`` of the released benchmark.

    Each dataset below has ``human_attention/<class>/<number>.json``, and its texts in a folder
    ``org_*/<class>`` or ``org_*/<class>_val``, as ``<number>.txt`` or ``<number>``.

    Parameters
    ----------
    root
        The folder ``Text``.
    base
        The index of the first word; None finds it for each dataset from all its files.
    least
        The share of a file's entries that must match.
    """
    expected = (
        "Text/<dataset>/human_attention/<class>/<number>.json and Text/<dataset>/org_*/<class>"
    )
    if not root.is_dir():
        raise InputError("there is no such folder", file=root, expected=expected)
    folders = sorted(one.parent for one in root.glob("*/human_attention") if one.is_dir())
    if not folders:
        raise InputError("holds no dataset", file=root, expected=expected)
    documents: dict[str, Document] = {}
    attention: list[WordAttention] = []
    problems: list[TextProblem] = []
    for folder in folders:
        pairs, found = _read_dataset(folder, root)
        problems += found
        indexed = [pair for pair in pairs if pair[0].shape == "indices"]
        own = base if base is not None or not indexed else find_base(indexed)
        for read, document in pairs:
            documents[document.text_id] = document
            one, wrong = match_attention(read, document, own, least)
            attention.append(one)
            problems += wrong
            if one.shares is None:
                problem = f"only {one.matched} of {one.entries} entries match the text"
                problems.append(
                    TextProblem(read.file, "", problem, f"{least:.0%} or more; it is not used")
                )
    return Benchmark(documents, attention, problems)


def _read_dataset(
    folder: Path, root: Path
) -> tuple[list[tuple[AttentionFile, Document]], list[TextProblem]]:
    pairs, problems = [], []
    for path in sorted((folder / "human_attention").glob("*/*.json")):
        name, label = path.relative_to(root).as_posix(), path.parent.name
        text = next(_text_files(folder, label, path.stem), None)
        if text is None:
            problems.append(TextProblem(name, "", "there is no text for it", f"org_*/{label}"))
            continue
        try:
            read = read_attention_file(path, name)
        except InputError as error:
            problems.append(TextProblem(name, "", error.problem, error.expected or ""))
            continue
        text_id = f"{folder.name}/{label}/{path.stem}"
        pairs.append((read, Document(_decoded(text.read_bytes()), text_id, label)))
    return pairs, problems


def _text_files(folder: Path, label: str, stem: str) -> Iterator[Path]:
    for room in sorted(folder.glob("org_*")):
        for name in (label, f"{label}_val"):
            for file in (room / name / f"{stem}.txt", room / name / stem):
                if file.is_file():
                    yield file


def _decoded(data: bytes) -> str:
    """UTF-8, or Latin-1 as 20 Newsgroups is distributed."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdigit()


def _entry(key: str | None, value: Any) -> Entry | str:
    """An entry, or what is wrong with it."""
    if not isinstance(value, list) or len(value) != 2 or not is_text(value[0]):
        return f"found {_outline(value)}"
    share = float(value[1]) if isinstance(value[1], Number) else math.nan
    if not 0 <= share <= 1:
        return f"the share of {value[0]!r} is {shown(value[1])}"
    if key is not None and len(key) > 9:
        return "the index has more than nine digits"
    return Entry(None if key is None else int(key), str(value[0]), share)


def _places(entry: Entry, plain: Sequence[str], base: int) -> list[int]:
    """Where the text has the word: at its index, or wherever it stands if it has none."""
    word = plain_word(entry.word)
    if entry.number is not None:
        place = entry.number - base
        return [place] if 0 <= place < len(plain) and plain[place] == word else []
    return _everywhere(word, plain)


def _everywhere(word: str, plain: Sequence[str]) -> list[int]:
    return [n for n, one in enumerate(plain) if one == word or word in _PARTS.split(one)]


def _mismatch(
    file: str, entry: Entry, document: Document, plain: Sequence[str], base: int
) -> TextProblem:
    elsewhere = _everywhere(plain_word(entry.word), plain)
    if entry.number is None:
        return TextProblem(file, entry.word, "the word is not in the text", "a word of the text")
    place, last = entry.number - base, len(document) - 1 + base
    if 0 <= place < len(document):
        problem = f"{entry.word!r}, but this word of the text is {document.words[place].text!r}"
    else:
        problem = f"{entry.word!r}, but the text ends with word {last}"
    where = (
        f"it at {', '.join(str(one + base) for one in elsewhere[:3])}"
        if elsewhere
        else "a word of this text; it is not in it at all"
    )
    return TextProblem(file, str(entry.number), problem, where)


def check_indices(
    cell: str, document: Document, file: str, entry: str
) -> tuple[tuple[int, ...], list[TextProblem]]:
    """The word indices, from 0, in a cell of a table; those that cannot be are reported.

    Examples
    --------
    >>> found, problems = check_indices("0 7 x", Document("so good"), "words.csv", "row 2")
    >>> found, [one.problem for one in problems]
    ((0,), ['there is no word 7', "found 'x'"])
    """
    found: list[int] = []
    problems: list[TextProblem] = []
    expected = f"indices from 0 to {len(document) - 1}, separated by blanks"
    for part in cell.split():
        if not _is_index(part):
            problems.append(TextProblem(file, entry, f"found {part!r}", expected))
        elif len(part) > 9 or int(part) >= len(document):
            problems.append(TextProblem(file, entry, f"there is no word {part}", expected))
        elif int(part) in found:
            problems.append(TextProblem(file, entry, f"the word {part} stands twice", expected))
        else:
            found.append(int(part))
    return tuple(found), problems


def _outline(value: Any) -> str:
    if isinstance(value, dict):
        return "an object with other keys" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return repr(shown(value)) if value is not None else "nothing"
