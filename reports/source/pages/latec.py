"""latec.pdf: which explanation methods metrics prefer, and whether metrics agree with people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pasta.benchmark.catalog import choose_metrics
from pasta.benchmark.settings import BenchmarkParams
from pasta.benchmark.tables import ALL_MODALITIES, CRITERIA, EVERY
from pasta.studies.ratings.settings import MAIN
from reports.source.data import LATEC, REPORTS, VOTES, Data
from reports.source.format import bounded, cells, count, interval, listed, number, p_value, share
from reports.source.names import dataset_name, method_name, model_name
from reports.source.pages.parts import find_row, select, table
from reports.source.plots.latec import (
    architectures_figure,
    cells_figure,
    correlations_figure,
    distances_figure,
    distributions_figure,
    people_figure,
    ranks_figure,
    stability_figure,
)
from reports.source.typesetting import Report

Frames = Mapping[str, pd.DataFrame]
Values = dict[str, Any]
_BEST = 3  # methods that a sentence names
_SHIFT = 1.0  # ranks
_SENTENCES = 5
_TEXTS = ("note", "members", "level", "status")
ALL_METHODS = "all techniques"
_SCOPES = {  # of average ranks, and the paper's table
    "all": "LATEC's Table 2: all classifiers",
    "without attention": "LATEC's Table 11: networks without attention alone",
    "with attention": "LATEC's Table 12: transformers alone",
}
BENCHMARKED = BenchmarkParams.model_fields["models"].default


@REPORTS.register(
    "latec",
    about="explanation methods ranked by metrics, and metrics against people",
    reads=(VOTES, LATEC),
    figures=tuple(f"gallery/latec_{name}.jpg" for name in BENCHMARKED),
)
def latec(data: Data) -> Report:
    """The benchmark."""
    found = data.parts.get("latec", {})
    pictures = {name: file for name, file in data.pictures.items() if name.startswith("latec_")}
    printed = data.published["latec_table03_performance"]
    return latec_report(found, pictures, data.simulated, data.setting.reading, printed)


def latec_report(
    tables: Frames,
    pictures: Mapping[str, Path],
    simulated: bool,
    reading: str = "corrected",
    printed: pd.DataFrame | None = None,
) -> Report:
    """Collect what ``latec.typ`` shows.

    Parameters
    ----------
    tables
        Those of :mod:`pasta.benchmark.ranks`.
    pictures
        Maps of all methods by classifier, ``latec_<classifier>``.
    simulated
        Whether the votes are those of simulated raters.
    reading
        The main one.
    printed
        The classifiers of the paper (its Table 3).
    """
    found = _filled(tables)
    kinds = list(dict.fromkeys(table(found, "averages").get("modality", [])))
    parts = {kind: _of_modality(found, kind) for kind in kinds}
    main = next(iter(parts.values()), found)  # images, if there are any
    whole = _of_modality(found, ALL_MODALITIES) if len(kinds) > 1 else main
    methods, metrics = table(main, "methods"), table(main, "metrics")
    order = _order(table(main, "averages"), methods)
    titles = {name: method_name(name) for name in order}
    codes = dict(zip(methods["method"], methods["code"], strict=True)) if len(methods) else {}
    short = {name: str(codes.get(name, name)) for name in order}
    metric_codes = _codes(metrics)
    content = {
        "lacks": [
            f"{str(row['section']).capitalize()}: {row['why']}."
            for row in table(found, "missing").to_dict("records")
        ],
        "main": MAIN,
        "sizes": _sizes(found),
        "findings": _findings(found, main, titles, metric_codes),
        "across": [
            {"words": words, "table": _tabulate_across(parts, titles, short, scope)}
            for scope, words in _SCOPES.items()
        ],
        "alike": _tabulate_alike(table(whole, "modality_agreement")),
        "modalities": [
            {
                "name": kind,
                "ranks": ranks_figure(_ranked(part), [*CRITERIA, EVERY], _known(part, titles)),
                "averages": _tabulate_averages(_ranked(part), _known(part, titles), short),
                "cells": cells_figure(table(part, "ranks"), _known(part, titles), metric_codes),
                "spread": _tabulate_spread(part, _known(part, titles)),
                "distances": distances_figure(table(part, "distances"), metric_codes),
                "values": distributions_figure(
                    table(part, "distributions"), _known(part, short), metric_codes
                ),
                "critical": _describe_critical(table(part, "critical")),
                "stability": stability_figure(table(part, "stability")),
            }
            for kind, part in parts.items()
        ],
        "codes": _explain_codes(metrics),
        "correlations": correlations_figure(table(whole, "correlations"), short),
        "groups": _tabulate_groups(table(found, "groups")),
        "apart": architectures_figure(table(found, "architectures"), titles, model_name),
        "architectures": _tabulate_architectures(table(found, "architecture_agreement")),
        "accuracy": _tabulate_accuracy(table(found, "accuracy")),
        "models": _tabulate_models(table(found, "facts"), reading),
        "printed": None if printed is None else _tabulate_printed(printed),
        "readings": _tabulate_readings(main, metric_codes),
        "moves": _tabulate_moves(parts, titles, metric_codes),
        "needed": _tabulate_needed(table(found, "needed")),
        "people": _people(found),
        "pictures": _list_pictures(pictures, table(found, "ranks")),
        "failures": _tabulate_failures(table(found, "facts"), reading),
        "equal": _tabulate_equal(table(found, "facts"), reading),
        "conserved": _tabulate_conserved(table(found, "facts"), reading),
        "counts": _tabulate_counts(table(found, "counts"), metric_codes, reading),
    }
    kept = ("averages", "ranks", "distributions", "spread", "architectures", "correlations",
            "reading_metrics", "reading_ranks", "left_out", "people", "committees",
            "people_orders", "facts", "counts")  # fmt: skip
    return Report(
        "latec", simulated, content, tables={one: found[one] for one in kept if one in found}
    )


def _of_modality(found: Frames, kind: str) -> dict[str, pd.DataFrame]:
    """The rows of one modality, of the tables that say it."""
    return {
        name: select(frame, modality=kind) for name, frame in found.items() if "modality" in frame
    }


def _ranked(part: Frames, scope: str = "all") -> pd.DataFrame:
    return _enough(select(table(part, "averages"), scope=scope))


def _known(part: Frames, titles: Mapping[str, str]) -> dict[str, str]:
    """Titles of the methods that a modality has, by their average rank there."""
    return {name: titles[name] for name in _order(table(part, "averages"), table(part, "methods"))}


def _list_pictures(pictures: Mapping[str, Path], ranks: pd.DataFrame) -> list[Values]:
    """Maps by classifier, in the study's order."""
    kinds = dict(zip(ranks["model"], ranks["modality"], strict=True)) if len(ranks) else {}
    models = [name for name in BENCHMARKED if f"latec_{name}" in pictures]
    return [
        {
            "file": pictures[f"latec_{name}"],
            "model": model_name(name),
            "modality": str(kinds.get(name, "image")),
        }
        for name in models
    ]


