"""Printed numbers and ours as rows: the papers' files, their names, and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from pasta.explanations.techniques import PUBLISHED
from reports.source.replication.reasons import MISSING, NEVER, NO_WAY

Frames = Mapping[str, pd.DataFrame]

AGREES, DIFFERS, UNDECIDED = "agrees", "differs", "undecided"
NO_INTERVAL, OUT_OF_REACH = "no interval", "out of reach"
COMPARED = (AGREES, DIFFERS, UNDECIDED)
VERDICTS = (*COMPARED, NO_INTERVAL, OUT_OF_REACH)
# What a table's module gives; the rest is made by :func:`judged`. ``side`` is "above" or "below" if
# the paper only says on which side of a number something lies. ``way`` is the name in reasons.yaml
# of what makes the number, if it is not that of the whole table.
GIVEN = ["item", "quantity", "paper_value", "paper_sd", "paper_p", "places", "ours", "ours_sd",
         "low", "high", "n", "margin", "design", "side", "reach", "reason", "way"]  # fmt: skip
ABOVE, BELOW = "above", "below"
_DEFAULTS: Mapping[str, object] = {
    "item": "", "quantity": "", "paper_value": np.nan, "paper_sd": np.nan, "paper_p": "",
    "places": 2, "ours": np.nan, "ours_sd": np.nan, "low": np.nan, "high": np.nan, "n": np.nan,
    "margin": np.nan,
    "design": False, "side": "", "reach": "", "reason": "", "way": "",
}  # fmt: skip
_NOTHING = "no value"  # the note of a mean of nothing, which says less than why there is none
_OURS = {"estimate": "ours", "sd": "ours_sd", "low": "low", "high": "high", "n": "n"}


def paper_rows(rows: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Printed numbers as rows; missing fields get their defaults."""
    frame = pd.DataFrame([{**_DEFAULTS, **row} for row in rows])
    return frame if len(frame) else pd.DataFrame(columns=GIVEN)


def printed_rows(
    paper: pd.DataFrame,
    columns: Mapping[str, Mapping[str, object]],
    item: str = "",
    *,
    keys: Sequence[str] = (),
    by_line: bool = False,
) -> pd.DataFrame:
    """One row for each line of a printed table and each of some columns.

    Parameters
    ----------
    paper
        The printed table.
    columns
        By printed column, the fields that all its rows have: quantity, places, keys. ``sd`` and
        ``p`` are the columns where these stand.
    item
        What a row is about, with columns of the line in braces; quantities may have braces too.
    keys
        Columns that the rows take over.
    by_line
        Whether the rows of a line stand together, instead of those of a column.
    """
    lines = [{str(key): value for key, value in one.items()} for one in paper.to_dict("records")]
    pairs = [(line, column) for line in lines for column in columns]
    if not by_line:
        pairs = [(line, column) for column in columns for line in lines]
    rows = []
    for line, column in pairs:
        row: dict[str, object] = {"item": item, **columns[column], "paper_value": line[column]}
        for name in ("sd", "p"):
            if name in row:
                row[f"paper_{name}"] = line[str(row.pop(name))]
        row |= {name: str(row[name]).format(**line) for name in ("item", "quantity")}
        rows.append(row | {name: line[name] for name in keys})
    return paper_rows(rows)


def beside(
    paper: pd.DataFrame, ours: pd.DataFrame | None, keys: Sequence[str], absent: str
) -> pd.DataFrame:
    """Put our numbers beside the printed ones.

    ``paper`` has the columns of :func:`paper_rows` and the ``keys``; ``ours`` has the keys,
    estimate, and low, high, sd, n, note as far as known. A row that finds nothing is out of reach;
    it keeps the reason it has, or gets the note of our table, or ``absent``.
    """
    rows = paper.drop(columns=[*_OURS.values()], errors="ignore")
    there = [name for name in _OURS if ours is not None and name in ours]
    if ours is None or ours.empty or "estimate" not in there:
        found = rows.assign(note="")
    else:
        note = texts(ours["note"]) if "note" in ours else ""
        kept = ours.assign(note=note)[[*keys, *there, "note"]]
        found = rows.merge(kept.drop_duplicates(list(keys)), on=list(keys), how="left")
    found = found.rename(columns=_OURS).reindex(columns=[*GIVEN, "note"])
    lacking = found["ours"].isna() & (found["reach"] == "")
    found.loc[lacking, "reach"] = OUT_OF_REACH
    notes = found["note"].fillna("")
    found.loc[lacking, "reason"] = notes.where(~notes.isin(["", _NOTHING]), absent)[lacking]
    return found[GIVEN]


