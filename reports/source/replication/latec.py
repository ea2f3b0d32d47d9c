"""What LATEC's text says of its tables, recomputed from the tables.

The ranks and standard deviations are those printed in Table 2 (and in Tables 9 to 12), so that no
model and no metric is needed: a statement holds or it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from analysis.contrasts import permutation_p
from analysis.rank_variance import rank_variance_law
from analysis.resampling import Matrix
from reports.source.replication.rows import published_table

HOLDS, PARTLY, FAILS = "holds", "in part", "does not hold"
MISPRINT, UNDECIDED = "misprint", "undecided"

MODALITIES = ("image", "volume", "point_cloud")
CRITERIA = ("faithfulness", "robustness", "complexity")
METRICS = {"faithfulness": 10, "robustness": 7, "complexity": 3}
ATTENTION = ("RA", "RoA", "LA")
CAMS = ("GC", "SC", "C+")
COLUMNS = ["topic", "where", "statement", "printed", "recomputed", "n", "p", "verdict"]

Row = dict[str, object]


def statement_table() -> pd.DataFrame:
    """All statements with what the printed tables say about them.

    Returns
    -------
    DataFrame
        topic, where (in the paper), statement, printed, recomputed, n, p, verdict
    """
    ranks = published_table("latec_table02_ranks")
    spread = published_table("latec_table09_sd")
    parts = published_table("latec_table11_12_ranks")
    datasets = published_table("latec_table10_ranks")
    rows = [
        *check_ranks(ranks, "Table 2a"),
        *check_ranks(parts[parts["architectures"] == "cnn"], "Table 11"),
        *check_ranks(parts[parts["architectures"] == "transformer"], "Table 12"),
        *check_counts(),
        *check_spread_definition(ranks, datasets, spread),
        *check_weighted_means(spread),
        *check_extremes(ranks),
        *check_attention(ranks),
        *check_methods(ranks),
        *check_relations(ranks),
        *check_transformers(parts),
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(
    topic: str, where: str, statement: str, printed: str, recomputed: str, verdict: str,
    n: float = np.nan, p: float = np.nan,
) -> Row:  # fmt: skip
    values = (topic, where, statement, printed, recomputed, n, p, verdict)
    return dict(zip(COLUMNS, values, strict=True))


def _cell(ranks: pd.DataFrame, method: str, criterion: str, modality: str, column: str) -> float:
    here = (ranks["method"] == method) & (ranks["criterion"] == criterion)
    found = ranks.loc[here & (ranks["modality"] == modality), column]
    return float(found.iloc[0])


def _words(values: Sequence[float], places: int = 2) -> str:
    return ", ".join(f"{value:.{places}f}".rstrip("0").rstrip(".") for value in values)


# The tables themselves


def check_ranks(ranks: pd.DataFrame, where: str) -> list[Row]:
    """Columns are rankings: they add up to k (k + 1) / 2, and ties share the mean of their places.

    Parameters
    ----------
    ranks
        method, criterion, modality, average_rank.
    where
        The table's name.

    Returns
    -------
    list of dict
        One row for the sums and one for the ties.
    """
    sums, ties, columns = [], [], 0
    for name, part in ranks.dropna(subset=["average_rank"]).groupby(["criterion", "modality"]):
        own = part["average_rank"].to_numpy(np.float64)
        columns += 1
        if own.sum() != len(own) * (len(own) + 1) / 2:
            sums.append(" ".join(map(str, name)))
        if not np.array_equal(stats.rankdata(own), own):
            ties.append(" ".join(map(str, name)))
    rows = []
    for topic, statement, wrong in (
        ("sums", "Each column is a whole ranking: its sum is k (k + 1) / 2.", sums),
        ("ties", "Equal averages share the mean of their places, and no place is missing.", ties),
    ):
        said = "wrong: " + "; ".join(wrong) if wrong else f"all {columns} columns are"
        rows.append(_row(topic, where, statement, "", said, FAILS if wrong else HOLDS, columns))
    return rows


def check_counts() -> list[Row]:
    """Numbers of rankings and scores in Appendix G and the captions.

    Returns
    -------
    list of dict
        Rows of the numbers of combinations and of what a rank of Table 2 is made of.
    """
    attribution, attention = 14 + 14 + 11, 3 * 3
    full = (3 * attribution + attention) * 3 * 20
    across = (attribution + attention) * 3 * 20
    scores = (attribution * 150 + attention * 50) * 3 * 20
    return [
        _row("counts", "Abstract, Appendix G",
             "The full ranking has 7,560 combinations with 50 scores each, 378,000 in all.",
             "7560; 378000", f"{full}; {full * 50}",
             HOLDS if (full, full * 50) == (7560, 378_000) else FAILS, full),
        _row("counts", "Appendix G",
             "Across architectures there are 2,520 combinations with 150 scores each.",
             "2520 with 150", f"{across}: {attribution * 60} with 150, {attention * 60} of "
             f"attention methods with 50 ({scores} scores)",
             HOLDS if across == 2520 else FAILS, across),
        _row("counts", "Caption of Table 2, Appendix G",
             "An average rank of faithfulness is made of 10 x 3 x 3 = 90 ranks.",
             "90", "30: across architectures there is one ranking for each metric and dataset, as "
             "Appendix G says and the standard deviations of Table 2b show", FAILS, 30),
    ]  # fmt: skip


def check_spread_definition(
    ranks: pd.DataFrame, datasets: pd.DataFrame, spread: pd.DataFrame
) -> list[Row]:
    r"""Which standard deviation Table 2b prints.

    Table 10 has the standard error over metrics of one ranking across architectures in each
    dataset. If Table 2b is the mean over datasets of the standard deviation (with k) of the same
    ranking, their ratio is :math:`\sqrt{k - 1}` for k metrics: 3 and 2.449. Equation 5 is a mean
    over datasets *and* architectures, and would agree with Table 9, which is made of the same
    deviations.

    Parameters
    ----------
    ranks, datasets, spread
        Tables 2, 10 and 9.

    Returns
    -------
    list of dict
        A row for each criterion, and one for the comparison with Table 9.
    """
    keys = ["method", "criterion", "modality"]
    mean = datasets.groupby(keys)["error"].mean().rename("error").reset_index()
    both = ranks.merge(mean, on=keys)
    rows = []
    for criterion, part in both.groupby("criterion"):
        k = METRICS[str(criterion)]
        ratio = (part["metric_sd"] / part["error"]).to_numpy(np.float64)
        near = np.abs(ratio - np.sqrt(k - 1)) < 0.05 * np.sqrt(k - 1)
        rows.append(
            _row("definition", "Equation 5, Tables 2b and 10",
                 f"The standard deviations of {criterion} are means over datasets and "
                 "architectures.", "Equation 5",
                 f"Table 2b is {np.median(ratio):.3f} times the standard error of Table 10 in the "
                 f"middle, and {near.sum()} of {len(ratio)} ratios are within 5 % of the root of "
                 f"{k} - 1: one ranking across architectures of {k} metrics, averaged over "
                 "datasets alone (other errors may be misread)", FAILS, len(ratio))
        )  # fmt: skip
    gaps, words = [], []
    for modality in ("volume", "point_cloud"):
        table = spread[(spread["modality"] == modality) & (spread["kind"] == "dataset")]
        for criterion in CRITERIA:
            nine = float(table.loc[table["criterion"] == criterion, "metric_sd"].mean())
            here = (ranks["criterion"] == criterion) & (ranks["modality"] == modality)
            two = float(ranks.loc[here, "metric_sd"].mean())
            gaps.append(abs(nine - two))
            words.append(f"{nine:.2f} and {two:.2f} ({criterion}, {modality.replace('_', ' ')})")
    rows.append(
        _row("definition", "Tables 9 and 2b",
             "Deviations of a criterion average to the same in both tables.", "the same",
             ", ".join(words), HOLDS if max(gaps) <= 0.05 else FAILS, len(gaps))
    )  # fmt: skip
    return rows


def check_weighted_means(spread: pd.DataFrame) -> list[Row]:
    """The weighted averages of Table 9: 10, 7 and 3 metrics.

    Parameters
    ----------
    spread
        Table 9.

    Returns
    -------
    list of dict
        One row.
    """
    wrong = []
    groups = spread.groupby(["modality", "level"], sort=False)
    for (_, level), part in groups:
        own = part.set_index("criterion")["metric_sd"]
        mean = sum(float(own[criterion]) * METRICS[criterion] for criterion in CRITERIA) / 20
        if abs(mean - float(own["weighted_average"])) > 0.0101:  # all four are rounded
            wrong.append(f"{level} {own['weighted_average']:.2f} for {mean:.2f}")
    said = "; ".join(wrong) if wrong else f"all {len(groups)} are"
    statement = "Weighted averages are those of 10, 7 and 3 metrics."
    return [_row("sums", "Table 9", statement, "", said, FAILS if wrong else HOLDS, len(groups))]


# Statements of the text


def check_extremes(ranks: pd.DataFrame) -> list[Row]:
    """Methods at the extremes have smaller deviations, and the two examples.

    Parameters
    ----------
    ranks
        Table 2.

    Returns
    -------
    list of dict
        Rows of the rule for each criterion and of the examples.
    """
    rows = []
    known = ranks.dropna(subset=["average_rank"])
    k = known.groupby(["criterion", "modality"])["method"].transform("size")
    far = (known["average_rank"] - (k + 1) / 2).abs() / ((k - 1) / 2)
    known = known.assign(far=far)
    for criterion in CRITERIA:
        parts = [known[(known["criterion"] == criterion) & (known["modality"] == m)]
                 for m in MODALITIES]  # fmt: skip
        taus = [stats.spearmanr(part["far"], part["metric_sd"]) for part in parts]
        p = stats.combine_pvalues(
            [stats.spearmanr(part["far"], part["metric_sd"], alternative="less").pvalue
             for part in parts], method="stouffer",
        ).pvalue  # fmt: skip
        below = sum(tau.statistic < 0 for tau in taus)
        verdict = (HOLDS if below == 3 else PARTLY) if p < 0.05 else UNDECIDED if below else FAILS
        rows.append(
            _row("extremes", "Section 3",
                 f"Methods ranked at the extremes have smaller deviations ({criterion}).",
                 "smaller", "Spearman's correlation of the distance from the middle with the "
                 f"deviation is {_words([float(tau.statistic) for tau in taus])} on "
                 f"{', '.join(MODALITIES)}", verdict, sum(map(len, parts)), float(p))
        )  # fmt: skip
    sd = _cell(ranks, "OC", "faithfulness", "image", "metric_sd")
    rank = _cell(ranks, "OC", "faithfulness", "image", "average_rank")
    column = known[(known["criterion"] == "faithfulness") & (known["modality"] == "image")]
    further = int((column["far"] > abs(rank - 9) / 8).sum())
    rows.append(
        _row("extremes", "Section 3",
             "OC, with a deviation of 5.31 at an average rank of 11.5, shows that methods at the "
             "extremes have smaller deviations.", "5.31 at 11.5",
             f"{sd:.2f} at {rank:g}: {further} of 17 methods are further from the middle (9) and "
             f"{int((column['metric_sd'] > sd).sum())} have a larger deviation (random ranks: "
             f"{np.sqrt(24):.2f}); it is no extreme, and fits the rule as the opposite of KS",
             FAILS if further > 17 / 2 else HOLDS, 17)
    )  # fmt: skip
    sd = _cell(ranks, "KS", "faithfulness", "image", "metric_sd")
    rank = _cell(ranks, "KS", "faithfulness", "image", "average_rank")
    place = int((column["metric_sd"] < sd).sum()) + 1
    rows.append(
        _row("extremes", "Section 3", "KS has a small deviation, 3.07, at the extreme rank 16.5.",
             "3.07 at 16.5", f"{sd:.2f} at {rank:g}, the {place}. smallest of 17", HOLDS, 17)
    )  # fmt: skip
    values, chances = rank_variance_law([17] * 10)
    border = float(np.sqrt(values[np.cumsum(chances) <= 0.1].max() * 0.9))
    agreeing = set(column.loc[column["metric_sd"] <= border, "method"])
    fits = {"KS", "EG", "DLS"} <= agreeing and "OC" not in agreeing
    rows.append(
        _row("agreement", "Section 3, Figure 2c",
             "For KS, EG and DLS metrics of faithfulness agree in most cases, for OC never.",
             "KS, EG, DLS; not OC", "by the exact law of ten random ranks a deviation (with k) up "
             f"to {border:.2f} is significant at 10 %: the mean deviations of "
             f"{len(agreeing)} of 17 are ({', '.join(sorted(agreeing))})",
             HOLDS if fits else FAILS, 17)
    )  # fmt: skip
    return rows


def _gap_row(known: pd.DataFrame, column: str) -> tuple[float, float, float]:
    """Mean of attention methods, mean of the others, and p (one-sided, all arrangements)."""
    marked = known["method"].isin(ATTENTION).to_numpy(bool)
    values = known[column].to_numpy(np.float64)
    samples = [values[marked], values[~marked]]

    def gap(first: Matrix, second: Matrix, axis: int) -> Matrix:
        return np.asarray(first.mean(axis) - second.mean(axis))

    p = permutation_p(samples, gap, "independent", 10_000, 0)
    return float(samples[0].mean()), float(samples[1].mean()), p


def check_attention(ranks: pd.DataFrame) -> list[Row]:
    """Attention against attribution: deviations and average ranks.

    Parameters
    ----------
    ranks
        Table 2.

    Returns
    -------
    list of dict
        A row for each claim and modality.
    """
    rows = []
    known = ranks.dropna(subset=["average_rank"])
    for modality in MODALITIES:
        part = known[(known["criterion"] == "faithfulness") & (known["modality"] == modality)]
        one, two, p = _gap_row(part, "metric_sd")
        top = set(part.nlargest(3, "metric_sd")["method"])
        rows.append(
            _row("attention", "Section 4, takeaway 2",
                 f"Attention methods have a substantially higher deviation of faithfulness "
                 f"({modality}).", "substantially higher",
                 f"{one:.2f} against {two:.2f}, difference {one - two:.2f}; the three largest are "
                 f"{', '.join(sorted(top))}", HOLDS if p < 0.05 else UNDECIDED, len(part), p)
        )  # fmt: skip
    for criterion, claim in (
        ("faithfulness", "insignificant"), ("robustness", "smaller"), ("complexity", "large")
    ):  # fmt: skip
        gaps, ps = [], []
        for modality in MODALITIES:
            part = known[(known["criterion"] == criterion) & (known["modality"] == modality)]
            one, two, p = _gap_row(part, "average_rank")
            gaps.append(one - two)
            ps.append(2 * min(p, 1 - p))
        both = float(stats.combine_pvalues(ps, method="stouffer").pvalue)
        expected = both >= 0.05 if claim == "insignificant" else both < 0.05
        rows.append(
            _row("attention", "Section 4, Figure 6b",
                 f"The difference between attention and attribution in {criterion} is {claim}.",
                 claim, f"attention less attribution: {_words(gaps)} ranks on "
                 f"{', '.join(MODALITIES)}", HOLDS if expected else UNDECIDED, len(known), both)
        )  # fmt: skip
    robust = {
        f"{method} {modality}": _cell(ranks, method, "robustness", modality, "average_rank")
        for method in ATTENTION
        for modality in MODALITIES
    }
    worse = [f"{name} {rank:g} of 17" for name, rank in robust.items()
             if rank > (9 if "point" not in name else 7.5)]  # fmt: skip
    rows.append(
        _row("attention", "Section 4",
             "The comparatively high robustness of attention extends across all methods and "
             "modalities.", "all", f"{9 - len(worse)} of 9 are in the better half"
             + (f"; not {', '.join(worse)}" if worse else ""), PARTLY if worse else HOLDS, 9)
    )  # fmt: skip
    sds = known[(known["criterion"] == "faithfulness") & (known["modality"] == "image")]
    sd = _cell(ranks, "LA", "faithfulness", "image", "metric_sd")
    place = int((sds["metric_sd"] > sd).sum()) + 1
    rows.append(
        _row("attention", "Section 4", "LA's deviation of faithfulness is 5.15 and unusually high.",
             "5.15", f"{sd:.2f}, the {place}. largest of 17",
             HOLDS if f"{sd:.2f}" == "5.15" else MISPRINT, 17)
    )  # fmt: skip
    return rows


def check_methods(ranks: pd.DataFrame) -> list[Row]:
    """What is said of single methods and of families.

    Parameters
    ----------
    ranks
        Table 2.

    Returns
    -------
    list of dict
        A row for each statement.
    """
    rank = _getter(ranks, "average_rank")
    sd = _getter(ranks, "metric_sd")
    rows = []
    pairs = [(criterion, modality) for criterion in CRITERIA for modality in MODALITIES]
    for other in ("RA", "RoA"):
        better = [pair for pair in pairs if rank("LA", *pair) < rank(other, *pair)]
        by_criterion = "; ".join(
            f"{criterion} {sum(pair[0] == criterion for pair in better)} of 3"
            for criterion in CRITERIA
        )
        share = len(better) / 9
        verdict = FAILS if share <= 0.5 else PARTLY if share < 1 else HOLDS
        rows.append(
            _row("methods", "Section 4, takeaway 2",
                 f"LA scores better than non-filtered attention in the majority of cases, "
                 f"consistently ({other}).", "majority; consistently",
                 f"better in {len(better)} of 9 ({by_criterion})", verdict, 9)
        )  # fmt: skip
    worse = [criterion for criterion in CRITERIA for method in CAMS
             if rank(method, criterion, "image") >= rank(method, criterion, "volume")]  # fmt: skip
    exceptions = ", ".join(
        f"{method} {criterion} {rank(method, criterion, 'image'):g} against "
        f"{rank(method, criterion, 'volume'):g}"
        for criterion in CRITERIA for method in CAMS
        if rank(method, criterion, "image") >= rank(method, criterion, "volume")
    )  # fmt: skip
    rows.append(
        _row("methods", "Section 4", "CAM methods always perform better on image than on volume.",
             "always", f"in {9 - len(worse)} of 9" + (f"; not {exceptions}" if worse else ""),
             PARTLY if worse else HOLDS, 9)
    )  # fmt: skip
    means = [
        [np.mean([sd(method, criterion, modality) for method in CAMS])
         for criterion in ("faithfulness", "robustness")]
        for modality in ("image", "volume")
    ]  # fmt: skip
    rows.append(
        _row("methods", "Section 4",
             "The deviation of CAM methods is lower for faithfulness than for robustness.", "lower",
             "; ".join(f"{modality} {_words([float(one) for one in pair])}"
                       for modality, pair in zip(("image", "volume"), means, strict=True)),
             HOLDS if all(one < two for one, two in means) else FAILS, 6)
    )  # fmt: skip
    rows.append(_eg_spread(ranks))
    two_criteria = ranks[ranks["criterion"] != "complexity"].dropna(subset=["average_rank"])
    size = np.where(two_criteria["modality"] == "point_cloud", 14, 17)
    level = two_criteria.assign(share=(two_criteria["average_rank"] - 1) / (size - 1))
    mean = level.groupby("method")["share"].mean().sort_values()
    rows.append(
        _row("methods", "Section 4, takeaway 1",
             "EG is the most reliable method in faithfulness and robustness.", "EG",
             f"smallest mean place over both: {', '.join(mean.index[:3])} "
             f"({_words([float(one) for one in mean.iloc[:3]])} on a scale from 0, first, to 1); "
             f"on point clouds EG is {rank('EG', 'faithfulness', 'point_cloud'):g} and "
             f"{rank('EG', 'robustness', 'point_cloud'):g} of 14",
             HOLDS if mean.index[0] == "EG" else FAILS, len(mean))
    )  # fmt: skip
    rows.append(_general(ranks))
    own, unusual = [], 0
    for modality in MODALITIES:
        here = (ranks["criterion"] == "robustness") & (ranks["modality"] == modality)
        part = ranks.loc[here, "metric_sd"].dropna()
        value = sd("VG", "robustness", modality)
        low, high = np.quantile(part, [0.15, 0.85])
        unusual += not low <= value <= high
        own.append(f"{modality} {value:g} ({int((part < value).sum()) + 1}. of {len(part)})")
    rows.append(
        _row("methods", "Section 4", "VG, which generalises in robustness, shows a usual deviation "
             "between metrics.", "standard", f"{', '.join(own)}, from the smallest; {unusual} of 3 "
             "outside the quantiles 0.15 and 0.85",
             HOLDS if not unusual else PARTLY if unusual < 2 else FAILS, 3)
    )  # fmt: skip
    low_faith = [(method, rank(method, "faithfulness", "image"))
                 for method in ("GB", "IxG", "LIME", "LRP")]  # fmt: skip
    inside = [f"{method} {place:g}" for method, place in low_faith if place < 9]
    rows.append(
        _row("methods", "Section 5", "On images faithfulness of GB, IxG, LIME and LRP is low.",
             "low", ", ".join(f"{method} {place:g}" for method, place in low_faith) + " of 17"
             + (f"; {', '.join(inside)} in the better half" if inside else ""),
             PARTLY if inside else HOLDS, 4)
    )  # fmt: skip
    robust = [rank("LRP", "robustness", modality) for modality in MODALITIES]
    rows.append(
        _row("methods", "Section 4", "LRP's faithfulness and robustness are low and its complexity "
             "is low.", "low", f"robustness is {_words(robust)} on {', '.join(MODALITIES)}",
             HOLDS if min(robust[0] - 9, robust[1] - 9, robust[2] - 7.5) > 0 else PARTLY, 3)
    )  # fmt: skip
    fine = ("IxG", "IG", "DL", "LRP")
    apart = all(
        max(rank(method, "complexity", modality) for method in fine)
        < min(rank(method, "complexity", modality) for method in (*CAMS, *ATTENTION)
              if not np.isnan(rank(method, "complexity", modality)))
        for modality in MODALITIES
    )  # fmt: skip
    rows.append(
        _row("methods", "Section 3", "IxG, IG, DL and LRP rank as less complex than CAM and "
             "attention methods.", "less complex", "all four before all others, everywhere"
             if apart else "not everywhere", HOLDS if apart else FAILS, 3)
    )  # fmt: skip
    worst = {
        method: max(rank(method, criterion, "image") for criterion in CRITERIA)
        for method in ranks["method"].unique()
    }
    first = min(worst.items(), key=lambda pair: pair[1])
    rows.append(
        _row("methods", "Takeaway 1", "No method ranks high on all criteria.", "none",
             f"on images the method whose worst rank is best, {first[0]}, has {first[1]:g} of 17",
             HOLDS if first[1] > 17 / 3 else FAILS, 17)
    )  # fmt: skip
    return rows


def _getter(ranks: pd.DataFrame, column: str) -> Callable[[str, str, str], float]:
    def get(method: str, criterion: str, modality: str) -> float:
        return _cell(ranks, method, criterion, modality, column)

    return get


def _eg_spread(ranks: pd.DataFrame) -> Row:
    """EG's deviation is always average: neither among the smallest nor the largest 15 %."""
    outside = []
    for (criterion, modality), part in ranks.dropna(subset=["metric_sd"]).groupby(
        ["criterion", "modality"], sort=False
    ):
        own = float(part.loc[part["method"] == "EG", "metric_sd"].iloc[0])
        low, high = np.quantile(part["metric_sd"], [0.15, 0.85])
        if not low <= own <= high:
            place = int((part["metric_sd"] < own).sum()) + 1
            outside.append(f"{criterion} {modality} {own:g} ({place}. of {len(part)})")
    return _row(
        "methods", "Section 4", "EG has always an average deviation between metrics.", "always",
        f"in {9 - len(outside)} of 9 between the quantiles 0.15 and 0.85"
        + (f"; not {', '.join(outside)}" if outside else ""),
        PARTLY if outside else HOLDS, 9,
    )  # fmt: skip


