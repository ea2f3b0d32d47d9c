"""Explanations made by the score: backbones of several sizes, steered maps, tuned settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reports.source.document import Block, Column, Heading, Note, Table, Text
from reports.source.names import technique_name
from reports.source.pages.applications_choice import (
    BLANK,
    DIFFERENCE,
    LEGEND,
    MEASURES,
    change,
    drawn,
    method_title,
    printed,
    served,
    top,
    verdict,
)
from reports.source.pages.parts import Tables, chosen, one, picture, table
from reports.source.plots.applications import backbone_figure, steering_figure, tuning_figure
from reports.source.replication.rows import published_table
from reports.source.words import count, listed, number, share, signed, whole

ALL, CONTRAST = "all methods", "activation - perturbation"
FAMILIES = {"activation": "activation-based", "perturbation": "perturbation-based"}


def backbones_blocks(tables: Tables | None, pictures: Mapping[str, Path]) -> list[Block]:
    """Sizes, scores, trends and high norms."""
    blocks: list[Block] = [Heading("Does a larger backbone have better explanations?")]
    towers, summary = table(tables, "towers"), table(tables, "summary")
    trends = table(tables, "trends")
    if towers.empty or summary.empty or trends.empty:
        return [*blocks, Note("Towers of growing size: they were not compared.", "missing")]
    sizes = [
        f"{row['tower']} ({whole(row['parameters'])} parameters)" for _, row in towers.iterrows()
    ]
    blocks += [
        Text(
            f"The same methods explain {count(int(summary['n'].max()), 'image')} that nobody has "
            f"rated, on image towers of growing size: {listed(sizes)}. P2 finds on four CLIP "
            "vision transformers, from ViT-B-16 to ViT-g-14, that the score of activation-based "
            "methods falls with size and that of perturbation-based methods does not. "
            f"{backbones_sentence(trends)}"
        ),
        *picture(
            backbone_figure(summary, towers),
            "Mean of each method (thin) and family (thick, with 95 % intervals over images) on "
            "each tower; right: positions of the last feature map with an outlying norm.",
            "Line plots of predicted stars and true quality over the size of the tower, and bars "
            "of outlying norms",
        ),
        _trend_table(trends),
        Text(_norms(towers)),
        _tower_table(towers),
        *drawn(
            pictures,
            "backbones",
            "The same images on each tower, one method of each family.",
            "Rows of maps of the same image, one column for each tower",
            0.8,
        ),
    ]
    return blocks


def backbones_sentence(trends: pd.DataFrame) -> str:
    """What the largest tower changes, and whether P2's claim is seen."""
    said = [_measure(trends, name) for name in ("score", "quality")] + [_one_method(trends)]
    row = one(trends, group=ALL, family=CONTRAST, measure="score")
    claim = {
        "worse": "As in P2, activation-based methods lose against the others.",
        "better": "That is the opposite of P2's claim: activation-based methods gain on the "
        "others.",
        "open": "P2's claim is neither seen nor refuted.",
        "unknown": "Nothing can be said about P2's claim.",
    }[verdict(row)]
    return " ".join([*(sentence for sentence in said if sentence), claim])


def _one_method(trends: pd.DataFrame) -> str:
    """Which method has changed most: a family may be carried by one of its own."""
    own = chosen(trends, measure="score")
    own = own[own["group"] != ALL].dropna(subset=["estimate"])
    if own.empty:
        return ""
    most = top(own, own["estimate"].abs())
    return f"Of all methods {method_title(most['group'])} changes most, by {change(most)} stars."


def _measure(trends: pd.DataFrame, measure: str) -> str:
    rows = {name: one(trends, group=ALL, family=name, measure=measure) for name in FAMILIES}
    known = {name: row for name, row in rows.items() if row is not None}
    if not known:
        return ""
    first: Mapping[str, Any] = next(iter(known.values()))
    said = [f"{change(row)} for {FAMILIES[name]} methods" for name, row in known.items()]
    text = (
        f"From {first['from_tower']} to {first['to_tower']}, predicted stars change by "
        f"{listed(said)}"
        if measure == "score"
        else f"True quality changes by {listed(said)}"
    )
    between = one(trends, group=ALL, family=CONTRAST, measure=measure)
    return f"{text}." if between is None else f"{text}; the two differ by {change(between)}."


