"""The numbers that versions of the experiment are compared by, as tables and as a short list.

The stage ``headlines`` leaves them in git: a table for each topic in ``reports/numbers``, which
``dvc plots diff`` draws and ``pasta changes`` puts into words, and about twenty of them in
``reports/headlines.json`` for ``dvc metrics diff`` and ``dvc exp show``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pasta.scoring.settings import SplitParams
from reports.source.names import (
    dataset_name,
    method_name,
    metric_title,
    model_name,
    scorer_name,
    technique_name,
)
from reports.source.pages.applications import CROSSED, ELSEWHERE, HELD_OUT
from reports.source.pages.parts import HONEST, Row, Tables, find_row, select, select_known, table

Parts = Mapping[str, Tables]
COLUMNS = ("name", "of", "n", "estimate", "low", "high")
PLACES = 4  # digits after the point; what lies behind depends on the machine
PUBLIC = "the public scorer"
EVERY = "all questions"
BASELINES = ("constant", "global-mean")  # always the same answer, so always kappa 0


@dataclass(frozen=True)
class Topic:
    """What a table is about.

    Attributes
    ----------
    title
        The heading above its numbers.
    subject
        What a number is called in a sentence, from the columns ``name`` and ``of``.
    places
        Digits after the point in sentences.
    """

    title: str
    subject: str
    places: int = 2


TOPICS = {
    "data": Topic("Data and votes", "the number of {name}", 0),
    "classifiers": Topic("Classifiers", "the accuracy of {name} on {of}"),
    "agreement": Topic("Agreement", "kappa of annotators with the mode of the others on {of}"),
    "bias": Topic("Bias", "{name} on {of}"),
    "kinds": Topic("Preference: kinds of explanation", "stars of {name} on {of}"),
    "techniques": Topic("Preference: techniques", "the strength of {name}"),
    "correlation": Topic("Correlation", "Spearman's rho of {name} with {of}"),
    "latec": Topic("Benchmark", "the average rank of {name} in {of}"),
    "utility": Topic("Utility", "the Utility of {name} in the experiment {of}"),
    "attention": Topic("Human attention", "the agreement of {name} with {of}"),
    "score": Topic("Score", "held-out kappa of {name} on {of}"),
    "applications": Topic("Applications", "{name}"),
}


def collect_numbers(
    parts: Parts, applications: Parts, public: str, split: SplitParams
) -> dict[str, pd.DataFrame]:
    """The tables of all topics, of what was computed.

    Parameters
    ----------
    parts
        Tables of any of ``dataset``, ``agreement`` (with those on bias), ``preference``,
        ``correlation``, ``latec``, ``utility``, ``attention`` and ``score``.
    applications
        Tables of any application.
    public
        The scorer that the public one is, by its name in the main study of the score.
    split
        How the score's data were divided.

    Returns
    -------
    A frame for each of ``TOPICS`` with name, of (a question or a dataset), n, estimate, low, high
    """
    found = {
        "data": _sizes(parts.get("dataset")),
        "classifiers": _accuracies(parts.get("dataset")),
        "agreement": _kappas(parts.get("agreement")),
        "bias": _group_effects(parts.get("agreement")),
        "kinds": _kinds(parts.get("preference")),
        "techniques": _strengths(parts.get("preference")),
        "correlation": _correlations(parts.get("correlation")),
        "latec": _ranks(parts.get("latec")),
        "utility": _utilities(parts.get("utility")),
        "attention": _attentive(parts.get("attention")),
        "score": _scorers(parts.get("score"), public, split),
        "applications": pd.DataFrame(_gains(applications)),
    }
    return {topic: _tidy(frame) for topic, frame in found.items()}


def choose_headlines(numbers: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """The numbers for DVC, rounded so that no noise of floats shows.

    They are few and their names are short, because each is a column of ``dvc exp show``. What was
    not computed is left out.
    """
    found: dict[str, Any] = {}
    sizes = numbers["data"].set_index("name")["estimate"]
    for short, name in (("votes", "votes"), ("rated", "samples"), ("raters", "annotators")):
        if name in sizes:
            found[short] = int(sizes[name])
    public = select(numbers["score"], name=PUBLIC)
    scored = zip(public["of"], public["estimate"], strict=True)
    means = {
        "accuracy": numbers["classifiers"]["estimate"].mean(),
        "people": select(numbers["agreement"], of=EVERY)["estimate"].mean(),
        **{f"score.{question}": kappa for question, kappa in scored},
        "kinds": numbers["kinds"]["estimate"].head(1).mean(),  # of the first question
        "metric": numbers["correlation"]["estimate"].abs().max(),
    }
    for use, rows in numbers["applications"].groupby("of", sort=False):
        means[str(use)] = rows["estimate"].mean()
    known = {name: float(value) for name, value in means.items() if np.isfinite(value)}
    return found | {name: round(value, 3) for name, value in known.items()}


def headline_metrics(analysis: str, tables: Tables) -> dict[str, float]:
    """The numbers of one analysis by which runs are compared, named as MLflow allows it.

    Of correlations that is the closest metric of each question; the tables have the others.
    """
    if analysis == "correlation":
        every = _tidy(_correlations(tables))
        closest = every.assign(size=every["estimate"].abs()).groupby("of")["size"].max()
        return {f"closest rho.{of}": float(rho) for of, rho in closest.items()}
    if analysis == "attention":  # of people with each other, and of maps with people
        scores = select(table(tables, "scores"), against="attention", score="agreement")
        means = {"overlap of people": table(tables, "agreement"), "agreement of maps": scores}
        found = {
            name: float(frame[column].mean())
            for (name, frame), column in zip(means.items(), ("iou", "estimate"), strict=True)
            if column in frame
        }
        return {name: value for name, value in found.items() if np.isfinite(value)}
    topics = {
        "dataset": _sizes,
        "agreement": _kappas,
        "bias": _group_effects,
        "preference": _kinds,
        "latec": _ranks,
        "utility": _utilities,
    }
    if analysis not in topics:  # of another study, whose tables have everything
        return {}
    rows = _tidy(topics[analysis](tables))
    names = [f"{row['name']}.{row['of']}".strip(".") for _, row in rows.iterrows()]
    names = [name.replace(",", "").replace("+", "p") for name in names]  # as MLflow allows
    return dict(zip(names, rows["estimate"].astype(float), strict=True))


def join_topics(numbers: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All tables as one, with the column ``topic`` in front."""
    frames = [numbers[topic].assign(topic=topic) for topic in TOPICS if topic in numbers]
    return pd.concat(frames, ignore_index=True)[["topic", *COLUMNS]]


