"""What the CLIP models of a dataset share: one encoder, and the similarities of all images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pasta.errors import PastaError
from pasta.models.base import Classifier
from pasta.models.clip.encoder import ClipEncoder, load_clip
from pasta.models.data import ModelContext, TrainingData
from pasta.params.clip import ClipParams

_IMAGES_AT_ONCE = 64


def clip_settings(context: ModelContext) -> ClipParams:
    """The encoder's section of the parameters."""
    params: Any = context.params
    settings: ClipParams = params.clip
    return settings


def shared_encoder(context: ModelContext) -> ClipEncoder:
    """The encoder, loaded once for all models of a dataset."""
    if "clip" not in context.shared:
        context.shared["clip"] = load_clip(clip_settings(context), context.root)
    encoder: ClipEncoder = context.shared["clip"]
    return encoder


@torch.no_grad()
def shared_features(data: TrainingData) -> Tensor:
    """Unit vectors of all images of the dataset, computed once."""
    encoder = shared_encoder(data)
    with data.lock:  # several models of the dataset are fitted at once
        if "clip_features" not in data.shared:
            every = torch.arange(len(data.labels))
            batches = data.batches(every, _IMAGES_AT_ONCE)
            data.shared["clip_features"] = torch.cat(
                [encoder.image_features(images) for _, images in batches]
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
