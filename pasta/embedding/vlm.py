"""BLIP and LLaVA as encoders, through transformers (the extra ``vlm``).

BLIP has towers for pictures and texts that were trained to meet in one space. LLaVA has none: a
picture and a text meet in the hidden states of its language model, so either is the mean of the
last hidden states over its own tokens. P1 and P2 do not say how they took vectors from LLaVA.
"""

from __future__ import annotations

import hashlib
import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from pasta import compute
from pasta.embedding.base import ENCODERS, Encoder, pictures, require_fit, squared
from pasta.errors import PastaError
from pasta.models.base import Normalise

# Both models were trained on pictures that are normalised as for the first CLIP.
MEAN, SPREAD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
_TEXTS_AT_ONCE = 64


class HubEncoder(ABC):
    """What the two have in common; ``model`` and ``tokenizer`` are transformers' own."""

    def __init__(self, model: nn.Module, tokenizer: Any, name: str) -> None:
        self.model, self.tokenizer, self.name = model.eval(), tokenizer, name
        config: Any = model.config
        self.size = int(config.vision_config.image_size)
        self.room = int(config.text_config.max_position_embeddings)
        self.normalise = Normalise(MEAN, SPREAD)
        compute.place(self.normalise, compute.device_of(model))
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        tokenizer.padding_side = "right"

    @cached_property
    def md5(self) -> str:
        """Of all weights; numbers of half precision are hashed as such."""
        digest = hashlib.md5(usedforsecurity=False)
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            plain = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            digest.update(plain.numpy().tobytes())
        return digest.hexdigest()

    @cached_property
    def width(self) -> int:
        """Length of the vectors."""
        return int(self.texts(["a"]).shape[1])

    @torch.no_grad()
    def images(self, batch: Tensor) -> Tensor:
        """Unit vectors of pictures."""
        where = compute.device_of(self.model)
        prepared: Tensor = self.normalise(squared(pictures(compute.place(batch, where)), self.size))
        kind = next(self.model.parameters()).dtype
        with compute.autocast(where):
            return normalize(self.see(prepared.to(kind)).float(), dim=1)

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors of texts."""
        require_fit(self, texts)
        with compute.autocast(compute.device_of(self.model)):
            batches = [
                self.read(**self._tokens(list(texts[start : start + _TEXTS_AT_ONCE]))).float()
                for start in range(0, len(texts), _TEXTS_AT_ONCE)
            ]
        return normalize(torch.cat(batches), dim=1) if batches else torch.zeros(0, self.width)

    def fits(self, text: str) -> bool:
        """Whether the model sees a text to its end."""
        return len(self.tokenizer(text)["input_ids"]) <= self.room

    @abstractmethod
    def see(self, pictures: Tensor) -> Tensor:
        """Vectors of normalised pictures at the tower's size."""

    @abstractmethod
    def read(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Vectors of padded tokens."""

    def _tokens(self, texts: list[str]) -> dict[str, Tensor]:
        found = self.tokenizer(texts, padding=True, return_tensors="pt")
        where = compute.device_of(self.model)
        return {name: found[name].to(where) for name in ("input_ids", "attention_mask")}


class Blip(HubEncoder):
    """BLIP's retrieval model: the projections that its contrastive loss was trained on."""

    def see(self, pictures: Tensor) -> Tensor:
        """The projected class token of the picture."""
        model: Any = self.model
        seen: Tensor = model.vision_proj(model.vision_model(pictures)[0][:, 0])
        return seen

    def read(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The projected first token of the text."""
        model: Any = self.model
        states = model.text_encoder(input_ids=input_ids, attention_mask=attention_mask)[0]
        said: Tensor = model.text_proj(states[:, 0])
        return said


class Llava(HubEncoder):
    """The last hidden states of LLaVA's language model, averaged over tokens."""

    def see(self, pictures: Tensor) -> Tensor:
        """The mean over the places where the language model sees the picture."""
        config: Any = self.model.config
        cells = (self.size // int(config.vision_config.patch_size)) ** 2
        cells += config.vision_feature_select_strategy == "full"  # which keeps the class token
        start = [] if self.tokenizer.bos_token_id is None else [self.tokenizer.bos_token_id]
        words = start + [int(config.image_token_id)] * cells
        line = torch.tensor(words, device=pictures.device)
        tokens = line.expand(len(pictures), -1)
        states = self._states(tokens, torch.ones_like(tokens), pixel_values=pictures)
        return states[:, len(start) :].mean(1)

    def read(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """The mean over the tokens of the text, without its padding."""
        states = self._states(input_ids, attention_mask)
        seen = attention_mask[..., None].to(states.dtype)
        return (states * seen).sum(1) / seen.sum(1)

    def _states(self, tokens: Tensor, mask: Tensor, **pictures: Tensor) -> Tensor:
        answer = self.model(
            input_ids=tokens,
            attention_mask=mask,
            output_hidden_states=True,
            logits_to_keep=1,
            **pictures,
        )
        states: Tensor = answer.hidden_states[-1]
        return states


def transformers(encoder: str) -> Any:
    """The library, or an error that says how to get it."""
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise PastaError(
            f"the encoder {encoder} needs transformers. `pip install 'pasta-xai[vlm]'` brings it."
        ) from error


@ENCODERS.register(
    "blip-base",
    title="BLIP",
    weights="Salesforce/blip-itm-base-coco",
    doi="10.48550/arXiv.2201.12086",
)
def open_blip(weights: str, root: Path) -> Encoder:
    """BLIP base; ``weights`` is a model of the hub or a folder."""
    return Blip(*_loaded("blip-base", "BlipForImageTextRetrieval", weights, root), "blip-base")


@ENCODERS.register(
    "llava-1.5-7b",
    title="LLaVA",
    weights="llava-hf/llava-1.5-7b-hf",
    doi="10.48550/arXiv.2310.03744",
)
def open_llava(weights: str, root: Path) -> Encoder:
    """LLaVA 1.5; ``weights`` is a model of the hub or a folder."""
    found = _loaded("llava-1.5-7b", "LlavaForConditionalGeneration", weights, root)
    return Llava(*found, "llava-1.5-7b")


def _loaded(name: str, kind: str, weights: str, root: Path) -> tuple[nn.Module, Any]:
    library = transformers(name)
    place = str(root / weights) if (root / weights).is_dir() else weights
    try:
        # Only safetensors: nothing that is loaded can run code.
        model = getattr(library, kind).from_pretrained(
            place, torch_dtype="auto", use_safetensors=True
        )
        tokenizer = library.AutoTokenizer.from_pretrained(place)
    except (OSError, ValueError) as error:
        raise PastaError(
            f"encoder {name}: {weights} is no folder with a {kind}, and cannot be downloaded "
            f"({str(error).splitlines()[0]}). On a machine with network, download the model from "
            f"https://huggingface.co/{ENCODERS.entry(name).metadata['weights']} and write its "
            "folder as embedding.weights into params.yaml."
        ) from error
    compute.place(model)
    return model, tokenizer
