"""Do ratings follow a measured property of explanations? Figure 11 of the first PASTA paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.clustered import clustered_correlation, codes_of, without_means
from analysis.resampling import Codes, holm, notes

Compared = tuple[np.ndarray, np.ndarray, list[Codes], int]

METHODS = ("pearson", "spearman")
SCOPES = ("pooled", "within")

_COLUMNS = [
    "measure",
    "question",
    "scope",
    "method",
    "n",
    "estimate",
    "low",
    "high",
    "p",
    "p_holm",
    "note",
]


def likeness_correlations(
    values: pd.DataFrame, ratings: pd.DataFrame, measures: Sequence[str], *, missing: str = ""
) -> pd.DataFrame:
    """Correlate properties of (sample, annotator) with the annotator's votes on the sample.

    ``pooled`` correlates all votes, as published. It cannot tell a bias from a good explanation:
    one that names the right parts is both liked and like what people wrote. ``within`` first takes
    the means of every sample and of every annotator out of both, so that it asks whether, of the
    annotators who saw the same explanation, the one whose own words or boxes are closer to it gave
    more stars. Intervals allow for votes that share a sample or an annotator; ``p_holm`` corrects
    among the tests of one scope and method.

    Parameters
    ----------
    values
        Columns sample_id, annotator_id and the measures.
    ratings
        Columns sample_id, annotator_id, question, rating.
    missing
        What to say if there are no values.

    Returns
    -------
    DataFrame with measure, question, scope, method, n, estimate, low, high, p, p_holm, note
    """
    keys = ["sample_id", "annotator_id"]
    joined = ratings[ratings["rating"].notna()].merge(values, on=keys, how="inner")
    # Numbers are told apart faster than texts, and that is done for every correlation.
    joined = joined.assign(**{name: pd.factorize(joined[name])[0] for name in keys})
    questions = [str(name) for name in sorted(ratings["question"].dropna().unique())]
    rows = []
    for measure in measures:
        for question in questions:
            here = joined[(joined["question"] == question) & joined[measure].notna()]
            for scope in SCOPES:
                compared = _compared(here, measure, scope)
                for method in METHODS:
                    head = {"measure": measure, "question": question}
                    head |= {"scope": scope, "method": method}
                    rows.append(head | _correlation(compared, scope, method, missing))
    frame = pd.DataFrame(rows, columns=_COLUMNS)
    if len(frame):
        frame["p_holm"] = frame.groupby(["scope", "method"])["p"].transform(holm)
    return frame


def _compared(here: pd.DataFrame, measure: str, scope: str) -> Compared:
    """The measure and the stars, and the sample and annotator of each; within: without means."""
    x = here[measure].to_numpy(np.float64)
    y = here["rating"].to_numpy(np.float64)
    clusters: list[Codes] = [codes_of(here[name]) for name in ("sample_id", "annotator_id")]
    if scope == "within" and len(x):
        shared = np.bincount(clusters[0])[clusters[0]] > 1  # a vote alone has nothing to compare
        x, y = x[shared], y[shared]
        clusters = [codes_of(codes[shared]) for codes in clusters]
        x, y = _cleared(x, clusters), _cleared(y, clusters)
    return x, y, clusters, len(here)


def _correlation(compared: Compared, scope: str, method: str, missing: str) -> dict[str, object]:
    x, y, clusters, given = compared
    row = clustered_correlation(x, y, *clusters, method=method)
    constant = scope == "within" and row["note"] == "one of the two does not vary"
    why = "it does not differ between the annotators of a sample" if constant else str(row["note"])
    return row | {"note": notes([why, missing if not given else ""])}


def _cleared(values: np.ndarray, clusters: list[Codes]) -> np.ndarray:
    """Without the means; rounding that is left of a constant is no signal."""
    left = without_means(values, *clusters)
    return np.where(
        np.abs(left) < 1e-9 * max(float(np.abs(values).max(initial=0)), 1e-300), 0, left
    )
