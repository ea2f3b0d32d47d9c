"""score.pdf: how well a score predicts ratings, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pasta.studies.ratings.settings import MAIN
from reports.source.format import DASH, cells, interval, number, p_value, share, signed
from reports.source.names import BEST, LEAVE_ONE_OUT, OWN_VOTE, PUBLISHED, TITLES
from reports.source.pages.parts import find_row, select, table
from reports.source.pages.predictions import describe_predictions
from reports.source.plots.score import ablation_figure, differences_figure, score_figure
from reports.source.replication.pasta_tables import ABLATION_MEASURES, ablation_levels
from reports.source.typesetting import Report

Frames = Mapping[str, pd.DataFrame]
Values = dict[str, Any]
_MEASURES = {"qwk": "QWK", "mse": "MSE", "spearman_of_stars": "SCC"}
STUDIES = {
    "split": "what the test part has new",
    "label type": "which label is learned",
    "label input": "what goes in",
    "scoring function": "the scoring function",
    "saliency image": "the picture of a saliency map",
    "n top": "concepts in a sentence",
    "concept embedding": "how concepts are embedded",
}
SIGNIFICANT = 0.05  # adjusted p below this
_DIFFERENCES = ["question", "measure", "scorer", "than", "n", "estimate", "low", "high", "p_holm"]
_FILE = "pasta_v1_ablations_q1"
_PAPER = ["paper_value", "paper_sd"]
_QUANTITIES = {measure: name.upper() for name, measure in ABLATION_MEASURES.items()}


def score_report(tables: Frames, published: Frames, simulated: bool) -> Report:
    """Collect what ``score.typ`` shows.

    Parameters
    ----------
    tables
        ``summary`` (study, level, question, measure, mean, sd, n, reason) and ``differences``
        (question, measure, scorer, than, n, estimate, low, high, p, p_holm) of the score stage,
        ``centre`` (study, level) of its ablations.
    published
        The papers' tables; the rows and columns of those that are not there are left out.
    simulated
        Whether the votes are those of simulated raters.
    """
    summary, differences = table(tables, "summary"), table(tables, "differences")
    if differences.empty:
        differences = pd.DataFrame(columns=_DIFFERENCES)
    main = select(summary, study="main")
    if main.empty:
        return Report("score", simulated, {"main": None})
    titles = title_levels(main)
    runs = main.loc[main["level"] == BEST, "n"]
    content = {
        "main": score_figure(main, titles),
        "runs": int(runs.max()) if len(runs) else None,
        "range": _find_range(main),
        "rivals": _compare_rivals(differences),
        "leaders": _find_leaders(differences),
        "measures": {
            measure: {
                "table": _tabulate(main, published, measure, titles),
                "constant": _find_constant(main, measure),
            }
            for measure in _MEASURES
        },
        "scc": _compare_scc(main, published),
        "people": _compare_people(main, published),
        "differences": _describe_differences(differences),
        "coverage": _describe_coverage(main),
        "predictions": describe_predictions(table(tables, "predictions")),
        "question": MAIN,
        "ablations": _describe_ablations(summary, published),
        "centre": _describe_centre(table(tables, "centre")),
    }
    return Report("score", simulated, content)


def title_levels(main: pd.DataFrame) -> dict[str, str]:
    """The rows of the main study in their order, people last."""
    people = (LEAVE_ONE_OUT, OWN_VOTE)
    levels = [str(level) for level in main["level"].unique() if level not in people]
    named = {level: TITLES.get(level, level) for level in levels}
    return named | {level: level for level in people if (main["level"] == level).any()}


def _title(level: object) -> str:
    return TITLES.get(str(level), str(level))


def _find_range(main: pd.DataFrame) -> Values | None:
    """The kappas of the ordinal model over questions, and those of people, the ceiling."""
    own = select(main, measure="qwk", level=BEST).sort_values("question")
    people = select(main, measure="qwk", level=LEAVE_ONE_OUT)["mean"]
    if own.empty:
        return None
    places = own["mean"].to_numpy()
    low, high = own.iloc[int(places.argmin())], own.iloc[int(places.argmax())]
    ceiling = [number(people.min()), number(people.max())] if len(people) else []
    return {
        "low": f"{number(low['mean'])} ({low['question']})",
        "high": f"{number(high['mean'])} ({high['question']})",
        "ceiling": ceiling,
    }


def _find_leaders(differences: pd.DataFrame) -> list[Values]:
    """Questions on which other scorers are significantly better than the ordinal model."""
    worse = find_significant(select(differences, measure="qwk"), -1)
    return [
        {
            "question": question,
            "scorers": [
                f"{_title(row['than'])} ({number(-row['estimate'])} "
                f"{interval(-row['high'], -row['low'])} more)"
                for _, row in rows.sort_values("estimate").iterrows()
            ],
        }
        for question, rows in worse.groupby("question")
    ]


def _compare_rivals(differences: pd.DataFrame) -> list[Values]:
    """Where the ordinal model is significantly better, or worse, than the papers' networks."""
    found = []
    for rival in ("pasta-linear", "pasta-mlp"):
        rows = select(differences, measure="qwk", than=rival)
        if rows.empty:
            continue
        top = rows.iloc[int(rows["estimate"].to_numpy().argmax())]
        largest = f"{signed(top['estimate'])} {interval(top['low'], top['high'])}"
        found.append(
            {
                "scorer": TITLES[rival],
                "better": find_significant(rows, 1)["question"].tolist(),
                "worse": find_significant(rows, -1)["question"].tolist(),
                "largest": f"{largest} on {top['question']}, adjusted {p_value(top['p_holm'])}",
            }
        )
    return found


