"""CLIP: prompts, the encoder behind all models that use it, and zero-shot classification."""

from __future__ import annotations

import hashlib
import logging
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import open_clip
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from timm.models import register_model
from torch import Tensor, nn
from torch.nn import functional

from pasta import compute, store
from pasta.datasets.vocabulary import Vocabulary, readable
from pasta.errors import PastaError
from pasta.models.base import MODELS, BlackBox, Classifier, History, Normalise
from pasta.models.data import ModelContext, TrainingData
from pasta.models.hub import stand_in_for_open_clip
from pasta.models.resnet import ScaledResNet
from pasta.models.settings import (
    ClipZeroShotParams,
    EncoderParams,
    is_random,
    seed_of,
    with_seed,
)
from pasta.registry import did_you_mean
from pasta.seeds import entropy


def prompts(names: Iterable[str], template: str) -> list[str]:
    """One prompt for each name."""
    return [template.format(readable(name)) for name in names]


def caption(
    label: str, concepts: Iterable[str], template: str, length: Callable[[str], int], room: int
) -> tuple[str, int]:
    """Class and concepts in one sentence, and how many of the concepts there was room for.

    ``length`` counts the tokens of a few words; a sentence is as long as its words together.
    """
    text, joint, number = template.format(readable(label)), " with ", 0
    room -= length(text)
    for concept in concepts:
        words = readable(concept)
        room -= length(joint) + length(words)
        if room < 0:
            break
        text, joint, number = f"{text}{joint}{words}", ", ", number + 1
    return text, number


@dataclass(frozen=True)
class PromptTable:
    """All different prompts of some datasets, and which rows are whose."""

    texts: tuple[str, ...]
    classes: tuple[Tensor, ...]  # for each dataset, a row for each class
    concepts: tuple[Tensor, ...]  # for each dataset, a row for each concept


def prompt_table(vocabularies: Sequence[Vocabulary], template: str) -> PromptTable:
    """Ask each prompt once, however many datasets share it."""
    place: dict[str, int] = {}

    def rows(names: Iterable[str]) -> Tensor:
        texts = prompts(names, template)
        return torch.tensor([place.setdefault(text, len(place)) for text in texts])

    classes = tuple(rows(words.classes) for words in vocabularies)
    concepts = tuple(rows(words.concepts) for words in vocabularies)
    return PromptTable(tuple(place), classes, concepts)


CONFIGS = Path(__file__).parent / "clip_configs"
WIDTH = 16  # of the small tower; a multiple of 16 suits the vector units
_FAILURES = (
    RuntimeError,
    OSError,
    ValueError,
    KeyError,
    AttributeError,
    pickle.UnpicklingError,
    SafetensorError,
)


class Tower(ScaledResNet):
    """Our slim residual network with the few names that open_clip expects of timm's networks.

    Its last stage keeps stride 16, 6 x 6 cells for 96 pixels: explanations look at it, and
    stride 32 would leave them nine cells.
    """

    def __init__(self) -> None:
        super().__init__(WIDTH, (1, 1, 1, 1), 1, bottleneck=False, keep_last=True)
        self.num_features = self.stage_channels[-1]
        self.default_cfg: dict[str, Any] = {"pool_size": (6, 6)}

    def reset_classifier(self, num_classes: int, global_pool: str = "avg") -> None:
        """Give pooled features instead of logits; open_clip adds its own projection."""
        if num_classes or global_pool != "avg":
            raise ValueError("the small tower gives averaged features only")
        self.fc = nn.Identity()


@register_model
def pasta_tiny_resnet(pretrained: bool = False, **options: Any) -> Tower:
    """A new tower with random weights, which open_clip builds by this name."""
    del pretrained, options
    return Tower()


open_clip.add_model_config(CONFIGS)