def _order(averages: pd.DataFrame, methods: pd.DataFrame) -> list[str]:
    """Methods by their average rank over all metrics, the best first, then those without one."""
    own = select(averages, scope="all", criterion=EVERY)
    ranked = list(own.sort_values(["estimate", "method"])["method"]) if len(own) else []
    return list(dict.fromkeys(str(one) for one in (*ranked, *methods.get("method", []))))


def _enough(averages: pd.DataFrame) -> pd.DataFrame:
    """Without the averages of methods that have a rank from less than half of the metrics."""
    return averages[averages["n"] >= averages["missing"]] if len(averages) else averages


def _sizes(found: Frames) -> Values:
    ranks, counts = table(found, "ranks"), table(found, "counts")
    if ranks.empty:
        return {"there": False}
    needed = table(found, "needed")
    return {
        "there": True,
        "methods": int(ranks["method"].nunique()),
        "metrics": int(ranks["metric"].nunique()),
        "models": int(ranks["model"].nunique()),
        "datasets": listed([dataset_name(str(one)) for one in ranks["dataset"].unique()]),
        "observations": int(needed["observations"].min()) if len(needed) else 0,
        "values": int(counts["n"].sum()),
    }


def latec_findings(tables: Frames) -> list[str]:
    """What the benchmark has found, at most five sentences."""
    found = _filled(tables)
    kinds = list(dict.fromkeys(table(found, "averages").get("modality", [])))
    main = _of_modality(found, kinds[0]) if kinds else found
    order = _order(table(main, "averages"), table(main, "methods"))
    titles = {name: method_name(name) for name in order}
    return _findings(found, main, titles, _codes(table(main, "metrics")))