def _trend_table(trends: pd.DataFrame) -> Table:
    rows = trends.assign(
        words=trends["measure"].map(MEASURES),
        name=[
            "difference between the families"
            if family == CONTRAST
            else f"all {FAMILIES.get(str(family), family)}"
            if group == ALL
            else method_title(str(group))
            for group, family in zip(trends["group"], trends["family"], strict=True)
        ],
    )
    return Table(
        rows,
        [
            Column("words", "measure"),
            Column("name", "methods"),
            Column("n", "n", "0"),
            Column("second", "smallest", "0.00"),
            Column("first", "largest", "0.00"),
            Column("estimate", "change", "signed"),
            Column("low", "95 % interval", "interval"),
        ],
        "The largest tower against the smallest, paired by image.",
        note="In the last row of each measure the columns are the changes of the "
        "perturbation-based and of the activation-based methods.",
    )


def _norms(towers: pd.DataFrame) -> str:
    shares = [f"{share(row['outliers'], 1)} ({row['tower']})" for _, row in towers.iterrows()]
    background = float(towers["background"].iloc[-1])
    inside = [
        f"{share(row['in_background'])} ({row['tower']})"
        for _, row in towers.dropna(subset=["in_background"]).iterrows()
    ]
    text = (
        "P2 suspects high-norm artefacts in the background of large towers. The share of positions "
        f"with an outlying norm is {listed(shares)}."
    )
    if inside:
        text += (
            f" Of these, {listed(inside)} lie in the background, which makes up "
            f"{share(background)} of all positions."
        )
    extra = int((towers["in_background"] > towers["background"]).sum())
    return text + (
        " On no tower do they gather there."
        if not extra
        else f" They gather there on {extra} of {count(len(towers), 'tower')}."
    )


def _tower_table(towers: pd.DataFrame) -> Table:
    return Table(
        towers,
        [
            Column("tower", "tower"),
            Column("parameters", "parameters", "0"),
            Column("accuracy", "accuracy", "percent"),
            Column("positions", "positions", "0"),
            Column("largest", "largest norm / median", "0.0"),
            Column("outliers", "outlying", "percent"),
            Column("in_background", "of these in background", "percent"),
        ],
        "The towers, their accuracy on test images and the norms of their last feature map.",
        note="Towers also predict differently, and explanations of wrong predictions are rated "
        "lower whatever they show.",
    )


def backbones_finding(trends: pd.DataFrame) -> str:
    """One sentence for the overview."""
    row = one(trends, group=ALL, family=CONTRAST, measure="score")
    if row is None:
        return ""
    own = one(chosen(trends, measure="score"), group=ALL, family="activation")
    words = {
        "worse": "as P2 has it",
        "better": "the opposite of what P2 reports",
        "open": "no clear difference",
        "unknown": "too few images to say",
    }[verdict(row)]
    if own is None:
        return ""
    return (
        "From the smallest to the largest image tower, the predicted stars of activation-based "
        f"maps change by {change(own)}, {change(row)} against perturbation-based ones: {words}."
    )


