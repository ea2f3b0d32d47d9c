"""applications.pdf: what the predicted score is used for, and whether people gain by it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from pasta.explanations.techniques import METHOD_TITLES
from pasta.studies.ratings.protocol import Protocol
from reports.source.format import cells, count, interval, listed, number, share, signed, whole
from reports.source.names import dataset_name, model_name, scorer_name, technique_name
from reports.source.pages.parts import Tables, find_row, select, table, why_missing
from reports.source.plots.applications import (
    backbone_figure,
    comparison_figure,
    pareto_figure,
    steering_figure,
    tuning_figure,
    wins_figure,
)
from reports.source.replication.rows import published_table
from reports.source.typesetting import Report

Parts = Mapping[str, Mapping[str, pd.DataFrame]]
Values = dict[str, Any]
Verdict = Literal["better", "worse", "open", "unknown"]
BLANK = "\N{NO-BREAK SPACE}"  # a cell that is empty on purpose, not for want of a value
MEASURES = {"score": "predicted stars", "faithfulness": "faithfulness", "quality": "true quality"}
DIFFERENCE = "first:0.00 second:0.00 estimate:signed low:interval better:0 equal:0 worse:0"
HELD_OUT, ALL, CROSSED = "held-out", "all", "cross-fitted"
MEAN, CEILING, ELSEWHERE = "mean of all methods", "best possible", "best on other images"
ALL_METHODS, CONTRAST = "all methods", "activation - perturbation"
FAMILIES = {"activation": "activation-based", "perturbation": "perturbation-based"}
SEARCH, EACH = "search", "best of each image"
LIME, WIDTH = "lime/resnet50", re.compile(r"^kernel_width ([0-9.]+)$")
_TABLE_23 = "pasta_v1_table23_lime_kernel_width"
_NOT_RUN = {  # what is said where nobody knows why
    "backbones": "they were not compared",
    "pareto": "it was not computed",
    "steering": "it was not computed",
    "tuning": "nothing was tuned",
}
_GROUPS = {
    "best": "highest predicted scores",
    "worst": "lowest predicted scores",
    "better than predicted": "people kinder than predicted",
    "worse than predicted": "people harsher than predicted",
}


def applications_report(
    tables: Parts,
    pictures: Mapping[str, Path],
    simulated: bool,
    *,
    protocol: Protocol,
    question: str,
) -> Report:
    """Collect what ``applications.typ`` shows; parts that were not computed are None.

    Parameters
    ----------
    tables
        ``mixture``: choices, comparison, wins, places, agreement, examples. ``steering``: steered,
        curve. ``backbones``: scores, towers, summary, trends. ``tuning``: candidates, verdict,
        images, of all techniques below each other. Each may have ``beside``: its verdicts by
        several scorers. All as read from CSV files.
    pictures
        Files by the names of :func:`pasta.applications.report_pictures.applications_pictures`.
    simulated
        Whether the votes are those of simulated raters.
    protocol, question
        What was asked, and the question whose predicted stars choose, steer and tune.
    """
    asked = protocol.question(question)
    up = asked.direction or 1
    mixture, backbones = tables.get("mixture"), tables.get("backbones")
    steering, tuning = tables.get("steering"), tables.get("tuning")
    facts = ("mixture_faithfulness", "every_faithfulness", "lime_default", "lime_tuned")
    theirs = published_table(_TABLE_23)
    content = {
        "asked": {"question": question, "wording": asked.wording, "turned": up < 0},
        "ran": any(len(own) for own in tables.values()),
        "findings": applications_findings(tables, up),
        "few": _count_images(mixture, steering, tuning),
        "pictures": {
            name: {"file": file, "pixels": _pixels(file)}
            for name, file in pictures.items()
            if file.is_file()
        },
        "mixture": _describe_mixture(mixture, up),
        "pareto": _describe_front(mixture),
        "backbones": describe_backbones(backbones),
        "steering": describe_steering(steering, up),
        "tuning": _describe_tuning(tuning, up),
        "examples": _describe_examples(mixture),
        "reasons": {
            name: why_missing(tables.get(name, mixture), name, otherwise=words)
            for name, words in _NOT_RUN.items()
        },
        "beside": _describe_beside(tables),
        "paper": {
            **{name: number(read_printed(name), 4 if "faithful" in name else 2) for name in facts},
            "kernel_width": f"{pick_largest(theirs, theirs['pasta_score'])['kernel_width']:g}",
            "kernel_score": number(theirs["pasta_score"].max()),
        },
    }
    return Report("applications", simulated, content)


def _pixels(file: Path) -> int:
    from PIL import Image

    with Image.open(file) as opened:
        return opened.size[0]


def _count_images(
    mixture: Tables | None, steering: Tables | None, tuning: Tables | None
) -> Values | None:
    """How many images are judged on: small differences cannot be seen on few."""
    choices, steered = table(mixture, "choices"), table(steering, "steered")
    verdicts = table(tuning, "verdict")
    found: Values = {}
    if len(choices):
        found |= {"unseen": int(choices["held_out"].astype(bool).sum()), "chosen": len(choices)}
    if len(steered):
        found["steered"] = steered["image"].nunique()
    if len(verdicts):
        found["tuned"] = int(verdicts.loc[verdicts["part"] == HELD_OUT, "n"].max())
    return found or None


def judge(row: Mapping[str, Any] | None, up: int = 1) -> Verdict:
    """Whether a difference is clearly an improvement; ``up`` is -1 where less is better."""
    if row is None or pd.isna(row["low"]) or pd.isna(row["high"]):
        return "unknown"
    low, high = sorted((up * row["low"], up * row["high"]))
    if low > 0:
        return "better"
    return "worse" if high < 0 else "open"


def write_change(row: Mapping[str, Any], places: int = 2) -> str:
    """ "+0.24 [0.04, 0.47]", without an interval where there are too few images for one."""
    if pd.isna(row["low"]):
        return signed(row["estimate"], places)
    return f"{signed(row['estimate'], places)} {interval(row['low'], row['high'], places)}"


def pick_largest(frame: pd.DataFrame, values: pd.Series[Any]) -> dict[str, Any]:
    """The row with the largest of these values, which belong to its rows."""
    return {str(name): value for name, value in frame.iloc[int(values.to_numpy().argmax())].items()}


def say_served(row: Mapping[str, Any] | None, up: int = 1) -> str:
    """The end of a sentence: would people be better served?"""
    if row is None:
        return "nobody judges whether people would be better served"
    return {
        "better": "people would be better served",
        "worse": "people would be worse served",
        "open": "it is not clear that people would be better served",
        "unknown": "there are too few images to say whether people would be better served",
    }[judge(row, up)]


def read_printed(fact: str) -> float:
    """A number from the running text of the papers."""
    values = published_table("text_numbers").set_index("fact")["value"]
    return float(values[fact])


def method_title(key: str) -> str:
    """``gradcam/resnet50`` or ``gradcam`` as "GradCAM"."""
    method = str(key).partition("/")[0]
    return METHOD_TITLES.get(method, str(key))


def describe_difference(
    row: Mapping[str, Any] | None, places: int = 2, up: int = 1
) -> Values | None:
    """A paired difference for a sentence: how large, on how many images, who is served."""
    if row is None:
        return None
    return {
        "n": int(row["n"]),
        "first": number(row["first"], places),
        "second": number(row["second"], places),
        "change": write_change(row, places),
        "verdict": judge(row, up),
        "served": say_served(row, up),
    }


def _usual(row: Mapping[str, Any]) -> str:
    """The method that would be used for all images."""
    always = str(row["note"]).split(";")[0].removeprefix("always ")
    return " or ".join(method_title(key) for key in always.split(" or "))


def _describe_mixture(tables: Tables | None, up: int) -> Values | None:
    wins, comparison = table(tables, "wins"), table(tables, "comparison")
    if wins.empty or comparison.empty:
        return None
    choices = table(tables, "choices")
    names = {str(key): method_title(str(key)) for key in wins["technique"].unique()}
    every = select(wins, images=ALL).sort_values("wins", ascending=False)
    some = every[every["wins"] > 0]
    worth = []
    for name in (HELD_OUT, CROSSED):
        row = find_row(comparison, images=name, measure="quality", against=ELSEWHERE)
        best = find_row(comparison, images=name, measure="quality", against=CEILING)
        if row is not None:
            ceiling = describe_difference(best) if name == CROSSED else None
            worth.append(
                {"images": name, "usual": _usual(row), "ceiling": ceiling}
                | (describe_difference(row) or {})
            )
    full = find_row(every[every["technique"].str.startswith("fullgrad/")])
    return {
        "backbone": model_name(str(wins["technique"].iloc[0]).partition("/")[2]),
        "most": method_title(every["technique"].iloc[0]),
        "most_share": share(every["share"].iloc[0]),
        "fullgrad": full and share(full["share"]),
        "n": int(every["n"].iloc[0]),
        "shares": [
            f"{method_title(row['technique'])} {share(row['share'])}" for _, row in some.iterrows()
        ],
        "never": len(every) - len(some),
        "ties": None
        if choices.empty
        else {
            "tied": int((choices["tied"] > 1).sum()),
            "undecided": int(choices["undecided"].astype(bool).sum()),
            "closest": number(choices["margin"].min(), 3),
        },
        "wins": wins_figure(wins, names),
        "worth": worth,
        "lost": describe_difference(_faithfulness(comparison), 3),
        "comparison": comparison_figure(comparison, names),
        "table": _tabulate_mixture(comparison, up),
    }


def _faithfulness(comparison: pd.DataFrame) -> Values | None:
    name = CROSSED if len(select(comparison, images=CROSSED)) else HELD_OUT
    return find_row(comparison, images=name, measure="faithfulness", against=MEAN)


def _best_single(comparison: pd.DataFrame, images: str, up: int) -> Values | None:
    """The row of the single method that scores best on these images, in hindsight."""
    own = select(comparison, images=images, measure="score")
    own = own[own["against"].str.contains("/") & (own["n"] > 0)] if len(own) else own
    return None if own.empty else pick_largest(own, up * own["second"])


def _tabulate_mixture(comparison: pd.DataFrame, up: int) -> Values:
    rows = []
    for name in (HELD_OUT, CROSSED):
        for measure, words in MEASURES.items():
            own = select(comparison, images=name, measure=measure)
            single = _best_single(comparison, name, up) if measure == "score" else None
            for against in (MEAN, ELSEWHERE, "single", CEILING):
                row = single if against == "single" else find_row(own, against=against)
                if row is None:
                    continue
                title = f"{method_title(row['against'])}, best here" if against == "single" else ""
                rows.append({**row, "against": title or against, "measure": words, "images": name})
    return cells(pd.DataFrame(rows), f"images measure against n:0 {DIFFERENCE}")


def _describe_front(tables: Tables | None) -> Values | None:
    places = _complete(table(tables, "places"), "faithfulness", "score")
    if places.empty:
        return None
    names = {str(key): _short_title(str(key)) for key in places["technique"]}
    names |= {str(key): model_name(str(key)) for key in places["backbone"].unique()}
    front = places[places["on_front"].astype(bool)].sort_values("score", ascending=False)
    related = _complete(table(tables, "agreement"), "estimate")
    return {
        "n": int(places["n"].max()),
        "front": [technique_name(str(key)) for key in front["technique"]],
        "of": len(places),
        "weak": len(related) > 0 and bool((related["estimate"].abs() < 0.2).all()),
        "range": [number(end) for end in (related["estimate"].min(), related["estimate"].max())]
        if len(related)
        else None,
        "correlations": [
            f"{number(row['estimate'])} {interval(row['low'], row['high'])} on "
            f"{model_name(row['backbone'])}"
            for _, row in related.iterrows()
        ],
        "figure": pareto_figure(places, names),
        "table": _tabulate_front(places),
        "lost": int(places["without_value"].sum()),
    }


def _short_title(key: str) -> str:
    return technique_name(key, short=True).partition(" ·")[0]


def _complete(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    return frame if frame.empty else frame.dropna(subset=list(columns))


def _tabulate_front(places: pd.DataFrame) -> Values:
    own = places[places["on_own_front"].astype(bool)]
    own = own.sort_values(["backbone", "score"], ascending=[True, False])
    own = own.assign(
        method=own["technique"].map(lambda key: _short_title(str(key))),
        classifier=own["backbone"].map(lambda key: model_name(str(key))),
        front=own["on_front"].astype(bool).map({True: "yes", False: BLANK}),
    )
    quality = "quality:0.00" if own["quality"].notna().any() else ""
    columns = "method classifier faithfulness:0.000 faithfulness_low:interval score:0.00"
    return cells(own, f"{columns} score_low:interval {quality} front_share:percent front")


def describe_backbones(tables: Tables | None) -> Values | None:
    """What the largest tower changes, whether P2's claim is seen, and where norms are high."""
    towers, summary = table(tables, "towers"), table(tables, "summary")
    trends = table(tables, "trends")
    if towers.empty or summary.empty or trends.empty:
        return None
    own = select(trends, measure="score")
    own = own[own["group"] != ALL_METHODS].dropna(subset=["estimate"])
    most = pick_largest(own, own["estimate"].abs()) if len(own) else None
    names = [
        "difference between the families"
        if family == CONTRAST
        else f"all {FAMILIES.get(str(family), family)}"
        if group == ALL_METHODS
        else method_title(str(group))
        for group, family in zip(trends["group"], trends["family"], strict=True)
    ]
    rows = trends.assign(measure=trends["measure"].map(MEASURES), methods=names)
    columns = "tower parameters:0 accuracy:percent positions:0 largest:0.0 outliers:percent"
    inside = towers.dropna(subset=["in_background"])
    return {
        "n": int(summary["n"].max()),
        "sizes": [
            f"{row['tower']} ({whole(row['parameters'])} parameters)"
            for _, row in towers.iterrows()
        ],
        **{name: _compare_families(trends, name) for name in ("score", "quality")},
        "most": most and {"method": method_title(most["group"]), "change": write_change(most)},
        "claim": judge(find_row(trends, group=ALL_METHODS, family=CONTRAST, measure="score")),
        "figure": backbone_figure(summary, towers),
        "trends": cells(
            rows, "measure methods n:0 second:0.00 first:0.00 estimate:signed low:interval"
        ),
        "outliers": _by_tower(towers, "outliers", 1),
        "inside": _by_tower(inside, "in_background", 0),
        "background": share(float(towers["background"].iloc[-1])),
        "gathered": int((towers["in_background"] > towers["background"]).sum()),
        "towers": cells(towers, f"{columns} in_background:percent"),
    }


