"""Does a larger backbone have better explanations? (P2, Figure 8)

The same methods explain the same images on CLIP image towers of growing size. Methods that look
at activations are set against methods that look at the image alone: the paper finds that the
predicted score of the first falls with size and that of the second does not, and suspects
high-norm artefacts in the activations (:mod:`pasta.applications.prepared.towers`). With simulated
raters the same comparison is made with their true quality.

All images are new to scorer, classifier and encoder. Towers also predict differently, and wrong
predictions are rated lower whatever the map shows; so accuracies stand beside the scores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pasta.applications.paired import COLUMNS, mean_interval, paired_difference
from pasta.applications.prepared.base import named_images
from pasta.applications.prepared.towers import MAP_COLUMNS, Explained, load_towers
from pasta.applications.simulated_judge import Judges, MapJudge, predicted_stars, true_quality
from pasta.config import Params
from pasta.datasets.stored import StoredDataset
from pasta.explanations.catalog import METHODS
from pasta.scoring.score import PastaScore

SCORE_COLUMNS = (*MAP_COLUMNS, "score", "quality")
MEASURES = ("score", "quality")
SUMMARY_COLUMNS = (
    *("tower", "parameters", "group", "family", "measure", "n", "mean", "low", "high"),
    *("missing", "accuracy"),
)
TREND_COLUMNS = ("group", "family", "measure", "from_tower", "to_tower", *COLUMNS)
ALL = "all methods"
CONTRAST = "activation - perturbation"


@dataclass(frozen=True)
class Picture:
    """One map to show, with what is predicted of it."""

    tower: str
    method: str
    signed: bool
    image: str  # dataset/image
    pixels: NDArray[np.uint8]
    shown: NDArray[np.float32]
    predicted: str
    score: float


@dataclass(frozen=True)
class Backbones:
    """What comes out: tables (see the columns above), and maps to show."""

    scores: pd.DataFrame  # SCORE_COLUMNS: one row for each image, tower and method
    towers: pd.DataFrame  # sizes, accuracies and norms, see prepared.towers.TOWER_COLUMNS
    summary: pd.DataFrame  # means with intervals, of each tower and method and family
    trends: pd.DataFrame  # paired differences of the largest tower from the smallest
    pictures: list[Picture]


def run_backbones(
    datasets: Mapping[str, StoredDataset],
    params: Params,
    scorer: PastaScore,
    prepared: Path,
    judges: Judges,
) -> Backbones:
    """Compare the towers' maps by their predicted scores.

    Parameters
    ----------
    datasets
        That the maps are of.
    scorer
        Of the question that the parameters ask about.
    prepared
        The maps, see :mod:`pasta.applications.prepared.towers`.
    judges
        Who know what was planted in simulated raters.
    """
    explained, settings = load_towers(prepared), params.applications
    scores = explained.rows.assign(score=np.nan, quality=np.nan)
    for key, own in scores.groupby(["dataset", "method"], sort=False):
        dataset, method = map(str, key)
        rows = own.index.to_numpy()
        found = _judged(explained, rows, datasets[dataset], method, scorer, judges[dataset])
        scores.loc[rows, ["score", "quality"]] = np.column_stack(found)
    return Backbones(
        scores,
        explained.towers,
        summarise_towers(scores, settings.resamples, params.seeds.analysing),
        tower_trends(scores, settings.resamples, params.seeds.analysing),
        _pictures(explained, scores, datasets, settings.backbones.pictures),
    )


def _judged(
    explained: Explained,
    rows: NDArray[np.int64],
    dataset: StoredDataset,
    method: str,
    scorer: PastaScore,
    judge: MapJudge | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Predicted stars and true quality of one method's maps on all towers."""
    own = explained.rows.iloc[rows]
    fresh = named_images(dataset, own["image_id"].tolist())
    maps, predicted = explained.maps[rows].astype(np.float32), own["predicted"].tolist()
    stars = predicted_stars(scorer, fresh, maps, predicted, _signed(method))
    return stars, true_quality(judge, fresh, maps, predicted)