def _general(ranks: pd.DataFrame) -> Row:
    """IG and VG are the methods that generalise most over modalities."""
    size = ranks["modality"].map({"image": 17, "volume": 17, "point_cloud": 14})
    level = ranks.assign(share=(ranks["average_rank"] - 1) / (size - 1))
    level = level[~level["method"].isin(CAMS)]
    grouped = level.groupby(["method", "criterion"])["share"]
    width = (grouped.max() - grouped.min()).rename("width").reset_index()
    mean = width.groupby("method")["width"].mean().sort_values()
    places = {method: int((mean < mean[method]).sum()) + 1 for method in ("IG", "VG")}
    best = width.sort_values("width").head(5)
    listed = ", ".join(f"{line.method} {line.criterion}" for line in best.itertuples())
    return _row(
        "methods", "Section 4",
        "Few methods generalise over modalities even for one criterion, most of all IG and VG.",
        "IG, VG", f"the smallest ranges of places are {listed}; in the mean over criteria IG is "
        f"{places['IG']}. and VG {places['VG']}. of 14",
        HOLDS if max(places.values()) <= 2 else PARTLY, len(mean),
    )  # fmt: skip


def check_relations(ranks: pd.DataFrame) -> list[Row]:
    """Correlations between methods and between criteria, over the nine columns of Table 2a.

    Parameters
    ----------
    ranks
        Table 2.

    Returns
    -------
    list of dict
        A row for each statement; nine columns are few, and Figure 6 has more.
    """
    keys = ["criterion", "modality"]
    wide = ranks.pivot(index=keys, columns="method", values="average_rank")  # noqa: PD010

    def pearson(one: str, two: str) -> tuple[float, float]:
        there = wide[[one, two]].dropna()
        found = stats.pearsonr(there[one], there[two])
        return float(found.statistic), float(found.pvalue)

    def listed(pairs: Sequence[tuple[str, str]]) -> str:
        return ", ".join(f"{one}/{two} {pearson(one, two)[0]:.2f}" for one, two in pairs)

    rows = []
    fine = [("IG", "IxG"), ("DL", "IxG"), ("IG", "DL")]
    weakest = min(pearson(*pair)[0] for pair in fine)
    rows.append(
        _row("relations", "Section 4", "IG/IxG, DL/IxG and IG/DL correlate very strongly.",
             "very strong", listed(fine), HOLDS if weakest > 0.8 else PARTLY, 9)
    )  # fmt: skip
    shap = [("EG", "KS"), ("EG", "DLS"), ("KS", "DLS")]
    large = [pair for pair in shap if pearson(*pair)[1] < 0.05]
    rows.append(
        _row("relations", "Section 4", "EG, KS and DLS are not correlated.", "none", listed(shap),
             UNDECIDED if not large else FAILS, 9)
    )  # fmt: skip
    apart = [(one, two) for one in (*CAMS, *ATTENTION) for two in ("IxG", "GB", "IG", "DL")]
    negative = [pair for pair in apart if pearson(*pair)[0] < 0]
    rest = [pair for pair in apart if pair not in negative]
    rows.append(
        _row("relations", "Section 4", "CAM and attention correlate negatively with IxG, GB, IG "
             "and DL.", "negative", f"{len(negative)} of {len(apart)}"
             + (f"; not {listed(rest)}" if rest else ""), PARTLY if rest else HOLDS, len(apart))
    )  # fmt: skip
    for method in ("EG", "LRP", "LA"):
        own = [
            (_cell(ranks, method, "faithfulness", m, "average_rank"),
             _cell(ranks, method, "complexity", m, "average_rank"))
            for m in MODALITIES
        ]  # fmt: skip
        middle = (9, 9, 7.5)
        traded = [
            (one - mid) * (two - mid) < 0 for (one, two), mid in zip(own, middle, strict=True)
        ]
        said = "; ".join(
            f"{m} {one:g} and {two:g}" for m, (one, two) in zip(MODALITIES, own, strict=True)
        )
        rows.append(
            _row("relations", "Section 4",
                 f"{method} trades faithfulness for complexity, or the other way round.",
                 "trade-off", f"faithfulness and complexity: {said}; on different sides of the "
                 f"middle in {sum(traded)} of 3", HOLDS if all(traded) else PARTLY, 3)
        )  # fmt: skip
    return rows


def check_transformers(parts: pd.DataFrame) -> list[Row]:
    """LA performs much better than LRP on transformers (Table 12).

    Parameters
    ----------
    parts
        Tables 11 and 12.

    Returns
    -------
    list of dict
        One row.
    """
    ranks = parts[parts["architectures"] == "transformer"]
    pairs = [(criterion, modality) for criterion in CRITERIA[:2] for modality in MODALITIES]
    gaps: Mapping[tuple[str, str], float] = {
        pair: _cell(ranks, "LRP", *pair, "average_rank") - _cell(ranks, "LA", *pair, "average_rank")
        for pair in pairs
    }
    not_better = [" ".join(pair) for pair, gap in gaps.items() if gap <= 0]
    return [
        _row("methods", "Section 4, Table 12",
             "On transformers LA performs much better than LRP in faithfulness and robustness.",
             "much better", f"better in {6 - len(not_better)} of 6 by "
             f"{_words(list(gaps.values()))} ranks"
             + (f"; not {', '.join(not_better)}" if not_better else ""),
             PARTLY if not_better else HOLDS, 6)
    ]  # fmt: skip