def open_model(
    architecture: str, weights: str | None, image_size: int | None = None, seed: int = 0
) -> tuple[Any, Any]:
    """A CLIP model in evaluation mode and its tokenizer.

    ``weights`` is a file or an open_clip tag; None draws random weights from ``seed``, and
    ``random:SEED`` from its own. A tokenizer that is not part of open_clip but comes from the hub
    has a stand-in beside random weights, so that these need no network.
    """
    if weights is not None and is_random(weights):
        seed, weights = seed_of(weights), None
    known = open_clip.list_models()
    if architecture not in known:
        hint = did_you_mean(architecture, known)
        raise PastaError(f"open_clip knows no architecture {architecture!r}. {hint}")
    _require_known(architecture, weights)
    tag = open_clip.get_pretrained_cfg(architecture, weights) if weights else {}
    try:
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(entropy(seed, "clip", "weights") % 2**63)
            model, _, _ = open_clip.create_model_and_transforms(
                architecture,
                pretrained=weights,
                force_image_size=image_size,
                force_quick_gelu=bool(tag.get("quick_gelu", False)),
                weights_only=True,
            )
            tokenizer = _tokenizer(architecture, weights)
    except _FAILURES as error:
        raise PastaError(_explain(architecture, weights, tag, error)) from error
    return model.eval(), tokenizer


def _tokenizer(architecture: str, weights: str | None) -> Any:
    text: dict[str, Any] = open_clip.get_model_config(architecture)["text_cfg"]
    if weights is None and "hf_tokenizer_name" in text:
        return stand_in_for_open_clip(text)
    return open_clip.get_tokenizer(architecture)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep open_clip's chatter, which goes to the root logger, off the screen."""
    before, handlers = logging.root.manager.disable, list(logging.root.handlers)
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        logging.root.handlers[:] = handlers  # the first words bring one that prints everything


def _require_known(architecture: str, weights: str | None) -> None:
    """A tag or a file must exist before anything large is built."""
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    if weights is None or weights in tags or Path(weights).is_file():
        return
    raise PastaError(
        f"there is no file {weights} with weights of {architecture}, and open_clip has no weights "
        f"of that name. Give the path of a file, or one of: {', '.join(tags) or 'none'}."
    )


def _explain(architecture: str, weights: str | None, tag: dict[str, Any], error: Exception) -> str:
    if not tag:
        reason = str(error).splitlines()[0]
        return (
            f"{weights}: cannot be loaded as weights of {architecture} ({reason}). "
            "Expected a .safetensors file or a plain state dict of that architecture."
        )
    places = [f"https://huggingface.co/{tag['hf_hub'].rstrip('/')}"] if tag.get("hf_hub") else []
    places += [tag["url"]] if tag.get("url") else []
    return (
        f"the weights {weights!r} of {architecture} are not on this machine and cannot be "
        f"downloaded. On a machine with network, download open_clip_model.safetensors from "
        f"{' or '.join(places)}, put it anywhere and write its path as clip.weights into "
        "params.yaml (or fill the Hugging Face cache that HF_HOME names)."
    )


FOLDER, WEIGHTS, ABOUT = Path("pipelines/data/clip"), "weights.safetensors", "clip.json"
NONE = "none"  # in place of weights: there is no encoder
_TEXTS_AT_ONCE, _IMAGES_AT_ONCE = 256, 64
_MARKS = 2  # the tokens of start and end


