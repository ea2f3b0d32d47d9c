"""Do computational metrics agree with people: every metric against every question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from analysis.correlation import correlation_table
from analysis.mixed_model import explained_beyond
from analysis.resampling import holm

OVERALL = "overall"
WITHIN = "within technique"

_KEY = ["metric", "variant"]


def correlation_study(
    metric_values: pd.DataFrame,
    labels: pd.DataFrame,
    samples: pd.DataFrame,
    *,
    by: Sequence[str] = ("dataset", "backbone"),
    technique: Sequence[str] = ("method", "backbone"),
    cluster: Sequence[str] = ("dataset", "image_id"),
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Correlate metrics with the modes of ratings: over all samples, in parts, within techniques.

    Parameters
    ----------
    metric_values
        sample_id, metric, variant, value (missing values stay missing).
    labels
        sample_id, question, mode.
    samples
        sample_id and the columns that ``by``, ``technique`` and ``cluster`` name.
    by
        Columns whose values are studied one by one.
    technique
        Columns that together name the technique; the scope "within technique" is the partial
        correlation given it: does the metric know good from bad among explanations of one kind?
    cluster
        Columns that together name what is resampled: the image.

    Returns
    -------
    DataFrame
        question, metric, variant, scope ("overall", a column of ``by`` or "within technique"),
        part (the column's value), and the columns of :func:`analysis.correlation.correlation_table`
        with ``p_holm`` and ``p_clustered_holm``, adjusted over all rows of a method and scope.
    """
    values, ratings, known = aligned(metric_values, labels, samples, "mode")
    images, groups = joint(known, cluster), joint(known, technique)
    parts = [
        correlation_table(
            values[rows],
            ratings[rows],
            clusters=images[rows],
            strata=groups[rows] if scope == WITHIN else None,
            resamples=resamples,
            seed=seed,
        ).assign(scope=scope, part=part)
        for scope, part, rows in _scopes(known, by)
    ]
    study = pd.concat(parts, ignore_index=True)
    for number, name in enumerate(("scope", "part")):
        study.insert(number, name, study.pop(name))
    study.insert(0, "question", study.pop("rating"))
    pairs = study.pop("value")
    for number, name in enumerate(_KEY):
        study.insert(1 + number, name, [pair[number] for pair in pairs])
    for name in ("p", "p_clustered"):
        families = study.groupby(["method", "scope"], sort=False)[name]
        study[f"{name}_holm"] = families.transform(holm)
    return study


def explained_study(
    metric_values: pd.DataFrame,
    labels: pd.DataFrame,
    samples: pd.DataFrame,
    *,
    technique: Sequence[str] = ("method", "backbone"),
) -> pd.DataFrame:
    """:func:`analysis.mixed_model.explained_beyond` for every question, metric and variant.

    Returns
    -------
    DataFrame
        question, metric, variant, the columns of ``explained_beyond``, and p_holm over all
        questions and metrics
    """
    values, ratings, known = aligned(metric_values, labels, samples, "mean")
    groups = joint(known, technique)
    frames = []
    for pair in values.columns:
        for question in ratings.columns:
            frame = explained_beyond(values[pair], ratings[question], groups)
            for number, (name, value) in enumerate(
                zip(("question", *_KEY), (question, *pair), strict=True)
            ):
                frame.insert(number, name, value)
            frames.append(frame)
    head = ["question", *_KEY, "quantity", "n", "groups", "estimate", "low", "high", "p", "note"]
    study = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=head)
    study["p_holm"] = study.groupby("quantity", sort=False)["p"].transform(holm)
    return study


def aligned(
    metric_values: pd.DataFrame, labels: pd.DataFrame, samples: pd.DataFrame, label: str
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Values and ratings as wide frames with the same rows, and what is known of these samples."""
    variants = metric_values.assign(variant=metric_values["variant"].fillna(""))
    # Not pivot_table: it would average what is there twice, and drop metrics that always failed.
    values = variants.pivot(index="sample_id", columns=_KEY, values="value")  # noqa: PD010
    ratings = labels.pivot(index="sample_id", columns="question", values=label)  # noqa: PD010
    rows = values.index.intersection(ratings.index).intersection(pd.Index(samples["sample_id"]))
    known = samples.drop_duplicates("sample_id").set_index("sample_id").loc[rows]
    numbers = values.loc[rows].astype(np.float64).replace([np.inf, -np.inf], np.nan)
    return numbers, ratings.loc[rows].astype(np.float64), known


def joint(frame: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
    """One number for each combination of values of several columns."""
    return np.asarray(frame.groupby(list(columns), dropna=False, sort=False).ngroup())


def _scopes(known: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    every = np.ones(len(known), bool)
    yield OVERALL, "", every
    for column in by:
        for value in sorted(known[column].dropna().unique()):
            yield column, str(value), (known[column] == value).to_numpy(bool)
    yield WITHIN, "", every