def find_significant(differences: pd.DataFrame, sign: int) -> pd.DataFrame:
    """Differences of this sign whose adjusted p is below 0.05."""
    return differences[(differences["p_holm"] < SIGNIFICANT) & (sign * differences["estimate"] > 0)]


def _tabulate(
    main: pd.DataFrame, published: Frames, measure: str, titles: Mapping[str, str]
) -> Values:
    """Ours, and below it what both papers print."""
    own = select(main, measure=measure)
    wide = _widen(own, "level", list(titles))
    frames = [wide.assign(scorer=list(titles.values()), who="ours")]
    for paper, file in PUBLISHED.items():
        if file in published:
            theirs = select(published[file], metric=_MEASURES[measure])
            levels = list(dict.fromkeys(theirs["model"]))
            wide = _widen(theirs, "model", levels, 2 if paper == "P1" else 3)
            frames.append(wide.assign(scorer=levels, who=paper))
    rows = pd.concat(frames, ignore_index=True)
    questions = [str(name) for name in rows.columns if name not in ("scorer", "who")]
    return cells(rows, ["who", "scorer", *questions])


def _widen(rows: pd.DataFrame, index: str, levels: list[str], places: int = 2) -> pd.DataFrame:
    shown = rows.assign(cell=write_spread(rows["mean"], rows["sd"], places))
    wide = shown.pivot(index=index, columns="question", values="cell")  # noqa: PD010
    return wide.reindex(levels)


def _find_constant(main: pd.DataFrame, measure: str) -> list[str]:
    """Scorers with constant predictions in at least one run, of which rho is undefined."""
    own = select(main, measure=measure)
    lost = own[own["mean"].isna() & own["reason"].notna()]
    return list(dict.fromkeys(_title(name) for name in lost["level"]))


def write_spread(means: pd.Series, sds: Sequence[float] | pd.Series, places: int = 2) -> list[str]:
    """Means with their standard deviations: "0.35 ± 0.05"."""
    return [
        DASH
        if pd.isna(mean)
        else number(mean, places) + ("" if pd.isna(sd) else f" ± {number(sd, places)}")
        for mean, sd in zip(means, sds, strict=True)
    ]


def _describe_ablations(summary: pd.DataFrame, published: Frames) -> Values | None:
    rows = collect_levels(summary, published)
    if rows.empty or rows["ours"].isna().all():
        return None
    own = select(rows, quantity="QWK").dropna(subset="ours")
    found = {str(study): part["ours"] for study, part in own.groupby("study")}
    ordered = sorted(found, key=lambda study: found[study].max() - found[study].min())
    ranges = [
        {
            "study": STUDIES[study],
            "range": f"{number(found[study].min())} to {number(found[study].max())}",
            "levels": len(found[study]),
        }
        for study in ordered
    ]
    return {
        "least": ranges[0] if ranges else None,
        "most": ranges[-1] if ranges else None,
        "tables": {
            study: {"about": about, "table": _tabulate_study(select(rows, study=study))}
            for study, about in STUDIES.items()
            if (rows["study"] == study).any()
        },
        "figure": ablation_figure(select(rows, quantity="QWK"), STUDIES),
    }


def _describe_centre(centre: pd.DataFrame) -> list[str]:
    """The level at the centre of each study, in words."""
    words = {"encoder": "the encoder", **STUDIES}
    return [
        f"{words.get(str(row['study']), row['study'])}: {str(row['level']).replace('_', ' ')}"
        for _, row in centre.iterrows()
    ]


def collect_levels(summary: pd.DataFrame, published: Frames) -> pd.DataFrame:
    """Levels of all studies: study, level, quantity (MSE, QWK, SCC), ours and the paper's.

    Levels that only the paper or only we have are there too, ours last.
    """
    keys = ["study", "level", "measure"]
    own = select(summary, question=MAIN)
    own = own.reindex(columns=[*keys, "mean", "sd"]).rename(
        columns={"mean": "ours", "sd": "ours_sd"}
    )
    own = own[own["study"].isin(list(STUDIES)) & own["measure"].isin(list(_QUANTITIES))]
    paper = table(published, _FILE)
    printed = ablation_levels(paper) if len(paper) else pd.DataFrame(columns=[*keys, *_PAPER])
    rows = printed[[*keys, *_PAPER]].merge(own, on=keys, how="outer", sort=False)
    there = zip(printed["study"], printed["level"], strict=True)
    order = {key: place for place, key in enumerate(dict.fromkeys(there))}
    place = [order.get(key, len(order)) for key in zip(rows["study"], rows["level"], strict=True)]
    words = rows["level"].str.replace("_", " ")
    rows = rows.assign(quantity=rows["measure"].map(_QUANTITIES), level=words, place=place)
    return rows.sort_values("place", kind="stable", ignore_index=True)


