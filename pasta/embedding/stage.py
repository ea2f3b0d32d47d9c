"""The embed stage: several ways of embedding the same explanations, each encoder opened once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pasta.embedding.handcrafted import embed_handcrafted
from pasta.embedding.stored import FOLDER, HANDCRAFTED, array_file, techniques_of
from pasta.explanations.stored import StoredExplanations
from pasta.params.embedding import EmbeddingParams
from pasta.workers import as_finished

if TYPE_CHECKING:
    from pasta.embedding.embed import Source

Say = Callable[..., None]
Said = list[tuple[Any, ...]]


def embed_variants(
    folders: Sequence[Path],
    variants: Sequence[EmbeddingParams],
    root: Path,
    say: Say,
    processes: int = 1,
) -> None:
    """Bring the vectors of datasets up to date, and forget variants that nobody asks for.

    Every encoder is opened once. Sentences and handcrafted features are seen to by copies of this
    process, as many as ``processes``, while it encodes pictures itself.
    """
    import torch

    from pasta.embedding.embed import Source
    from pasta.embedding.encoders import open_encoder

    named = {_title(place, own, variants): own for place, own in enumerate(variants, start=1)}
    encoded = {name: own for name, own in named.items() if own.encoder != HANDCRAFTED}
    others = {name: own for name, own in named.items() if own.encoder == HANDCRAFTED}
    torch.set_num_threads(1)  # with more, this process could not be copied
    keys = {(own.encoder, own.weights): own for own in encoded.values()}
    opened = {key: open_encoder(own, root) for key, own in keys.items()}
    sources = [Source(StoredExplanations(folder)) for folder in folders]
    work = [
        *(partial(_handcrafted, source.stored.folder, others) for source in sources),
        *(partial(_sentences, source, encoded, opened) for source in sources),
    ]

    def pictures() -> None:
        torch.set_num_threads(max(processes - 1, 1))
        for source in sources:
            _embed(source, "saliency", encoded, opened, say)

    for _, said in as_finished(work, processes, meanwhile=pictures):
        for words in said:
            say(*words)
    for source in sources:
        _forget(source.stored, variants)


def _handcrafted(folder: Path, variants: dict[str, EmbeddingParams]) -> Said:
    said: Said = []
    for name, settings in variants.items():
        told = _counting(_kept(said), f"{folder.name}: {name}")
        embed_handcrafted(folder, settings, folder / FOLDER, told)
    return said


def _sentences(
    source: Source, variants: dict[str, EmbeddingParams], opened: dict[tuple[str, str], Any]
) -> Said:
    said: Said = []
    _embed(source, "concept", variants, opened, _kept(said))
    return said


def _embed(
    source: Source,
    kind: str,
    variants: dict[str, EmbeddingParams],
    opened: dict[tuple[str, str], Any],
    say: Say,
) -> None:
    """Explanations of one kind; settings that differ for the other kind alone are one."""
    from pasta.embedding.embed import embed_kind

    folder = source.stored.folder
    for name, settings in variants.items():
        encoder = opened[settings.encoder, settings.weights]
        told = _counting(say, f"{folder.name}: {name}, {kind}")
        embed_kind(source, kind, encoder, settings, folder / FOLDER, told)


def _title(number: int, settings: EmbeddingParams, variants: Sequence[EmbeddingParams]) -> str:
    return f"{settings.encoder} {number} of {len(variants)}"


def _kept(said: Said) -> Say:
    """Remember what is said in another process."""

    def say(*words: Any) -> None:
        said.append(words)

    return say


def _counting(say: Say, title: str) -> Say:
    """One line for a variant, instead of one for each technique."""
    done = 0

    def told(technique: str, words: str, *_: Any) -> None:
        nonlocal done
        done += 1
        say(title, f"{technique}: {words}", done)

    return told


def _forget(stored: StoredExplanations, variants: Sequence[EmbeddingParams]) -> None:
    out = stored.folder / FOLDER
    techniques = [one for one, _ in techniques_of(stored.table)]
    wanted = {array_file(out, own, one).parent for own in variants for one in techniques}
    for other in out.iterdir():
        if other.is_dir() and other not in wanted:
            shutil.rmtree(other)