def _by_tower(towers: pd.DataFrame, name: str, places: int) -> list[str]:
    return [f"{share(row[name], places)} ({row['tower']})" for _, row in towers.iterrows()]


def _compare_families(trends: pd.DataFrame, measure: str) -> Values | None:
    rows = {
        name: find_row(trends, group=ALL_METHODS, family=name, measure=measure) for name in FAMILIES
    }
    known = {name: row for name, row in rows.items() if row is not None}
    if not known:
        return None
    first = next(iter(known.values()))
    between = find_row(trends, group=ALL_METHODS, family=CONTRAST, measure=measure)
    return {
        "from": first["from_tower"],
        "to": first["to_tower"],
        "changes": [
            f"{write_change(row)} for {FAMILIES[name]} methods" for name, row in known.items()
        ],
        "between": between and write_change(between),
    }


def describe_steering(tables: Tables | None, up: int) -> Values | None:
    """What lambda does to score, faithfulness and true quality."""
    steered, curve = table(tables, "steered"), table(tables, "curve")
    if steered.empty:
        return None
    return {
        "images": steered["image"].nunique(),
        "equal": int(steered.loc[steered["equal"].astype(bool), "image"].nunique()),
        "strange": int((~steered["familiar"].astype(bool)).sum()),
        "maps": len(steered),
        "curve": None if curve.empty else _describe_curve(curve, up),
    }


