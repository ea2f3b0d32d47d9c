"""The scorer that everybody can call: trained on the rated explanations, kept in a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from pasta.config import Params
from pasta.datasets.stored import open_dataset
from pasta.layout import Group
from pasta.models.settings import is_random, with_seed
from pasta.scoring.base import SCORERS, Fitted, Floats, Rated
from pasta.scoring.image_statistics import image_statistics
from pasta.scoring.material import Material, split
from pasta.scoring.ood import ALARMS, IMAGE, FamiliarRegion, fit_region
from pasta.scoring.stored import save_scorer, technique_means
from pasta.scoring.studies import settings_of
from pasta.seeds import generator
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import QUESTIONS


@dataclass(frozen=True)
class Public:
    """A trained scorer, and what it is to remember of its training."""

    scorer: str
    fitted: Fitted
    encoder: Mapping[str, Any]
    techniques: dict[str, dict[str, float]]  # mean stars by question and technique
    familiar: dict[str, FamiliarRegion]  # of images, and of each kind of explanation
    labels: dict[str, tuple[str, ...]] | None  # classes of each dataset; None: no input
    origin: str  # see :func:`describe_origin`


def describe_images(groups: Sequence[Group], size: int, most: int) -> Floats:
    """Statistics of the images of each dataset, ``most`` of them, evenly from its whole length."""
    found = []
    for folder in dict.fromkeys(group.images for group in groups):
        pixels = open_dataset(folder).pixels
        rows = np.unique(np.linspace(0, len(pixels) - 1, most).astype(int))
        found.append(image_statistics(torch.from_numpy(pixels[rows]).permute(0, 3, 1, 2), size))
    return np.concatenate(found)


def train_public(
    material: Material, params: Params, images: Floats, scorer: str | None = None
) -> Public:
    """Train the public scorer, or another one in its way.

    It learns from a share of the images and of the techniques; all other images with other
    techniques say how far it errs on what is new. Some of both lose their label, so that the scorer
    can answer without one. ``images`` are the statistics of familiar images, see
    :func:`describe_images`.
    """
    public, scoring = params.scoring.public, params.scoring
    name = public.scorer if scorer is None else scorer
    rated, rows = material.rated(params.embedding, scoring.aggregate, scoring.label_input)
    encoder = material.embedded(params.embedding)[0].encoder
    samples = material.samples.iloc[rows].reset_index(drop=True)
    parts = split(
        samples[["dataset", "image", "technique"]],
        "image_and_technique",
        public.train,
        params.seeds.splitting,
    )
    calibration = np.sort(np.concatenate([parts.validation, parts.test]))
    settings = settings_of(name, scoring)
    learned = _without_some_labels(
        rated, encoder["width"], public.label_dropout, params.seeds.training
    )
    fitted = SCORERS[name].fit(
        learned.at(parts.train), learned.at(calibration), settings, params.seeds.training
    )
    stars = fitted.predict(rated.features).stars
    means = technique_means(stars, QUESTIONS, samples["technique"].tolist())
    familiar = _familiar(rated.features[:, : encoder["width"]], samples, images)
    drawn = [name for name in material.classes if params.datasets[name].source == "drawn"]
    origin = describe_origin(
        material.simulated,
        len(drawn) / len(material.classes),
        random=is_random(params.embedding.weights),
    )
    labels = material.classes if scoring.label_input else None
    return Public(name, fitted, encoder, means, familiar, labels, origin)


def describe_origin(simulated: float, drawn: float, *, random: bool = False) -> str:
    """What a scorer learned from, by the shares of simulated votes and of drawn datasets, and
    whether its encoder has random weights.

    >>> describe_origin(1, 1)
    'learned from simulated votes on drawings'
    >>> describe_origin(0.25, 0)
    'learned from votes on images, partly simulated'
    >>> describe_origin(0, 0)
    ''
    >>> describe_origin(1, 0, random=True)
    'learned from simulated votes on images, through an encoder with random weights'
    """
    if not simulated and not drawn and not random:
        return ""
    votes = "simulated votes" if simulated == 1 else "votes"
    images = "drawings" if drawn == 1 else "images and drawings" if drawn else "images"
    partly = ", partly simulated" if 0 < simulated < 1 else ""
    encoder = ", through an encoder with random weights" if random else ""
    return f"learned from {votes} on {images}{partly}{encoder}"


def _without_some_labels(rated: Rated, width: int, share: float, seed: int) -> Rated:
    """The same with the label, which follows ``width`` features, taken from a share of samples."""
    features = rated.features.copy()
    features[generator(seed, "label dropout").random(len(rated)) < share, width:] = 0
    return replace(rated, features=features)


def save_public(
    public: Public,
    params: Params,
    training: Mapping[str, str],
    metrics: Any,
    out: Path,
    encoder_folder: Path | None,
) -> None:
    """Leave a scorer in a folder, with the md5s of its ``training`` data and what it achieves.

    ``encoder_folder`` is where an encoder is that was trained here, to go with the scorer.
    """
    protocol = load_protocol(params.annotations.protocol)
    weights = with_seed(params.embedding.weights, params.seeds.training)
    save_scorer(
        out,
        public.scorer,
        public.fitted,
        directions={name: protocol.question(name).direction or 1 for name in QUESTIONS},
        origin=public.origin,
        encoder=public.encoder,
        preprocessing=params.embedding.model_copy(update={"weights": weights}),
        encoder_folder=encoder_folder,
        labels=public.labels,
        label_dropout=params.scoring.public.label_dropout if public.labels else 0.0,
        training=training,
        metrics=metrics,
        techniques=public.techniques,
        familiar=public.familiar,
    )


def _familiar(vectors: Floats, samples: pd.DataFrame, images: Floats) -> dict[str, FamiliarRegion]:
    """What images and the vectors of each kind of explanation look like."""
    regions = {
        str(kind): fit_region(
            vectors[own.index.to_numpy()], own["image"].tolist(), ALARMS[str(kind)]
        )
        for kind, own in samples.groupby("kind")
    }
    return {**regions, IMAGE: fit_region(images, range(len(images)), ALARMS[IMAGE])}
