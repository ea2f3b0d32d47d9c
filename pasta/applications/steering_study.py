"""Steered maps of held-out images: score P, faithfulness F and true quality for each lambda."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.applications.paired import COLUMNS as DIFFERENCE
from pasta.applications.paired import paired_difference
from pasta.applications.prepared.faithfulness import correlate
from pasta.applications.prepared.mask_responses import ImageResponses, load_masks
from pasta.applications.scores import direction, goodness
from pasta.applications.simulated_judge import Judges, MapJudge
from pasta.applications.steering import ask, require_weights
from pasta.datasets.stored import StoredDataset
from pasta.explanations.attribution import shown_maps, statuses
from pasta.params import Params
from pasta.scoring.score import PastaScore

MEASURES = ("score", "faithfulness", "quality")
# weight is lambda; familiar: whether the map looks like what the scorer has learned from; equal:
# whether all masks of the image have the same score, so that nothing was steered
COLUMNS = (
    *("dataset", "image_id", "image", "predicted", "weight", "score", "familiar"),
    *("faithfulness", "why", "quality", "status", "equal"),
)


@dataclass(frozen=True)
class Steered:
    """What steering gives: tables, and pictures for the report."""

    tables: dict[str, pd.DataFrame]  # steered (a row for each image and lambda), curve
    images: NDArray[np.uint8]  # (n, height, width, 3)
    maps: NDArray[np.float16]  # (n, lambdas, height, width), as people see them


def run_steering(
    datasets: Mapping[str, StoredDataset],
    params: Params,
    scorer: PastaScore,
    prepared: Path,
    judges: Judges,
) -> Steered:
    """Steer RISE on images that nobody has rated, so that the scorer has not seen them.

    ``prepared`` has what classifier and encoder say about every mask, see
    :mod:`pasta.applications.prepared.mask_responses`; all lambdas share it.
    """
    settings = params.applications
    require_weights(settings.steering.weights)
    images = load_masks(prepared, datasets, scorer.card)
    table, maps = [], []
    for one in images:
        shown, raw, equal = _steer(one, params, scorer)
        table.append(_rows(one, shown, raw, params, scorer, judges[one.dataset], equal))
        maps.append(shown)
    steered = pd.concat(table, ignore_index=True)[list(COLUMNS)]
    return Steered(
        {"steered": steered, "curve": curve(steered, settings.resamples, params.seed)},
        np.stack([one.pixels for one in images]),
        np.stack(maps).astype(np.float16),
    )


def curve(steered: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Each lambda against plain RISE on the same images; empty without lambda = 0.

    Columns weight, measure and those of paired differences: ``first`` is the mean at this lambda,
    ``second`` that of plain RISE.
    """
    rows = []
    for measure in MEASURES:
        wide = steered.pivot_table(measure, "image", "weight", dropna=False)
        if 0.0 not in wide.columns or not wide.notna().any(axis=None):
            continue
        for weight in wide.columns:
            difference = paired_difference(wide[weight], wide[0.0], resamples, seed, 1e-9)
            rows.append({"weight": weight, "measure": measure, **difference})
    return pd.DataFrame(rows, columns=["weight", "measure", *DIFFERENCE])


def _steer(
    one: ImageResponses, params: Params, scorer: PastaScore
) -> tuple[NDArray[np.float32], NDArray[np.float32], bool]:
    """Maps for each lambda as people see them and raw, and whether the score could not steer."""
    protocol = params.annotations.protocol
    good = partial(goodness, question=scorer.question, protocol=protocol)
    asked = ask(one.responses, one.predicted, scorer, good)
    raw = asked.maps(params.applications.steering.weights)
    return shown_maps(raw, "positive"), raw, asked.equal


def _rows(
    one: ImageResponses,
    shown: NDArray[np.float32],
    raw: NDArray[np.float32],
    params: Params,
    scorer: PastaScore,
    judge: MapJudge | None,
    equal: bool,
) -> pd.DataFrame:
    """What is to be said about the maps of one image."""
    number = len(shown)
    many = np.broadcast_to(one.pixels, (number, *one.pixels.shape))
    scored: Any = scorer.score(image=many, saliency=shown, label=one.predicted, dataset=one.dataset)
    values, why = correlate(shown, one.drops, params, one.name)
    quality = np.full(number, np.nan)
    if judge is not None:
        sign = direction(scorer.question, params.annotations.protocol)
        quality = sign * judge(shown, [one.image_id] * number, [one.predicted] * number)
    return pd.DataFrame(
        {
            "dataset": one.dataset,
            "image_id": one.image_id,
            "image": one.name,
            "predicted": one.predicted,
            "weight": list(params.applications.steering.weights),
            "score": scored.score.astype(np.float64),
            "familiar": scored.familiar,
            "faithfulness": values,
            "why": why,
            "quality": quality,
            "status": statuses(raw),
            "equal": equal,
        }
    )
