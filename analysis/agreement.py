"""How well annotators agree: with the mode, with each other, per question and kind."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.kappa import bootstrap_kappa, draw_once, kappa_from_sums, sum_by_cluster
from analysis.reliability import fleiss_kappa, icc, krippendorff_alpha
from analysis.resampling import Codes, Matrix, percentile_interval
from analysis.votes import ALL, LIKERT, MEAN, Votes, modes, modes_without_own, read_votes


def agreement_with_mode(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "sample_id",
    resamples: int = 2_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Quadratic kappa of each annotator against the mode of the votes, per question and over all.

    Two labels are compared with. ``as_published``: the mode of all votes, the annotator's own among
    them, as in the PASTA papers (doi:10.48550/arXiv.2411.02470); with five votes the annotator
    pulls the label along. ``leave_one_out``: the mode of the others' votes, the honest ceiling of a
    score that has not seen the annotator. Ties go to the smallest star; samples with a single vote
    do not count.

    The interval is a percentile bootstrap over clusters; all rows see the same resamples. The row
    of the annotator "mean" is the mean over annotators with its interval for these annotators.

    Returns
    -------
    DataFrame
        question ("all": votes of all questions together), annotator_id, label, n, estimate, low,
        high, note
    """
    votes = read_votes(ratings, categories, cluster)
    others = modes_without_own(votes)
    # A vote that is alone makes the mode: comparing the two would show agreement with nobody.
    labels = {
        "as_published": np.where(others >= 0, modes(votes)[:, None], -1),
        "leave_one_out": others,
    }
    options = (resamples, seed)
    frames = [
        _kappas(votes, votes.codes, other, votes.annotators.tolist(), "annotator_id", options)
        .assign(label=name)
        .pipe(_reorder, ["question", "annotator_id", "label"])
        for name, other in labels.items()
    ]
    return pd.concat(frames, ignore_index=True)


