"""Settings of methods by predicted score (P1, Tables 23 and 24)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from reports.document import Block, Column, Heading, Note, Table, Text
from reports.names import technique_name
from reports.pages.applications_words import (
    BLANK,
    DIFFERENCE,
    MEASURES,
    change,
    drawn,
    printed,
    served,
    top,
    verdict,
)
from reports.pages.parts import Tables, chosen, one, picture, table
from reports.plots.applications_tuning import tuning_figure
from reports.replication.published import published_table
from reports.words import count, listed, number, signed

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
