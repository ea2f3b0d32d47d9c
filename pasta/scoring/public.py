"""The scorer that everybody can call: trained on the rated explanations, kept in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.config import Params
from pasta.scoring.base import SCORERS, Fitted
from pasta.scoring.material import Material, split
from pasta.scoring.ood import FamiliarRegion, fit_region
from pasta.scoring.stored import save_scorer, technique_means
from pasta.scoring.studies import settings_of
from pasta.studies.ratings.protocol import load_protocol
from pasta.studies.ratings.settings import QUESTIONS


@dataclass(frozen=True)
class Public:
    """A trained scorer, and what it is to remember of its training."""

    fitted: Fitted
    encoder: Mapping[str, Any]
    techniques: dict[str, dict[str, float]]  # mean stars by question and technique
    familiar: dict[str, FamiliarRegion]  # by kind of explanation
    labels: dict[str, tuple[str, ...]]  # classes of each dataset
    origin: str  # see :func:`describe_origin`


def train_public(material: Material, params: Params) -> Public:
    """Train the public scorer.

    It learns from a share of the images and of the techniques; all other images with other
    techniques say how far it errs on what is new.
    """
    public = params.scoring.public
    rated, rows = material.rated(params.embedding)
    encoder = material.embedded(params.embedding)[0].encoder
    samples = material.samples.iloc[rows].reset_index(drop=True)
    parts = split(
        samples[["dataset", "image", "technique"]],
        "image_and_technique",
        public.train,
        params.seeds.splitting,
    )
    calibration = np.sort(np.concatenate([parts.validation, parts.test]))
    settings = settings_of(public.scorer, params.scoring)
    fitted = SCORERS[public.scorer].fit(
        rated.at(parts.train), rated.at(calibration), settings, params.seeds.training
    )
    stars = fitted.predict(rated.features).stars
    means = technique_means(stars, QUESTIONS, samples["technique"].tolist())
    familiar = _familiar(rated.features[:, : encoder["width"]], samples)
    drawn = [name for name in material.classes if params.datasets[name].source == "drawn"]
    origin = describe_origin(material.simulated, len(drawn) / len(material.classes))
    return Public(fitted, encoder, means, familiar, material.classes, origin)


def describe_origin(simulated: float, drawn: float) -> str:
    """What a scorer learned from, by the shares of simulated votes and of drawn datasets.

    >>> describe_origin(1, 1)
    'learned from simulated votes on drawings'
    >>> describe_origin(0.25, 0)
    'learned from votes on images, partly simulated'
    >>> describe_origin(0, 0)
    ''
    """
    if not simulated and not drawn:
        return ""
    votes = "simulated votes" if simulated == 1 else "votes"
    images = "drawings" if drawn == 1 else "images and drawings" if drawn else "images"
    partly = ", partly simulated" if 0 < simulated < 1 else ""
    return f"learned from {votes} on {images}{partly}"


def save_public(
    public: Public, params: Params, training: Mapping[str, str], metrics: Any, out: Path
) -> None:
    """Leave a scorer in a folder, with the md5s of its ``training`` data and what it achieves."""
    protocol = load_protocol(params.annotations.protocol)
    save_scorer(
        out,
        params.scoring.public.scorer,
        public.fitted,
        directions={name: protocol.question(name).direction or 1 for name in QUESTIONS},
        origin=public.origin,
        encoder=public.encoder,
        preprocessing=params.embedding,
        labels=public.labels,
        training=training,
        metrics=metrics,
        techniques=public.techniques,
        familiar=public.familiar,
    )


def _familiar(vectors: NDArray[np.float32], samples: pd.DataFrame) -> dict[str, FamiliarRegion]:
    """What the vectors of each kind of explanation look like; images are kept together."""
    return {
        str(kind): fit_region(vectors[own.index.to_numpy()], own["image"].tolist())
        for kind, own in samples.groupby("kind")
    }
