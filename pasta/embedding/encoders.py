"""The encoders: the demo's small CLIP, and the models of the papers.

Vectors of the CLIP family come through open_clip, those of BLIP and LLaVA through transformers (the
extra ``vlm``). Pictures are brought to the tower's size whole, without the cropping of the usual
preparation, which would hide a part of an explanation that is not square.

BLIP has towers for pictures and texts that were trained to meet in one space. LLaVA has none: a
picture and a text meet in the hidden states of its language model, so either is the mean of the
last hidden states over its own tokens. P1 and P2 do not say how they took vectors from LLaVA.

Vectors are as the towers give them (P1, Eqs. 1 and 2), not of unit length: the published learning
rates are made for that. Those of CLIP ViT-L/14@336 are about 21 long for pictures (the ratio of raw
and unit vectors of one picture in rom1504/clip-retrieval, issue 290). What a scorer does with the
length is its own choice.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate

from pasta import compute, store
from pasta.embedding.sentences import Piece
from pasta.embedding.settings import EmbeddingParams
from pasta.errors import InputError, PastaError
from pasta.models.base import Normalise
from pasta.models.clip import ABOUT, FOLDER, WEIGHTS, ClipEncoder, open_model
from pasta.models.hub import stand_in_tokenizer, transformers
from pasta.models.settings import is_random, seed_of, with_seed
from pasta.registry import Registry
from pasta.seeds import entropy


class Encoder(Protocol):
    """Pictures and texts into one space.

    P1 and P2 put both kinds of explanation there: the image vector of a rendered saliency map and
    the text vector of a concept sentence are columns of the same features. Pictures may come from
    anywhere; vectors stay on the encoder's device, in float32.
    """

    name: str  # in the register
    size: int  # pixels of a side of what the image tower sees

    @property
    def md5(self) -> str:
        """Of all weights by name, wherever they were loaded from."""

    @property
    def width(self) -> int:
        """Length of the vectors."""

    def images(self, batch: Tensor) -> Tensor:
        """Vectors (n x width) of pictures (n x 3 x height x width), bytes or floats from 0 to 1."""

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Vectors (n x width); a text that is too long is an error and is never cut."""

    def fits(self, text: str) -> bool:
        """Whether the text tower sees a text to its end."""


Opener = Callable[[str, Path], Encoder]  # weights, root of the project
# metadata: title, weights (the usual ones), doi, and for models of open_clip their architecture
ENCODERS: Registry[Opener] = Registry("encoder")


def about(encoder: Encoder) -> dict[str, Any]:
    """What makes vectors comparable: they are mixed only if all of this is equal."""
    return {
        "encoder": encoder.name,
        "md5": encoder.md5,
        "size": encoder.size,
        "width": encoder.width,
    }


def pictures(batch: Tensor) -> Tensor:
    """A batch as encoders take it, as floats from 0 to 1; or an error that says what it is."""
    in_bytes = batch.dtype == torch.uint8
    if batch.ndim != 4 or batch.shape[1] != 3 or not (in_bytes or batch.is_floating_point()):
        raise PastaError(
            f"pictures of the shape {' x '.join(map(str, batch.shape))} and type {batch.dtype} "
            "(expected n x 3 x height x width, bytes or floats)"
        )
    # Convolutions on a CPU are half as fast again with the colours last in memory.
    colours_last = batch.contiguous(memory_format=torch.channels_last)
    if in_bytes:
        return colours_last.float().div_(255)
    if batch.numel() and not (float(batch.min()) >= 0 and float(batch.max()) <= 1):
        raise PastaError("a picture has values outside 0 to 1, or values that are no numbers")
    return colours_last


def require_fit(encoder: Encoder, texts: Sequence[str]) -> None:
    """Raise if a text is longer than what the encoder sees."""
    for text in texts:
        if not encoder.fits(text):
            raise PastaError(f"{encoder.name}: the text is too long to be seen whole: {text!r}")


