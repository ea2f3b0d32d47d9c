"""What comes from the Hugging Face hub: the library transformers, and stand-ins for tokenizers.

Tokenizers of SigLIP, BLIP and LLaVA are files on the hub. Beside pretrained weights the true ones
are downloaded with these. Random weights know no words, so a stand-in serves them as well and needs
no network: the subwords of CLIP's tokenizer, which is part of open_clip, as many of them as the
model's vocabulary has room for. Texts become about as many tokens as with the true tokenizer, but
others.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Mapping
from typing import Any

import open_clip

from pasta.errors import PastaError

_BYTES = 512  # subwords that no merge makes: each byte within and at the end of a word
_START, _END = "<|startoftext|>", "<|endoftext|>"


def transformers(encoder: str) -> Any:
    """The library, or an error that says how to get it."""
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise PastaError(
            f"the encoder {encoder} needs transformers. `pip install 'pasta-xai[vlm]'` brings it."
        ) from error


def stand_in_tokenizer(size: int) -> Any:
    """A tokenizer of transformers with a vocabulary of ``size`` tokens."""
    known = open_clip.SimpleTokenizer()
    subwords = list(known.encoder)[: size - 2]
    merges = list(known.bpe_ranks)[: size - 2 - _BYTES]
    words = [*subwords, _START, _END]
    return transformers("of the hub").CLIPTokenizer(
        vocab={word: place for place, word in enumerate(words)}, merges=merges
    )


def stand_in_for_open_clip(text: Mapping[str, Any]) -> open_clip.tokenizer.HFTokenizer:
    """The same in open_clip's wrapper, for the ``text_cfg`` of an architecture."""
    with tempfile.TemporaryDirectory(prefix="pasta-tokenizer-") as folder:
        stand_in_tokenizer(int(text["vocab_size"])).save_pretrained(folder)
        return open_clip.tokenizer.HFTokenizer(
            folder, context_length=text["context_length"], **text.get("tokenizer_kwargs", {})
        )
