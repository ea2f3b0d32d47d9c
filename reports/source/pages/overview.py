"""overview.pdf: the experiment in pictures, what was found, and what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from pasta.studies.ratings.protocol import Protocol
from pasta.studies.ratings.settings import MAIN
from reports.source.changes import describe_changes, describe_versions, largest_changes
from reports.source.format import bounded, interval, listed, number, p_value
from reports.source.names import (
    LEAVE_ONE_OUT,
    metric_title,
    metric_titles,
    scorer_name,
    technique_name,
)
from reports.source.pages.agreement import mode_sentence, verdicts_sentence
from reports.source.pages.applications import applications_findings
from reports.source.pages.correlation import closest_sentence
from reports.source.pages.dataset import KINDS, count_study, differences_in_words
from reports.source.pages.parts import (
    HONEST,
    Tables,
    find_row,
    select,
    select_known,
    table,
    why_missing,
)
from reports.source.pages.score import find_significant
from reports.source.plots.correlation import forest_figure
from reports.source.plots.preference import KIND_COLOURS, groups_figure
from reports.source.plots.score import people_and_score_figure
from reports.source.typesetting import Report

Parts = Mapping[str, Tables]
QWK = {"study": "main", "measure": "qwk"}
SCOPES = {
    "overall": "Over all explanations",
    "within technique": "Among explanations of one technique",
}
WEAK = 0.2
CLOSEST = 7  # metrics in the picture
MOST = 6  # sentences on changes
USES = 3  # sentences on applications


def overview_report(
    parts: Parts,
    applications: Parts,
    simulated: bool,
    *,
    protocol: Protocol,
    question: str,
    compared: pd.DataFrame | None,
    further: Mapping[str, Sequence[str]] | None = None,
) -> Report:
    """Collect what ``overview.typ`` shows.

    Parameters
    ----------
    parts
        Tables of any of ``dataset``, ``agreement``, ``preference``, ``correlation`` (as their
        suites leave them) and ``score`` (summary, differences).
    applications
        Tables of any application, as `applications_report` takes them.
    simulated
        Whether the votes are those of simulated raters.
    protocol, question
        What was asked; the question whose predicted stars the applications use.
    compared
        The numbers of the version before and of this one, see
        :func:`reports.source.changes.compare_versions`; without them there is no page on changes.
    further
        Sentences on what other studies have found, by the question that each answers.
    """
    agreement, preference, correlation, score = (
        parts.get(name) for name in ("agreement", "preference", "correlation", "score")
    )
    better = {name: protocol.question(name).direction or 1 for name in protocol.stars}
    groups = ("group_tests", "sex", "age", "country")
    content = {
        "study": count_study(parts.get("dataset", {})),
        "numbers": three_numbers(parts),
        "metrics": closest_metrics_figure(correlation),
        "correlated": bool(correlation),
        "scored": bool(score),
        "agreement": _tell(agreement_findings(agreement), agreement, "agreement"),
        "bias": _tell(bias_findings(agreement), agreement, *groups),
        "preference": _tell(preference_findings(preference), preference, "ranking", "kinds"),
        "kinds": groups_figure(
            select_known(preference, "kinds"), colours=KIND_COLOURS, better=better
        ),
        "correlation": _tell(correlation_findings(correlation), correlation, "correlations"),
        "score": score_findings(score),
        "kappas": people_and_score_figure(table(score, "summary")),
        "applications": applications_findings(
            applications, protocol.question(question).direction or 1
        )[:USES],
        # the first sentence of each stands on the first page
        "further": [
            {"title": one, "said": list(said[1:]) or list(said)}
            for one, said in (further or {}).items()
        ],
        "changes": None if compared is None else _changes(compared),
        "findings": study_findings(parts, further or {}),
    }
    return Report("overview", simulated, content)


def _changes(compared: pd.DataFrame) -> dict[str, Any]:
    topics = describe_changes(compared)
    return {
        "versions": describe_versions(compared),
        "largest": largest_changes(compared, MOST),
        "topics": [{key: topic[key] for key in ("title", "summary")} for topic in topics],
    }


def three_numbers(parts: Parts) -> list[dict[str, str]]:
    """How well people agree, how closely a metric follows them, and how well a score does."""
    found = []
    kappas = select(select_known(parts.get("agreement"), "agreement"), measure=HONEST)
    for row in select(kappas, question="all").to_dict("records"):
        ends = interval(row["low"], row["high"])
        words = "kappa of an annotator with the mode of the others, all questions"
        found.append({"value": number(row["estimate"]), "ends": ends, "words": words})
    ranks = select(_rank_correlations(parts.get("correlation")), question=MAIN)
    if len(ranks):
        top = ranks.iloc[int(ranks["estimate"].abs().to_numpy().argmax())]
        name = metric_title(str(top["metric"]), top["variant"])
        words = f"rho of {MAIN} with {name}, of {len(ranks)} metrics the closest here"
        ends = interval(top["low"], top["high"])
        found.append({"value": number(top["estimate"]), "ends": ends, "words": words})
    tables = parts.get("score")
    main = select(table(tables, "summary"), **QWK, question=MAIN)
    own = find_row(main, level=_own_scorer(tables, main)) if len(main) else None
    if own is not None and pd.notna(own["mean"]):
        human = find_row(main, level=LEAVE_ONE_OUT)
        ends = "" if human is None else f"an annotator: {number(human['mean'])}"
        words = f"kappa of the score with the label on explanations that it has not seen, {MAIN}"
        found.append({"value": number(own["mean"]), "ends": ends, "words": words})
    return found


def closest_metrics_figure(tables: Tables | None) -> Figure | None:
    """The metrics that follow the first question most closely, with intervals."""
    found = _rank_correlations(tables)
    own = select(found, question=MAIN)
    if own.empty:
        return None
    order = own["estimate"].abs().sort_values(ascending=False, kind="stable").index
    return forest_figure(
        _name_variants(table(tables, "correlations")),
        metric_titles(_name_variants(own.loc[order].head(CLOSEST))),
    )


def _name_variants(rows: pd.DataFrame) -> pd.DataFrame:
    """A metric without variants has the empty one."""
    return rows.assign(variant=rows["variant"].fillna(""))


def _rank_correlations(tables: Tables | None) -> pd.DataFrame:
    """Spearman's correlations over all explanations."""
    return select(select_known(tables, "correlations"), method="spearman", scope="overall")