def _filled(tables: Frames) -> dict[str, pd.DataFrame]:
    """The tables with empty texts in place of missing ones."""
    return {
        name: frame.assign(**{text: frame[text].fillna("") for text in _TEXTS if text in frame})
        for name, frame in tables.items()
    }


def _codes(metrics: pd.DataFrame) -> dict[str, str]:
    return dict(zip(metrics["metric"], metrics["code"], strict=True)) if len(metrics) else {}


def _findings(
    found: Frames, main: Frames, titles: Mapping[str, str], codes: Mapping[str, str]
) -> list[str]:
    """At most five sentences, on the first modality unless they say another."""
    said = [
        _say_best(table(main, "averages"), titles),
        _say_modalities(table(found, "modality_agreement")),
        _say_agreement(table(main, "agreement"), table(main, "groups")),
        _say_readings(table(main, "reading_ranks"), titles),
        _say_people(table(found, "people"), table(found, "committees"), codes),
        _say_needed(table(main, "needed")),
    ]
    return [one for one in said if one][:_SENTENCES]


def _say_modalities(alike: pd.DataFrame) -> str:
    own = select(alike, criterion="faithfulness")
    if own.empty or own["estimate"].isna().all():
        return ""
    pairs = [
        f"{number(row['estimate'])} between {row['first']}s and {row['second']}s"
        for row in own.to_dict("records")
    ]
    return (
        "A method's rank in faithfulness depends on what it explains: Kendall's tau between the "
        f"orders of methods is {listed(pairs)}."
    )


def _say_best(averages: pd.DataFrame, titles: Mapping[str, str]) -> str:
    parts = []
    for criterion in CRITERIA:
        own = _enough(select(averages, scope="all", criterion=criterion))
        if own.empty or own["estimate"].isna().all():
            continue
        own = own.dropna(subset="estimate")
        best = own.sort_values("estimate").iloc[0]
        tied = own[(own["low"] <= best["estimate"]) & (own["method"] != best["method"])]
        name = titles.get(str(best["method"]), str(best["method"]))
        words = f"{name} in {criterion} ({number(best['estimate'], 1)}"
        parts.append(
            words + (f"; {count(len(tied), 'other')} may be as good)" if len(tied) else ")")
        )
    kind = "" if averages.empty else f" on {averages['modality'].iloc[0]}s"
    return f"The best average ranks{kind} are those of {listed(parts)}." if parts else ""


def _say_agreement(agreement: pd.DataFrame, groups: pd.DataFrame) -> str:
    own = select(agreement, reference="exact", criterion="weighted")
    if own.empty or own["estimate"].isna().all():
        return ""
    text = (
        "Metrics of one criterion agree on the rank of a method more than random ranks would in "
        f"{share(own['estimate'].mean())} of the tests (5 % by chance)"
    )
    row = find_row(groups, criterion="faithfulness", quantity="spread")
    if row is None or not np.isfinite(row["estimate"]):
        return text + "."
    verdict = (
        "not more" if row["p_permutation"] >= 0.05 else ("more" if row["estimate"] > 0 else "less")
    )
    return text + (
        f"; in faithfulness they disagree {verdict} on attention than on attribution methods "
        f"(difference of standard deviations {number(row['estimate'])})."
    )


def _say_readings(final: pd.DataFrame, titles: Mapping[str, str]) -> str:
    own = final[final["change"].abs() >= _SHIFT] if "change" in final else final
    parts = []
    for reading in dict.fromkeys(final["reading"]) if len(final) else []:
        every, moved = select(final, reading=reading), select(own, reading=reading)
        if moved.empty:
            continue
        worst = _largest(moved, "change")
        name = titles.get(str(worst["method"]), str(worst["method"]))
        parts.append(
            f'"{reading}" moves {len(moved)} of {len(every)} places '
            f"(most of all {name} by {number(abs(worst['change']), 0)} in {worst['criterion']})"
        )
    return f"Against the corrected reading, {listed(parts)}." if parts else ""


