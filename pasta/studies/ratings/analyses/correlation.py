"""Do metrics agree with people: every table about metric values, ratings and questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from analysis.correlation import closest_columns, correlate_columns, correlation_table
from analysis.mixed_model import explained_beyond
from analysis.resampling import holm
from analysis.tables import Tables, add_missing, list_missing
from pasta.studies.ratings.analyses.names import (
    NO_SAMPLES,
    describe_samples,
    empty_table,
    named,
)

OVERALL = "overall"
WITHIN = "within technique"
ALPHA = 0.05
_KEY = ["metric", "variant"]


def correlation_study(
    metric_values: pd.DataFrame,
    labels: pd.DataFrame,
    samples: pd.DataFrame,
    *,
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
        sample_id, technique, image, dataset, backbone, as :func:`.names.describe_samples`
        names them. Images are what is resampled.

    Returns
    -------
    DataFrame
        question, metric, variant, scope ("overall", "dataset", "backbone", or "within technique":
        the partial correlation given the technique, does the metric know good from bad among
        explanations of one kind?), part (the dataset or backbone), and the columns of
        :func:`analysis.correlation.correlation_table` with ``p_holm`` and ``p_clustered_holm``,
        adjusted over all rows of a method and scope. Spearman's over all samples and within
        techniques also have ``p_closest`` (see :func:`analysis.correlation.closest_columns`) and
        ``closest``: whether the metric is in the set that contains the one that follows the
        question most closely, with a confidence of 95 % for all questions together.
    """
    values, ratings, known = align(metric_values, labels, samples, "mode")
    images, groups = (pd.factorize(known[name])[0] for name in ("image", "technique"))
    parts = []
    for scope, part, rows in _scopes(known):
        given = values[rows], ratings[rows]
        strata = groups[rows] if scope == WITHIN else None
        options: dict[str, Any] = {"resamples": resamples, "seed": seed}
        found = correlation_table(*given, clusters=images[rows], strata=strata, **options)
        if scope in (OVERALL, WITHIN):
            closest = closest_columns(*given, clusters=images[rows], strata=strata, **options)
            closest["closest"] = closest["p_closest"] >= ALPHA / max(1, ratings.shape[1])
            closest = closest.drop(columns="estimate").assign(method="spearman")
            found = found.merge(closest, on=["value", "rating", "method"], how="left")
        parts.append(found.assign(scope=scope, part=part))
    study = pd.concat(parts, ignore_index=True).rename(columns={"rating": "question"})
    pairs = study.pop("value")
    for number, name in enumerate(_KEY):
        study[name] = [pair[number] for pair in pairs]
    for name in ("p", "p_clustered"):
        families = study.groupby(["method", "scope"], sort=False)[name]
        study[f"{name}_holm"] = families.transform(holm)
    head = ["question", *_KEY, "scope", "part"]
    return named(study[[*head, *(name for name in study.columns if name not in head)]])


def explained_study(
    metric_values: pd.DataFrame, labels: pd.DataFrame, samples: pd.DataFrame
) -> pd.DataFrame:
    """:func:`analysis.mixed_model.explained_beyond` for every question, metric and variant.

    Returns
    -------
    DataFrame
        question, metric, variant, the columns of ``explained_beyond`` with the technique as group,
        and p_holm over all questions and metrics
    """
    values, ratings, known = align(metric_values, labels, samples, "mean")
    frames = [
        explained_beyond(values[pair], ratings[question], known["technique"]).assign(
            question=question, metric=pair[0], variant=pair[1]
        )
        for pair in values.columns
        for question in ratings.columns
    ]
    head = ["question", *_KEY, "quantity", "n", "groups", "estimate", "low", "high", "p", "note"]
    study = pd.concat(frames, ignore_index=True)[head] if frames else pd.DataFrame(columns=head)
    study["p_holm"] = study.groupby("quantity", sort=False)["p"].transform(holm)
    return named(study)


