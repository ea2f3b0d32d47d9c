"""A project with a random tiny CLIP and a scorer that has learned random ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pasta import store
from pasta.compute import limit_threads
from pasta.embedding.encoders import OpenClip, about
from pasta.embedding.inputs import classes_of, label_order, render, with_label
from pasta.models.clip import ABOUT, FOLDER, ClipEncoder, open_model, save_clip
from pasta.scoring import stored as scorer_folder
from pasta.scoring.base import SCORERS, Fitted, Rated
from pasta.scoring.image_statistics import image_statistics
from pasta.scoring.ood import FamiliarRegion, fit_region
from pasta.scoring.settings import PenaltyParams
from pasta.seeds import generator
from tests.embedding.small import settings as embedding_settings
from tests.scoring.ordinal_votes import settings as ordinal_settings

limit_threads()
SIDE, IMAGES = 32, 20
QUESTIONS = ("Q1", "Q2", "Q3")
DIRECTIONS = {"Q1": 1, "Q2": 1, "Q3": -1}
ORIGIN = "learned from simulated votes on drawings"
TECHNIQUES = ("gradcam/resnet50", "lime/resnet50", "rise/vit_b_16")
LABELS = ("cat", "home_or_hotel", "Gothic", "bus")
ORDINAL = ordinal_settings(strengths=(1.0, 10.0), sharing=(0.5,), iterations=200, tolerance=1e-4)
SETTINGS = embedding_settings(encoder="tiny-clip", weights="trained", n_top=3)


def silent(*words: Any) -> None:
    """Progress that nobody looks at."""


def tiny(seed: int = 1, side: int = SIDE) -> OpenClip:
    model, tokenizer = open_model("pasta-tiny", None, side, seed=seed)
    return OpenClip(ClipEncoder(model, tokenizer, "pasta-tiny/random"), "tiny-clip")


def make_root(root: Path, encoder: OpenClip) -> Path:
    """What a project needs to open its encoder."""
    root.mkdir(parents=True, exist_ok=True)
    for name in ("dvc.yaml", "params.yaml"):
        (root / name).touch()
    save_clip(encoder.clip.model, root / FOLDER)
    store.write_json({"md5": encoder.md5, "image_size": encoder.size}, root / FOLDER / ABOUT)
    return root


def pictures(number: int, seed: int = 0) -> NDArray[np.uint8]:
    """Smooth coloured images, bytes with the colours last."""
    coarse = generator(seed, "images").integers(0, 256, (number, 4, 4, 3), dtype=np.uint8)
    return np.asarray(coarse.repeat(SIDE // 4, axis=1).repeat(SIDE // 4, axis=2))


def heat(number: int, seed: int = 0) -> NDArray[np.float32]:
    """One warm spot on each image."""
    centres = generator(seed, "maps").uniform(0, SIDE, (number, 2, 1, 1))
    rows, columns = np.mgrid[:SIDE, :SIDE]
    away = (rows - centres[:, 0]) ** 2 + (columns - centres[:, 1]) ** 2
    maps = np.exp(-away / 60)
    low, high = maps.min((1, 2), keepdims=True), maps.max((1, 2), keepdims=True)
    return np.asarray((maps - low) / (high - low), np.float32)


KNOWN = classes_of(("catsdogscars", "pascalpart", "monumai", "coco"))
CLASSES = label_order(KNOWN)


def labels(number: int) -> list[str]:
    return [LABELS[row % len(LABELS)] for row in range(number)]


def make_scorer(
    root: Path,
    encoder: OpenClip,
    scorer: str = "ordinal",
    with_labels: bool = True,
    keep: list[Fitted] | None = None,
    settings: Any = ORDINAL,
    **changes: Any,
) -> Path:
    """Learn random ratings and store the scorer where the project keeps it.

    ``keep`` gets the trained scorer.
    """
    number = IMAGES * len(TECHNIQUES)
    images = pictures(IMAGES).repeat(len(TECHNIQUES), axis=0)
    floats = images.transpose(0, 3, 1, 2).astype(np.float32) / 255
    shown = render(floats, heat(number), False, SETTINGS)
    vectors = np.asarray(encoder.images(torch.from_numpy(shown).float() / 255), np.float32)
    named = [None if row % 5 == 0 else label for row, label in enumerate(labels(number))]
    features = with_label(vectors, named, CLASSES) if with_labels else vectors
    votes = generator(0, "votes").integers(0, 5, (number, len(QUESTIONS), 5))
    counts = (votes[..., None] == np.arange(5)).sum(axis=2).astype(np.int64)
    rated = Rated(features, counts, (votes.mean(axis=2) + 1).astype(np.float32))
    half = np.arange(number) % 2 == 0
    chosen: Any = settings if scorer == "ordinal" else PenaltyParams(alpha=1.0)
    fitted: Fitted = SCORERS[scorer].fit(rated.at(half), rated.at(~half), chosen, 0)
    techniques = TECHNIQUES * IMAGES
    if keep is not None:
        keep.append(fitted)
    place = root / scorer_folder.FOLDER
    given: dict[str, Any] = {
        "directions": DIRECTIONS,
        "origin": ORIGIN,
        "encoder": about(encoder),
        "preprocessing": SETTINGS,
        "labels": KNOWN if with_labels else None,
        "label_dropout": 0.2,
        "encoder_folder": root / FOLDER if (root / FOLDER).is_dir() else None,
        "training": {"votes.parquet": "0" * 32},
        "metrics": {"Q1": {"qwk": 0.6}, "Q2": {"qwk": 0.6}, "Q3": {"qwk": 0.1}},
        "techniques": scorer_folder.technique_means(
            fitted.predict(features).stars, QUESTIONS, techniques
        ),
        "familiar": {
            "saliency": fit_region(vectors, [f"{row}" for row in np.arange(number) // 3], 0.01),
            "image": fit_region(
                image_statistics(torch.from_numpy(pictures(200)).permute(0, 3, 1, 2), SIDE),
                range(200),
                0.04,
            ),
            "concept": FamiliarRegion(
                np.zeros(encoder.width, np.float32), np.eye(encoder.width, dtype=np.float32), 50.0
            ),
        },
    }
    scorer_folder.save_scorer(place, scorer, fitted, **{**given, **changes})
    return place


NUMBER_OF_CLASSES = len(CLASSES)