def steering_blocks(tables: Tables | None, pictures: Mapping[str, Path], up: int) -> list[Block]:
    """What lambda does to score, faithfulness and true quality."""
    blocks: list[Block] = [Heading("Steering RISE")]
    steered, curve = table(tables, "steered"), table(tables, "curve")
    if steered.empty:
        return [*blocks, Note("Steering: it was not computed.", "missing")]
    images = steered["image"].nunique()
    blocks.append(
        Text(
            "RISE weighs random masks by the probability that the model gives to the masked image. "
            "Here the weight is λ times the predicted score of the masked image plus 1 − λ times "
            "that probability (P2, Eq. 4): λ = 0 is RISE itself, λ = 1 follows the score alone and "
            f"looks at the model no more. {count(images, 'image')} that the scorer has not seen "
            f"{'was' if images == 1 else 'were'} steered. {_unsteered(steered)}"
        )
    )
    if curve.empty:
        blocks.append(Note("Without λ = 0 there is nothing to compare with.", "missing"))
    else:
        blocks += [
            Text(steering_sentence(curve, up)),
            *picture(
                steering_figure(curve),
                "What each λ changes against plain RISE on the same images"
                + (", with 95 % intervals." if curve["low"].notna().any() else "."),
                "Line plots of differences in score, faithfulness and true quality over lambda",
                0.78,
            ),
            _curve_table(curve),
        ]
        if int(curve["n"].max()) < 5:
            blocks.append(
                Note(
                    f"With {count(int(curve['n'].max()), 'image')} there are no intervals, and "
                    "none of these differences can be told from chance.",
                    "caution",
                )
            )
    names = sorted(name for name in pictures if name.startswith("steering-")) or ["steering-0"]
    for name in names:
        blocks += drawn(
            pictures,
            name,
            f"Steered maps, λ from left to right (P2, Figure 9). {LEGEND}",
            "Rows of RISE maps with growing influence of the predicted score",
        )
    return blocks


def steering_sentence(curve: pd.DataFrame, up: int) -> str:
    """The last lambda against none: what is gained, what is lost, who gains."""
    last = curve["weight"].max()
    rows = {name: one(curve, weight=last, measure=name) for name in MEASURES}
    said = []
    if rows["score"] is not None:
        said.append(
            f"At λ = {last:g} the predicted stars change by {change(rows['score'])} against RISE"
        )
    if rows["faithfulness"] is not None:
        lost = verdict(rows["faithfulness"]) == "worse"
        said.append(
            f"faithfulness by {change(rows['faithfulness'])}" + (", a clear loss" if lost else "")
        )
    text = ", ".join(said)
    if rows["quality"] is None:
        return f"{text}. There is no other judge than the score."
    text += f", and true quality by {change(rows['quality'])}: {served(rows['quality'])}."
    best = _best(curve)
    if best is not None and best["weight"] != last:
        text += f" True quality is highest at λ = {best['weight']:g} ({change(best)})."
    falls = rows["score"] is not None and up * rows["score"]["estimate"] <= 0
    return text + (" The score did not even improve by its own measure." if falls else "")


def _best(curve: pd.DataFrame) -> dict[str, Any] | None:
    own = chosen(curve, measure="quality")
    return None if own.empty else top(own, own["estimate"])


def _unsteered(steered: pd.DataFrame) -> str:
    equal = int(steered.loc[steered["equal"].astype(bool), "image"].nunique())
    strange = int((~steered["familiar"].astype(bool)).sum())
    said = []
    if equal:
        said.append(
            f"On {count(equal, 'image')} all masks have the same score, so nothing was steered."
        )
    if strange:
        said.append(
            f"{strange} of {len(steered)} maps look like nothing the scorer has learned from, and "
            "their scores are guesses."
        )
    return " ".join(said)


def _curve_table(curve: pd.DataFrame) -> Table:
    rows = curve[curve["weight"] > 0]
    rows = rows.assign(words=rows["measure"].map(MEASURES), lam=rows["weight"].map("{:g}".format))
    return Table(
        rows,
        [
            Column("words", "measure"),
            Column("lam", "λ"),
            Column("n", "n", "0"),
            Column("first", "steered", "0.00"),
            Column("second", "RISE", "0.00"),
            *DIFFERENCE,
        ],
        "Steered RISE against RISE, paired by image. Better, equal, worse: on how many images.",
    )


def steering_finding(curve: pd.DataFrame) -> str:
    """One sentence for the overview."""
    last = curve["weight"].max()
    score, faithful, quality = (one(curve, weight=last, measure=name) for name in MEASURES)
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
        text += f" and changes faithfulness by {change(faithful)}"
    truth = "" if quality is None else f"true quality changes by {change(quality)}: "
    return f"{text}; {truth}{served(quality)}."


