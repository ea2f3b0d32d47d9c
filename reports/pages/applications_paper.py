"""The papers' applications beside ours: what was seen again and what was not."""

from __future__ import annotations

from typing import Any

from reports.pages.applications_backbones import ALL, CONTRAST
from reports.pages.applications_mixture import CROSSED, HELD_OUT, MEAN
from reports.pages.applications_words import Parts, change, method_title, printed, top, verdict
from reports.pages.parts import Tables, chosen, one, table
from reports.replication.published import published_table
from reports.words import number, share

NOT_RUN = "not run"
_TABLE_23 = "pasta_v1_table23_lime_kernel_width"


def paper_rows(tables: Parts) -> list[dict[str, str]]:
    """One row for each figure or table: where, paper, here, same."""
    mixture, steering = tables.get("mixture"), tables.get("steering")
    return [
        _row("P2, Figure 1", "Methods lie in all four corners of faithful and plausible.",
             *_corners(mixture)),
        _row("P2, Figure 7", "FullGrad is chosen on nearly half of the images.", *_wins(mixture)),
        _row(
            "P2, text",
            f"Faithfulness of the selection {number(printed('mixture_faithfulness'), 4)}, of all "
            f"{number(printed('every_faithfulness'), 4)}: not compromised.",
            *_faithful(mixture),
        ),
        _row(
            "P2, Figure 8",
            "Scores of activation-based methods fall with the size of the backbone, others do not.",
            *_towers(tables.get("backbones")),
        ),
        _row(
            "P2, Figure 9",
            "Steered maps locate objects slightly better; at λ = 1 they invent zones.",
            *_steering(steering),
        ),
        _row("P1, Tables 21 and 22", "Votes and predicted scores of some explanations.",
             *_examples(mixture)),
        _row("P1, Table 23", _kernel_widths(), *_lime(tables.get("tuning"))),
        _row(
            "P1, Table 24",
            "Tuned maps look slightly more focused.",
            *_looks(tables.get("tuning")),
        ),
    ]  # fmt: skip


def _row(where: str, paper: str, here: str, same: str) -> dict[str, str]:
    return {"where": where, "paper": paper, "here": here, "same": same}


def _corners(mixture: Tables | None) -> tuple[str, str]:
    places = table(mixture, "places")
    if places.empty:
        return NOT_RUN, "–"
    front = int(places["on_front"].astype(bool).sum())
    agreement = table(mixture, "agreement")
    if agreement.empty:
        return f"{front} of {len(places)} techniques are on the front.", "–"
    low, high = agreement["estimate"].min(), agreement["estimate"].max()
    weak = max(abs(low), abs(high)) < 0.2
    return (
        f"Faithfulness and score correlate with {number(low)} to {number(high)} within images; "
        f"{front} of {len(places)} techniques are on the front.",
        "yes" if weak else "partly",
    )


def _wins(mixture: Tables | None) -> tuple[str, str]:
    every = chosen(table(mixture, "wins"), images="all")
    if every.empty:
        return NOT_RUN, "–"
    most = top(every, every["wins"])
    full = one(every[every["technique"].str.startswith("fullgrad/")])
    other = "" if full is None else f"; FullGrad has {share(full['share'])}"
    same = str(most["technique"]).startswith("fullgrad/")
    return (
        f"{method_title(most['technique'])} is chosen most, on {share(most['share'])}{other}.",
        "yes" if same else "no",
    )


def _faithful(mixture: Tables | None) -> tuple[str, str]:
    comparison = table(mixture, "comparison")
    name = CROSSED if len(chosen(comparison, images=CROSSED)) else HELD_OUT
    row = one(comparison, images=name, measure="faithfulness", against=MEAN)
    if row is None:
        return NOT_RUN, "–"
    same = {"worse": "no", "better": "yes", "open": "not clear", "unknown": "not clear"}
    return (
        f"{number(row['first'], 4)} and {number(row['second'], 4)}, a difference of "
        f"{change(row, 3)}.",
        same[verdict(row)],
    )


def _towers(backbones: Tables | None) -> tuple[str, str]:
    row = one(table(backbones, "trends"), group=ALL, family=CONTRAST, measure="score")
    if row is None:
        return NOT_RUN, "–"
    same = {"worse": "yes", "better": "no", "open": "not clear", "unknown": "not clear"}
    return (
        f"The change of activation-based maps is {change(row)} stars from that of the others. "
        "Distilled towers, as in the demo, are convolutional and have no tokens.",
        same[verdict(row)],
    )


def _steering(steering: Tables | None) -> tuple[str, str]:
    curve = table(steering, "curve")
    if curve.empty:
        return NOT_RUN, "–"
    last = curve["weight"].max()
    rows = {name: one(curve, weight=last, measure=name) for name in ("quality", "faithfulness")}
    said = [
        f"{words} {change(row)}"
        for (words, row) in zip(("true quality", "faithfulness"), rows.values(), strict=True)
        if row is not None
    ]
    quality: Any = rows["quality"]
    same = "not clear" if verdict(quality) in ("open", "unknown") else (
        "yes" if verdict(quality) == "better" else "no"
    )  # fmt: skip
    number_of = f"{int(curve['n'].max())} images"
    judged = ", ".join(said) or "only the score judges"
    return f"At λ = {last:g} against RISE, {number_of}: {judged}.", same


def _examples(mixture: Tables | None) -> tuple[str, str]:
    found = table(mixture, "examples")
    if found.empty:
        return NOT_RUN, "–"
    odd = int(found["group"].astype(str).str.endswith("predicted").sum())
    inside = int(found["mean"].between(found["low"], found["high"]).sum())
    return (
        f"{len(found)} explanations, {odd} of them chosen for being surprising; the mean vote of "
        f"{inside} lies within the predicted 90 % interval.",
        "same layout",
    )


def _kernel_widths() -> str:
    theirs = published_table(_TABLE_23)
    best = top(theirs, theirs["pasta_score"])
    return (
        f"LIME scores best with a kernel width of {best['kernel_width']:g} "
        f"({number(best['pasta_score'])} stars, {number(printed('lime_default'))} with 0.25); the "
        "text says 0.15."
    )


def _lime(tuning: Tables | None) -> tuple[str, str]:
    found = chosen(table(tuning, "verdict"), technique="lime/resnet50")
    row = one(found, part="held-out", measure="score")
    if row is None:
        return NOT_RUN, "–"
    quality = one(found, part="held-out", measure="quality")
    other = "" if quality is None else f", true quality {change(quality)}"
    same = {"better": "yes", "worse": "no", "open": "not clear", "unknown": "not clear"}
    return (
        f"{str(row['tuned']).replace('_', ' ').capitalize()} is chosen; on held-out images "
        f"{change(row)} stars{other}.",
        same[verdict(row)],
    )


def _looks(tuning: Tables | None) -> tuple[str, str]:
    found = table(tuning, "verdict")
    if found.empty:
        return NOT_RUN, "–"
    return "Pictures are shown above; nobody has rated them.", "not judged"
