"""All applications that need nothing but what is stored: mixture, Pareto front, examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pasta import store, tables
from pasta.applications.crossed import score_crossed
from pasta.applications.examples import run_examples
from pasta.applications.faithful import measure_stored
from pasta.applications.mixture import run_mixture
from pasta.applications.pareto import run_pareto
from pasta.applications.scores import score_stored
from pasta.params import Params
from pasta.params.applications import ApplicationsParams


def run_stored(
    folders: Sequence[Path],
    labels: Path,
    params: Params,
    settings: ApplicationsParams,
    scorer: Path,
    planted: Path | None = None,
    metric_values: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Tidy tables by name: scores, faithfulness, choices, wins, comparison, placed, places,
    agreement, examples.

    Nothing is encoded or explained; forward passes are those of the faithfulness correlations,
    for each image and classifier as many as subsets and one. ``metric_values`` that are there
    already are not measured again. Small scorers are trained, one for each fold of images.
    """
    scores = score_stored(folders, labels, params, settings.question, scorer, planted)
    backbones = list(dict.fromkeys([settings.mixture.backbone, *settings.pareto.backbones]))
    maps = set(scores.loc[scores["kind"] == "saliency", "backbone"])
    measured = measure_stored(
        scores,
        folders,
        [one for one in backbones if one in maps] or backbones,
        params,
        settings.subsets,
        metric_values,
    )
    folds = settings.mixture.folds
    crossed = score_crossed(scores, folders, labels, params, settings.question, folds)
    return {
        "scores": scores,
        "faithfulness": measured,
        **run_mixture(scores, measured, settings, params.seed, crossed),
        **run_pareto(scores, measured, settings, params.seed),
        **run_examples(scores, store.read(labels, tables.LABELS), settings),
    }
