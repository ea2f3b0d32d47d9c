"""Do metrics agree with people: every table about metric values, ratings and questions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from analysis.correlation import question_correlations
from analysis.correlation_study import WITHIN, correlation_study, explained_study
from analysis.samples import describe_samples
from analysis.suites.tables import Tables, said_missing
from analysis.votes import wide_labels

EVERY_KIND = "all"
NO_VALUES = "no metric was measured"
NO_LABELS = "there are no ratings"
NO_COMMON = "no rated sample has a metric value"
NO_TECHNIQUES = "no rated sample has a known technique (method and backbone)"
NO_IMAGES = "no sample has a known image: intervals take samples as independent of each other"

_KEY = ["metric", "variant"]
_NO_METRICS = pd.DataFrame(
    {name: pd.Series(dtype=object) for name in ("sample_id", *_KEY, "direction", "status")}
    | {"value": pd.Series(dtype=float)}
)
_NO_LABELS = pd.DataFrame(
    {name: pd.Series(dtype=object) for name in ("sample_id", "question")}
    | {name: pd.Series(dtype=float) for name in ("mode", "mean")}
)
_NO_SAMPLES = pd.DataFrame({"sample_id": pd.Series(dtype=object)})
_QUESTION_COLUMNS = ["kind", "first", "second", "method", "n", "clusters", "estimate", "low",
                     "high", "fisher_low", "fisher_high", "p", "p_clustered", "note"]  # fmt: skip


def correlation_tables(
    metric_values: pd.DataFrame | None,
    labels: pd.DataFrame | None,
    samples: pd.DataFrame | None,
    votes: pd.DataFrame | None = None,
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
        sample_id, question, mode and mean of the votes; if None they are made of ``votes``.
    samples
        sample_id; dataset, image_id, method, backbone and kind if known.
    votes
        sample_id, annotator_id, question, rating; only used if there are no labels.
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
    rated = _labels(labels, votes)
    known = describe_samples(_given(samples, _NO_SAMPLES)).reset_index()
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
    by = [name for name in ("dataset", "backbone") if known[name].notna().any()]
    study = correlation_study(
        values_used, rated, known, by=by, technique=["technique"], cluster=["image"],
        resamples=resamples, seed=seed,
    )  # fmt: skip
    beyond = values_used.iloc[:0] if no_techniques else values_used
    if no_techniques:
        study = study[study["scope"] != WITHIN].reset_index(drop=True)
        lacks.setdefault("explained", NO_TECHNIQUES)
        lacks["within technique"] = NO_TECHNIQUES if len(rated_here) else ""
    tables = {
        "correlations": _with_direction(study, values),
        "explained": explained_study(beyond, rated, known, technique=["technique"]),
        "questions": _questions(rated, known, resamples, seed),
        "values": technique_values(values, known),
        "measured": _measured(values),
    }
    if rated.empty:
        lacks["questions"] = NO_LABELS
    if values.empty:
        lacks |= dict.fromkeys(("values", "measured"), NO_VALUES)
    found = said_missing(tables, lacks)
    rest = [(name, why) for name, why in lacks.items() if why and name not in tables]
    found["missing"] = pd.concat(
        [found["missing"], pd.DataFrame(rest, columns=["section", "why"])], ignore_index=True
    )
    return found


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
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(n > 1, n - 1, np.nan)
        reach = stdtrit(free, 0.975) * table["sd"].to_numpy() / np.sqrt(n)
    table["low"], table["high"] = table["estimate"] - reach, table["estimate"] + reach
    table["note"] = np.select([n == 0, n == 1], ["no value", "one value: no interval"], "")
    return table[columns]


def _given(frame: pd.DataFrame | None, empty: pd.DataFrame) -> pd.DataFrame:
    return empty if frame is None or frame.empty else frame


def _labels(labels: pd.DataFrame | None, votes: pd.DataFrame | None) -> pd.DataFrame:
    """The labels as they are, or made of the votes."""
    if labels is not None and not labels.empty:
        return labels
    if votes is None or not votes["rating"].notna().any():
        return _NO_LABELS
    parts = [
        wide_labels(votes, name)
        .melt(ignore_index=False, var_name="question", value_name=name)
        .reset_index()
        for name in ("mode", "mean")
    ]
    return parts[0].merge(parts[1], on=["sample_id", "question"]).dropna(subset="mode")


def _with_direction(study: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
    """Say beside each metric whether higher or lower is better; empty if nobody knows."""
    study = study.copy()
    if "direction" not in values or study.empty:
        study["direction"] = ""
        return study
    known = values.assign(variant=values["variant"].fillna(""))
    sides = known.drop_duplicates(_KEY).set_index(_KEY)["direction"].fillna("")
    study["direction"] = sides.reindex(pd.MultiIndex.from_frame(study[_KEY])).to_numpy()
    return study


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
        frame = question_correlations(
            wide[rows], clusters=image[rows], resamples=resamples, seed=seed
        )
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
