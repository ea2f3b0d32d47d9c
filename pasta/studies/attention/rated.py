"""Ratings of maps against their scores: as printed by Mohseni, Block and Ragan, and corrected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.contrasts import clustered_mean, codes_of, contrast_row
from analysis.correlation import correlation_table
from analysis.correlation_difference import correlation_difference
from analysis.crossed_model import crossed_slope
from analysis.lines import (
    compare_lines,
    deming,
    fit_line,
    fit_plane,
    line_test,
    split_and_interaction,
)
from analysis.tables import Tables
from pasta.studies.attention.settings import LEVELS, AttentionParams

_SCORE = {"attention": "attention_score", "segmentation": "segmentation_score"}
PRINTED, BY_IMAGE, SINGLE = "as printed", "by image", "single ratings"


def rated_samples(answers: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """One row for each rated map: its scores against both masks, and its mean rating.

    ``rating`` is the mean of the ratings from which each person's own mean was taken, as printed,
    put back to the mean of all and divided by the largest, so that it lies on the scale of scores.
    """
    columns = ["sample_id", "image_id", "method", "attention_score", "segmentation_score"]
    columns += ["false_positive", "false_negative", "n", "raw", "rating"]
    if answers.empty or samples.empty:
        return pd.DataFrame(columns=columns)
    centred = centre(answers)
    means = centred.groupby("sample_id").agg(
        n=("rating", "size"), raw=("rating", "mean"), rating=("centred", "mean")
    )
    means["rating"] = (means["rating"] + answers["rating"].mean()) / LEVELS
    known = samples[(samples["status"] == "ok") & samples["sample_id"].isin(means.index)]
    wide = known.pivot(index="sample_id", columns="against", values="agreement")  # noqa: PD010
    attention = known[known["against"] == "attention"].set_index("sample_id")
    found = attention[["image_id", "method", "false_positive", "false_negative"]].join(means)
    for against, column in _SCORE.items():
        found[column] = wide[against]
    return found.reset_index()[columns].sort_values("sample_id", ignore_index=True)


def centre(answers: pd.DataFrame) -> pd.DataFrame:
    """Ratings with each person's mean taken away, in the column ``centred``."""
    mean = answers.groupby("annotator_id")["rating"].transform("mean")
    return answers.assign(centred=answers["rating"] - mean)


def rating_tables(
    answers: pd.DataFrame,
    rated: pd.DataFrame,
    settings: AttentionParams,
    *,
    resamples: int,
    seed: int,
) -> Tables:
    """Lines, tests and corrections of the rating study; none without ratings."""
    if rated.empty:
        return {}
    first = settings.methods[0]
    own = rated[rated["method"] == first]
    single = centre(answers).merge(
        rated.drop(columns=["n", "raw", "rating"]), on="sample_id", how="inner"
    )
    single["scaled"] = (single["centred"] + answers["rating"].mean()) / LEVELS
    correlations = correlation_table(
        own[list(_SCORE.values())],
        own[["rating", "segmentation_score"]],
        clusters=own["image_id"],
        resamples=resamples,
        seed=seed,
    )
    return {
        "lines": _lines(own, rated, single, settings),
        "tests": _tests(own, rated, settings),
        "rating_correlations": correlations,
        "difference": correlation_difference(
            own["attention_score"],
            own["segmentation_score"],
            own["rating"],
            clusters=own["image_id"],
            resamples=resamples,
            seed=seed,
        ),
        "deming": _deming(own),
        "mixed": _mixed(single),
        "equivalence": _equivalence(rated, settings.margin),
        "bias": _bias(single),
        "splits": _splits(rated),
    }


def _lines(
    own: pd.DataFrame, rated: pd.DataFrame, single: pd.DataFrame, settings: AttentionParams
) -> pd.DataFrame:
    """The lines of Figures 2 and 4, as printed and with errors that allow for clusters."""
    parts: list[pd.DataFrame] = []

    def add(line: str, frame: pd.DataFrame, x: str, y: str) -> None:
        printed = fit_line(frame[x], frame[y]).assign(line=line, kind=PRINTED)
        images = fit_line(frame[x], frame[y], clusters=[frame["image_id"]])
        parts.extend([printed, images.assign(line=line, kind=BY_IMAGE)])

    add("segmentation_score ~ attention_score", own, "attention_score", "segmentation_score")
    for name, column in _SCORE.items():
        line = f"rating ~ {name}_score"
        add(line, own, column, "rating")
        rows = single[single["method"] == settings.methods[0]]
        both = fit_line(
            rows[column], rows["scaled"], clusters=[rows["image_id"], rows["annotator_id"]]
        )
        parts.append(both.assign(line=line, kind=SINGLE))
    error = rated.assign(error=1 - rated["attention_score"])
    for method in settings.methods:
        here = error[error["method"] == method]
        add(f"{method}: attention_error ~ rating", here, "rating", "error")
    for name, half in _halves(rated).items():
        add(f"high {name} error ~ rating", half, "rating", "error")
    return pd.concat(parts, ignore_index=True)[
        ["line", "kind", "term", "n", "estimate", "error", "low", "high", "p", "note"]
    ]


