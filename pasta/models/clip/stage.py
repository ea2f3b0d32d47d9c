"""The clip stage: train the small encoder, or look up the one from outside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pasta import compute, store
from pasta.models.base import History, Progress
from pasta.models.clip.encoder import ABOUT, WEIGHTS, ClipEncoder, load_clip, save_clip
from pasta.models.clip.training import train_clip, zero_shot_accuracy
from pasta.models.data import TrainingData
from pasta.params.clip import ClipParams


def make_clip(
    parts: Sequence[TrainingData], settings: ClipParams, seed: int, out: Path, progress: Progress
) -> tuple[dict[str, Any], History]:
    """Leave the weights, if they are our own, and a note about the encoder in a folder."""
    if settings.weights == "trained":
        encoder, history = train_clip(parts, settings, seed, progress)
        save_clip(encoder.model, out)
    else:
        (out / WEIGHTS).unlink(missing_ok=True)
        encoder, history = load_clip(settings, parts[0].root), History()
        compute.place(encoder, parts[0].where)
    about = describe(encoder, parts, settings.template, history)
    store.write_json(about, out / ABOUT)
    return about, history


def describe(
    encoder: ClipEncoder, parts: Sequence[TrainingData], template: str, history: History
) -> dict[str, Any]:
    """What there is to know about an encoder, with its zero-shot accuracies on test images."""
    return {
        "name": encoder.name,
        "md5": encoder.md5,
        "image_size": encoder.size,
        "width": encoder.width,
        "logit_scale": round(float(encoder.logit_scale), 4),
        "best_epoch": history.best_epoch,
        "zero_shot_accuracy": {
            part.name: round(zero_shot_accuracy(encoder, part, template, "test"), 4)
            for part in parts
        },
    }
