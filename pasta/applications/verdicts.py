"""What the score and the judge say about new maps of images that nobody has rated."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pasta.applications.prepared.fresh import Fresh

if TYPE_CHECKING:
    from pasta.applications.judge import MapJudge
    from pasta.scoring.score import PastaScore

Floats = NDArray[np.float64]


def predicted_stars(
    scorer: PastaScore, fresh: Fresh, maps: NDArray[Any], predicted: Sequence[str], signed: bool
) -> Floats:
    """Stars of maps as people see them, one for each image; NaN where a map shows nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # counted and reported by who asks
        answer: Any = scorer.score(
            image=fresh.pixels,
            saliency=np.asarray(maps, np.float32),
            label=list(predicted),
            dataset=fresh.name,
            signed=signed,
        )
    stars: Floats = np.asarray(answer.score, np.float64)
    return stars


def true_quality(
    judge: MapJudge | None, fresh: Fresh, maps: NDArray[Any], predicted: Sequence[str]
) -> Floats:
    """What the simulated raters would think of the maps; NaN where there is no judge."""
    if judge is None:
        return np.full(len(fresh), np.nan)
    return judge(maps, fresh.ids, predicted)
