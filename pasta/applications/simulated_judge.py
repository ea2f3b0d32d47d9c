"""A judge that is not the score: the quality that was planted in the simulated raters.

Stored explanations have their quality in the simulator's tables. A new map, one that was steered
or tuned, gets the quality that the simulator would expect of it: the same formula with the study's
own standardisation, but without the residual, which is drawn for each stored sample and which
nothing can be chosen by. With real raters nothing is planted, and there is no judge.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta import store
from pasta.applications.prepared.base import Fresh
from pasta.datasets.stored import StoredDataset, class_parts
from pasta.errors import PastaError
from pasta.scoring.score import PastaScore
from pasta.studies.ratings.settings import CHANGES, NAME, QualityParams
from pasta.studies.ratings.simulation.quality import LIMIT, overlap, spread
from pasta.studies.ratings.tables import LABELS

PLANTED, PROPERTIES, QUALITY = "planted.json", "properties.parquet", "quality.parquet"
Floats = NDArray[np.float64]
_KIND = "saliency"


@dataclass(frozen=True)
class Judge:
    """The expected quality of saliency maps for one question, in the unit of the simulator."""

    weights: QualityParams
    overlap: tuple[float, float]  # mean and standard deviation over the study's maps
    spread: tuple[float, float]
    correct: float  # the study's share of right predictions

    def expected(self, overlap: Floats, spread: Floats, correct: Floats, shown: Any) -> Floats:
        """The quality of maps with these properties; ``shown`` is false where a map is empty.

        As in the simulator a missing overlap counts as average.
        """
        around = np.nan_to_num(_standard(overlap, self.overlap))
        wide = np.nan_to_num(_standard(spread, self.spread))
        right = np.asarray(correct, np.float64) - self.correct
        weights = self.weights
        value = weights.overlap * around + weights.correct * right - weights.focus * wide
        value = np.where(shown, np.clip(value, -LIMIT, LIMIT), -LIMIT)
        return np.asarray(weights.mean + value, np.float64)


def planted_folder(data: Path) -> Path | None:
    """What was planted in the raters, below the folder of all stages; None if people voted.

    Simulated votes that gave way to people's leave their truth behind, which judges nothing then.
    """
    labels = data / "votes" / NAME / "labels.parquet"
    if not labels.exists() or not store.read(labels, LABELS)["simulated"].any():
        return None
    return data / "simulate" / NAME / "planted"


def planted_judge(planted: Path | None, question: str) -> Judge | None:
    """The judge from what the simulator has left behind; None if nothing was simulated."""
    if planted is None or not (planted / PROPERTIES).is_file() or question in CHANGES:
        return None  # a new map has no counterpart under a perturbation
    table = pd.read_parquet(planted / PROPERTIES)
    own = table[table["kind"] == _KIND]
    if own.empty:
        raise PastaError(f"{planted / PROPERTIES}: there is no saliency map to compare others with")
    effects = store.read_json(planted / PLANTED)["effects"]
    shown = own[own["status"] == "ok"]
    return Judge(
        QualityParams.model_validate(effects["questions"][question]),
        _moments(shown["overlap"]),
        _moments(shown["spread"]),
        float(own["correct"].mean()),
    )


def planted_quality(planted: Path | None, question: str) -> pd.Series[float]:
    """The planted quality of every stored explanation, by sample; empty if none was planted."""
    if planted is None or not (planted / QUALITY).is_file():
        return pd.Series(dtype=np.float64)
    return pd.read_parquet(planted / QUALITY).set_index("sample_id")[question]


class MapJudge:
    """Judges new maps of one dataset's images."""

    def __init__(self, judge: Judge, dataset: StoredDataset) -> None:
        self.judge, self.dataset = judge, dataset
        words = dataset.vocabulary
        seen = dataset.concepts().set_index(["image_id", "concept"])["present"].unstack()  # noqa: PD010
        seen = seen.reindex(columns=list(words.concepts)).astype(bool)
        typical = class_parts(seen, dataset.images).reindex(list(words.classes), fill_value=False)
        # classes x values of the part-index array, in which 0 is no part
        self._typical = np.pad(typical.to_numpy(bool), ((0, 0), (1, 0)))
        self._images = dataset.images.set_index("image_id")

    def __call__(
        self, maps: NDArray[Any], images: Sequence[str], predicted: Sequence[str]
    ) -> Floats:
        """Qualities of maps (n, height, width) as people see them, one for each image."""
        flat = np.asarray(maps, np.float64).reshape(len(maps), -1)
        own, labels = self._images.loc[list(images)], np.array(predicted)
        classes = [self.dataset.vocabulary.classes.index(label) for label in predicted]
        parts = np.asarray(self.dataset.parts[own["row"].to_numpy()]).reshape(len(flat), -1)
        inside = self._typical[np.array(classes)[:, None], parts]
        without = ~inside.any(1)  # then all parts count, as in the simulator
        inside[without] = parts[without] > 0
        right = (own["label"].to_numpy() == labels).astype(float)
        shown = np.ptp(flat, axis=1) > 0
        return self.judge.expected(overlap(flat, inside), spread(flat), right, shown)


Judges = Mapping[str, MapJudge | None]  # by dataset; None where nothing was simulated


def judges_of(
    planted: Path | None, question: str, datasets: Mapping[str, StoredDataset]
) -> dict[str, MapJudge | None]:
    """A judge for each dataset; None where nothing was simulated."""
    judge = planted_judge(planted, question)
    return {
        name: None if judge is None else MapJudge(judge, dataset)
        for name, dataset in datasets.items()
    }


def predicted_stars(
    scorer: PastaScore, fresh: Fresh, maps: NDArray[Any], predicted: Sequence[str], signed: bool
) -> Floats:
    """Stars of maps as people see them, one for each image; NaN where a map shows nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the caller counts and reports them
        answer: Any = scorer.score(
            image=fresh.pixels,
            saliency=np.asarray(maps, np.float32),
            label=list(predicted),
            dataset=fresh.name,
            signed=signed,
        )
    return np.asarray(answer.score, np.float64)


def true_quality(
    judge: MapJudge | None, fresh: Fresh, maps: NDArray[Any], predicted: Sequence[str]
) -> Floats:
    """What the simulated raters would think of the maps; NaN where there is no judge."""
    if judge is None:
        return np.full(len(fresh), np.nan)
    return judge(maps, fresh.ids, predicted)


def _standard(values: Floats, moments: tuple[float, float]) -> Floats:
    mean, deviation = moments
    if deviation == 0:
        return np.zeros(np.shape(values))
    return np.asarray((values - mean) / deviation, np.float64)


def _moments(values: pd.Series[float]) -> tuple[float, float]:
    return float(values.mean()), float(np.nan_to_num(values.std(ddof=0)))
