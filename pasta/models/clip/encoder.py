"""One small face for every CLIP: plain images and words in, unit vectors out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from pasta import compute, store
from pasta.errors import PastaError
from pasta.models.base import Classifier
from pasta.models.clip.opening import open_model
from pasta.models.data import ModelContext, TrainingData
from pasta.models.normalise import Normalise
from pasta.models.settings import ClipParams

FOLDER, WEIGHTS, ABOUT = Path("pipelines/data/clip"), "weights.safetensors", "clip.json"
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
    def text_features(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors, n x width."""
        tokens = compute.place(self.tokenizer(list(texts)), compute.device_of(self.model))
        batches = [
            self.model.encode_text(part, normalize=True) for part in tokens.split(_TEXTS_AT_ONCE)
        ]
        return torch.cat(batches)


def load_clip(settings: ClipParams, root: Path) -> ClipEncoder:
    """The encoder that the parameters name; ``trained`` is the one the clip stage has left."""
    weights = settings.weights
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


def clip_settings(context: ModelContext) -> ClipParams:
    """The encoder's section of the parameters."""
    return context.params.clip


def shared_encoder(context: ModelContext) -> ClipEncoder:
    """The encoder, loaded once for all models of a dataset."""
    if "clip" not in context.shared:
        context.shared["clip"] = load_clip(clip_settings(context), context.root)
    encoder: ClipEncoder = context.shared["clip"]
    return encoder


@torch.no_grad()
def shared_features(data: TrainingData) -> Tensor:
    """Unit vectors of all images of the dataset, computed once, in main memory."""
    encoder = shared_encoder(data)
    if "clip_features" not in data.shared:
        batches = data.batches(torch.arange(len(data.labels)), _IMAGES_AT_ONCE)
        data.shared["clip_features"] = torch.cat(
            [encoder.image_features(images).cpu() for _, images in batches]
        )
    features: Tensor = data.shared["clip_features"]
    return features


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