def _largest(rows: pd.DataFrame, column: str) -> pd.Series[Any]:
    """The row with the largest value, whatever its sign in a column of changes."""
    values = rows[column].to_numpy(np.float64)
    sizes = np.abs(values) if column == "change" else values
    return rows.iloc[int(np.nanargmax(sizes))]


def _say_needed(needed: pd.DataFrame) -> str:
    if needed.empty:
        return ""
    parts = [
        f"{row['criterion']} {'more than were tried' if pd.isna(row['n']) else number(row['n'], 0)}"
        for row in needed.to_dict("records")
    ]
    there = number(needed["observations"].min(), 0)
    return (
        f"For an order that hardly changes (Kendall's tau of 0.9) each dataset needs "
        f"{listed(parts)} observations; {there} are here."
    )


def _say_people(people: pd.DataFrame, committees: pd.DataFrame, codes: Mapping[str, str]) -> str:
    own = select(people, outcome=MAIN, scope="across groups") if len(people) else people
    if own.empty or own["estimate"].isna().all():
        return ""
    best = _largest(own, "estimate")
    name = codes.get(str(best["predictor"]), str(best["predictor"]))
    text = (
        f"Of the metrics, {name} follows what people said ({MAIN}) most closely, with Spearman's "
        f"rho {number(best['estimate'])} {interval(best['low'], best['high'])}"
    )
    held = select(committees, outcome=MAIN, scope="held-out groups", compared="items",
                  part=ALL_METHODS)  # fmt: skip
    held = held[held["kind"] != "single"] if len(held) else held
    if held.empty or held["estimate"].isna().all():
        return text + "."
    top = _largest(held, "estimate")
    return text + (
        f"; on techniques that it has not seen the best committee ({top['kind']}) reaches "
        f"{number(top['estimate'])} {interval(top['low'], top['high'])}."
    )


def _tabulate_averages(
    averages: pd.DataFrame, titles: Mapping[str, str], short: Mapping[str, str]
) -> Values | None:
    """LATEC's Table 2: an average rank, its interval and the spread between metrics."""
    if averages.empty:
        return None
    rows = []
    for name, title in titles.items():
        row: dict[str, Any] = {"method": f"{title} [{short[name]}]"}
        for criterion in (*CRITERIA, EVERY):
            own = find_row(averages, method=name, criterion=criterion)
            if own is None or pd.isna(own["estimate"]):
                row[criterion] = ""
                continue
            mark = "*" if own["missing"] else ""
            ends = interval(own["low"], own["high"], 1)
            row[criterion] = f"{number(own['estimate'], 1)}{mark} {ends}, {number(own['sd'], 1)}"
        rows.append(row)
    return cells(pd.DataFrame(rows), ["method", *CRITERIA, EVERY])


def _explain_codes(metrics: pd.DataFrame) -> str:
    if metrics.empty:
        return ""
    pairs = zip(metrics["code"], metrics["title"], strict=True)
    return ", ".join(f"{code} {title}" for code, title in pairs)


def _tabulate_across(
    parts: Mapping[str, Frames], titles: Mapping[str, str], short: Mapping[str, str], scope: str
) -> Values | None:
    """LATEC's Tables 2, 11 and 12: average rank and spread between metrics of all modalities."""
    ranked = {kind: _ranked(part, scope) for kind, part in parts.items()}
    if len(parts) < 2 or all(own.empty for own in ranked.values()):
        return None
    rows = []
    for name in titles:
        row: dict[str, Any] = {"method": short[name]}
        for criterion in CRITERIA:
            for kind, averages in ranked.items():
                own = find_row(averages, method=name, criterion=criterion)
                text = ""
                if own is not None and pd.notna(own["estimate"]):
                    text = f"{number(own['estimate'], 1)} ({number(own['sd'], 1)})"
                row[f"{criterion[0].upper()}, {kind}"] = text
        if any(row[column] for column in row if column != "method"):
            rows.append(row)
    columns = [f"{criterion[0].upper()}, {kind}" for criterion in CRITERIA for kind in parts]
    return cells(pd.DataFrame(rows), ["method", *columns])