class ClipEncoder(nn.Module):
    """An open_clip model that never leaves evaluation mode: several models share it."""

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        super().__init__()
        self.model, self.tokenizer, self.name = model, tokenizer, name
        self.size = _side(model.visual.image_size)
        self.normalise = Normalise(model.visual.image_mean, model.visual.image_std)
        self.train(False)

    @property
    def visual(self) -> nn.Module:
        """The image tower."""
        tower: nn.Module = self.model.visual
        return tower

    @property
    def width(self) -> int:
        """Length of the unit vectors."""
        return int(self.text_features(["a"]).shape[1])

    @property
    def logit_scale(self) -> Tensor:
        """The number that turns similarities into logits."""
        scale: Tensor = self.model.logit_scale.detach().exp()
        return scale

    @property
    def md5(self) -> str:
        """The md5 of all weights by name, the same wherever they were loaded from."""
        digest = hashlib.md5(usedforsecurity=False)
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(compute.to_numpy(value).tobytes())
        return digest.hexdigest()

    def train(self, mode: bool = True) -> ClipEncoder:  # noqa: ARG002
        """Stay in evaluation mode, also as a part of a model that is trained."""
        return super().train(False)

    def prepare(self, images: Tensor) -> Tensor:
        """Images from 0 to 1 as the tower wants them."""
        if images.shape[-1] != self.size:
            images = functional.interpolate(
                images, (self.size, self.size), mode="bicubic", antialias=True
            ).clamp(0, 1)
        prepared: Tensor = self.normalise(images)
        return prepared

    def image_features(self, images: Tensor) -> Tensor:
        """Unit vectors, n x width, differentiable with respect to the images."""
        features: Tensor = self.model.encode_image(self.prepare(images), normalize=True)
        return features

    def forward(self, images: Tensor) -> Tensor:
        """The same as :meth:`image_features`."""
        return self.image_features(images)

    @property
    def room(self) -> int:
        """How many tokens of a text the tower sees, without the marks of start and end."""
        return int(self.tokenizer.context_length) - _MARKS

    def length(self, text: str) -> int:
        """Tokens of a text, without the marks of start and end."""
        generous = 4 * int(self.tokenizer.context_length)
        return int(self.tokenizer([text], context_length=generous).count_nonzero()) - _MARKS

    def fits(self, text: str) -> bool:
        """Whether the text tower sees a text to its end."""
        return self.length(text) <= self.room

    @torch.no_grad()
    def text_features(self, texts: Sequence[str], normalize: bool = True) -> Tensor:
        """Vectors, n x width, of unit length unless told otherwise."""
        tokens = compute.place(self.tokenizer(list(texts)), compute.device_of(self.model))
        batches = [
            self.model.encode_text(part, normalize=normalize)
            for part in tokens.split(_TEXTS_AT_ONCE)
        ]
        return torch.cat(batches)


def load_clip(settings: EncoderParams, root: Path, seed: int) -> ClipEncoder:
    """The encoder that the parameters name; ``trained`` is the one the clip stage has left.

    ``seed`` draws random weights, where these are asked for.
    """
    weights = with_seed(settings.weights, seed)
    if weights == NONE:
        raise PastaError(f"clip.weights is {NONE}, but a model or an encoder needs weights")
    if weights == "trained":
        file = root / FOLDER / WEIGHTS
        if not file.is_file():
            raise PastaError(f"{file}: there is no such file. `dvc repro clip` trains it.")
        weights = str(file)
    elif (root / weights).is_file():
        weights = str(root / weights)
    model, tokenizer = open_model(settings.architecture, weights, settings.image_size)
    return ClipEncoder(model, tokenizer, f"{settings.architecture}/{settings.weights}")


def save_clip(model: nn.Module, folder: Path) -> Path:
    """Write the weights so that open_clip's own loader takes them."""
    file = folder / WEIGHTS
    with store.atomic(file) as temporary:
        state = {key: value.cpu().contiguous() for key, value in model.state_dict().items()}
        save_file(state, temporary)
    return file


def last_stage(visual: Any) -> tuple[nn.Module, tuple[int, int] | None]:
    """The layer, and for transformers rows x columns of its image tokens."""
    tower = getattr(visual, "trunk", visual)  # open_clip wraps timm's networks
    if hasattr(tower, "layer4"):
        return tower.layer4[-1], None
    # A transformer's last block only mixes tokens into the class token, so what still depends on
    # the place is its input after the norm.
    if hasattr(tower, "transformer"):
        return tower.transformer.resblocks[-1].ln_1, _pair(tower.grid_size)
    if hasattr(tower, "blocks"):
        return tower.blocks[-1].norm1, _pair(tower.patch_embed.grid_size)
    raise PastaError(f"no CAM layer is known for the image tower {type(tower).__name__}")


