"""Planted against found: estimates of every effect that simulated raters carry.

The same functions estimate the effects of the study and those of many simulated ones, whose mean
is what the planted parameters come to on the scale of the estimate (the stage ``simulate`` keeps
it, see :mod:`pasta.studies.ratings.simulation.expected`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
import statsmodels.api as sm

from analysis.contrasts import Contrast, contrast_row, slope, welch
from analysis.rankings import mean_positions
from analysis.raters import rater_values
from analysis.votes import ALL
from pasta.studies.ratings.analyses.names import generic
from pasta.studies.ratings.analyses.preference import SALIENCY, score_differences
from pasta.studies.ratings.settings import CHANGES, QUESTIONS, STEADY

# Effect -> the analysis whose report shows it, and what is estimated
EFFECTS: Mapping[str, tuple[str, str]] = {
    "sex, level": ("bias", "women's stars less men's"),
    "age, level": ("bias", "stars for ten years more"),
    "sex, agreement": ("bias", "women's kappa less men's"),
    "age, agreement": ("bias", "kappa for ten years more"),
    "kind": ("preference", "stars of maps less those of concepts"),
    "position": ("preference", "mean position"),
    "overlap": ("correlation", "stars for one standard deviation more of overlap"),
    "correct": ("correlation", "stars for a right prediction"),
    "spread": ("correlation", "stars for one standard deviation more of spread"),
    "change": ("correlation", "stars for one standard deviation more of change"),
}
COLUMNS = ["effect", "item", "null", "n", "estimate", "low", "high"]
KEY = ["effect", "item"]
FEWEST = 10  # samples of a regression


def estimate_effects(
    votes: pd.DataFrame,
    annotators: pd.DataFrame,
    samples: pd.DataFrame,
    properties: pd.DataFrame,
    rankings: pd.DataFrame,
) -> pd.DataFrame:
    """All effects with 95 % intervals, on the scales that the reports use.

    Parameters
    ----------
    votes, annotators, rankings
        Tables of the study.
    samples
        sample_id, dataset, image_id, method, backbone, kind.
    properties
        sample_id, status, and the standardised properties overlap, correct, spread, light, strong.

    Returns
    -------
    DataFrame with effect, item, null (the value that means no effect), n, estimate, low, high
    """
    rows = [
        *_people(votes, annotators),
        *_kinds(votes, samples),
        *_properties(votes, samples, properties),
        *_positions(rankings),
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def compare_planted(expected: pd.DataFrame, found: pd.DataFrame, part: str) -> pd.DataFrame:
    """The effects that one analysis shows, planted and found.

    Returns
    -------
    DataFrame with effect, item, about, parameter, planted (the parameter), expected (what it comes
    to on the scale of the estimate), n, estimate, low, high, covers (whether the interval contains
    what is expected) and found (whether it excludes no effect)
    """
    own = [effect for effect, (analysis, _) in EFFECTS.items() if analysis == part]
    table = expected[expected["effect"].isin(own)].merge(found, on=KEY, how="left")
    known = table["low"].notna() & table["high"].notna()
    inside = (table["low"] <= table["expected"]) & (table["expected"] <= table["high"])
    outside = (table["null"] < table["low"]) | (table["high"] < table["null"])
    about = table["effect"].map({effect: told for effect, (_, told) in EFFECTS.items()})
    table = table.assign(about=about, covers=inside & known, found=outside & known)
    head = [*KEY, "about", "parameter", "planted", "expected", "power", "null"]
    return table[[*head, "n", "estimate", "low", "high", "covers", "found"]]


Row = dict[str, object]


def _row(effect: str, item: str, contrast: Contrast) -> Row:
    found = contrast_row(contrast)
    return {"effect": effect, "item": item, "null": 0.0} | {
        name: found[name] for name in ("n", "estimate", "low", "high")
    }


def _people(votes: pd.DataFrame, annotators: pd.DataFrame) -> Iterator[Row]:
    values = rater_values(generic(votes))
    people = annotators.set_index("annotator_id")
    for measure in ("level", "agreement"):
        own = values[(values["item"] == ALL) & (values["measure"] == measure)]
        known = people.reindex(own["rater"])
        estimate, sex = own["estimate"].to_numpy(np.float64), known["sex"].to_numpy(object)
        sides = (estimate[sex == "female"], estimate[sex == "male"])
        yield _row(f"sex, {measure}", ALL, welch(*sides))
        ages = known["age"].to_numpy(np.float64, na_value=np.nan)
        yield _row(f"age, {measure}", ALL, slope(estimate, ages / 10))


def _kinds(votes: pd.DataFrame, samples: pd.DataFrame) -> Iterator[Row]:
    for row in score_differences(votes, samples).to_dict("records"):
        first, _, second = str(row["comparison"]).partition(" - ")
        if SALIENCY in (first, second):
            ends = (row["low"], row["high"])
            low, high = ends if first == SALIENCY else (-ends[1], -ends[0])
            sign = 1 if first == SALIENCY else -1
            numbers = {"estimate": sign * row["estimate"], "low": low, "high": high}
            yield {"effect": "kind", "item": row["question"], "null": 0.0, "n": row["n"]} | numbers


def _properties(
    votes: pd.DataFrame, samples: pd.DataFrame, properties: pd.DataFrame
) -> Iterator[Row]:
    """Regressions of the mean vote on what is measured, given the kind; images are clusters."""
    about = samples.set_index("sample_id")
    known = properties[properties["status"] == "ok"].set_index("sample_id")
    means = votes.groupby(["question", "sample_id"], observed=True)["rating"].mean()
    for question in QUESTIONS:
        if question not in means.index.get_level_values(0):
            continue
        mean = means.loc[question]
        own = known.reindex(mean.index).rename(columns={CHANGES.get(question, ""): "change"})
        names = ["overlap", "correct", "spread"] if question in STEADY else ["change"]
        inputs = own[names].assign(
            map=(about["kind"].reindex(mean.index) == SALIENCY).astype(float)
        )
        inputs = inputs[own["status"].notna()].dropna()
        images = about.loc[inputs.index, "dataset"] + "/" + about.loc[inputs.index, "image_id"]
        groups = pd.factorize(images)[0]
        varied = [name for name in inputs if np.ptp(inputs[name]) > 0] if len(inputs) else []
        if len(np.unique(groups)) < 2 or not varied or len(inputs) < FEWEST:
            continue
        model = sm.OLS(mean[inputs.index].to_numpy(np.float64), sm.add_constant(inputs[varied]))
        fitted = model.fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
        ends = fitted.conf_int()
        for name in [name for name in names if name in varied]:
            numbers = {"estimate": fitted.params[name], "low": ends.loc[name, 0]}
            yield (
                {"effect": name, "item": question, "null": 0.0, "n": len(inputs)}
                | numbers
                | {"high": ends.loc[name, 1]}
            )


def _positions(rankings: pd.DataFrame) -> Iterator[Row]:
    given = rankings.rename(columns={"annotator_id": "rater", "question": "group"})
    for group, part in mean_positions(given).groupby("group"):
        for row in part.to_dict("records"):
            numbers = {name: row[name] for name in ("n", "estimate", "low", "high")}
            middle = (len(part) + 1) / 2
            head = {"effect": "position", "item": f"{group}: {row['item']}", "null": middle}
            yield head | numbers