def _describe_curve(curve: pd.DataFrame, up: int) -> Values:
    """The last lambda against none: what is gained, what is lost, who gains."""
    last = curve["weight"].max()
    rows = {name: find_row(curve, weight=last, measure=name) for name in MEASURES}
    judged = select(curve, measure="quality")
    best = None if judged.empty else pick_largest(judged, judged["estimate"])
    shown = curve[curve["weight"] > 0]
    shown = shown.assign(
        measure=shown["measure"].map(MEASURES), lam=shown["weight"].map("{:g}".format)
    )
    return {
        "last": f"{last:g}",
        **{name: describe_difference(row) for name, row in rows.items()},
        "best": None
        if best is None or best["weight"] == last
        else {"weight": f"{best['weight']:g}", "change": write_change(best)},
        "falls": rows["score"] is not None and up * rows["score"]["estimate"] <= 0,
        "figure": steering_figure(curve),
        "intervals": curve["low"].notna().any(),
        "n": int(curve["n"].max()),
        "table": cells(shown, f"measure lam n:0 {DIFFERENCE}"),
    }


def _describe_tuning(tables: Tables | None, up: int) -> list[Values]:
    candidates, verdicts = table(tables, "candidates"), table(tables, "verdict")
    if candidates.empty or verdicts.empty:
        return []
    return [
        describe_study(
            str(key), select(candidates, technique=key), select(verdicts, technique=key), up
        )
        for key in dict.fromkeys(candidates["technique"])
    ]


