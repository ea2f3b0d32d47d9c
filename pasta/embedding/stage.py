"""The embed stage: several ways of embedding the same explanations, each encoder opened once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pasta.embedding.embed import embed_dataset
from pasta.embedding.encoders import open_encoder
from pasta.embedding.handcrafted import embed_handcrafted
from pasta.embedding.stored import FOLDER, HANDCRAFTED, array_file, techniques_of
from pasta.explanations.stored import StoredExplanations
from pasta.params.embedding import EmbeddingParams

Say = Callable[..., None]


def embed_variants(folder: Path, variants: Sequence[EmbeddingParams], root: Path, say: Say) -> None:
    """Bring the vectors of a dataset up to date, and forget variants that nobody asks for."""
    out = folder / FOLDER
    opened: dict[tuple[str, str], Any] = {}
    for number, settings in enumerate(variants, start=1):
        told = _counting(say, f"{settings.encoder} {number} of {len(variants)}")
        if settings.encoder == HANDCRAFTED:
            embed_handcrafted(folder, settings, out, told)
            continue
        key = (settings.encoder, settings.weights)
        if key not in opened:
            opened[key] = open_encoder(settings, root)
        embed_dataset(folder, opened[key], settings, out, told)
    _forget(out, folder, variants)


def _counting(say: Say, title: str) -> Say:
    """One line for a variant, instead of one for each technique."""
    done = 0

    def told(technique: str, words: str, *_: Any) -> None:
        nonlocal done
        done += 1
        say(title, f"{technique}: {words}", done)

    return told


def _forget(out: Path, folder: Path, variants: Sequence[EmbeddingParams]) -> None:
    techniques = [one for one, _ in techniques_of(StoredExplanations(folder).table)]
    wanted = {array_file(out, own, one).parent for own in variants for one in techniques}
    for other in out.iterdir():
        if other.is_dir() and other not in wanted:
            shutil.rmtree(other)