def _halves(rated: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Samples with a high error of each kind: the upper halves by the medians, as printed."""
    found = {}
    for name, column in (("FP", "false_positive"), ("FN", "false_negative")):
        half = rated[rated[column] > rated[column].median()]
        found[name] = half.assign(error=half[column])
    return found


def _tests(own: pd.DataFrame, rated: pd.DataFrame, settings: AttentionParams) -> pd.DataFrame:
    """The tests of homogeneity as printed: against the ideal line, and between groups."""
    parts = []
    ideal = (
        ("segmentation_score ~ attention_score", "attention_score", "segmentation_score"),
        ("rating ~ attention_score", "attention_score", "rating"),
        ("rating ~ segmentation_score", "segmentation_score", "rating"),
    )
    for line, x, y in ideal:
        for kind, groups in ((PRINTED, []), (BY_IMAGE, [own["image_id"]])):
            found = line_test(own[x], own[y], clusters=groups)
            parts.append(found.assign(test=f"{line}: slope 1 and intercept 0", kind=kind))
    both = pd.concat(
        [
            own.assign(score=own[column], group=name)[["score", "rating", "group", "image_id"]]
            for name, column in _SCORE.items()
        ]
    )
    error = rated.assign(error=1 - rated["attention_score"])
    halves = pd.concat([half.assign(group=name) for name, half in _halves(rated).items()])
    groups_of = (
        ("rating ~ score, attention against segmentation", both, "score", "rating", "group"),
        ("attention_error ~ rating, " + " against ".join(settings.methods), error, "rating",
         "error", "method"),
        ("error ~ rating, high FP against high FN", halves, "rating", "error", "group"),
    )  # fmt: skip
    for test, frame, x, y, group in groups_of:
        for kind, clusters in ((PRINTED, []), (BY_IMAGE, [frame["image_id"]])):
            found = compare_lines(frame[x], frame[y], frame[group], clusters=clusters)
            parts.append(found.assign(test=test, kind=kind))
    return pd.concat(parts, ignore_index=True)[
        ["test", "kind", "term", "n", "statistic", "df", "df_rest", "p", "note"]
    ]


def _deming(own: pd.DataFrame) -> pd.DataFrame:
    """Lines with errors in both variables; for ratings the ratio of the spreads stands for both."""
    lines = (
        ("segmentation_score ~ attention_score", "attention_score", "segmentation_score", 1.0),
        ("rating ~ attention_score", "attention_score", "rating", None),
        ("rating ~ segmentation_score", "segmentation_score", "rating", None),
    )
    parts = []
    for line, x, y, ratio in lines:
        spread = own[y].var() / own[x].var() if len(own) > 1 and own[x].var() > 0 else 1.0
        used = ratio if ratio is not None else float(spread)
        parts.append(deming(own[x], own[y], ratio=used, clusters=own["image_id"]).assign(line=line))
    return pd.concat(parts, ignore_index=True)


def _mixed(single: pd.DataFrame) -> pd.DataFrame:
    """Single ratings, maps and people as random levels: points for a standard deviation."""
    parts = []
    columns = {**_SCORE, "false negatives": "false_negative", "false positives": "false_positive"}
    for name, column in columns.items():
        spread = single.drop_duplicates("sample_id")[column].std()
        values = single[column] / spread if spread > 0 else single[column]
        found = crossed_slope(values, single["rating"], single["sample_id"], single["annotator_id"])
        parts.append(found.assign(value=name))
    return pd.concat(parts, ignore_index=True)


def _equivalence(rated: pd.DataFrame, margin: float) -> pd.DataFrame:
    """Whether both masks give the same score: the mean difference against a margin."""
    rows = []
    for method, own in rated.groupby("method", sort=True):
        apart = (own["attention_score"] - own["segmentation_score"]).to_numpy(np.float64)
        if len(apart) > 1:
            found = contrast_row(clustered_mean(apart, codes_of(own["image_id"])), margin)
            rows.append({"method": method, **found})
    head = ["method", "n", "estimate", "low", "high", "p", "margin", "p_equivalence"]
    return pd.DataFrame(rows, columns=[*head, "smallest_effect", "note"])


def _bias(single: pd.DataFrame) -> pd.DataFrame:
    """What a miss and a false alarm cost in points, in one model; images and people clustered."""
    return fit_plane(
        single[["false_negative", "false_positive"]],
        single["centred"],
        compare=("false_negative", "false_positive"),
        clusters=[single["image_id"], single["annotator_id"]],
    )


def _splits(rated: pd.DataFrame) -> pd.DataFrame:
    """How the line of error and rating changes with the share of false positives in the error."""
    error = 1 - rated["attention_score"]
    share = rated["false_positive"] / (rated["false_positive"] + rated["false_negative"])
    return split_and_interaction(error, rated["rating"], share, clusters=[rated["image_id"]])


def planted_table(folder: Path, answers: pd.DataFrame) -> pd.DataFrame | None:
    """What is planted in simulated raters beside what their ratings show; None without the truth.

    The properties are those that raters went by, standardised over maps. Points at the ends of the
    scale cannot go further, which takes a little from every effect.
    """
    file, effects = folder / "samples.parquet", folder / "planted.json"
    if not file.is_file() or not effects.is_file() or answers.empty:
        return None
    samples = pd.read_parquet(file)
    single = centre(answers).merge(samples, on="sample_id")
    if single.empty:
        return None
    planted = pd.read_json(effects, typ="series")["effects"]["rating"]
    names = {"miss": -planted["miss"], "extra": -planted["extra"], "smooth": planted["smooth"]}
    spread = {name: single[name].std(ddof=1) for name in names}
    found = fit_plane(
        single[list(names)],
        single["centred"],
        compare=("miss", "extra"),
        clusters=[single["image_id"], single["annotator_id"]],
    )
    # A person's mean over a few maps is taken away, and with it a part of every effect.
    each = answers.groupby("annotator_id").size().mean()
    kept = 1 - 1 / each
    scales = {**{name: spread[name] for name in names}, "difference": 1.0}
    truth = {name: names[name] * scales[name] * kept for name in names}
    truth["difference"] = truth["miss"] - truth["extra"]
    found["planted"] = [truth[str(term)] for term in found["term"]]
    found["covers"] = (found["low"] <= found["planted"]) & (found["planted"] <= found["high"])
    return found