def describe_study(key: str, own: pd.DataFrame, found: pd.DataFrame, up: int) -> Values:
    """What the choice of a setting is worth on images that it was not made on."""
    names, tied = found.iloc[0], own[own["tied"].astype(bool)]
    parts = {SEARCH: "chosen on", HELD_OUT: "held-out", EACH: "chosen for each image"}
    shown = found.assign(measure=found["measure"].map(MEASURES), images=found["part"].map(parts))

    def compare(part: str, measure: str, places: int = 2, sign: int = 1) -> Values | None:
        return describe_difference(find_row(found, part=part, measure=measure), places, sign)

    return {
        "technique": key,
        "title": technique_name(key),
        "picture": f"tuning-{key.replace('/', '-')}",
        "tied": [_plain(name) for name in tied["candidate"]],
        "settings": len(own),
        "tuned": _plain(names["tuned"]),
        "default": _plain(names["default"]),
        "seen": compare(SEARCH, "score"),
        "new": compare(HELD_OUT, "score", sign=up),
        "faithfulness": compare(HELD_OUT, "faithfulness", 3),
        "quality": compare(HELD_OUT, "quality", sign=up),
        "each": compare(EACH, "quality"),
        "lime": _kernel_width(key, own),
        "figure": tuning_figure(own, found),
        "candidates": _tabulate_candidates(key, own),
        "n": int(own["n"].max()),
        "lost": int(own["missing"].max()),
        "verdict": cells(shown, f"images measure n:0 {DIFFERENCE}"),
    }


