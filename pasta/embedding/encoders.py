"""The encoders: the demo's small CLIP, and the models of the papers.

Vectors of the CLIP family come through open_clip, those of BLIP and LLaVA through transformers
(:mod:`pasta.embedding.vlm`). Pictures are brought to the tower's size whole, without the cropping
of the usual preparation, which would hide a part of an explanation that is not square.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import normalize

from pasta import compute, store
from pasta.embedding import vlm
from pasta.embedding.base import ENCODERS, Encoder, pictures, require_fit, squared
from pasta.embedding.settings import EmbeddingParams
from pasta.errors import InputError, PastaError
from pasta.models.clip import ABOUT, FOLDER, WEIGHTS, ClipEncoder, open_model

__all__ = ["ENCODERS", "OpenClip", "open_encoder"]
TINY = "pasta-tiny"
_CLIP, _SIGLIP, _EVA = (
    "10.48550/arXiv.2103.00020",
    "10.48550/arXiv.2303.15343",
    "10.48550/arXiv.2303.11331",
)


class OpenClip:
    """An open_clip model as an encoder of explanations."""

    def __init__(self, clip: ClipEncoder, name: str) -> None:
        self.clip, self.name, self.size = clip, name, clip.size

    @cached_property
    def md5(self) -> str:
        """Of all weights."""
        return self.clip.md5

    @cached_property
    def width(self) -> int:
        """Length of the vectors."""
        return self.clip.width

    @torch.no_grad()
    def images(self, batch: Tensor) -> Tensor:
        """Unit vectors of pictures."""
        where = compute.device_of(self.clip)
        seen = squared(pictures(compute.place(batch, where)), self.size)
        with compute.autocast(where):
            features = self.clip.model.encode_image(self.clip.prepare(seen))
        return normalize(features.float(), dim=-1)

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors of texts."""
        require_fit(self, texts)
        if not texts:
            return torch.zeros(0, self.width)
        with compute.autocast(compute.device_of(self.clip)):
            return normalize(self.clip.text_features(texts).float(), dim=-1)

    def fits(self, text: str) -> bool:
        """Whether the text tower sees a text to its end."""
        tokenizer = self.clip.tokenizer
        inner = getattr(tokenizer, "tokenizer", None)
        if inner is None:
            return self.clip.fits(text)
        # Tokenizers from outside pad with a token that is not 0, so count before the padding.
        words = tokenizer.clean_fn(text)
        return len(inner([words])["input_ids"][0]) <= int(tokenizer.context_length)


def open_encoder(settings: EmbeddingParams, root: Path) -> Encoder:
    """The encoder that the parameters name, on the device of this process."""
    return ENCODERS[settings.encoder](settings.weights, root)


@ENCODERS.register("tiny-clip", title="tiny CLIP", weights="trained", architecture=TINY)
def open_tiny(weights: str, root: Path) -> Encoder:
    """The small CLIP that the clip stage has trained (``trained``), or a file of such weights."""
    if weights != "trained":
        return _opened("tiny-clip", TINY, weights, root)
    file, note = root / FOLDER / WEIGHTS, root / FOLDER / ABOUT
    if not file.is_file() or not note.is_file():
        raise PastaError(f"{file}: there is no such file. `dvc repro clip` trains it.")
    card = store.read_json(note)
    encoder = _opened("tiny-clip", TINY, str(file), root, int(card["image_size"]))
    if encoder.md5 != card["md5"]:
        raise InputError(
            f"the weights have the md5 {encoder.md5}", file=file, expected=f"{card['md5']}"
        )
    return encoder


@ENCODERS.register(
    "clip-vit-l-14-336", title="CLIP", weights="openai", architecture="ViT-L-14-336", doi=_CLIP
)
def open_large_clip(weights: str, root: Path) -> Encoder:
    """CLIP of P1 and P2."""
    return _opened("clip-vit-l-14-336", "ViT-L-14-336", weights, root)


@ENCODERS.register(
    "siglip-vit-l-16-384",
    title="SigLIP",
    weights="webli",
    architecture="ViT-L-16-SigLIP-384",
    doi=_SIGLIP,
)
def open_siglip(weights: str, root: Path) -> Encoder:
    """SigLIP, the default of P2; its tokenizer needs transformers."""
    vlm.transformers("siglip-vit-l-16-384")
    return _opened("siglip-vit-l-16-384", "ViT-L-16-SigLIP-384", weights, root)


@ENCODERS.register(
    "eva02-l-14-336",
    title="EVA02",
    weights="merged2b_s6b_b61k",
    architecture="EVA02-L-14-336",
    doi=_EVA,
)
def open_eva(weights: str, root: Path) -> Encoder:
    """EVA02 of P2."""
    return _opened("eva02-l-14-336", "EVA02-L-14-336", weights, root)


def _opened(
    name: str, architecture: str, weights: str, root: Path, size: int | None = None
) -> Encoder:
    inside = root / weights
    try:
        model, tokenizer = open_model(
            architecture, str(inside) if inside.is_file() else weights, size
        )
    except PastaError as error:
        text = str(error).replace("clip.weights", "embedding.weights")
        raise PastaError(f"encoder {name}: {text}") from error
    clip = ClipEncoder(model, tokenizer, f"{architecture}/{weights}")
    compute.place(clip)
    return OpenClip(clip, name)
