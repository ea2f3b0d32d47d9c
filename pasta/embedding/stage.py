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
from pasta.workers import beside

if TYPE_CHECKING:
    from pasta.embedding.embed import Source

Say = Callable[..., None]
Said = list[tuple[Any, ...]]


def embed_variants(
    folder: Path, variants: Sequence[EmbeddingParams], root: Path, say: Say, processes: int = 1
) -> None:
    """Bring the vectors of a dataset up to date, and forget variants that nobody asks for.

    What needs no encoder is done while it is opened, and sentences beside pictures, if there are
    several processes.
    """
    out, stored = folder / FOLDER, StoredExplanations(folder)
    named = {_title(place, own, variants): own for place, own in enumerate(variants, start=1)}
    encoded = {name: own for name, own in named.items() if own.encoder != HANDCRAFTED}
    others = {name: own for name, own in named.items() if own.encoder == HANDCRAFTED}
    with beside(partial(_handcrafted, folder, others, out), processes) as first:
        _encoded(stored, encoded, root, say, processes)
    for words in first.value:
        say(*words)
    _forget(out, stored, variants)


def _handcrafted(folder: Path, variants: dict[str, EmbeddingParams], out: Path) -> Said:
    said: Said = []
    for name, settings in variants.items():
        embed_handcrafted(folder, settings, out, _counting(_kept(said), name))
    return said


def _encoded(
    stored: StoredExplanations,
    variants: dict[str, EmbeddingParams],
    root: Path,
    say: Say,
    processes: int,
) -> None:
    import torch

    from pasta.embedding.embed import Source
    from pasta.embedding.encoders import open_encoder

    torch.set_num_threads(1)  # with more, this process could not be copied
    keys = {(own.encoder, own.weights): own for own in variants.values()}
    opened = {key: open_encoder(own, root) for key, own in keys.items()}
    source = Source(stored)

    def sentences() -> Said:
        said: Said = []
        _embed(source, "concept", variants, opened, _kept(said))
        return said

    with beside(sentences, processes) as texts:
        torch.set_num_threads(max(processes - 1, 1))
        _embed(source, "saliency", variants, opened, say)
    for words in texts.value:
        say(*words)


def _embed(
    source: Source,
    kind: str,
    variants: dict[str, EmbeddingParams],
    opened: dict[tuple[str, str], Any],
    say: Say,
) -> None:
    """Explanations of one kind; settings that differ for the other kind alone are one."""
    from pasta.embedding.embed import embed_kind

    out = source.stored.folder / FOLDER
    for name, settings in variants.items():
        encoder = opened[settings.encoder, settings.weights]
        told = _counting(say, f"{name}, {kind}")
        embed_kind(source, kind, encoder, settings, out, told)


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


def _forget(out: Path, stored: StoredExplanations, variants: Sequence[EmbeddingParams]) -> None:
    techniques = [one for one, _ in techniques_of(stored.table)]
    wanted = {array_file(out, own, one).parent for own in variants for one in techniques}
    for other in out.iterdir():
        if other.is_dir() and other not in wanted:
            shutil.rmtree(other)