def align(
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


def _scopes(known: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    every = np.ones(len(known), bool)
    yield OVERALL, "", every
    for column in ("dataset", "backbone"):
        for value in sorted(known[column].dropna().unique()):
            yield column, str(value), (known[column] == value).to_numpy(bool)
    yield WITHIN, "", every


EVERY_KIND = "all"
NO_VALUES = "no metric was measured"
NO_LABELS = "there are no ratings"
NO_COMMON = "no rated sample has a metric value"
NO_TECHNIQUES = "no rated sample has a known technique (method and backbone)"
NO_IMAGES = "no sample has a known image: intervals take samples as independent of each other"
_NO_METRICS = empty_table("sample_id", *_KEY, "direction", "status", numbers=["value"])
_NO_LABELS = empty_table("sample_id", "question", numbers=["mode", "mean"])
_QUESTION_COLUMNS = ["kind", "first", "second", "method", "n", "clusters", "estimate", "low",
                     "high", "fisher_low", "fisher_high", "p", "p_clustered", "note"]  # fmt: skip


def correlation_tables(
    metric_values: pd.DataFrame | None,
    labels: pd.DataFrame | None,
    samples: pd.DataFrame | None,
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> Tables:
    """Compute all tables about metrics and ratings; what cannot be known is in ``missing``.

    Parameters
    ----------
    metric_values
        sample_id, metric, variant, value; direction ("higher" or "lower" is better) and status if
        known.
    labels
        sample_id, question, mode and mean of the votes.
    samples
        sample_id; dataset, image_id, method, backbone and kind if known.
    resamples
        Of images, for the intervals.

    Returns
    -------
    dict of DataFrames
        - ``correlations``: question x metric x variant against the mode of the votes: over all,
          per dataset and backbone, and within techniques (P1, Tables 1, 9, 10,
          doi:10.48550/arXiv.2411.02470)
        - ``explained``: what a metric explains of the mean vote beyond the technique
        - ``questions``: questions among each other, for all samples and each kind (P1, Figure 11)
        - ``values``: mean of each metric for each technique (P1, Table 11)
        - ``measured``: for each metric how many samples have a value, and why others have none
        - ``missing``: section, why
    """
    values = _given(metric_values, _NO_METRICS)
    rated = _given(labels, _NO_LABELS)
    known = describe_samples(_given(samples, NO_SAMPLES)).reset_index()
    common = set(values["sample_id"]) & set(rated["sample_id"]) & set(known["sample_id"])
    lacks: dict[str, str] = {}
    if values.empty or rated.empty or not common:
        reason = NO_VALUES if values.empty else NO_LABELS if rated.empty else NO_COMMON
        lacks |= dict.fromkeys(("correlations", "explained"), reason)
        values_used = values.iloc[:0]
    else:
        values_used = values
    rated_here = known[known["sample_id"].isin(rated["sample_id"])]
    no_images = bool(rated_here["image"].isna().any())
    no_techniques = bool(rated_here["technique"].isna().any())
    if no_images:
        known = known.assign(image=known["sample_id"])
        lacks["images"] = NO_IMAGES if len(rated_here) else ""
    study = correlation_study(values_used, rated, known, resamples=resamples, seed=seed)
    beyond = values_used.iloc[:0] if no_techniques else values_used
    if no_techniques:
        study = study[study["scope"] != WITHIN].reset_index(drop=True)
        lacks.setdefault("explained", NO_TECHNIQUES)
        lacks["within technique"] = NO_TECHNIQUES if len(rated_here) else ""
    tables = {
        "correlations": _with_direction(study, values),
        "explained": explained_study(beyond, rated, known),
        "questions": _questions(rated, known, resamples, seed),
        "values": technique_values(values, known),
        "measured": _measured(values),
    }
    if rated.empty:
        lacks["questions"] = NO_LABELS
    if values.empty:
        lacks |= dict.fromkeys(("values", "measured"), NO_VALUES)
    found = list_missing(tables, lacks)
    rest = [(name, why) for name, why in lacks.items() if why and name not in tables]
    return add_missing(found, rest)


def technique_values(metric_values: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    r"""Mean of each metric for each technique, with 95 % t intervals over its samples.

    .. math:: \bar x \pm t_{n-1} \, s / \sqrt n

    A technique has one sample of an image, so that samples stand for images.

    Parameters
    ----------
    metric_values
        sample_id, metric, variant, value.
    samples
        sample_id, technique, method, backbone.

    Returns
    -------
    DataFrame with technique, method, backbone, metric, variant, n (samples with a value), failed
    (samples without), estimate, sd, low, high, note
    """
    head = ["technique", "method", "backbone", *_KEY]
    names = samples[["sample_id", *head[:3]]].dropna(subset="technique")
    joined = metric_values[["sample_id", *_KEY, "value"]].merge(names, on="sample_id")
    columns = [*head, "n", "failed", "estimate", "sd", "low", "high", "note"]
    if joined.empty:
        return pd.DataFrame(columns=columns)
    joined["variant"] = joined["variant"].fillna("")
    joined["value"] = joined["value"].replace([np.inf, -np.inf], np.nan)
    grouped = joined.groupby(head, sort=True, dropna=False)["value"]
    table = grouped.agg(n="count", rows="size", estimate="mean", sd="std").reset_index()
    table["failed"] = table["rows"] - table["n"]
    n = table["n"].to_numpy(np.float64)
    free = np.where(n > 1, n - 1, np.nan)
    reach = stdtrit(free, 0.975) * table["sd"].to_numpy() / np.sqrt(free + 1)
    table["low"], table["high"] = table["estimate"] - reach, table["estimate"] + reach
    table["note"] = np.select([n == 0, n == 1], ["no value", "one value: no interval"], "")
    return table[columns]


def _given(frame: pd.DataFrame | None, empty: pd.DataFrame) -> pd.DataFrame:
    return empty if frame is None or frame.empty else frame


def _with_direction(study: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """Say beside each metric whether higher or lower is better; empty if nobody knows."""
    if "direction" not in values or study.empty:
        return study.assign(direction="")
    known = values.assign(variant=values["variant"].fillna(""))
    sides = known.drop_duplicates(_KEY).set_index(_KEY)["direction"].fillna("")
    return study.assign(direction=sides.reindex(pd.MultiIndex.from_frame(study[_KEY])).to_numpy())


def _questions(rated: pd.DataFrame, known: pd.DataFrame, resamples: int, seed: int) -> pd.DataFrame:
    """The questions among each other: all samples together, then each kind of explanation."""
    wide = rated.pivot(index="sample_id", columns="question", values="mode")  # noqa: PD010
    own = known.set_index("sample_id").reindex(wide.index)
    image = own["image"].where(own["image"].notna(), pd.Series(wide.index, wide.index))
    kinds = sorted(own["kind"].dropna().unique())
    parts = {EVERY_KIND: np.ones(len(wide), bool)}
    if len(kinds) > 1:
        parts |= {kind: (own["kind"] == kind).to_numpy(bool) for kind in kinds}
    frames = []
    for kind, rows in parts.items():
        frame = correlate_columns(wide[rows], clusters=image[rows], resamples=resamples, seed=seed)
        frame.insert(0, "kind", kind)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)[_QUESTION_COLUMNS]


def _measured(values: pd.DataFrame) -> pd.DataFrame:
    """Per metric: samples, those with a value, and why others have none."""
    rows = []
    known = values.assign(variant=values["variant"].fillna(""))
    for (metric, variant), part in known.groupby(_KEY, sort=True):
        there = np.isfinite(part["value"].to_numpy(np.float64))
        reasons = part.loc[~there, "status"].value_counts() if "status" in part else pd.Series()
        why = ", ".join(f"{name}: {count}" for name, count in reasons.items())
        side = str(part["direction"].iloc[0]) if "direction" in part else ""
        rows.append((metric, variant, side, len(part), int(there.sum()), why))
    head = [*_KEY, "direction", "samples", "n", "without"]
    return pd.DataFrame(rows, columns=head)