def _tabulate_alike(alike: pd.DataFrame) -> Values | None:
    if alike.empty:
        return None
    named = alike.assign(pair=alike["first"] + "s and " + alike["second"] + "s")
    return cells(named, "pair criterion n:0 estimate:0.00 p:p")


def _tabulate_spread(part: Frames, titles: Mapping[str, str]) -> Values | None:
    """SD between metrics, and the share of tests in which they agree, by method and classifier."""
    spread, agreement = table(part, "spread"), table(part, "agreement")
    if spread.empty:
        return None
    own = select(spread, by="method")
    rows = []
    for name, title in titles.items():
        row: dict[str, Any] = {"method": title}
        for criterion in (*CRITERIA, "weighted"):
            sd = find_row(own, level=name, criterion=criterion)
            exact = find_row(agreement, method=name, criterion=criterion, reference="exact")
            text = "" if sd is None or pd.isna(sd["estimate"]) else number(sd["estimate"], 1)
            if text and exact is not None and not pd.isna(exact["estimate"]):
                text += f" ({share(exact['estimate'])})"
            row[criterion] = text
        rows.append(row)
    for by, name_of in (("model", model_name), ("dataset", dataset_name)):
        for level in dict.fromkeys(select(spread, by=by)["level"]):
            line: dict[str, Any] = {"method": f"on {name_of(str(level))}"}
            for criterion in (*CRITERIA, "weighted"):
                sd = find_row(spread, by=by, level=level, criterion=criterion)
                there = sd is not None and pd.notna(sd["estimate"])
                line[criterion] = number(sd["estimate"], 1) if there and sd else ""
            rows.append(line)
    return cells(pd.DataFrame(rows), ["method", *CRITERIA, "weighted"])


def _tabulate_groups(groups: pd.DataFrame) -> Values | None:
    if groups.empty:
        return None
    columns = "modality criterion quantity estimate:0.00 low:interval p_permutation:p"
    return cells(groups, columns)


def _tabulate_architectures(agreement: pd.DataFrame) -> Values | None:
    if agreement.empty:
        return None
    named = agreement.assign(
        pair=agreement["first"].map(model_name) + " and " + agreement["second"].map(model_name)
    )
    return cells(named, "modality pair criterion n:0 estimate:0.00 low:interval")


def _tabulate_accuracy(accuracy: pd.DataFrame) -> Values | None:
    if accuracy.empty:
        return None
    return cells(accuracy, "modality criterion n:0 estimate:0.00 p:p note")


def _tabulate_models(facts: pd.DataFrame, reading: str) -> Values | None:
    own = select(facts, reading=reading, quantity="macro_f1")
    right = select(facts, reading=reading, quantity="accuracy")
    if own.empty:
        return None
    both = own.merge(right, on=["dataset", "model"], suffixes=("", "_right"))
    both = both.assign(
        dataset=both["dataset"].map(dataset_name),
        model=both["model"].map(model_name),
        f1=both["value"],
        accuracy=both["value_right"],
    )
    return cells(both, "dataset model accuracy:percent f1:0.00")


def _tabulate_printed(printed: pd.DataFrame) -> Values:
    """The paper's classifiers, a row for each dataset."""
    own = printed.assign(
        cell=[f"{one['model']} {number(one['f1'])}" for one in printed.to_dict("records")]
    )
    rows = [(name, "; ".join(part["cell"])) for name, part in own.groupby("dataset", sort=False)]
    return cells(pd.DataFrame(rows, columns=["dataset", "f1"]), "dataset f1")


