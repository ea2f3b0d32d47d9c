"""CLIP as a classifier without training: the class whose prompt is nearest to the image."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from pasta.models.base import MODELS, BlackBox, History
from pasta.models.clip.encoder import (
    ClipEncoder,
    SharesClip,
    clip_settings,
    last_stage,
    shared_encoder,
)
from pasta.models.clip.prompts import prompts
from pasta.models.data import ModelContext
from pasta.sections import Section


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
        self._layers = [layer]  # in a list, lest it is registered twice

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
    def build(context: ModelContext, settings: Section | None) -> ClipZeroShot:  # noqa: ARG004
        """The shared encoder with the prompts of the dataset's classes."""
        encoder = shared_encoder(context)
        texts = encoder.text_features(prompts(context.classes, clip_settings(context).template))
        return ClipZeroShot(encoder, context.classes, texts)

    @staticmethod
    def fit(*_: Any) -> History:
        """There is nothing to do."""
        return History()
