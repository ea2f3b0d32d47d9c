"""One small face for every CLIP: plain images and words in, unit vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pasta.errors import PastaError
from pasta.models.clip.opening import open_model
from pasta.models.normalise import Normalise

if TYPE_CHECKING:
    from pasta.params.clip import ClipParams

FOLDER, WEIGHTS, ABOUT = Path("pipelines/data/clip"), "weights.safetensors", "clip.json"
_TEXTS_AT_ONCE = 256
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
        import hashlib

        digest = hashlib.md5(usedforsecurity=False)
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
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
        batches = [
            self.model.encode_text(
                self.tokenizer(list(texts[start : start + _TEXTS_AT_ONCE])), normalize=True
            )
            for start in range(0, len(texts), _TEXTS_AT_ONCE)
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
    from safetensors.torch import save_file

    from pasta import store

    file = folder / WEIGHTS
    with store.atomic(file) as temporary:
        state = {key: value.contiguous() for key, value in model.state_dict().items()}
        save_file(state, temporary)
    return file


def _side(size: int | tuple[int, int]) -> int:
    return size if isinstance(size, int) else size[0]