def _has_kernel_widths(key: str, own: pd.DataFrame) -> bool:
    return key == LIME and bool(own["candidate"].astype(str).str.match(WIDTH).all())


def _kernel_width(key: str, own: pd.DataFrame) -> Values | None:
    """Our choice among the kernel widths of P1's Table 23."""
    if not _has_kernel_widths(key, own):
        return None
    ours = own[own["winner"].astype(bool)].iloc[0]
    return {"width": ours["candidate"].split()[-1], "gain": signed(ours["difference"])}


def _plain(candidate: Any) -> str:
    """``layer network.layer4.0`` as "layer4.0", ``kernel_width 0.1`` as "kernel width 0.1"."""
    return str(candidate).replace("layer network.", "").replace("_", " ")


def _tabulate_candidates(key: str, own: pd.DataFrame) -> Values:
    names = ("default", "winner", "tied", "missing")
    marks = []
    for usual, won, tied, empty in zip(*(own[name].astype(bool) for name in names), strict=True):
        named = {
            "default": usual,
            "chosen": won,
            "tied": tied and not won,
            "has empty maps": empty and not won,  # such a setting cannot be chosen
        }
        marks.append(" and ".join(name for name, yes in named.items() if yes) or BLANK)
    rows = own.assign(setting=own["candidate"].map(_plain), mark=marks)
    beside = ["difference", "difference_low", "difference_high"]
    rows.loc[own["default"].astype(bool), beside] = float("nan")  # the default against itself
    columns = (
        "setting mark score:0.00 low:interval difference:signed difference_low:interval best_on:0"
    )
    if own["quality"].notna().any():
        columns += " quality:0.00"
    if _has_kernel_widths(key, own):
        theirs = published_table(_TABLE_23)
        scores = dict(zip(theirs["kernel_width"], theirs["pasta_score"], strict=True))
        widths = own["candidate"].str.extract(WIDTH)[0].astype(float)
        rows = rows.assign(paper=widths.map(scores).to_numpy())
        columns += " paper:0.00"
    return cells(rows, columns)


def _describe_examples(tables: Tables | None) -> list[Values]:
    """Votes and predicted stars, question by question."""
    found = table(tables, "examples")
    if found.empty:
        return []
    return [
        {"question": str(question), **_describe_question(own)}
        for question, own in found.groupby("question", sort=False)
    ]