SEARCH, HELD_OUT, EACH = "search", "held-out", "best of each image"
LIME, WIDTH = "lime/resnet50", re.compile(r"^kernel_width ([0-9.]+)$")


def tuning_blocks(tables: Tables | None, pictures: Mapping[str, Path], up: int) -> list[Block]:
    """All studies, one section each."""
    blocks: list[Block] = [Heading("Tuning settings")]
    candidates, verdicts = table(tables, "candidates"), table(tables, "verdict")
    if candidates.empty or verdicts.empty:
        return [*blocks, Note("Tuned settings: nothing was tuned.", "missing")]
    blocks.append(
        Text(
            "Settings are chosen by the mean predicted score on some images that nobody has rated, "
            "and compared with the default on others. Against over-optimising stand the held-out "
            "images, the faithfulness, which nobody optimised, and the true quality."
        )
    )
    for key in dict.fromkeys(candidates["technique"]):
        own, found = chosen(candidates, technique=key), chosen(verdicts, technique=key)
        blocks += [Heading(technique_name(str(key)), 2), *_study(str(key), own, found, up)]
        if found["tuned"].iloc[0] != found["default"].iloc[0]:
            blocks += drawn(
                pictures,
                f"tuning-{str(key).replace('/', '-')}",
                f"{technique_name(str(key))} on the first held-out image of each dataset, with the "
                "default above and the tuned setting below; predicted stars (P1, Table 24).",
                "Maps under the default setting above maps under the tuned setting",
                0.72,
            )
    return blocks


def _study(key: str, own: pd.DataFrame, found: pd.DataFrame, up: int) -> list[Block]:
    return [
        Text(f"{_ties(own)}{tuning_sentence(found, up)}{_paper(key, own)}"),
        *picture(
            tuning_figure(own, found),
            "Left: mean predicted stars of each setting on the images it was chosen on, with 95 % "
            "intervals. Right: the chosen setting minus the default, there and on held-out images.",
            "Dot plots of settings and of differences between the chosen setting and the default",
        ),
        _candidates(key, own),
        _verdict(found),
    ]


def tuning_sentence(found: pd.DataFrame, up: int) -> str:
    """What the choice is worth on images that it was not made on."""
    names = found.iloc[0]
    if names["tuned"] == names["default"]:
        return f"No setting scores better than the default ({_plain(names['default'])})."
    rows = {
        (part, name): one(found, part=part, measure=name)
        for part in (SEARCH, HELD_OUT)
        for name in MEASURES
    }
    seen, new = rows[SEARCH, "score"], rows[HELD_OUT, "score"]
    text = f"{_start(_plain(names['tuned']))} is chosen over {_plain(names['default'])}"
    if seen is not None and new is not None:
        text += (
            f": predicted stars change by {change(seen)} on the {count(int(seen['n']), 'image')} "
            f"it was chosen on, and by {change(new)} on {count(int(new['n']), 'held-out image')}"
        )
        if verdict(new, up) != "better":
            text += ", which is no clear gain even by the score that chose it"
    text += "."
    faithful, quality = rows[HELD_OUT, "faithfulness"], rows[HELD_OUT, "quality"]
    if faithful is not None:
        lost = {"worse": ", a clear loss", "better": ", a clear gain"}.get(verdict(faithful), "")
        text += f" Faithfulness changes by {change(faithful, 3)}{lost}."
    if quality is not None:
        text += f" True quality changes by {change(quality)}: {served(quality, up)}."
    each = one(found, part=EACH, measure="quality")
    if each is not None:
        text += (
            f" P1 chooses for each image: then true quality changes by {change(each)} on the "
            "search images."
        )
    return text


def _ties(own: pd.DataFrame) -> str:
    tied = own[own["tied"].astype(bool)]
    if tied.empty:
        return ""
    if len(tied) == len(own):
        return "All settings have the same score: there is nothing to choose. "
    return f"These share the best score: {listed([_plain(one) for one in tied['candidate']])}. "