def squared(batch: Tensor, size: int) -> Tensor:
    """The whole picture at the size of the image tower."""
    if tuple(batch.shape[2:]) == (size, size):
        return batch
    return interpolate(batch, (size, size), mode="bicubic", antialias=True).clamp(0, 1)


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
        """Vectors of pictures."""
        where = compute.device_of(self.clip)
        seen = squared(pictures(compute.place(batch, where)), self.size)
        with compute.autocast(where):
            features: Tensor = self.clip.model.encode_image(self.clip.prepare(seen))
        return features.float()

    def texts(self, texts: Sequence[str]) -> Tensor:
        """Vectors of texts."""
        require_fit(self, texts)
        if not texts:
            return torch.zeros(0, self.width)
        with compute.autocast(compute.device_of(self.clip)):
            return self.clip.text_features(texts, normalize=False).float()

    def fits(self, text: str) -> bool:
        """Whether the text tower sees a text to its end."""
        tokenizer = self.clip.tokenizer
        inner = getattr(tokenizer, "tokenizer", None)
        if inner is None:
            return self.clip.fits(text)
        # Tokenizers from outside pad with a token that is not 0, so count before the padding.
        words = tokenizer.clean_fn(text)
        return len(inner([words])["input_ids"][0]) <= int(tokenizer.context_length)


def open_encoder(settings: EmbeddingParams, root: Path, seed: int) -> Encoder:
    """The encoder that the parameters name, on the device of this process.

    ``seed`` draws random weights, where these are asked for.
    """
    return ENCODERS[settings.encoder](with_seed(settings.weights, seed), root)


@ENCODERS.register("tiny-clip", title="tiny CLIP", weights="trained", architecture=TINY)
def open_tiny(weights: str, root: Path) -> Encoder:
    """The small CLIP that the clip stage has trained (``trained``), a copy of its folder, or a file
    of such weights."""
    folder = root / (FOLDER if weights == "trained" else weights)
    if weights != "trained" and not folder.is_dir():
        return _opened("tiny-clip", TINY, weights, root)
    file, note = folder / WEIGHTS, folder / ABOUT
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
    transformers("siglip-vit-l-16-384")
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
        """Vectors of pictures."""
        where = compute.device_of(self.model)
        prepared: Tensor = self.normalise(squared(pictures(compute.place(batch, where)), self.size))
        kind = next(self.model.parameters()).dtype
        with compute.autocast(where):
            return self.see(prepared.to(kind)).float()

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Tensor:
        """Vectors of texts."""
        require_fit(self, texts)
        with compute.autocast(compute.device_of(self.model)):
            batches = [
                self.read(**self._tokens(list(texts[start : start + _TEXTS_AT_ONCE]))).float()
                for start in range(0, len(texts), _TEXTS_AT_ONCE)
            ]
        return torch.cat(batches) if batches else torch.zeros(0, self.width)

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
    if is_random(weights):
        model, tokenizer = _drawn(library, name, kind, seed_of(weights))
        compute.place(model)
        return model, tokenizer
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


CONFIGS = Path(__file__).parent / "configs"  # of the models on the hub, by the encoder's name


def _drawn(library: Any, name: str, kind: str, seed: int) -> tuple[nn.Module, Any]:
    """A model as its configuration describes it, with random weights, and a stand-in tokenizer."""
    known = store.read_json(CONFIGS / f"{name}.json")
    words = int(known.pop("tokenizer_vocab_size"))
    architecture = getattr(library, kind)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entropy(seed, "encoder", name, "weights") % 2**63)
        model = architecture(architecture.config_class(**known))
    return model, stand_in_tokenizer(words)


class TextEncoder(Protocol):
    """The half of an encoder that reads."""

    def fits(self, text: str) -> bool:
        """Whether a text is seen to its end."""

    def texts(self, texts: Sequence[str]) -> Any:
        """Vectors, n x width."""


def sentence_vectors(encoder: TextEncoder, told: Sequence[Sequence[Piece]]) -> NDArray[np.float32]:
    """The weighted mean of each list of pieces; equal sentences are encoded once."""
    place: dict[str, int] = {}
    for parts in told:
        for part in parts:
            place.setdefault(part.text, len(place))
    vectors = compute.to_numpy(encoder.texts(list(place))).astype(np.float64)
    means = [
        np.average(
            vectors[[place[part.text] for part in parts]],
            axis=0,
            weights=[part.weight for part in parts],
        )
        for parts in told
    ]
    return np.stack(means).astype(np.float32)