def _describe_question(found: pd.DataFrame) -> Values:
    furthest = pick_largest(found, found["surprise"].abs())
    stars = [f"votes_{star}" for star in range(1, 6)]
    ends = zip(found["low"], found["high"], strict=True)
    places = zip(found["dataset"], found["sample_id"], strict=True)
    rows = found.assign(
        set=found["group"].map(_GROUPS).fillna(found["group"]).where(found["place"] == 1, BLANK),
        name=found["technique"].map(lambda key: technique_name(str(key))),
        image=[f"{dataset_name(str(dataset))} {_image(sample)}" for dataset, sample in places],
        votes=[
            " ".join(str(star) for star, name in enumerate(stars, 1) for _ in range(int(row[name])))
            for _, row in found.iterrows()
        ],
        ends=[interval(low, high, 1) for low, high in ends],
    )
    return {
        "unseen": found["held_out"].astype(bool).all(),
        "furthest": {
            "technique": technique_name(str(furthest["technique"])),
            "image": f"{furthest['sample_id'].split('/')[0]}/{_image(furthest['sample_id'])}",
            "predicted": number(furthest["score"]),
            "given": number(furthest["mean"]),
        },
        "table": cells(rows, "set image name score:0.00 ends votes mode:0 mean:0.0"),
        "n": len(found),
        "odd": int(found["group"].astype(str).str.endswith("predicted").sum()),
        "inside": int(found["mean"].between(found["low"], found["high"]).sum()),
    }


def _describe_beside(tables: Parts) -> Values | None:
    """The applications' verdicts by each scorer: a row for each, a column for each scorer."""
    rows = [
        {
            "of": of,
            "measure": measure,
            "scorer": scorer_name(str(scorer)),
            "change": write_change(row),
        }
        for name, choose in _VERDICTS.items()
        if len(found := table(tables.get(name), "beside"))
        for scorer, own in found.groupby("scorer", sort=False)
        for of, part in choose(own)
        for key, measure in MEASURES.items()
        if (row := find_row(part, measure=key)) is not None
    ]
    every = pd.DataFrame(rows)
    if every.empty or every["scorer"].nunique() < 2:
        return None
    wide = every.pivot_table("change", ["of", "measure"], "scorer", "first", sort=False)
    scorers = [str(name) for name in wide.columns]
    return {"scorers": scorers, "table": cells(wide.reset_index(), ["of", "measure", *scorers])}