def _tabulate_readings(found: Frames, codes: Mapping[str, str]) -> Values | None:
    """The three readings, metric by metric and in the final ranks."""
    metrics, final = table(found, "reading_metrics"), table(found, "reading_ranks")
    if metrics.empty:
        return None
    named = metrics.assign(metric=metrics["metric"].map(lambda one: codes.get(one, one)))
    wide = []
    for (criterion, metric), own in named.groupby(["criterion", "metric"], sort=False):
        row: dict[str, Any] = {"criterion": criterion, "metric": metric}
        for one in own.to_dict("records"):
            row[f"{one['reading']} tau"] = number(one["estimate"])
            row[f"{one['reading']} moved"] = number(one["moved"], 1)
        wide.append(row)
    frame = pd.DataFrame(wide).fillna("")
    readings = list(dict.fromkeys(final["reading"]))
    places = []
    for method, own in final.groupby("method", sort=False):
        line: dict[str, Any] = {"method": method_name(str(method))}
        for criterion in CRITERIA:
            known = [find_row(own, criterion=criterion, reading=one) for one in readings]
            line[criterion] = ", ".join(
                number(np.nan if one is None else one["place"], 1).removesuffix(".0")
                for one in known
            )
        places.append(line)
    return {
        "metrics": cells(frame, list(frame.columns)),
        "ranks": cells(pd.DataFrame(places), ["method", *CRITERIA]),
        "names": listed([f'"{one}"' for one in readings]),
    }


def _tabulate_moves(
    parts: Mapping[str, Frames], titles: Mapping[str, str], codes: Mapping[str, str]
) -> Values | None:
    """What moves most when a metric, a dataset, a classifier or half of the images is left out."""
    rows = [
        row | {"modality": kind}
        for kind, part in parts.items()
        for row in _list_moves(part, titles, codes)
    ]
    if not rows:
        return None
    columns = ["modality", "left out", "criterion", "mean:0.00", "largest:0.00", "which"]
    return cells(pd.DataFrame(rows), [*columns, "tau:0.00"])


def _list_moves(
    part: Frames, titles: Mapping[str, str], codes: Mapping[str, str]
) -> list[dict[str, Any]]:
    left, half = table(part, "left_out"), table(part, "half")
    rows: list[dict[str, Any]] = []
    for (kind, criterion), own in (
        left.groupby(["left_out", "criterion"], sort=False) if len(left) else []
    ):
        known = own.dropna(subset=["change"])
        if known.empty:
            continue
        worst = _largest(known, "change")
        level = str(worst["level"])
        names = {"metric": codes.get(level, level), "dataset": dataset_name(level)}
        rows.append(
            {
                "left out": f"one {kind}",
                "criterion": criterion,
                "mean": known["change"].abs().mean(),
                "largest": abs(worst["change"]),
                "which": f"{titles.get(str(worst['method']), worst['method'])} without "
                f"{names.get(str(kind), model_name(level))}",
                "tau": known["tau"].min(),
            }
        )
    for criterion, own in half.groupby("criterion", sort=False) if len(half) else []:
        rows.append(
            {
                "left out": "half of the images",
                "criterion": criterion,
                "mean": own["estimate"].mean(),
                "largest": own["largest"].max(),
                "which": titles.get(str(_largest(own, "largest")["method"]), ""),
                "tau": np.nan,
            }
        )
    return rows


def _tabulate_needed(needed: pd.DataFrame) -> Values | None:
    if needed.empty:
        return None
    return cells(
        needed, "modality criterion methods:0 observations:0 n:0 estimate:0.00 low:interval note"
    )


def _describe_critical(critical: pd.DataFrame) -> list[str]:
    said = []
    for criterion, own in critical.groupby("criterion", sort=False) if len(critical) else []:
        first = own.iloc[0]
        if pd.isna(first["critical_difference"]):
            continue
        said.append(
            f"{criterion}: {number(first['critical_difference'], 1)} ranks, Friedman's "
            f"{p_value(first['p'])}"
        )
    return said