def _pair(grid: tuple[int, int]) -> tuple[int, int]:
    rows, columns = grid
    return rows, columns


def shared_encoder(context: ModelContext, own: EncoderParams | None = None) -> ClipEncoder:
    """A model's own encoder or that of the section clip, loaded once for all models that see by it.

    Each is kept for the dataset under its architecture, weights and size.
    """
    settings = own or context.params.clip
    key = _kept_as("encoder", settings)
    if key not in context.shared:
        context.shared[key] = load_clip(settings, context.root, context.seed)
    encoder: ClipEncoder = context.shared[key]
    return encoder


@torch.no_grad()
def shared_features(data: TrainingData, own: EncoderParams | None = None) -> Tensor:
    """Unit vectors of all images of the dataset, computed once, in main memory."""
    encoder, key = shared_encoder(data, own), _kept_as("features", own or data.params.clip)
    if key not in data.shared:
        batches = data.batches(torch.arange(len(data.labels)), _IMAGES_AT_ONCE)
        data.shared[key] = torch.cat(
            [encoder.image_features(images).cpu() for _, images in batches]
        )
    features: Tensor = data.shared[key]
    return features


def _kept_as(what: str, settings: EncoderParams) -> str:
    return f"clip {what}: {settings.architecture} {settings.weights} {settings.image_size}"


class SharesClip(Classifier):
    """A classifier around the shared encoder, which its checkpoints leave out."""

    def saved_state(self) -> dict[str, Tensor]:
        """Everything but the encoder."""
        return {key: value for key, value in self.state_dict().items() if not _of_encoder(key)}

    def load_saved_state(self, state: Mapping[str, Tensor]) -> None:
        """Take over a checkpoint's tensors; the encoder keeps what it has."""
        problem = self.load_state_dict(dict(state), strict=False)
        missing = [key for key in problem.missing_keys if not _of_encoder(key)]
        if missing or problem.unexpected_keys:
            odd = ", ".join([*missing, *problem.unexpected_keys][:5])
            raise PastaError(f"the checkpoint is of another model (see {odd})")


def _of_encoder(key: str) -> bool:
    return "encoder" in key.split(".")


def _side(size: int | tuple[int, int]) -> int:
    return size if isinstance(size, int) else size[0]


class ClipZeroShot(SharesClip, BlackBox):
    """The image tower and the frozen unit vectors of the class prompts."""

    def __init__(self, encoder: ClipEncoder, classes: tuple[str, ...], texts: Tensor) -> None:
        super().__init__(classes)
        self.encoder = encoder
        self.texts: Tensor
        self.scale: Tensor
        self.register_buffer("texts", texts)
        self.register_buffer("scale", encoder.logit_scale.clone())
        layer, self.token_grid = last_stage(encoder.visual)
        self._layers = [layer]  # in a list, so that torch does not register it twice

    def forward(self, images: Tensor) -> Tensor:
        """The same logits as open_clip's."""
        return self.scale * self.encoder.image_features(images) @ self.texts.T

    def cam_layers(self) -> list[nn.Module]:
        """The last stage of the image tower."""
        return list(self._layers)


@MODELS.register(
    "clip_zero_shot",
    title="CLIP-zero-shot",
    family="vision-language",
    encoder="clip",
    doi="10.48550/arXiv.2103.00020",
)
class ClipZeroShotRecipe:
    """Nothing to train: the encoder and its words are all there is."""

    @staticmethod
    def build(context: ModelContext, settings: ClipZeroShotParams) -> ClipZeroShot:
        """The encoder with the prompts of the dataset's classes."""
        encoder = shared_encoder(context, settings.encoder)
        texts = encoder.text_features(prompts(context.classes, context.params.clip.template))
        return ClipZeroShot(encoder, context.classes, texts)

    @staticmethod
    def fit(*_: Any) -> History:
        """There is nothing to do."""
        return History()