def pairwise_agreement(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "sample_id",
    resamples: int = 1_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Quadratic kappa of every two annotators on the samples both rated, per question and over all.

    Returns
    -------
    DataFrame
        question, first, second, n, estimate, low, high, note; the row with "mean" in first and
        second is the mean over pairs (Light's kappa, doi:10.1037/h0031643).
    """
    votes = read_votes(ratings, categories, cluster)
    pairs = list(combinations(range(len(votes.annotators)), 2))
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    names = [(votes.annotators[one], votes.annotators[two]) for one, two in pairs]
    options = (resamples, seed)
    frame = _kappas(votes, votes.codes[:, first], votes.codes[:, second], names, "pair", options)
    frame["first"] = [MEAN if pair == MEAN else pair[0] for pair in frame["pair"]]
    frame["second"] = [MEAN if pair == MEAN else pair[1] for pair in frame["pair"]]
    return _reorder(frame.drop(columns="pair"), ["question", "first", "second"])


def agreement_summary(
    ratings: pd.DataFrame,
    *,
    categories: Sequence[int] = LIKERT,
    cluster: str = "sample_id",
    resamples: int = 2_000,
    seed: int = 0,
    pairs: bool = True,
    with_mode: pd.DataFrame | None = None,
    two: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Every measure of agreement for each question.

    ``pairs=False`` leaves pairwise_kappa out: its cost grows with the square of the annotators.
    ``with_mode`` and ``two`` are the tables of :func:`agreement_with_mode` and
    :func:`pairwise_agreement` of the same ratings and options, if they are there already.

    Returns
    -------
    DataFrame
        question, measure (krippendorff_ordinal, fleiss, icc1, icc1k, pairwise_kappa,
        mode_kappa_as_published, mode_kappa_leave_one_out; the kappas are quadratic and the mean
        over pairs or annotators), n, estimate, low, high, p, note. n counts samples for the first
        four measures, pairs of ratings for the others.
    """
    votes = read_votes(ratings, categories, cluster)
    boot = {"resamples": resamples, "seed": seed}
    rows: list[dict[str, object]] = []
    for number, question in enumerate(votes.questions):
        matrix = votes.ratings(number).T
        forms = icc(matrix).set_index("form")
        found = {
            "krippendorff_ordinal": krippendorff_alpha(
                matrix, categories, clusters=votes.clusters, **boot
            ).iloc[0],
            "fleiss": fleiss_kappa(matrix, categories, clusters=votes.clusters, **boot).iloc[0],
            "icc1": forms.loc["ICC1"],
            "icc1k": forms.loc["ICC1k"],
        }
        for measure, row in found.items():
            kept = {name: row[name] for name in ("n", "estimate", "low", "high", "note")}
            rows.append({"question": question, "measure": measure, **kept, "p": row.get("p")})
    shared = {"categories": categories, "cluster": cluster, **boot}
    if with_mode is None:
        with_mode = agreement_with_mode(ratings, **shared)  # type: ignore[arg-type]
    with_mode = with_mode[with_mode["annotator_id"] == MEAN]
    with_mode = with_mode.assign(measure="mode_kappa_" + with_mode["label"])
    means = [with_mode]
    if pairs:
        if two is None:
            two = pairwise_agreement(ratings, **shared)  # type: ignore[arg-type]
        means.insert(0, two[two["first"] == MEAN].assign(measure="pairwise_kappa"))
    columns = ["question", "measure", "n", "estimate", "low", "high", "p", "note"]
    frames = [pd.DataFrame(rows, columns=columns)]
    frames += [frame.reindex(columns=columns) for frame in means]
    joined = pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)
    joined["p"] = joined["p"].astype(np.float64)
    return joined.sort_values(["question"], kind="stable", ignore_index=True)


def agreement_by_kind(ratings: pd.DataFrame, **options: object) -> pd.DataFrame:
    """:func:`agreement_summary` of each kind of explanation, named in a first column."""
    frames = []
    for kind, part in ratings.dropna(subset=["kind"]).groupby("kind", sort=True):
        frame = agreement_summary(part, **options)  # type: ignore[arg-type]
        frame.insert(0, "kind", kind)
        frames.append(frame)
    if frames:
        return pd.concat(frames, ignore_index=True)
    empty = agreement_summary(ratings.iloc[:0], **options)  # type: ignore[arg-type]
    empty.insert(0, "kind", pd.Series(dtype=object))
    return empty


def _kappas(
    votes: Votes,
    a: Codes,
    b: Codes,
    names: Sequence[object],
    column: str,
    options: tuple[int, int],
) -> pd.DataFrame:
    """Kappa of ``a`` and ``b`` (questions x names x samples) with intervals and their means."""
    head = ["question", column, "n", "estimate", "low", "high", "note"]
    resamples, seed = options
    rows: list[tuple[object, ...]] = []
    together: Matrix | None = None
    draws = draw_once(int(votes.clusters.max(initial=-1)) + 1, resamples, seed)

    def add(question: object, sums: Matrix) -> None:
        """The rows of one question; the seed gives each question the same resamples."""
        total = sums.sum(0)
        estimates = kappa_from_sums(total)
        drawn = bootstrap_kappa(sums, resamples, seed, draws)
        drawn[:, np.isnan(estimates)] = np.nan
        if len(sums) < 2:
            drawn[:] = np.nan
        low, high = percentile_interval(drawn)
        middle = percentile_interval(_mean(drawn)[:, None])
        n = total[:, 0]
        lines = [*zip(names, n, estimates, low, high, strict=True)]
        lines.append((MEAN, n.sum(), _mean(estimates), middle[0][0], middle[1][0]))
        for name, count, *found in lines:
            numbers = [float(value) for value in found]
            rows.append((question, name, int(count), *numbers, _note(count, numbers, len(sums))))

    for number, question in enumerate(votes.questions if names else []):
        sums = sum_by_cluster(a[number], b[number], votes.clusters)
        add(question, sums)
        together = sums if together is None else together + sums
    if together is not None and len(votes.questions) > 1:
        add(ALL, together)
    return pd.DataFrame(rows, columns=head)


def _mean(values: Matrix) -> Matrix:
    """Mean over the last axis without what is missing."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(there, values, 0.0).sum(-1) / there.sum(-1))


def _note(n: float, numbers: Sequence[float], clusters: int) -> str:
    if n == 0:
        return "no pair of ratings"
    if np.isnan(numbers[0]):
        return "both used one and the same category only"
    if clusters < 2:
        return "no interval from fewer than two clusters"
    return "kappa is undefined in too many resamples" if np.isnan(sum(numbers)) else ""


def _reorder(frame: pd.DataFrame, first: list[str]) -> pd.DataFrame:
    return frame[[*first, *(name for name in frame.columns if name not in first)]]