def _pictures(
    explained: Explained, scores: pd.DataFrame, stored: Mapping[str, StoredDataset], number: int
) -> list[Picture]:
    """Maps of the first method of each family on the first images, so many over all datasets."""
    first = scores.drop_duplicates("family")["method"]
    images = scores.drop_duplicates(["dataset", "image_id"])
    datasets = images["dataset"].unique()
    found = []
    for place, dataset in enumerate(datasets):
        share = number // len(datasets) + (place < number % len(datasets))
        chosen = images.loc[images["dataset"] == dataset, "image_id"].head(share)
        own = scores[
            (scores["dataset"] == dataset)
            & scores["image_id"].isin(chosen)
            & scores["method"].isin(first)
        ]
        pixels = named_images(stored[dataset], own["image_id"].tolist()).pixels
        for image, (row, one) in zip(pixels, own.iterrows(), strict=True):
            found.append(
                Picture(
                    one["tower"],
                    one["method"],
                    _signed(one["method"]),
                    f"{dataset}/{one['image_id']}",
                    image,
                    explained.maps[int(str(row))].astype(np.float32),
                    one["predicted"],
                    float(one["score"]),
                )
            )
    return found


def _signed(method: str) -> bool:
    return bool(METHODS.entry(method).metadata["sign"] == "signed")


def summarise_towers(scores: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Means with bootstrap intervals over images, of each tower and method and family.

    ``group`` is a method or ``all methods`` (of the family: an image counts once, with the mean of
    those of its maps that have a value). ``missing`` counts maps without a value, ``accuracy`` is
    the share of right predictions among the images.
    """
    rows = [
        {"tower": tower, "parameters": int(own["parameters"].iloc[0]), **row}
        for tower, own in scores.groupby("tower", sort=False)
        for row in _summaries(own, resamples, seed)
    ]
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def tower_trends(scores: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """Differences of the last tower (``first``) from the first one (``second``), image by image.

    For each method, each family (mean over its methods with a value on both towers) and, as the
    last rows, for the difference between the families: the paper's claim is that it is negative.
    There ``first`` is the change of the activation-based methods, ``second`` that of the others.
    """
    towers = list(scores["tower"].unique())
    ends = {"from_tower": towers[0], "to_tower": towers[-1]}
    rows: list[dict[str, Any]] = []
    for measure in _measures(scores):
        wide = _wide(scores, measure)
        changes = {}
        for family, methods in _families(scores).items():
            for name in methods:
                last, first = wide[towers[-1]][name], wide[towers[0]][name]
                found = paired_difference(last, first, resamples, seed)
                rows.append({"group": name, "family": family, "measure": measure, **ends, **found})
            both = wide[towers[-1]][methods].notna() & wide[towers[0]][methods].notna()
            last = wide[towers[-1]][methods].where(both).mean(axis=1)
            first = wide[towers[0]][methods].where(both).mean(axis=1)
            changes[family] = last - first
            found = paired_difference(last, first, resamples, seed)
            rows.append({"group": ALL, "family": family, "measure": measure, **ends, **found})
        if set(changes) == {"activation", "perturbation"}:
            found = paired_difference(
                changes["activation"], changes["perturbation"], resamples, seed
            )
            rows.append({"group": ALL, "family": CONTRAST, "measure": measure, **ends, **found})
    return pd.DataFrame(rows, columns=list(TREND_COLUMNS))


def _summaries(own: pd.DataFrame, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    image = own["dataset"] + "/" + own["image_id"]
    for measure in _measures(own):
        groups = [(name, part) for name, part in own.groupby("method", sort=False)]
        groups += [(ALL, part) for _, part in own.groupby("family", sort=False)]
        for group, part in groups:
            each = part[measure].groupby(image.loc[part.index], sort=False).mean()
            values = each.dropna().to_numpy(np.float64)
            low, high = mean_interval(values, resamples, seed)
            yield {
                "group": group,
                "family": part["family"].iloc[0],
                "measure": measure,
                "n": len(values),
                "mean": float(values.mean()) if len(values) else float("nan"),
                "low": low,
                "high": high,
                "missing": int(part[measure].isna().sum()),
                "accuracy": float(part["correct"].mean()),
            }


def _measures(scores: pd.DataFrame) -> list[str]:
    """Quality is left out where there is no judge."""
    return [name for name in MEASURES if scores[name].notna().any()]


def _families(scores: pd.DataFrame) -> dict[str, list[str]]:
    pairs = scores[["family", "method"]].drop_duplicates()
    return {str(name): list(own["method"]) for name, own in pairs.groupby("family", sort=False)}


def _wide(scores: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Images x (tower, method)."""
    key = ["dataset", "image_id"]  # an image of each dataset, not every name with every dataset
    return scores.pivot(index=key, columns=["tower", "method"], values=measure)  # noqa: PD010