def _paper(key: str, own: pd.DataFrame) -> str:
    """P1's own choice among the same kernel widths."""
    if key != LIME or not own["candidate"].astype(str).str.match(WIDTH).all():
        return ""
    theirs = published_table("pasta_v1_table23_lime_kernel_width")
    best = top(theirs, theirs["pasta_score"])
    ours = own[own["winner"].astype(bool)].iloc[0]
    return (
        f" In P1's Table 23 the best kernel width is {best['kernel_width']:g}, from "
        f"{number(printed('lime_default'))} to {number(printed('lime_tuned'))} stars (its text "
        f"says 0.15); here it is {ours['candidate'].split()[-1]}, with "
        f"{signed(ours['difference'])} stars. P1 gives no interval and no held-out images."
    )


def _plain(candidate: Any) -> str:
    """``layer network.layer4.0`` as "layer4.0", ``kernel_width 0.1`` as "kernel width 0.1"."""
    return str(candidate).replace("layer network.", "").replace("_", " ")


def _start(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _candidates(key: str, own: pd.DataFrame) -> Table:
    marks = [
        " and ".join(
            words
            for words, yes in (("default", usual), ("chosen", won), ("tied", tied and not won))
            if yes
        )
        or BLANK
        for usual, won, tied in zip(
            own["default"].astype(bool),
            own["winner"].astype(bool),
            own["tied"].astype(bool),
            strict=True,
        )
    ]
    rows = own.assign(setting=own["candidate"].map(_plain), mark=marks)
    beside = ["difference", "difference_low", "difference_high"]
    rows.loc[own["default"].astype(bool), beside] = float("nan")  # the default against itself
    columns = [
        Column("setting", "setting"),
        Column("mark", ""),
        Column("score", "stars", "0.00"),
        Column("low", "95 % interval", "interval"),
        Column("difference", "against default", "signed"),
        Column("difference_low", "95 % interval", "interval", other="difference_high"),
        Column("best_on", "best on", "0"),
    ]
    note = f"On {count(int(own['n'].max()), 'search image')}; “best on” counts images."
    if own["quality"].notna().any():
        columns.append(Column("quality", "true quality", "0.00"))
    if key == LIME and own["candidate"].astype(str).str.match(WIDTH).all():
        theirs = published_table("pasta_v1_table23_lime_kernel_width")
        scores = dict(zip(theirs["kernel_width"], theirs["pasta_score"], strict=True))
        widths = own["candidate"].str.extract(WIDTH)[0].astype(float)
        rows = rows.assign(paper=widths.map(scores).to_numpy())
        columns.append(Column("paper", "P1, Table 23", "0.00"))
    lost = int(own["missing"].max())
    if lost:
        note += f" Up to {count(lost, 'map')} of a setting {'shows' if lost == 1 else 'show'} "
        note += "nothing and have no score; such a setting cannot win."
    return Table(rows, columns, f"Settings of {technique_name(key)}.", note=note)


def _verdict(found: pd.DataFrame) -> Table:
    parts = {SEARCH: "chosen on", HELD_OUT: "held-out", EACH: "chosen for each image"}
    rows = found.assign(words=found["measure"].map(MEASURES), where=found["part"].map(parts))
    return Table(
        rows,
        [
            Column("where", "images"),
            Column("words", "measure"),
            Column("n", "n", "0"),
            Column("first", "tuned", "0.00"),
            Column("second", "default", "0.00"),
            *DIFFERENCE,
        ],
        "The tuned setting against the default, paired by image.",
    )


def tuning_finding(found: pd.DataFrame, up: int) -> str:
    """One sentence about one technique for the overview."""
    names = found.iloc[0]
    title = technique_name(str(names["technique"]))
    if names["tuned"] == names["default"]:
        return f"For {title} no setting scores better than the default."
    score = one(found, part=HELD_OUT, measure="score")
    quality = one(found, part=HELD_OUT, measure="quality")
    gained = "" if score is None else f" ({change(score)} predicted stars on held-out images)"
    truth = "" if quality is None else f"true quality changes by {change(quality)}: "
    return (
        f"For {title} the score prefers {_plain(names['tuned'])} to {_plain(names['default'])}"
        f"{gained}; {truth}{served(quality, up)}."
    )