def _tell(said: list[str], tables: Tables | None, *sections: str) -> dict[str, Any]:
    return {"said": said} if said else {"missing": why_missing(tables, *sections)}


def study_findings(parts: Parts, further: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence on ratings, one on the score, and one on each further study."""
    rated = correlation_findings(parts.get("correlation"))
    rated = rated or preference_findings(parts.get("preference"))
    each = [rated, score_findings(parts.get("score")), *further.values()]
    return [said[0].replace("**", "") for said in each if said]


def agreement_findings(tables: Tables | None) -> list[str]:
    """How well annotators agree with the mode, and on which questions best and worst."""
    kappas = select(select_known(tables, "agreement"), measure=HONEST)
    if tables is None:
        return []
    said = [mode_sentence(tables)]
    if kappas.empty:  # of anonymous votes it is not known who gave them
        kappas = select(select_known(tables, "agreement"), measure="krippendorff_ordinal")
        mean = number(kappas["estimate"].mean()) if len(kappas) else ""
        said = [f"Krippendorff's alpha of the votes is {mean} on average." if mean else ""]
    each = kappas[kappas["question"] != "all"].sort_values("estimate")
    if len(each) > 1:
        worst, best = each.iloc[0], each.iloc[-1]
        said.append(
            f"They agree most on {best['question']} ({number(best['estimate'])}) and least on "
            f"{worst['question']} ({number(worst['estimate'])})."
        )
    return [sentence for sentence in said if sentence]


def bias_findings(tables: Tables | None) -> list[str]:
    """Whether it matters who rates."""
    tests = select_known(tables, "group_tests")
    if tables is None or tests.empty:
        return []
    return [sentence for sentence in [verdicts_sentence(tables)] if sentence]


def preference_findings(tables: Tables | None) -> list[str]:
    """Which techniques may be liked most, and whether kinds of explanation differ."""
    said = []
    ranked = select_known(tables, "ranking")
    if len(ranked) > 1:
        leading = ranked[ranked["rank_low"] == 1]
        names = [technique_name(name) for name in leading["technique"]]
        told = (
            f"**{names[0]}** is liked more than every other one"
            if len(names) == 1
            else f"{len(names)} cannot be told from the one that is liked most: {bounded(names, 4)}"
        )
        said.append(f"Of {len(ranked)} techniques, {told} (tests of every two).")
    gaps = select_known(tables, "kind_differences")
    if len(gaps):
        said += differences_in_words(
            gaps, lambda kind: KINDS.get(kind, kind), "Kinds of explanation"
        )
    return said


def correlation_findings(tables: Tables | None) -> list[str]:
    """How closely any metric follows the ratings, over all and within techniques."""
    found = select_known(tables, "correlations")
    ranks = select(found, method="spearman") if len(found) else found
    said = []
    for scope, where in SCOPES.items():
        own = select(ranks, scope=scope)
        if own.empty:
            continue
        weak = int((own["estimate"].abs() < WEAK).sum())
        closest = closest_sentence(own, MAIN)
        said += [f"{where}, {closest}"] if closest else []
        said.append(
            f"{where}, {weak} of {len(own)} correlations between a metric and a question are "
            f"weaker than {number(WEAK, 1)}."
        )
    return said


def score_findings(tables: Tables | None) -> list[str]:
    """How close the score comes to people, and what does better."""
    kappas = select(table(tables, "summary"), **QWK)
    if kappas.empty:
        return []
    name = _own_scorer(tables, kappas)
    own = select(kappas, level=name).dropna(subset=["mean"]).sort_values("mean")
    if own.empty:
        return []
    low, high = own.iloc[0], own.iloc[-1]
    first = own.sort_values("question").iloc[0]
    human = find_row(kappas, level=LEAVE_ONE_OUT, question=first["question"])
    beside = "" if human is None else f"; an annotator reaches {number(human['mean'])}"
    said = [
        f"On explanations that it has not seen, the score “{scorer_name(name)}” agrees with the "
        f"label at a quadratic kappa of **{number(first['mean'])}** on {first['question']}{beside}."
    ]
    if len(own) > 1:
        said.append(
            f"Over questions it goes from {number(low['mean'])} ({low['question']}) to "
            f"{number(high['mean'])} ({high['question']})."
        )
    return said + _rivals(tables, name)


def _own_scorer(tables: Tables | None, kappas: pd.DataFrame) -> str:
    """The scorer that the differences are about, else the best one on the first question."""
    differences = table(tables, "differences")
    if "scorer" in differences and len(differences):
        return str(differences["scorer"].iloc[0])
    machines = kappas[~kappas["level"].str.startswith("people")].dropna(subset=["mean"])
    first = machines[machines["question"] == machines["question"].min()]
    return str(first.sort_values("mean")["level"].iloc[-1]) if len(first) else ""


def _rivals(tables: Tables | None, name: str) -> list[str]:
    """Against P2's scorer and against whatever does significantly better."""
    found = select(table(tables, "differences"), scorer=name, measure="qwk")
    said = []
    published = select(found, than="pasta-mlp")
    if len(published):
        better = find_significant(published, 1)
        names = listed([str(question) for question in better["question"]])
        words = (
            f"significantly better on {names}"
            if names
            else "not significantly better on any question"
        )
        said.append(f"Against “{scorer_name('pasta-mlp')}” it is {words}.")
    worse = find_significant(found, -1) if len(found) else found
    for rival, rows in worse.groupby("than", sort=False) if len(worse) else []:
        gaps = listed(
            [
                f"{row['question']} ({number(-row['estimate'])} more, "
                f"adjusted {p_value(row['p_holm'])})"
                for _, row in rows.iterrows()
            ]
        )
        said.append(f"“{scorer_name(str(rival))}” is significantly better on {gaps}.")
    return said