def _tabulate_study(own: pd.DataFrame) -> Values:
    levels = list(dict.fromkeys(own["level"]))
    frame = pd.DataFrame({"": levels})
    for quantity in ("QWK", "MSE", "SCC"):
        part = select(own, quantity=quantity).set_index("level").reindex(levels)
        frame[f"{quantity} paper"] = write_spread(part["paper_value"], part["paper_sd"])
        frame[f"{quantity} ours"] = write_spread(part["ours"], part["ours_sd"])
    return cells(frame, [str(name) for name in frame.columns])


def _describe_differences(differences: pd.DataFrame) -> Values | None:
    if differences.empty:
        return None
    rivals = {str(name): _title(name) for name in differences["than"].unique()}
    own = select(differences, measure="qwk")
    own = own.assign(than=own["than"].map(_title))
    return {
        "runs": int(differences["n"].max()),
        "figure": differences_figure(differences, rivals),
        "table": cells(own, "question than n:0 estimate:signed low:interval p_holm:p"),
        "comparisons": len(own),
    }


def _describe_coverage(main: pd.DataFrame) -> Values | None:
    """How often conformal intervals contain the label, and how wide they are."""
    own = select(main, measure="coverage").dropna(subset="mean")
    if own.empty:
        return None
    width = select(main, measure="width").set_index(["level", "question"])["mean"]
    keys = list(zip(own["level"], own["question"], strict=True))
    widths = pd.Series([float(width.get(key, float("nan"))) for key in keys])
    known = widths.dropna()
    frame = own.assign(width=widths.to_numpy(), scorer=own["level"].map(_title))
    return {
        "range": f"{share(own['mean'].min())} to {share(own['mean'].max())}",
        "width": f"{number(known.min(), 1)} to {number(known.max(), 1)}" if len(known) else None,
        "table": cells(frame, "scorer question mean:percent sd:0.00 width:0.00 n:0"),
    }


def _beside_papers(
    main: pd.DataFrame, published: Frames, columns: Mapping[str, tuple[str, str]], **printed: str
) -> pd.DataFrame:
    """A row for each question: a column for each level and measure, and one for each paper."""
    rows = []
    for question in sorted(main["question"].unique()):
        row: Values = {"question": question}
        for name, (level, measure) in columns.items():
            found = find_row(main, level=level, question=question, measure=measure)
            row[name] = found["mean"] if found else float("nan")
        for paper, file in PUBLISHED.items():
            line = find_row(table(published, file), question=question, **printed)
            row[paper] = line["mean"] if line else float("nan")
        rows.append(row)
    return pd.DataFrame(rows)


def _compare_scc(main: pd.DataFrame, published: Frames) -> Values:
    """Rho and its mean with p, which P1 prints; where p is large the mean is larger than rho."""
    rho, mean = "spearman_of_stars", "scc_as_published"
    columns = {
        "linear_rho": ("pasta-linear", rho),
        "linear_mean": ("pasta-linear", mean),
        "ordinal_rho": (BEST, rho),
        "ordinal_mean": (BEST, mean),
    }
    frame = _beside_papers(main, published, columns, metric="SCC", model="CLIP")
    larger = None
    for short, name in {"linear": "linear network", "ordinal": "ordinal model"}.items():
        apart = (frame[f"{short}_mean"] - frame[f"{short}_rho"]).to_numpy(float)
        if larger is None and (apart > 0).any():
            row = frame.iloc[int(np.nanargmax(apart))]
            numbers = {key: number(row[f"{short}_{key}"]) for key in ("rho", "mean")}
            larger = {"scorer": name, "question": row["question"], **numbers}
    formats = [f"{name}:0.00" for name in (*columns, *PUBLISHED)]
    return {"larger": larger, "table": cells(frame, ["question", *formats])}


def _compare_people(main: pd.DataFrame, published: Frames) -> Values:
    """People compared with a mode that contains their own vote, and with one that does not."""
    columns = {
        "own_qwk": (OWN_VOTE, "qwk"),
        "out_qwk": (LEAVE_ONE_OUT, "qwk"),
        "own_mse": (OWN_VOTE, "mse"),
        "out_mse": (LEAVE_ONE_OUT, "mse"),
    }
    frame = _beside_papers(main, published, columns, metric="QWK", model="human")
    gap = (frame["own_qwk"] - frame["out_qwk"]).dropna()
    formats = [f"{name}:0.00" for name in (*columns, *PUBLISHED)]
    return {
        "gap": f"{number(gap.min())} to {number(gap.max())}" if len(gap) else None,
        "table": cells(frame, ["question", *formats]),
    }
