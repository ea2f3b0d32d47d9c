"""dataset.pdf: images, models, techniques, perturbed copies, votes, and what people prefer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pasta.explanations.techniques import METHOD_TITLES
from pasta.studies.ratings.protocol import Protocol
from pasta.studies.ratings.settings import CHANGES, QUESTIONS
from reports.source.format import (
    cells,
    count,
    interval,
    listed,
    number,
    p_value,
    share,
    signed,
    whole,
)
from reports.source.names import dataset_name, model_name, technique_name
from reports.source.pages.parts import (
    ALPHA,
    Tables,
    find_row,
    select,
    select_known,
    table,
    why_missing,
)
from reports.source.plots.preference import (
    KIND_COLOURS,
    critical_difference_figure,
    favourites_figure,
    groups_figure,
    perturbations_figure,
    positions_figure,
    ranking_figure,
    stars_figure,
)
from reports.source.typesetting import Report

Values = dict[str, Any]
SPLITS = ("train", "validation", "test")
STATUSES = {
    "ok": "usable",
    "zero": "zero everywhere",
    "constant": "the same everywhere",
    "nan": "not a number",
}
FACTORS = {"sex": "Sex", "age_group": "Age", "country": "Country"}
KINDS = {"concept": "concept explanations", "saliency": "saliency maps"}
TOP = 12
DIMENSIONS = ("fidelity", "complexity", "objectivity", "robustness")


def dataset_report(
    tables: Mapping[str, Tables], pictures: Mapping[str, Path], simulated: bool, protocol: Protocol
) -> Report:
    """Collect what ``dataset.typ`` shows.

    Parameters
    ----------
    tables
        ``dataset`` and ``preference``, those of the modules of this name in
        :mod:`pasta.studies.ratings.analyses`; ``dataset`` may also have ``accuracy`` (dataset,
        model, measure, estimate, low, high).
    pictures
        Files by name: datasets, resnet50, vit_b_16, clip_zero_shot, concepts. Names that are not
        there are said to be missing.
    simulated
        Whether the votes are those of simulated raters.
    protocol
        What was asked.
    """
    counts, preferences = tables.get("dataset", {}), tables.get("preference", {})
    better = {name: protocol.question(name).direction or 1 for name in protocol.stars}
    gaps = select_known(preferences, "kind_differences")
    content = {
        "study": count_study(counts),
        "images": _describe_images(counts),
        "pictures": {name: file for name, file in pictures.items() if file.is_file()},
        "models": _describe_models(counts),
        "techniques": _describe_techniques(counts),
        "statuses": STATUSES,
        "perturbed": _describe_copies(counts),
        "votes": _describe_votes(counts),
        "margin": number(float(gaps["margin"].iloc[0])) if len(gaps) else None,
        "turned": [name for name, sign in better.items() if sign < 0],
        "kinds": _compare_kinds(preferences, better),
        "backbones": _compare_backbones(preferences, better),
        "order": _describe_order(preferences),
        "favourites": _describe_favourites(preferences),
        "rankings": _describe_rankings(preferences, protocol),
        "scores": _tabulate_scores(preferences, protocol),
    }
    every = select_known(preferences, "technique_scores")
    return Report("dataset", simulated, content, tables={"technique_scores": every})


def _lack(tables: Tables, section: str) -> Values:
    return {"missing": why_missing(tables, section)}


def count_study(counts: Tables) -> Values:
    """Sizes of the study by name, and the first and last day of its votes."""
    facts = table(counts, "study")
    if facts.empty:
        return _lack(counts, "study")
    values = {str(row["what"]): str(row["value"]) for _, row in facts.iterrows()}
    return {
        name.replace(" ", "_"): value if name.endswith("day") else int(value)
        for name, value in values.items()
    }


def _describe_images(counts: Tables) -> Values:
    splits, classes = table(counts, "splits"), table(counts, "classes")
    if splits.empty:
        return _lack(counts, "splits")
    rows = []
    for dataset in dict.fromkeys(splits["dataset"]):
        own = select(splits, dataset=dataset).set_index("split")["n"]
        sizes = select(classes, dataset=dataset)["n"]
        row: Values = {"dataset": dataset_name(str(dataset)), "all": int(own.sum())}
        row |= {split: int(own.get(split, 0)) for split in SPLITS}
        row |= {"classes": len(sizes), "least": sizes.min(), "most": sizes.max()}
        rows.append(row)
    frame = pd.DataFrame(rows)
    uneven = frame[frame["least"] != frame["most"]]
    return {
        "datasets": [
            f"{row['dataset']} ({count(row['classes'], 'class', 'classes')})" for row in rows
        ],
        "uneven": [
            f"{row['dataset']} from {whole(row['least'])} to {whole(row['most'])} images"
            for _, row in uneven.iterrows()
        ],
        "table": cells(frame, "dataset classes:0 train:0 validation:0 test:0 all:0 least:0 most:0"),
    }


def _describe_models(counts: Tables) -> Values | None:
    scores = select(table(counts, "accuracy"), measure="accuracy")
    if scores.empty:
        return None
    ordered = scores.sort_values("estimate", kind="stable")
    datasets = list(dict.fromkeys(scores["dataset"]))
    rows = []
    for model in dict.fromkeys(scores["model"]):
        row = {"model": model_name(str(model))}
        for dataset in datasets:
            cell = find_row(scores, model=model, dataset=dataset)
            row[dataset_name(str(dataset))] = "" if cell is None else _accuracy(cell)
        rows.append(row)
    worst, best = (
        f"{share(row['estimate'])} ({model_name(row['model'])} on {dataset_name(row['dataset'])})"
        for row in (ordered.iloc[0], ordered.iloc[-1])
    )
    frame = pd.DataFrame(rows)
    return {"n": len(rows), "worst": worst, "best": best, "table": cells(frame, list(rows[0]))}


def _accuracy(cell: Mapping[str, float]) -> str:
    ends = f"[{number(100 * cell['low'], 0)}, {number(100 * cell['high'], 0)}]"
    return f"{number(100 * cell['estimate'], 1)} {ends}"


def _describe_techniques(counts: Tables) -> Values:
    found = table(counts, "techniques")
    if found.empty:
        return _lack(counts, "techniques")
    extra = found["extra"].astype(bool) if found["extra"].notna().all() else None
    bad = found.assign(bad=found["n"] - found["ok"])
    bad = bad[bad["bad"] > 0].sort_values("bad", ascending=False, kind="stable").head(4)
    methods = found.assign(method=found["method"].map(lambda key: METHOD_TITLES.get(key, key)))
    grouped = methods.groupby(["kind", "method"], sort=False)
    summed = grouped[["n", *STATUSES, "rated"]].sum().reset_index()
    backbones = grouped["backbone"].agg(lambda keys: ", ".join(model_name(key) for key in keys))
    summed = summed.assign(backbones=backbones.to_numpy())
    summed = summed.sort_values("kind", ascending=False, kind="stable")
    return {
        "n": len(found),
        "extra": None if extra is None else extra.sum(),
        "extra_rated": extra is not None and bool(found.loc[extra, "rated"].any()),
        "explanations": int(found["n"].sum()),
        "usable": int(found["ok"].sum()),
        "unusable": [
            f"{whole(found[name].sum())} are {words}"
            for name, words in STATUSES.items()
            if name != "ok" and found[name].sum()
        ],
        "worst": [
            f"{technique_name(row['technique'])}: {whole(row['bad'])}" for _, row in bad.iterrows()
        ],
        "table": cells(summed, "method kind backbones n:0 ok:0 zero:0 constant:0 nan:0 rated:0"),
    }


def _describe_copies(counts: Tables) -> Values:
    strengths = table(counts, "strengths")
    if strengths.empty:
        return _lack(counts, "strengths")
    ends = {0: "none", 1: "all"}
    return {
        "strengths": [
            f"Of {whole(row['n'])} {row['strength']} copies the prediction changed for "
            f"{ends.get(row['changed']) or share(row['changed'], 1)}."
            for _, row in strengths.iterrows()
        ],
        "questions": " and ".join(CHANGES),
        "unusable": int(strengths["n"].sum() - strengths["ok"].sum()),
        "figure": perturbations_figure(table(counts, "perturbations")),
    }


def _describe_votes(counts: Tables) -> Values:
    questions = table(counts, "questions")
    if questions.empty:
        return _lack(counts, "questions")
    ordered = questions.sort_values("mean", kind="stable")
    low, high = (
        {"question": row["question"], "mean": number(row["mean"])}
        for row in (ordered.iloc[0], ordered.iloc[-1])
    )
    same = bool((questions["n"] == questions["n"].iloc[0]).all())
    columns = "question samples:0 annotators:0 n:0 mean:0.00 sd:0.00"
    return {
        "n": int(questions["n"].sum()),
        "each": int(questions["n"].iloc[0]) if same else None,
        "low": low,
        "high": high,
        "table": cells(questions, columns),
        "figure": stars_figure(table(counts, "stars")),
        "plan": _describe_plan(table(counts, "plan")),
        "people": _describe_people(counts),
    }


def _describe_plan(plan: pd.DataFrame) -> Values | None:
    if plan.empty:
        return None
    rows = {(row["what"], row["of"]): row for _, row in plan.iterrows()}
    votes = rows.get(("ratings", "sample"))
    common = rows.get(("samples in common", "pair of annotators"))
    named = [
        f"{row['what'].capitalize()} of {'an' if row['of'][0] in 'aeiou' else 'a'} {row['of']}"
        for _, row in plan.iterrows()
    ]
    return {
        "votes": None
        if votes is None
        else [whole(votes["least"]), whole(votes["most"]), number(votes["mean"], 1)],
        "common": None if common is None else [whole(common["least"]), whole(common["most"])],
        "table": cells(plan.assign(what=named), "what levels:0 least:0 mean:0.0 most:0"),
    }


def _describe_people(counts: Tables) -> Values:
    people = table(counts, "people")
    if people.empty:
        return _lack(counts, "people")
    shown = people.assign(factor=people["factor"].map(lambda name: FACTORS.get(name, name)))
    first = ~shown["factor"].duplicated()
    shown = shown.assign(factor=shown["factor"].where(first, " "))  # a dash would mean missing
    return {"table": cells(shown, "factor group n:0 votes:0 share:percent")}


def differences_in_words(
    differences: pd.DataFrame, name: Callable[[str], str], what: str
) -> list[str]:
    """Sentences on which comparisons are certain, which are equal in practice, and which open."""
    tested = differences.dropna(subset=["p"]) if len(differences) else differences
    if tested.empty:
        return []
    sure = tested[tested["p_holm"] < ALPHA]
    equal = tested[(tested["p_equivalence"] < ALPHA) & ~tested.index.isin(sure.index)]
    said = []
    if len(sure):
        found = [_difference(row, name) for _, row in sure.iterrows()]
        said.append(f"{what} differ clearly: {'; '.join(found)}.")
    else:
        said.append(
            f"No difference between {what[0].lower()}{what[1:]} is clear once "
            f"{count(len(tested), 'comparison')} are corrected for (Holm)."
        )
    if len(equal):
        margin = number(float(equal["margin"].iloc[0]))
        pairs = listed([f"{row['question']} ({_pair(row, name)})" for _, row in equal.iterrows()])
        said.append(f"Equal within {margin} stars: {pairs}.")
    rest = len(tested) - len(sure) - len(equal)
    if rest:
        least = float(tested["smallest_effect"].median())
        said.append(
            f"The other {count(rest, 'comparison')} {'is' if rest == 1 else 'are'} open: the study "
            f"could typically have seen a difference of {number(least)} stars or more."
        )
    return said


def _pair(row: pd.Series, name: Callable[[str], str]) -> str:
    first, _, second = str(row["comparison"]).partition(" - ")
    return f"{name(first)} and {name(second)}"


def _difference(row: pd.Series, name: Callable[[str], str]) -> str:
    first, _, second = str(row["comparison"]).partition(" - ")
    more = "more" if row["estimate"] > 0 else "fewer"
    return (
        f"on {row['question']} {name(first)} have {number(abs(row['estimate']))} stars {more} than "
        f"{name(second)} ({interval(row['low'], row['high'])}, {p_value(row['p_holm'])})"
    )


def _compare_kinds(tables: Tables, better: Mapping[str, int]) -> Values:
    means, gaps = select_known(tables, "kinds"), select_known(tables, "kind_differences")
    if means.empty:
        return _lack(tables, "kinds")
    ranked = table(tables, "ranking")
    numbers = dict(ranked["kind"].value_counts()) if "kind" in ranked else {}
    return {
        "said": differences_in_words(gaps, lambda key: KINDS.get(key, key), "Kinds of explanation"),
        "techniques": [f"{count(n, 'technique')} of the kind {key}" for key, n in numbers.items()],
        "why": why_missing(tables, "kind_differences"),
        "figure": groups_figure(means, colours=KIND_COLOURS, better=better),
        "table": _tabulate_differences(gaps, str) if len(gaps) else None,
    }


def _compare_backbones(tables: Tables, better: Mapping[str, int]) -> Values:
    means, gaps = select_known(tables, "backbones"), select_known(tables, "backbone_differences")
    if means.empty:
        return _lack(tables, "backbones")
    tested = gaps.dropna(subset=["p"]) if len(gaps) else gaps
    return {
        "said": differences_in_words(
            gaps, lambda backbone: f"maps of {model_name(backbone)}", "Saliency maps of backbones"
        ),
        "single": len(gaps) > len(tested),
        "figure": groups_figure(means, name=model_name, better=better),
        "table": _tabulate_differences(tested, model_name) if len(tested) else None,
    }


def _tabulate_differences(gaps: pd.DataFrame, name: Callable[[str], str]) -> Values:
    pairs = gaps["comparison"].str.partition(" - ")
    written = [f"{name(one)} − {name(two)}" for one, two in zip(pairs[0], pairs[2], strict=True)]
    columns = "question comparison n:0 estimate:signed low:interval p_holm:p p_equivalence:p"
    return cells(gaps.assign(comparison=written), f"{columns} smallest_effect:0.00")


def _describe_order(tables: Tables) -> Values:
    ranked, ranks = select_known(tables, "ranking"), select_known(tables, "critical_difference")
    if ranked.empty:
        return _lack(tables, "ranking")
    judge = _unit(select_known(tables, "top_techniques"))
    values = describe_ranking(ranked) | {"figure": ranking_figure(ranked), "judge": judge}
    if ranks.empty:
        return values | {"ranks": _lack(tables, "critical_difference")}
    kinds = dict(zip(ranked["technique"], ranked["kind"], strict=True))
    figure = critical_difference_figure(ranks, kinds, judge)
    return values | {"ranks": describe_mean_ranks(ranks) | {"figure": figure}}


def describe_ranking(ranked: pd.DataFrame) -> Values:
    """Who leads, who is last, and how much of the order is certain."""
    ends = [
        {
            "technique": technique_name(row["technique"]),
            "strength": f"{signed(row['estimate'])} {interval(row['low'], row['high'])}",
            "places": f"{int(row['rank_low'])} to {int(row['rank_high'])}",
        }
        for row in (ranked.iloc[0], ranked.iloc[-1])
    ]
    compared = "rank_bradley_terry" in ranked and ranked["rank_bradley_terry"].notna().all()
    moved = int((ranked["rank"] - ranked["rank_bradley_terry"]).abs().max()) if compared else None
    return {"n": len(ranked), "first": ends[0], "last": ends[1], "moved": moved}


def describe_mean_ranks(ranks: pd.DataFrame) -> Values:
    """What annotators prefer, or what is preferred on images."""
    row = ranks.iloc[0]
    whole = row.get("test", "Friedman") == "Friedman"
    test = "Friedman's χ²" if whole else "Skillings' and Mack's χ²"
    return {
        "judges": int(row["n"]),
        "n": len(ranks),
        "differ": row["p"] < ALPHA,
        "whole": whole,
        "test": f"{test} = {number(row['chi_square'], 1)}, {p_value(row['p'])}",
        "critical": number(row["critical_difference"], 1),
    }


def _describe_favourites(tables: Tables) -> Values:
    top = select_known(tables, "top_techniques")
    if top.empty:
        return _lack(tables, "top_techniques")
    return describe_favourites(top) | {"figure": favourites_figure(top, _unit(top))}


def _unit(top: pd.DataFrame) -> str:
    """Whose favourites are counted: images stand for annotators who are not known."""
    notes = top["note"] if "note" in top else pd.Series(dtype=str)
    return "image" if notes.astype(str).str.contains("anonymous").any() else "annotator"


def describe_favourites(top: pd.DataFrame) -> Values:
    """Whose favourite the leader is, how many of the leaders are concepts, who is left out."""
    lead, best = top.iloc[0], top.head(TOP)
    return {
        "n": len(top),
        "unit": _unit(top),
        "all": len(top) <= TOP,
        "lead": {
            "technique": technique_name(lead["technique"]),
            "count": f"{lead['count']:.3g}",
            "annotators": int(lead["n"]),
            "shares": [share(lead[name]) for name in ("estimate", "low", "high")],
        },
        "concepts": (best["kind"] == "concept").sum() if best["kind"].notna().all() else None,
        "never": (top["count"] == 0).sum(),
    }


def _tabulate_scores(tables: Tables, protocol: Protocol) -> Values:
    scores = select_known(tables, "technique_scores")
    if scores.empty:
        return _lack(tables, "technique_scores")
    wide = scores.pivot_table(index="technique", columns="dimension", values="estimate")
    half = (scores["high"] - scores["low"]) / 2
    numbers = scores.groupby("technique")["n"].max()
    there = [name for name in DIMENSIONS if name in wide]
    wide = wide.assign(n=numbers, kind=scores.groupby("technique")["kind"].first())
    wide = wide.sort_values(there[0], ascending=False, kind="stable").reset_index()
    wide = wide.assign(technique=[technique_name(key) for key in wide["technique"]])
    columns = ["technique", "kind", "n:0", *(f"{name}:0.00" for name in there)]
    asked: dict[str, list[str]] = {}
    for question in QUESTIONS:
        asked.setdefault(str(protocol.question(question).desideratum), []).append(question)
    (first, its), *others = asked.items()
    terms = [f"{first.capitalize()} is {listed(its)}"]
    terms += [f"{name} {listed(names)}" for name, names in others]
    return {
        "half": number(float(half.median())),
        "n": len(wide),
        "table": cells(wide.head(TOP), columns),
        "dimensions": f"{', '.join(terms)}.",
        **{strength: question for question, strength in CHANGES.items()},
    }


def _describe_rankings(tables: Tables, protocol: Protocol) -> Values:
    positions = select_known(tables, "positions")
    if positions.empty:
        return _lack(tables, "positions")
    ends = {one.id: (one.lowest or "", one.highest or "") for one in protocol.rankings}
    return {
        "concordance": describe_concordance(select_known(tables, "concordance"), positions, ends),
        "figure": positions_figure(positions, ends),
    }


def describe_concordance(
    agreed: pd.DataFrame, positions: pd.DataFrame, ends: Mapping[str, tuple[str, str]]
) -> list[Values]:
    """For each ranking: whether people agree on the order, and what stands at its ends if so."""
    found = []
    for _, row in agreed.iterrows():
        question = str(row["question"])
        own = positions[positions["question"] == question]
        w = f"W = {number(row['estimate'])} {interval(row['low'], row['high'])}"
        test = f"Friedman's χ² = {number(row['friedman'], 1)}, {p_value(row['p_permutation'])}"
        sides = zip((own.iloc[0], own.iloc[-1]), ends.get(question, ("first", "last")), strict=True)
        items = [
            {"item": one["item"], "end": end.lower(), "position": number(one["estimate"], 1)}
            for one, end in sides
        ]
        agree = row["p_permutation"] < ALPHA
        found.append({"question": question, "test": f"{w}, {test}", "ends": items if agree else []})
    return found