def split_topics(joined: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What :func:`join_topics` has joined."""
    return {str(topic): rows[list(COLUMNS)] for topic, rows in joined.groupby("topic", sort=False)}


def _tidy(frame: pd.DataFrame) -> pd.DataFrame:
    """The common columns, rounded, with no minus before a zero."""
    full = frame.reindex(columns=list(COLUMNS))
    full[["name", "of"]] = full[["name", "of"]].astype(object).fillna("")
    values = full[["estimate", "low", "high"]].astype(float).round(PLACES) + 0.0
    return full.assign(n=full["n"].astype("Int64"), **values).reset_index(drop=True)


def _sizes(tables: Tables | None) -> pd.DataFrame:
    facts = table(tables, "study")
    if facts.empty:
        return facts
    value = pd.to_numeric(facts["value"], errors="coerce")  # days are no numbers
    return facts.assign(name=facts["what"], estimate=value).dropna(subset=["estimate"])


def _accuracies(tables: Tables | None) -> pd.DataFrame:
    rows = select_known(tables, "accuracy", measure="accuracy")
    if rows.empty:
        return rows
    return rows.assign(name=rows["model"].map(model_name), of=rows["dataset"].map(dataset_name))


def _kappas(tables: Tables | None) -> pd.DataFrame:
    rows = select_known(tables, "agreement", measure=HONEST)
    if rows.empty:
        return rows
    return rows.assign(name="annotators", of=rows["question"].replace("all", EVERY))


def _group_effects(tables: Tables | None) -> pd.DataFrame:
    """Sex and age on stars and on agreement; groups of few people are left to the report."""
    rows = select_known(tables, "group_tests")
    if rows.empty:
        return rows
    words = {"level": "stars", "agreement": "agreement with others"}
    rows = rows[rows["factor"].isin(["sex", "age"]) & rows["measure"].isin(words)]
    names = rows["measure"].map(words) + ", " + rows["comparison"]
    return rows.assign(name=names, of=rows["question"].replace("all", EVERY))


def _kinds(tables: Tables | None) -> pd.DataFrame:
    rows = select_known(tables, "kind_differences")
    if rows.empty:
        return rows
    names = rows["comparison"].str.replace(" - ", " minus ")
    return rows.assign(name=names, of=rows["question"].replace("all", EVERY))


def _strengths(tables: Tables | None) -> pd.DataFrame:
    rows = select_known(tables, "ranking")
    return rows if rows.empty else rows.assign(name=rows["technique"].map(technique_name))


def _correlations(tables: Tables | None) -> pd.DataFrame:
    rows = select_known(tables, "correlations", method="spearman", scope="overall")
    if rows.empty:
        return rows
    pairs = zip(rows["metric"], rows["variant"].fillna(""), strict=True)
    names = [metric_title(str(metric), str(variant)) for metric, variant in pairs]
    return rows.assign(name=names, of=rows["question"])


def _ranks(tables: Tables | None) -> pd.DataFrame:
    """Average ranks of explanation methods by the metrics of the benchmark."""
    rows = select_known(tables, "averages", scope="all")
    if rows.empty:
        return rows
    kinds = (", " + rows["modality"]).where(rows["modality"] != "image", "")
    return rows.assign(name=rows["method"].map(method_name), of=rows["criterion"] + kinds)


def _utilities(tables: Tables | None) -> pd.DataFrame:
    """Utility of the conditions of the meta-predictor study, after the screening."""
    rows = select_known(tables, "utility", people="screened")
    if rows.empty:
        return rows
    areas = rows[rows["k"].isna() & rows["low"].notna()]
    return areas.assign(name=areas["condition"].map(method_name), of=areas["experiment"])


def _attentive(tables: Tables | None) -> pd.DataFrame:
    """How far maps show what people marked: 1 - MAE of each technique, and of one person."""
    rows = select_known(tables, "scores", against="attention", score="agreement")
    if rows.empty:
        return rows
    names = [technique_name(one) if "/" in one else one for one in rows["technique"]]
    return rows.assign(name=names, of="human attention")


def _scorers(tables: Tables | None, public: str, split: SplitParams) -> pd.DataFrame:
    """Every scorer of the main study, and once more the one that everybody can call."""
    rows = select(table(tables, "summary"), study="main", measure="qwk")
    if rows.empty:
        return rows
    people = rows["level"].str.startswith("people")
    machines = rows[~people & ~rows["level"].isin(BASELINES) & rows["mean"].notna()]
    margin = _margin(machines["sd"], machines["n"], split)
    named = machines.assign(
        name=machines["level"].map(scorer_name),
        of=machines["question"],
        estimate=machines["mean"],
        low=machines["mean"] - margin,
        high=machines["mean"] + margin,
    )
    return pd.concat([select(named, level=public).assign(name=PUBLIC), named])


def _margin(sd: pd.Series, n: pd.Series, split: SplitParams) -> pd.Series:
    """Half of the 95 % interval of a mean over splits, which share their data.

    The variance is that of the corrected resampled t test (doi:10.1023/A:1024068626366), as in
    :func:`analysis.splits.corrected_t_test`.
    """
    quantile = stats.t.ppf(0.975, np.maximum(n - 1, 1))
    return pd.Series(quantile * sd * np.sqrt(1 / n + split.test_to_train), sd.index)


def _gains(applications: Parts) -> Iterator[dict[str, Any]]:
    """What each use of the score brings: in true quality if it is known, else in stars."""
    comparison = table(applications.get("mixture"), "comparison")
    for images in (CROSSED, HELD_OUT):
        own = select(comparison, images=images, against=ELSEWHERE)
        if len(own):
            yield from _gain("mixture", "choosing the best method for each image", own)
            break
    curve = table(applications.get("steering"), "curve")
    if len(curve):
        last = curve[curve["weight"] == curve["weight"].max()]
        yield from _gain("steering", "steering RISE by the score", last)
    verdicts = select(table(applications.get("tuning"), "verdict"), part=HELD_OUT)
    for technique, own in verdicts.groupby("technique", sort=False) if len(verdicts) else []:
        yield from _gain("tuning", f"tuning {technique_name(str(technique))}", own)


def _gain(short: str, words: str, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for measure, what in (("quality", "true quality"), ("score", "predicted stars")):
        row: Row | None = find_row(rows.dropna(subset=["estimate"]), measure=measure)
        if row is not None:
            values = {key: row[key] for key in ("n", "estimate", "low", "high")}
            yield {"name": f"gain in {what} by {words}", "of": short, **values}
            return