def printed_only(rows: pd.DataFrame, reason: str) -> pd.DataFrame:
    """Rows that nothing of ours can stand beside, whatever is run; ``reason`` is why."""
    printed = rows.dropna(subset="paper_value").reset_index(drop=True)
    return printed.assign(reach=OUT_OF_REACH, reason=reason, way=NO_WAY)


def text_rows(paper: pd.DataFrame, ours: Frames, version: str) -> pd.DataFrame:
    """Numbers in the running text of one paper.

    ``ours["facts"]`` has fact, estimate, low, high, n, and note where there is no estimate.
    """
    own = paper[paper["paper"] == version]
    kinds, never = own["kind"].str.split(", "), texts(own["never"])
    lost = never != ""
    own = own.assign(
        design=[kind[0] == "design" for kind in kinds],
        side=[ABOVE if kind[-1] == "at least" else "" for kind in kinds],
        way=texts(own["way"]).mask(lost, NO_WAY),
        reach=lost.map({True: OUT_OF_REACH, False: ""}),
        reason=[NEVER[key] if key else "" for key in never],
    )
    columns = {"value": {"quantity": "{where}"}}
    keys = ["places", "design", "side", "fact", "margin", "way", "reach", "reason"]
    rows = printed_rows(own, columns, "{what}", keys=keys)
    return beside(rows, ours.get("facts"), ["fact"], MISSING["fact"])


def over_runs(summary: pd.DataFrame) -> pd.DataFrame:
    r"""Add the t interval of a mean over runs or people: :math:`m \pm t_{n-1} s / \sqrt n`.

    ``summary`` has mean, sd, n, and reason if a mean is missing. Runs share their data, so that the
    interval is about further runs on these data, not about other data.
    """
    n = summary["n"].to_numpy(np.float64)
    free = np.where(n > 1, n - 1, np.nan)
    reach = stdtrit(free, 0.975) * summary["sd"].to_numpy(np.float64) / np.sqrt(n)
    mean = summary["mean"]
    note = texts(summary["reason"]) if "reason" in summary else ""
    return summary.assign(estimate=mean, low=mean - reach, high=mean + reach, note=note)


def texts(column: pd.Series) -> pd.Series:
    """A column of words without missing values: an empty text does not outlive a CSV file."""
    return column.astype(object).where(column.notna(), "")