def _mixture_verdict(own: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    name = CROSSED if len(select(own, images=CROSSED)) else HELD_OUT
    for against in (MEAN, ELSEWHERE):
        yield f"mixture, {name}, against {against}", select(own, images=name, against=against)


def _steering_verdict(own: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for weight in (0.5, 1.0):
        nearest = own.iloc[int((own["weight"] - weight).abs().to_numpy().argmin())]["weight"]
        yield f"steering, λ = {nearest:g} against RISE", select(own, weight=nearest)


def _backbones_verdict(own: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for family, words in FAMILIES.items():
        part = select(own, group=ALL_METHODS, family=family)
        yield f"largest tower against smallest, {words}", part


def _tuning_verdict(own: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for technique, part in own.groupby("technique", sort=False):
        title = technique_name(str(technique))
        yield f"tuned {title} against default, held-out", select(part, part=HELD_OUT)


_VERDICTS: dict[str, Callable[[pd.DataFrame], Iterator[tuple[str, pd.DataFrame]]]] = {
    "mixture": _mixture_verdict,
    "steering": _steering_verdict,
    "backbones": _backbones_verdict,
    "tuning": _tuning_verdict,
}


def _image(sample: str) -> str:
    return str(sample).split("/")[1]


def applications_findings(tables: Parts, up: int = 1) -> list[str]:
    """Sentences for the overview; none about what was not computed.

    ``up`` is -1 where few predicted stars are good news.
    """
    said = _mixture(tables.get("mixture"))
    trends = table(tables.get("backbones"), "trends")
    said += [backbones_finding(trends)] if len(trends) else []
    curve = table(tables.get("steering"), "curve")
    said += [steering_finding(curve)] if len(curve) else []
    verdicts = table(tables.get("tuning"), "verdict")
    for key in dict.fromkeys(verdicts["technique"]) if len(verdicts) else []:
        said.append(tuning_finding(select(verdicts, technique=key), up))
    said += _front(tables.get("mixture"))
    return [sentence for sentence in said if sentence]


def _mixture(tables: Tables | None) -> list[str]:
    comparison = table(tables, "comparison")
    own = select(comparison, images=CROSSED)
    new = own if len(own) else select(comparison, images=HELD_OUT)
    row = find_row(new, measure="quality", against=ELSEWHERE)
    lost = find_row(new, measure="faithfulness", against=MEAN)
    if row is None:
        score = find_row(new, measure="score", against=MEAN)
        if score is None:
            return []
        text = (
            "Taking for each image the explanation with the best score changes predicted stars by "
            f"{write_change(score)} against the mean of all methods"
        )
    else:
        usual = _usual(row)
        text = "Taking for each image the explanation with the best score changes true quality"
        public = find_row(comparison, images=HELD_OUT, measure="quality", against=ELSEWHERE)
        if len(own) and public is not None:  # each with a verdict of its own
            text += (
                f", on the {count(int(public['n']), 'image')} that the public scorer has not seen, "
                f"by {write_change(public)} against always taking {_usual(public)}: "
                f"{say_served(public)}. Scorers of the same kind that were trained without the "
                f"images they judge, {int(row['n'])} in all, change it by {write_change(row)} "
                f"against {usual}: {say_served(row)}"
            )
        else:
            text += (
                f" by {write_change(row)} against always taking {usual} on "
                f"{count(int(row['n']), 'image')}: {say_served(row)}"
            )
    if lost is not None:
        text += f"; faithfulness changes by {write_change(lost, 3)} against the mean of all methods"
    return [f"{text}."]


def _front(tables: Tables | None) -> list[str]:
    places = table(tables, "places")
    if places.empty:
        return []
    front = places[places["on_front"].astype(bool)].sort_values("score", ascending=False)
    names = [method_title(str(key)) for key in front["technique"]]
    ends = listed(list(dict.fromkeys([names[0], names[-1]]))) if names else ""
    if not ends:
        return []
    return [
        f"{count(len(front), 'technique')} of {len(places)} are on the Pareto front of "
        f"plausible and faithful, whose ends are {ends}."
    ]


def backbones_finding(trends: pd.DataFrame) -> str:
    """One sentence for the overview."""
    row = find_row(trends, group=ALL_METHODS, family=CONTRAST, measure="score")
    if row is None:
        return ""
    own = find_row(select(trends, measure="score"), group=ALL_METHODS, family="activation")
    words = {
        "worse": "as P2 has it",
        "better": "the opposite of what P2 reports",
        "open": "no clear difference",
        "unknown": "too few images to say",
    }[judge(row)]
    if own is None:
        return ""
    return (
        "From the smallest to the largest image tower, the predicted stars of activation-based "
        f"maps change by {write_change(own)}, {write_change(row)} against perturbation-based "
        f"ones: {words}."
    )


def steering_finding(curve: pd.DataFrame) -> str:
    """One sentence for the overview."""
    last = curve["weight"].max()
    score, faithful, quality = (find_row(curve, weight=last, measure=name) for name in MEASURES)
    if score is None:
        return ""
    text = (
        f"Steering RISE by the score alone raises the predicted stars of "
        f"{count(int(score['n']), 'held-out image')} from {number(score['second'])} to "
        f"{number(score['first'])}"
    )
    if score["estimate"] <= 0:
        text = text.replace("raises", "moves")
    if faithful is not None:
        text += f" and changes faithfulness by {write_change(faithful)}"
    truth = "" if quality is None else f"true quality changes by {write_change(quality)}: "
    return f"{text}; {truth}{say_served(quality)}."


def tuning_finding(found: pd.DataFrame, up: int) -> str:
    """One sentence about one technique for the overview."""
    names = found.iloc[0]
    title = technique_name(str(names["technique"]))
    if names["tuned"] == names["default"]:
        return f"For {title} no setting scores better than the default."
    score = find_row(found, part=HELD_OUT, measure="score")
    quality = find_row(found, part=HELD_OUT, measure="quality")
    gained = "" if score is None else f" ({write_change(score)} predicted stars on held-out images)"
    truth = "" if quality is None else f"true quality changes by {write_change(quality)}: "
    return (
        f"For {title} the score prefers {_plain(names['tuned'])} to {_plain(names['default'])}"
        f"{gained}; {truth}{say_served(quality, up)}."
    )