def _people(found: Frames) -> Values | None:
    people = table(found, "people")
    if people.empty or people["estimate"].isna().all():
        return None
    predictors = set(people["predictor"])
    known = [one for one in choose_metrics() if one.key in predictors]
    names, codes = ({one.key: getattr(one, key) for one in known} for key in ("title", "code"))
    rows = people[people["scope"] != "between groups"].copy()
    wide = []
    for name in names:
        row: dict[str, Any] = {"metric": codes[name]}
        for question in sorted(rows["outcome"].unique()):
            for scope, mark in (("across groups", ""), ("within groups", " within")):
                one = find_row(rows, predictor=name, outcome=question, scope=scope)
                text = "" if one is None or pd.isna(one["estimate"]) else number(one["estimate"])
                strong = one is not None and pd.notna(one["p_holm"]) and one["p_holm"] < 0.05
                row[question + mark] = text + ("*" if strong else "")
        wide.append(row)
    frame = pd.DataFrame(wide)
    committees = table(found, "committees")
    held = committees[committees["kind"] != "single"] if len(committees) else committees
    shown = select(held, outcome=MAIN)
    inside = (shown["scope"] == "within groups") | (shown["compared"] != "items within groups")
    shown = shown[(shown["scope"] != "across groups") & inside] if len(shown) else shown
    agreement = table(found, "people_agreement")
    orders = _tabulate_orders(table(found, "people_orders"))
    samples = people["n"].max()
    return {
        "n": int(samples),
        "figure": people_figure(people, names, MAIN),
        "table": cells(frame, list(frame.columns)),
        "committees": cells(
            shown,
            "part scope compared kind predictors:0 n:0 estimate:0.00 low:interval p_permutation:p",
        )
        if len(shown)
        else None,
        "agreement": cells(
            select(agreement, outcome=MAIN), "predictor n:0 estimate:0.00 low:interval p:p"
        )
        if len(agreement)
        else None,
        "orders": orders,
    }


def _tabulate_orders(orders: pd.DataFrame, most: int = 12) -> Values | None:
    """The techniques that people prefer, with their places by metrics."""
    stars = select(orders, kind="outcome", column=MAIN)
    if stars.empty:
        return None
    rows = []
    for row in stars.sort_values("place").head(most).to_dict("records"):
        method, _, backbone = str(row["group"]).partition("/")
        line: dict[str, Any] = {
            "technique": f"{method_name(method)} on {model_name(backbone)}",
            "stars": number(row["estimate"], 1),
            "by people": number(row["place"], 1),
        }
        for criterion in (*CRITERIA, EVERY):
            own = find_row(orders, kind="predictor", column=criterion, group=row["group"])
            line[criterion] = "" if own is None else number(own["place"], 1)
        rows.append(line)
    frame = pd.DataFrame(rows)
    return cells(frame, list(frame.columns))


def _tabulate_failures(facts: pd.DataFrame, reading: str) -> Values | None:
    own = select(facts, reading=reading, quantity="failed")
    own = own[own["value"] > 0] if len(own) else own
    if own.empty:
        return None
    named = own.assign(
        dataset=own["dataset"].map(dataset_name),
        model=own["model"].map(model_name),
        method=own["method"].map(method_name),
        maps=own["value"],
        why=own["note"],
    )
    return cells(named, "dataset model method maps:0 why")


def _tabulate_equal(facts: pd.DataFrame, reading: str) -> Values | None:
    """Methods whose maps are those of a simpler one."""
    own = select(facts, reading=reading, quantity="differs")
    if own.empty:
        return None
    rows = []
    for (model, method), part in own.groupby(["model", "method"], sort=False):
        largest = part["value"].max()
        rows.append(
            {
                "model": model_name(str(model)),
                "method": method_name(str(method)),
                "simpler": method_name(str(part["note"].iloc[0])),
                "difference": number(largest, 3),
                "verdict": "the same" if largest < 1e-3 else "differs",
            }
        )
    frame = pd.DataFrame(rows)
    return cells(frame, list(frame.columns))


def _tabulate_conserved(facts: pd.DataFrame, reading: str) -> Values | None:
    own = select(facts, reading=reading, quantity="conserved")
    if own.empty:
        return None
    wide = own.groupby(["method", "model", "note"], sort=False)["value"].median().reset_index()
    named = wide.assign(
        method=wide["method"].map(method_name), model=wide["model"].map(model_name), of=wide["note"]
    )
    return cells(named, "method model of value:0.00")


def _tabulate_counts(counts: pd.DataFrame, codes: Mapping[str, str], reading: str) -> Values | None:
    own = select(counts, reading=reading)
    if own.empty:
        return None
    rows = []
    for metric, part in own.groupby("metric", sort=False):
        without = part[part["status"] != "ok"]
        words = [f"{row['n']} {row['status']}" for row in without.to_dict("records")]
        rows.append(
            {
                "metric": codes.get(str(metric), str(metric)),
                "values": int(part.loc[part["status"] == "ok", "n"].sum()),
                "without": bounded(words, _BEST),
            }
        )
    return cells(pd.DataFrame(rows), "metric values:0 without")