def judged(rows: pd.DataFrame, margins: float | Mapping[str, float] = 0.1) -> pd.DataFrame:
    """Add margin, difference (ours less the paper's) and verdict.

    The rule is a test of equivalence. A number agrees if our whole 95 % interval lies within the
    margin around the printed one. It differs if the printed number lies outside our interval and
    the interval reaches beyond the margin. If our interval holds the printed number but is too wide
    for the margin, nothing is decided. A printed number stands for all that round to it, so that
    the margin is half a last digit wider. A choice of the study (``design``) agrees if it is equal.
    Where the paper only says on which ``side`` of a number something lies, it agrees if our whole
    interval lies there, and differs if none of it does; a choice or a p-value, if ours lies there.

    Parameters
    ----------
    rows
        Printed numbers and ours.
    margins
        The margin of rows that have none of their own, or that of each quantity.
    """
    found = rows.copy()
    usual = found["quantity"].map(margins) if isinstance(margins, Mapping) else margins
    found["margin"] = found["margin"].astype(float).fillna(usual)
    numbers = {
        name: found[name].to_numpy(np.float64)
        for name in ("paper_value", "ours", "low", "high", "places", "margin")
    }
    half = 0.5 * 10.0 ** -numbers["places"] + 1e-9
    paper, ours = numbers["paper_value"], numbers["ours"]
    low, high, reach = numbers["low"], numbers["high"], numbers["margin"] + half
    inside = (paper >= low - half) & (paper <= high + half)
    close = (low >= paper - reach) & (high <= paper + reach)
    equal = np.abs(paper - ours) <= half
    design = found["design"].to_numpy(bool)
    bounded = np.isfinite(low) & np.isfinite(high)
    known = np.where(close, AGREES, np.where(inside, UNDECIDED, DIFFERS))
    known = np.where(design, np.where(equal, AGREES, DIFFERS), known)
    side = found["side"].to_numpy(object)
    for name, least, most in ((ABOVE, low, high), (BELOW, -high, -low)):
        border, own = (paper, ours) if name == ABOVE else (-paper, -ours)
        lies = np.where(least >= border - half, AGREES, np.where(most < border, DIFFERS, UNDECIDED))
        chosen = np.where(own >= border - half, AGREES, DIFFERS)
        known = np.where(side == name, np.where(design, chosen, lies), known)
    verdict = np.where(design | bounded, known, NO_INTERVAL)
    unreached = found["reach"].to_numpy(object)
    found["difference"] = ours - paper
    found["verdict"] = np.where(unreached == "", verdict, unreached)
    return found


FOLDER = Path(__file__).resolve().parents[1] / "published"
# p-values are printed in many ways ("<.001", "1e-5"), and levels of ablations may be numbers.
_TEXT = {"pcc_p", "scc_p", "p", "anova_p", "level", "question", "where"}


def published_table(name: str) -> pd.DataFrame:
    """One file of printed numbers, by its name without ``.csv``."""
    path = FOLDER / f"{name}.csv"
    head = pd.read_csv(path, nrows=0).columns
    return pd.read_csv(path, dtype={column: str for column in head if column in _TEXT})


def published_tables() -> dict[str, pd.DataFrame]:
    """All files of printed numbers."""
    return {path.stem: published_table(path.stem) for path in sorted(FOLDER.glob("*.csv"))}


def published_techniques() -> set[str]:
    """The papers' 46 techniques (P1, Table 7), by our names; all others are extras."""
    return set(PUBLISHED)


# As Tables 11 and 12 of P1 write names that the released dataset writes otherwise.
_BACKBONES = {"resnet50": "ResNet50", "vitB": "ViT-B", "resnet50-bcos": "ResNet50-BCos"}
_METHODS = {"RISE": "RISE_CBM"}
PERTURBATIONS = {
    "road": "road",
    "black_patches": "black",
    "uniform_noise": "uniform",
    "gaussian_noise": "gaussian",
}


def technique_keys(table: pd.DataFrame, released: pd.DataFrame) -> list[str]:
    """Our ``method/backbone`` for each row (method, backbone) of a paper's table; "" if unknown."""
    names = zip(released["method"], released["backbone"], strict=True)
    ours = dict(zip(names, texts(released["technique"]), strict=True))
    pairs = zip(table["method"], table["backbone"], strict=True)
    return [
        ours.get((_METHODS.get(method, method), _BACKBONES.get(backbone, backbone)), "")
        for method, backbone in pairs
    ]


def technique_titles(table: pd.DataFrame) -> list[str]:
    """As the paper names them, with one spelling of backbones."""
    pairs = zip(table["method"], table["backbone"], strict=True)
    return [f"{method}, {_BACKBONES.get(backbone, backbone)}" for method, backbone in pairs]


def plain_variants(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows to compare with a paper: variants by perturbation or noise alone.

    Faithfulness may be there in two readings of P1's Algorithm 1; the one of the paper's text
    ("text") stands for it.
    """
    parts = texts(frame["variant"]).astype(str).str.partition(" ")
    return frame.assign(variant=parts[0])[parts[2].isin(["", "text"])]
